#include "pipeline/desk.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace tenure::pipeline {

// --- from the source

std::size_t Desk::room() const noexcept {
  return waitingBytes_ >= limits_.bytes ? 0 : limits_.messages - std::min(limits_.messages, alive_);
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
    if (isSuspect(message, number)) suspects_.push_back(&line);
    ++waiting_;
    waitingBytes_ += message.body.size();
    line.waiting.push_back({number, std::move(message)});
    makeReady(line);
  }
}

void Desk::clear() {
  for (Lane& lane : lanes_) lane = {};
  lines_.clear();
  byGroup_.clear();
  ready_.clear();
  parked_.clear();
  suspects_.clear();
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
  if (line.listed || line.parked || line.waiting.empty() || line.held > 0 || line.unreleased > 0) return;
  line.listed = true;
  ready_.push_back(&line);
}

// --- suspects

void Desk::suspect(std::unordered_set<MessageId> ids, bool front) {
  TENURE_ASSERT(alive_ == 0);
  suspectIds_ = std::move(ids);
  frontIsSuspect_ = front;
}

bool Desk::isSuspect(const Message& message, Number number) const {
  return (frontIsSuspect_ && inFront(number)) || (!suspectIds_.empty() && suspectIds_.contains(message.id));
}

Desk::Share Desk::takeSuspects(std::size_t lane, std::size_t max) {
  Share share;
  while (share.messages.size() < max && !suspects_.empty()) {
    Line& line = *suspects_.front();
    suspects_.pop_front();
    if (line.parked || line.waiting.empty()) continue;  // it failed in good order, or what follows it waits with it
    std::erase(ready_, &line);
    line.listed = false;
    handOut(line, lane, 1, share);
  }
  return share;
}

void Desk::trust() {
  TENURE_ASSERT(suspects_.empty());
  suspectIds_.clear();
  frontIsSuspect_ = false;
}

// --- to the lanes

Desk::Share Desk::take(std::size_t lane, std::size_t max, BootTime now) {
  unpark(now);
  Share share;
  if (ready_.empty()) return share;
  Line& line = *ready_.front();
  ready_.pop_front();
  line.listed = false;
  handOut(line, lane, max, share);
  return share;
}

void Desk::handOut(Line& line, std::size_t lane, std::size_t max, Share& share) {
  for (std::size_t i = 0; i < max && !line.waiting.empty(); ++i) {
    Waiting& next = line.waiting.front();
    lanes_[lane].held.push_back({next.number, next.message.position, &line});
    ++line.held;
    --waiting_;
    waitingBytes_ -= next.message.body.size();
    if (inFront(next.number) && share.covered == share.messages.size()) ++share.covered;
    share.messages.push_back(std::move(next.message));
    line.waiting.pop_front();
  }
}

void Desk::acknowledge(std::size_t lane, std::size_t count) {
  Lane& at = lanes_[lane];
  TENURE_ASSERT(count <= at.held.size());
  for (; count > 0; --count) {
    const Held done = at.held.front();
    at.held.pop_front();
    --done.line->held;
    ++done.line->unreleased;
    at.unreleased.push_back(done.line);
    markGone(done.number);
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

void Desk::park(std::size_t lane, std::vector<Message> messages, BootTime until) {
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
  line.parked = true;
  parked_.emplace(until, &line);
}

void Desk::unpark(BootTime now) {
  while (!parked_.empty() && parked_.begin()->first <= now) {
    Line& line = *parked_.begin()->second;
    parked_.erase(parked_.begin());
    line.parked = false;
    makeReady(line);
  }
}

bool Desk::isReady(BootTime now) const noexcept {
  return !ready_.empty() || (!parked_.empty() && parked_.begin()->first <= now);
}

std::optional<BootTime> Desk::nextDue() const noexcept {
  if (parked_.empty()) return std::nullopt;
  return parked_.begin()->first;
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
