#include "pipeline/desk.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace tenure::pipeline {

// --- from the source

std::size_t Desk::room() const noexcept {
  if (waitingBytes_ >= limits_.bytes || (collapser_ && !collapser_->mayReadOn())) return 0;
  const std::size_t most = std::max(limits_.messages, suspectWindow_);
  const std::size_t room = most - std::min(most, window());
  return collapser_ ? std::min(room, Collapser::page) : room;
}

bool Desk::wantsMore() const noexcept { return 2 * (waiting_ - resting_) < limits_.messages && room() > 0; }

void Desk::receive(std::vector<Message> messages) {
  if (collapser_) collapser_->sift(messages, suspectIds_);
  for (Message& message : messages) {
    const Number number = window_.add();
    Line& line = lineOf(message);
    if (isSuspect(message, number)) suspects_.push_back({&line, number});
    ++waiting_;
    waitingBytes_ += message.body.size();
    if (!rests_.empty()) restAgain(line, message.id);
    line.waiting.push_back({number, std::move(message)});
    if (line.waits) ++resting_;
    makeReady(line);
  }
}

/// What comes again before it is done already, and may wait with it.
void Desk::restAgain(Line& line, const MessageId& id) {
  const auto rest = rests_.extract(id);
  if (!rest || line.waits) return;
  unlist(line);
  wait(line, rest.mapped(), parked_);
}

/// What is ready for a group stays owed to it, but whether its gap is old is to be seen again.
void Desk::clear() {
  std::vector<std::pair<BootTime, std::pair<std::string, std::size_t>>> owed;
  for (const Line& line : lines_)
    if (line.owed > 0U && !line.waits) owed.push_back({BootTime::min(), {line.group, *line.owed}});
  for (const auto* waiting : {&parked_, &heldBack_})
    for (const auto& [until, line] : *waiting)
      if (line->owed > 0U) owed.push_back({until, {line->group, *line->owed}});
  for (const auto& [until, line] : parked_)
    if (!line->waiting.empty()) rests_.insert_or_assign(line->waiting.front().message.id, until);
  for (Lane& lane : lanes_) lane = {};
  lines_.clear();
  byName_.clear();
  ready_.clear();
  unseen_.clear();
  inSight_.clear();
  if (collapser_) collapser_->clear();
  mustBeReadAgain_ = looking_ = false;
  parked_.clear();
  heldBack_.clear();
  suspects_.clear();
  unconfirmed_.clear();
  waiting_ = resting_ = waitingBytes_ = 0;
  window_.clear();
  for (const auto& [until, visit] : owed) {
    owe(visit.first, visit.second);
    if (until == BootTime::min()) continue;
    Line& line = *byName_.at(visit.first);
    unlist(line);
    wait(line, until, parked_);
  }
}

Desk::Line& Desk::lineOf(const Message& message) {
  if (!collapser_) return lineNamed(message.group.value, message.group.value);
  return lineNamed(collapser_->placeOf(message), message.group.value);
}

Desk::Line& Desk::lineNamed(const std::string& name, const std::string& group) {
  if (!name.empty())
    if (const auto known = byName_.find(name); known != byName_.end()) return *known->second;
  Line& line = lines_.emplace_back(Line{.name = name, .group = group});
  line.self = std::prev(lines_.end());
  if (!name.empty()) byName_.emplace(name, &line);
  return line;
}

void Desk::forgetIfIdle(Line& line) {
  if (!line.waiting.empty() || line.owed || line.waits || line.held > 0 || line.unreleased > 0) return;
  if (!line.name.empty()) byName_.erase(line.name);
  lines_.erase(line.self);
}

/// At the end of those that are, when it is.
void Desk::makeReady(Line& line) {
  if (line.listed || line.waits || line.held > 0 || line.unreleased > 0) return;
  if (line.waiting.empty() && !line.owed) return;
  line.listed = true;
  (!collapser_ ? ready_ : looking_ ? inSight_ : unseen_).push_back(&line);
}

void Desk::unlist(Line& line) {
  if (!std::exchange(line.listed, false)) return;
  for (auto* list : {&ready_, &unseen_, &inSight_}) std::erase(*list, &line);
}

void Desk::beginLook() {
  looking_ = true;
  inSight_.insert(inSight_.end(), unseen_.begin(), unseen_.end());
  unseen_.clear();
}

void Desk::endLook() {
  looking_ = false;
  ready_.insert(ready_.end(), inSight_.begin(), inSight_.end());
  inSight_.clear();
}

