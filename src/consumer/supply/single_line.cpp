#include "consumer/supply/single_line.hpp"

#include <algorithm>
#include <limits>
#include <ranges>
#include <utility>

#include "base/assert.hpp"

namespace tenure::supply {

namespace {

bool comesBefore(std::int64_t position, const MessagePtr& message) noexcept { return position < message->position; }

}  // namespace

// --- the source's side

std::size_t SingleLine::toRead(std::size_t wanted) const noexcept {
  if (coalescer_) return Coalescer::page;
  return std::max(wanted, horizon_ - std::min(horizon_, read_));
}

void SingleLine::receive(Arrivals arrivals, const std::optional<MessageId>& ran) {
  if (coalescer_) sift(arrivals.messages, ran);
  isDry_ = arrivals.isDry;
  for (std::size_t i = 0; i < arrivals.messages.size(); ++i) {
    const Standing standing = arrivals.standingOf(i);
    read_ += standing.isKept ? 0 : 1;
    line_.push_back(seal(std::move(arrivals.messages[i]), standing));
  }
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

/// Once the suspects were found, those that are left are known by their ids. Those that are done may come again before
/// them, where the source could not be told.
void SingleLine::clear() {
  if (coalescer_) coalescer_->clear();
  if (std::exchange(isScanned_, false)) {
    for (std::size_t i = 0; i < suspects_; ++i) handedOut_.insert(line_[inHand_ + i]->id);
    named_ = std::exchange(handedOut_, {});
    front_ = 0;
    horizon_ = named_.empty() ? 0 : found_;
  }
  line_.clear();
  isDry_ = false;
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
  if (isScanned_ || isDry_ || horizon_ == 0) return false;
  return coalescer_ ? coalescer_->mayReadOn() : read_ < horizon_;
}

/// Kept messages whose turn had come may have been in work like the source's next to them, and no more of them.
void SingleLine::findSuspects() {
  std::size_t ofSource = front_;
  std::size_t kept = front_;
  for (std::size_t i = 0; inHand_ + i < line_.size(); ++i) {
    const MessagePtr& message = line_[inHand_ + i];
    const bool isKept = message.standing().isKept;
    std::size_t& left = isKept ? kept : ofSource;
    const bool isFirst = left > 0 && (!isKept || suspects_ == i);
    if (isFirst || named_.contains(message->id)) suspects_ = i + 1;
    left -= left > 0 ? 1 : 0;
  }
  named_.clear();
  front_ = horizon_ = 0;
  found_ = suspects_;
}

Handout SingleLine::takeSuspects(std::size_t, std::size_t) {
  if (!std::exchange(isScanned_, true)) findSuspects();
  return handOut(suspects_);
}

// --- the lane's side

Handout SingleLine::take(std::size_t, std::size_t, BootTime) { return handOut(line_.size() - inHand_); }

Handout SingleLine::handOut(std::size_t count) {
  Handout handout{.areCounted = throttle_.limitsAnything()};
  if (mustBeReadAgain_) return handout;
  handout.messages.reserve(count);
  handout.assignment.items.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const MessagePtr& message = line_[inHand_++];
    if (suspects_ > 0) handedOut_.insert(message->id);
    handout.add(message, suspects_ > 0);
    suspects_ -= suspects_ > 0 ? 1 : 0;
  }
  return handout;
}

std::vector<Message> SingleLine::begin(std::size_t, Place place, const GroupId& group, BootTime now) {
  throttle_.went(group, now);
  if (!coalescer_) return {};
  const auto hand = std::ranges::subrange(line_.begin(), line_.begin() + static_cast<std::ptrdiff_t>(inHand_));
  const auto message = std::ranges::find(hand, place, &MessagePtr::place);
  TENURE_ASSERT(message != hand.end());
  coalescer_->begins(**message);
  return coalescer_->others(**message);
}

Finished SingleLine::finish(std::size_t, const Report::Done& done, bool) {
  TENURE_ASSERT(inHand_ > 0 && line_.front().place() == done.place);
  Finished finished{std::move(line_.front())};
  const Message& message = *finished.message;
  line_.pop_front();
  --inHand_;
  if (!handedOut_.empty()) handedOut_.erase(message.id);
  if (!coalescer_) return finished;
  Coalescer::End end = coalescer_->finish(message, done.hadRun);
  finished.others = std::move(end.others);
  mustBeReadAgain_ = mustBeReadAgain_ || end.leavesStubs;
  if (end.successor) {
    const auto waiting = line_.begin() + static_cast<std::ptrdiff_t>(inHand_);
    const auto place = std::upper_bound(waiting, line_.end(), end.successor->position, comesBefore);
    line_.insert(place, seal(*std::move(end.successor)));
    hasSuccessor_ = true;
  }
  return finished;
}

void SingleLine::park(std::size_t, std::span<const Item> items, BootTime) {
  TENURE_ASSERT(std::ranges::equal(items, std::views::take(line_, inHand_), {}, &Item::place, &MessagePtr::place));
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  for (std::size_t i = 0; i < inHand_; ++i) {
    handedOut_.erase(line_[i]->id);
    if (items[i].isSuspect) last = line_[i]->position;
  }
  inHand_ = suspects_ = 0;
  hasSuccessor_ = false;
  std::inplace_merge(line_.begin(), line_.begin() + static_cast<std::ptrdiff_t>(items.size()), line_.end(),
                     [](const MessagePtr& a, const MessagePtr& b) { return a->position < b->position; });
  suspects_ = static_cast<std::size_t>(std::upper_bound(line_.begin(), line_.end(), last, comesBefore) - line_.begin());
}

}  // namespace tenure::supply
