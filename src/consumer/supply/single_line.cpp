#include "consumer/supply/single_line.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/assert.hpp"

namespace tenure::supply {

// --- the source's side

std::size_t SingleLine::toRead(std::size_t wanted) const noexcept {
  if (coalescer_) return Coalescer::page;
  return std::max(wanted, horizon_ - std::min(horizon_, read_));
}

void SingleLine::receive(Arrivals arrivals, const std::optional<MessageId>& ran) {
  if (coalescer_) sift(arrivals.messages, ran);
  read_ += arrivals.messages.size();
  for (const Standing& standing : arrivals.standings) read_ -= standing.isKept ? 1 : 0;
  if (waiting_.messages.empty())
    waiting_ = std::move(arrivals);
  else
    waiting_.append(std::move(arrivals));
}

/// If exactly one message was in work, none behind it was: it runs once more, for all that wait by now. A finished run
/// must not coalesce later messages, even if redelivered.
void SingleLine::sift(std::vector<Message>& messages, const std::optional<MessageId>& ran) {
  using Named = Coalescer::Named;
  const bool wasTheOnlyOne = named_.size() == 1 && front_ == 0 && !ran;
  std::unordered_set<MessageId> named = named_;
  if (ran) named.insert(*ran);
  coalescer_->sift(messages, named, wasTheOnlyOne ? Named::standForOthers : Named::standAlone);
}

/// Once the suspects were found, those that are left are known by their ids.
void SingleLine::clear() {
  if (coalescer_) coalescer_->clear();
  if (std::exchange(isScanned_, false)) {
    for (std::size_t i = 0; i < suspects_; ++i) handedOut_.insert(waiting_.messages[i].id);
    named_ = std::exchange(handedOut_, {});
    front_ = 0;
    horizon_ = named_.size();
  }
  waiting_ = {};
  read_ = inHand_ = suspects_ = 0;
  mustBeReadAgain_ = hasSuccessor_ = false;
}

// --- after an unclean end

/// Named messages stand for no others: one behind each may be in work as well.
void SingleLine::suspect(std::unordered_set<MessageId> ids, std::size_t front, std::size_t window) {
  named_ = std::move(ids);
  front_ = front > 0 && coalescer_ ? front + named_.size() : front;
  horizon_ = std::max(front, window);
}

/// Of those that a predecessor coalesced it may have begun one that is far behind.
bool SingleLine::mustReadOn() const noexcept {
  if (isScanned_ || waiting_.isDry || horizon_ == 0) return false;
  return coalescer_ ? coalescer_->mayReadOn() : read_ < horizon_;
}

/// Kept messages whose turn had come may have been in work like the source's next to them, and no more of them.
void SingleLine::findSuspects() {
  std::size_t ofSource = front_;
  std::size_t kept = front_;
  for (std::size_t i = 0; i < waiting_.messages.size(); ++i) {
    const bool isKept = waiting_.standingOf(i).isKept;
    std::size_t& left = isKept ? kept : ofSource;
    const bool isFirst = left > 0 && (!isKept || suspects_ == i);
    if (isFirst || named_.contains(waiting_.messages[i].id)) suspects_ = i + 1;
    left -= left > 0 ? 1 : 0;
  }
  named_.clear();
  front_ = horizon_ = 0;
}

Assignment SingleLine::takeSuspects(std::size_t, std::size_t) {
  if (!std::exchange(isScanned_, true)) findSuspects();
  const std::size_t suspects = std::exchange(suspects_, 0);
  for (std::size_t i = 0; i < suspects; ++i) handedOut_.insert(waiting_.messages[i].id);
  Assignment assignment = handOut(suspects);
  assignment.suspects = suspects;
  return assignment;
}

// --- the lane's side

Assignment SingleLine::take(std::size_t, std::size_t, BootTime) { return handOut(waiting_.messages.size()); }

Assignment SingleLine::handOut(std::size_t count) {
  Assignment assignment{.messages = {}, .areCounted = throttle_.limitsAnything()};
  if (mustBeReadAgain_ || count == 0) return assignment;
  Arrivals all = std::exchange(waiting_, {});
  waiting_.isDry = all.isDry;
  if (count < all.messages.size()) waiting_ = all.splitOff(count);
  inHand_ += count;
  assignment.messages = std::move(all.messages);
  assignment.standings = std::move(all.standings);
  return assignment;
}

std::vector<Message> SingleLine::begin(const Message& message, BootTime now) {
  throttle_.went(message.group, now);
  if (!coalescer_) return {};
  coalescer_->begins(message);
  return coalescer_->others(message);
}

void SingleLine::finish(std::size_t, const Message& message, bool hadRun, bool) {
  --inHand_;
  if (!handedOut_.empty()) handedOut_.erase(message.id);
  if (!coalescer_) return;
  hadRun ? static_cast<void>(coalescer_->ran(message)) : coalescer_->dropped(message);
  mustBeReadAgain_ = mustBeReadAgain_ || coalescer_->leavesStubs();
  for (Message& successor : coalescer_->left({&message, 1})) {
    const auto place = std::ranges::upper_bound(waiting_.messages, successor.position, {}, &Message::position);
    waiting_.messages.insert(place, std::move(successor));
    hasSuccessor_ = true;
  }
}

void SingleLine::park(std::size_t, std::vector<Message> messages, BootTime, std::size_t suspects) {
  TENURE_ASSERT(messages.size() == inHand_ && waiting_.standings.empty());
  for (const Message& message : messages) handedOut_.erase(message.id);
  const std::int64_t last = suspects > 0 ? messages[suspects - 1].position : std::numeric_limits<std::int64_t>::min();
  inHand_ = 0;
  hasSuccessor_ = false;
  std::vector<Message> behind = std::exchange(waiting_.messages, {});
  std::ranges::merge(std::move_iterator(messages.begin()), std::move_iterator(messages.end()),
                     std::move_iterator(behind.begin()), std::move_iterator(behind.end()),
                     std::back_inserter(waiting_.messages), {}, &Message::position, &Message::position);
  const auto behindLast = std::ranges::upper_bound(waiting_.messages, last, {}, &Message::position);
  suspects_ = static_cast<std::size_t>(behindLast - waiting_.messages.begin());
}

}  // namespace tenure::supply