// --- suspects

void Desk::suspect(std::unordered_set<MessageId> ids, std::size_t front, std::size_t window) {
  TENURE_ASSERT(window_.size() == 0);
  suspectIds_ = std::move(ids);
  // Those with these ids stand for nobody, so that there may be one more behind each that its predecessor did not see.
  const std::size_t more = collapser_ ? suspectIds_.size() : 0;
  suspectFront_ = front > 0 ? front + more : 0;
  suspectWindow_ = std::max(front, window) + more;
}

bool Desk::isSuspect(const Message& message, Number number) const {
  return window_.isAmongFirst(suspectFront_, number) || (!suspectIds_.empty() && suspectIds_.contains(message.id));
}

Desk::Share Desk::takeSuspects(std::size_t lane, std::size_t max) {
  Share share;
  share.areCounted = throttle_.limitsAnything();
  while (share.messages.size() < max && !suspects_.empty() && !mustBeReadAgain_) {
    const Suspect suspect = suspects_.front();
    Line& line = *suspect.line;
    const auto isNext = [&] { return !line.waiting.empty() && line.waiting.front().number <= suspect.number; };
    // It failed in good order, or waits with one that did: if it is a killer, that costs one more process.
    if (line.waits || !isNext()) {
      suspects_.pop_front();
      continue;
    }
    if (collapser_ && line.held > 0) break;  // it may have an heir
    unlist(line);
    do handOut(line, lane, share);
    while (isNext() && !lastsStand(share));
    if (!isNext()) suspects_.pop_front();  // its line may be gone when the next is asked for
    if (lastsStand(share)) break;
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
  while (share.messages.empty() && !share.isVisit && !ready_.empty() && !mustBeReadAgain_) {
    Line& line = *ready_.front();
    ready_.pop_front();
    line.listed = false;
    const GroupId group{line.group};
    share.group = line.group;
    if (line.owed == 0 && !line.waiting.empty()) line.owed.reset();
    if (line.owed) visit(line, lane, max, now, share);
    if (share.isVisit || line.waits) continue;
    while (share.messages.size() < max && !line.waiting.empty()) {
      if (const BootTime turn = throttle_.mayGo(group, now); turn > now) {
        if (share.messages.empty()) holdBack(line, turn, now, share);
        break;
      }
      throttle_.went(group, now);
      handOut(line, lane, share);
      if (lastsStand(share)) break;
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

void Desk::giveBack(const GroupId& group, std::size_t tokens, BootTime now) {
  for (; tokens > 0; --tokens) {
    throttle_.returned(group, now);
    if (!heldBack_.empty()) resumeFirst(heldBack_);
  }
}

void Desk::owe(const std::string& group, std::size_t ready) {
  Line& line = lineNamed(group, group);
  line.owed = std::max(line.owed.value_or(0), ready);
  makeReady(line);
}

/// As many as may go now.
void Desk::visit(Line& line, std::size_t lane, std::size_t max, BootTime now, Share& share) {
  const GroupId group{line.group};
  while (share.allowed < std::min(max, *line.owed)) {
    if (const BootTime turn = throttle_.mayGo(group, now); turn > now) {
      if (share.allowed == 0) return wait(line, turn, heldBack_);
      break;
    }
    throttle_.went(group, now);
    ++share.allowed;
  }
  line.owed.reset();
  share.isVisit = true;
  ++line.unreleased;
  lanes_[lane].unreleased.push_back(&line);
}

void Desk::holdBack(Line& line, BootTime until, BootTime now, Share& share) {
  const Message& next = line.waiting.front().message;
  if (std::exchange(line.told, next.id) != next.id)
    share.heldBack.push_back(
        {next.id.value, next.group.value, std::chrono::ceil<std::chrono::milliseconds>(until - now)});
  wait(line, until, heldBack_);
}

/// Its next one.
void Desk::handOut(Line& line, std::size_t lane, Share& share) {
  Waiting& next = line.waiting.front();
  lanes_[lane].held.push_back({next.number, next.message.position, &line, next.isHeir});
  ++line.held;
  --waiting_;
  waitingBytes_ -= next.message.body.size();
  if (!next.isHeir && window_.isInFront(next.number) && share.covered == share.messages.size()) ++share.covered;
  share.messages.push_back(std::move(next.message));
  line.waiting.pop_front();
}

/// Nothing may be handed out behind it that its heir would have to go before.
bool Desk::lastsStand(const Share& share) const {
  if (!collapser_ || share.messages.empty()) return false;
  const Message& last = share.messages.back();
  return last.group.value.empty() || collapser_->standsForOthers(last);
}

std::vector<Message> Desk::begin(const Message& message) {
  if (!collapser_) return {};
  collapser_->begins(message);
  return collapser_->others(message);
}

void Desk::acknowledge(std::size_t lane, std::span<const Message> messages, bool sourceKnows,
                       std::span<const std::int64_t> dropped) {
  Lane& at = lanes_[lane];
  TENURE_ASSERT(messages.size() <= at.held.size());
  for (const Message& message : messages) {
    const Held done = at.held.front();
    at.held.pop_front();
    --done.line->held;
    ++done.line->unreleased;
    at.unreleased.push_back(done.line);
    End end = endOf(message, std::ranges::find(dropped, message.position) != dropped.end());
    const bool inherits = end.heir.has_value();
    if (inherits) succeed(done, std::move(*end.heir));
    if (sourceKnows && !inherits) window_.done(done.number);
    if (sourceKnows) continue;
    unconfirmed_.push_back(inherits ? std::nullopt : std::optional(done.number));
    unconfirmed_.insert(unconfirmed_.end(), end.others, std::nullopt);
  }
}

Desk::End Desk::endOf(const Message& message, bool isDropped) {
  End end;
  if (!collapser_) return end;
  if (isDropped)
    collapser_->dropped(message);
  else
    end.others = collapser_->ran(message);
  mustBeReadAgain_ = mustBeReadAgain_ || collapser_->leavesOrphans();
  std::vector<Message> heirs = collapser_->left({&message, 1});
  if (!heirs.empty()) end.heir = std::move(heirs.front());
  return end;
}

/// Under its number: the window has one of them at a time. A successor meets it where the source has it.
void Desk::succeed(const Held& dropped, Message heir) {
  if (suspectsAny()) suspects_.push_front({dropped.line, dropped.number});
  ++waiting_;
  waitingBytes_ += heir.body.size();
  dropped.line->waiting.push_front({dropped.number, std::move(heir), true});
}

void Desk::confirm(std::size_t count) {
  TENURE_ASSERT(count <= unconfirmed_.size());
  for (; count > 0; --count) {
    if (unconfirmed_.front()) window_.done(*unconfirmed_.front());
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

void Desk::park(std::size_t lane, std::vector<Message> messages, BootTime until, const std::string& group) {
  auto& held = lanes_[lane].held;
  if (messages.empty()) {
    Line& visited = lineNamed(group, group);
    unlist(visited);
    return wait(visited, until, parked_);
  }
  const auto first = std::ranges::find(held, messages.front().position, &Held::position);
  TENURE_ASSERT(first != held.end());
  Line& line = *first->line;
  std::vector<Held> back;
  for (const Held& each : held)
    if (each.line == &line) back.push_back(each);
  TENURE_ASSERT(back.size() == messages.size());
  std::erase_if(held, [&](const Held& each) { return each.line == &line; });
  for (std::size_t i = messages.size(); i-- > 0;) {
    ++waiting_;
    waitingBytes_ += messages[i].body.size();
    line.waiting.push_front({back[i].number, std::move(messages[i]), back[i].isHeir});
  }
  line.held = 0;
  wait(line, until, parked_);
}

void Desk::wait(Line& line, BootTime until, std::multimap<BootTime, Line*>& among) {
  line.waits = true;
  resting_ += line.waiting.size();
  among.emplace(until, &line);
}

void Desk::resume(std::multimap<BootTime, Line*>& among, BootTime now) {
  while (!among.empty() && among.begin()->first <= now) resumeFirst(among);
}

void Desk::resumeFirst(std::multimap<BootTime, Line*>& among) {
  Line& line = *among.begin()->second;
  among.erase(among.begin());
  line.waits = false;
  resting_ -= line.waiting.size();
  makeReady(line);
}

bool Desk::isReady(BootTime now) const noexcept {
  if (mustBeReadAgain_) return false;
  const std::optional<BootTime> due = nextDue();
  return !ready_.empty() || (due && *due <= now);
}

std::optional<BootTime> Desk::nextDue() const noexcept {
  if (parked_.empty() && heldBack_.empty()) return std::nullopt;
  if (parked_.empty()) return heldBack_.begin()->first;
  return heldBack_.empty() ? parked_.begin()->first : std::min(parked_.begin()->first, heldBack_.begin()->first);
}

}  // namespace tenure::pipeline
