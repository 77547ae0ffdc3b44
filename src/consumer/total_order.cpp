#include "consumer/total_order.hpp"

#include <algorithm>
#include <utility>

namespace tenure::consuming {

TotalOrder::TotalOrder(const ConsumerOptions& options) : looks_(options.delivery != Guarantee::atMostOnce) {
  if (options.coalesce == Coalesce::byKey) coalescer_.emplace(options.coalesceKey, options.coalesceAhead);
}

void TotalOrder::recalled(const InWork& left, const RecoveryWindow& theirs) {
  if (!looks_) return;  // whatever was in work is either taken or was not begun
  scan_.named = {left.ids.begin(), left.ids.end()};
  const bool namedByLanes = theirs.lanes > 0 && !scan_.named.empty();
  horizon_ = std::max(namedByLanes ? theirs.window : scan_.named.size(), left.more ? theirs.unrecordedWindow : 0);
  // If unnamed messages may be in work, the named ones stand for no others: one behind each may be in work as well.
  if (left.more) scan_.first = theirs.unrecordedWindow + (coalescer_ ? scan_.named.size() : 0);
}

void TotalOrder::attached(const std::optional<std::vector<MessageId>>& suspects) {
  if (coalescer_) coalescer_->clear();
  waiting_ = {};
  read_ = inHand_ = 0;
  isScanned_ = dry_ = asked_ = false;
  if (!suspects) return;
  scan_ = {.named = {suspects->begin(), suspects->end()}};
  horizon_ = scan_.named.size();
}

bool TotalOrder::mustReadOn() const noexcept {
  if (isScanned_ || dry_ || horizon_ == 0) return false;
  // Of those that a predecessor coalesced it may have begun one that is far behind.
  return coalescer_ ? coalescer_->mayReadOn() : read_ < horizon_;
}

std::size_t TotalOrder::wants(std::size_t atMost) const noexcept {
  if (coalescer_) return supply::Coalescer::page;
  return std::max(atMost, horizon_ - std::min(horizon_, read_));
}

/// If exactly one message was in work, none behind it was: it runs once more, for all that wait by now. A finished run
/// must not coalesce later messages, even if redelivered.
void TotalOrder::receive(supply::Arrivals arrivals, const std::optional<MessageId>& ran) {
  asked_ = true;
  dry_ = arrivals.isDry;
  std::vector<Message>& messages = arrivals.messages;
  if (coalescer_) {
    using Named = supply::Coalescer::Named;
    std::unordered_set<MessageId> named = scan_.named;
    if (ran) named.insert(*ran);
    const bool wasTheOnlyOne = scan_.named.size() == 1 && scan_.first == 0 && !ran;
    coalescer_->sift(messages, named, wasTheOnlyOne ? Named::standForOthers : Named::standAlone);
  }
  for (std::size_t i = 0; i < messages.size(); ++i) read_ += arrivals.standingOf(i).isKept ? 0 : 1;
  if (waiting_.messages.empty()) {
    waiting_ = std::move(arrivals);
    return;
  }
  waiting_.messages.insert(waiting_.messages.end(), std::move_iterator(messages.begin()),
                           std::move_iterator(messages.end()));
  waiting_.standings.insert(waiting_.standings.end(), arrivals.standings.begin(), arrivals.standings.end());
}

Assignment TotalOrder::take() {
  supply::Arrivals waiting = std::exchange(waiting_, {});
  inHand_ += waiting.messages.size();
  Assignment assignment{.messages = std::move(waiting.messages), .standings = std::move(waiting.standings)};
  assignment.areCounted = limitsAnything();
  assignment.asked = std::exchange(asked_, false);
  assignment.dry = dry_;
  assignment.mayReadOn = !coalescer_ || coalescer_->mayReadOn();
  if (!std::exchange(isScanned_, true)) {
    assignment.scan = std::exchange(scan_, {});
    horizon_ = 0;
  }
  return assignment;
}

std::vector<Message> TotalOrder::begin(const Message& message, BootTime now) {
  throttle_.went(message.group, now);
  if (!coalescer_) return {};
  coalescer_->begins(message);
  return coalescer_->others(message);
}

Receipt TotalOrder::done(const Acknowledge& done) {
  Receipt receipt;
  inHand_ -= std::min(inHand_, done.settled.size());
  if (!coalescer_) return receipt;
  for (const MessagePtr& message : done.settled) {
    const bool isDropped = std::ranges::find(done.dropped, message->position) != done.dropped.end();
    if (isDropped)
      coalescer_->dropped(*message);
    else
      coalescer_->ran(*message);
    receipt.readAgain = receipt.readAgain || coalescer_->leavesStubs();
    for (Message& successor : coalescer_->left({&*message, 1})) receipt.successors.push_back(std::move(successor));
  }
  receipt.mayReadOn = coalescer_->mayReadOn();
  return receipt;
}

}  // namespace tenure::consuming
