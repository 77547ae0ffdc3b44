#include "pipeline/desk.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace tenure::pipeline {

// --- from the source

std::size_t Desk::room() const noexcept {
  const std::size_t window = std::max(limits_.messages, suspectWindow_);
  return waitingBytes_ >= limits_.bytes ? 0 : window - std::min(window, alive_);
}

bool Desk::wantsMore() const noexcept { return 2 * waiting_ < limits_.messages && room() > 0; }

void Desk::receive(std::vector<Message> messages) {
  for (Message& message : messages) {
    const Number number = base_ + gone_.size();
    gone_.push_back(false);
    ++alive_;
    if (frontAlive_ < limits_.front) {
      ++frontAlive_;
      frontEnd_ = number + 1;
    }
    Line& line = lineOf(message.group.value);
    if (isSuspect(message, number)) suspects_.push_back({&line, number});
    ++waiting_;
    waitingBytes_ += message.body.size();
    if (!rests_.empty()) restAgain(line, message.id);
    line.waiting.push_back({number, std::move(message)});
    makeReady(line);
  }
}

/// What comes again before it is done already, and may wait with it.
void Desk::restAgain(Line& line, const MessageId& id) {
  const auto rest = rests_.extract(id);
  if (!rest || line.waits) return;
  if (std::exchange(line.listed, false)) std::erase(ready_, &line);
  wait(line, rest.mapped(), parked_);
}

void Desk::clear() {
  for (const auto& [until, line] : parked_) rests_.insert_or_assign(line->waiting.front().message.id, until);
  for (Lane& lane : lanes_) lane = {};
  lines_.clear();
  byGroup_.clear();
  ready_.clear();
  parked_.clear();
  heldBack_.clear();
  suspects_.clear();
  unconfirmed_.clear();
  waiting_ = waitingBytes_ = alive_ = frontAlive_ = 0;
  base_ += gone_.size();
  gone_.clear();
  frontEnd_ = base_;
}

Desk::Line& Desk::lineOf(const std::string& group) {
  if (!group.empty())
    if (const auto known = byGroup_.find(group); known != byGroup_.end()) return *known->second;
  Line& line = lines_.emplace_back(Line{.group = group});
  line.self = std::prev(lines_.end());
  if (!group.empty()) byGroup_.emplace(group, &line);
  return line;
}

void Desk::forgetIfIdle(Line& line) {
  if (!line.waiting.empty() || line.held > 0 || line.unreleased > 0) return;
  if (!line.group.empty()) byGroup_.erase(line.group);
  lines_.erase(line.self);
}

/// At the end of those that are, when it is.
void Desk::makeReady(Line& line) {
  if (line.listed || line.waits || line.waiting.empty() || line.held > 0 || line.unreleased > 0) return;
  line.listed = true;
  ready_.push_back(&line);
}

// --- suspects

void Desk::suspect(std::unordered_set<MessageId> ids, std::size_t front, std::size_t window) {
  TENURE_ASSERT(alive_ == 0);
  suspectIds_ = std::move(ids);
  suspectFront_ = front;
  suspectWindow_ = std::max(front, window);
}

bool Desk::isSuspect(const Message& message, Number number) const {
  return number - base_ < suspectFront_ || (!suspectIds_.empty() && suspectIds_.contains(message.id));
}

Desk::Share Desk::takeSuspects(std::size_t lane, std::size_t max) {
  Share share;
  share.areCounted = throttle_.limitsAnything();
  while (share.messages.size() < max && !suspects_.empty()) {
    const Suspect suspect = suspects_.front();
    suspects_.pop_front();
    Line& line = *suspect.line;
    if (line.waits || line.waiting.empty()) continue;  // it failed in good order, or what follows it waits with it
    std::erase(ready_, &line);
    line.listed = false;
    while (!line.waiting.empty() && line.waiting.front().number <= suspect.number) handOut(line, lane, share);
  }
  return share;
}

void Desk::trust() {
  TENURE_ASSERT(suspects_.empty());
  suspectIds_.clear();
  suspectFront_ = suspectWindow_ = 0;
}

// --- to the lanes

void Desk::limit(RateRules rules) {
  throttle_.apply(std::move(rules));
  resume(heldBack_, BootTime::max());
}

Desk::Share Desk::take(std::size_t lane, std::size_t max, BootTime now) {
  resume(parked_, now);
  resume(heldBack_, now);
  Share share;
  share.areCounted = throttle_.limitsAnything();
  while (share.messages.empty() && !ready_.empty()) {
    Line& line = *ready_.front();
    ready_.pop_front();
    line.listed = false;
    const GroupId group{line.group};
    while (share.messages.size() < max && !line.waiting.empty()) {
      if (const BootTime turn = throttle_.mayGo(group, now); turn > now) {
        if (share.messages.empty()) wait(line, turn, heldBack_);
        break;
      }
      throttle_.went(group, now);
      handOut(line, lane, share);
    }
  }
  return share;
}

BootTime Desk::takeTurn(const GroupId& group, BootTime now) {
  const BootTime turn = throttle_.mayGo(group, now);
  if (turn <= now) throttle_.went(group, now);
  return turn;
}

BootTime Desk::takeSuspectsTurn(const GroupId& group, BootTime now) {
  const BootTime turn = throttle_.mayGo(GroupId{}, now);
  if (turn <= now) throttle_.went(group, now);
  return turn;
}

/// Its next one.
void Desk::handOut(Line& line, std::size_t lane, Share& share) {
  Waiting& next = line.waiting.front();
  lanes_[lane].held.push_back({next.number, next.message.position, &line});
  ++line.held;
  --waiting_;
  waitingBytes_ -= next.message.body.size();
  if (inFront(next.number) && share.covered == share.messages.size()) ++share.covered;
  share.messages.push_back(std::move(next.message));
  line.waiting.pop_front();
}

void Desk::acknowledge(std::size_t lane, std::size_t count, bool sourceKnows) {
  Lane& at = lanes_[lane];
  TENURE_ASSERT(count <= at.held.size());
  for (; count > 0; --count) {
    const Held done = at.held.front();
    at.held.pop_front();
    --done.line->held;
    ++done.line->unreleased;
    at.unreleased.push_back(done.line);
    if (sourceKnows)
      markGone(done.number);
    else
      unconfirmed_.push_back(done.number);
  }
}

void Desk::confirm(std::size_t count) {
  TENURE_ASSERT(count <= unconfirmed_.size());
  for (; count > 0; --count) {
    markGone(unconfirmed_.front());
    unconfirmed_.pop_front();
  }
}

void Desk::release(std::size_t lane) {
  for (Line* line : lanes_[lane].unreleased) {
    --line->unreleased;
    makeReady(*line);
    forgetIfIdle(*line);
  }
  lanes_[lane].unreleased.clear();
}

void Desk::park(std::size_t lane, std::vector<Message> messages, BootTime until, std::size_t unbegun, BootTime now) {
  auto& held = lanes_[lane].held;
  const auto first = std::ranges::find(held, messages.front().position, &Held::position);
  TENURE_ASSERT(first != held.end());
  Line& line = *first->line;
  std::vector<Number> numbers;
  for (const Held& each : held)
    if (each.line == &line) numbers.push_back(each.number);
  TENURE_ASSERT(numbers.size() == messages.size());
  std::erase_if(held, [&](const Held& each) { return each.line == &line; });
  for (std::size_t i = messages.size(); i-- > 0;) {
    ++waiting_;
    waitingBytes_ += messages[i].body.size();
    line.waiting.push_front({numbers[i], std::move(messages[i])});
  }
  line.held = 0;
  for (const GroupId group{line.group}; unbegun > 0; --unbegun) throttle_.returned(group, now);
  wait(line, until, parked_);
}

void Desk::wait(Line& line, BootTime until, std::multimap<BootTime, Line*>& among) {
  line.waits = true;
  among.emplace(until, &line);
}

void Desk::resume(std::multimap<BootTime, Line*>& among, BootTime now) {
  while (!among.empty() && among.begin()->first <= now) {
    Line& line = *among.begin()->second;
    among.erase(among.begin());
    line.waits = false;
    makeReady(line);
  }
}

bool Desk::isReady(BootTime now) const noexcept {
  const std::optional<BootTime> due = nextDue();
  return !ready_.empty() || (due && *due <= now);
}

std::optional<BootTime> Desk::nextDue() const noexcept {
  if (parked_.empty() && heldBack_.empty()) return std::nullopt;
  if (parked_.empty()) return heldBack_.begin()->first;
  return heldBack_.empty() ? parked_.begin()->first : std::min(parked_.begin()->first, heldBack_.begin()->first);
}

// --- the window

void Desk::markGone(Number number) {
  gone_[number - base_] = true;
  --alive_;
  if (inFront(number)) --frontAlive_;
  for (; frontAlive_ < limits_.front && frontEnd_ < base_ + gone_.size(); ++frontEnd_)
    if (!gone_[frontEnd_ - base_]) ++frontAlive_;
  while (!gone_.empty() && gone_.front()) {
    gone_.pop_front();
    ++base_;
  }
}

}  // namespace tenure::pipeline
