#include "consumer/taken_delivery.hpp"

namespace tenure::consuming {

using Decision = Delivery::Decision;

Decision TakenDelivery::keyIsNew(bool, const Now&) {
  state_.pendingWrites.takes = true;
  return Settled{};
}

/// A taken message stays, and its lane waits.
Decision TakenDelivery::heldBack(BootTime until) {
  if (!taken_) return Delivery::heldBack(until);
  notBefore_ = until;
  return GoesOn{};
}

/// A taken message starts in spite of a stop or a pause: it is acknowledged, so no later leader gets it. After a
/// postponement it may have to wait for its rate limit once more.
Decision TakenDelivery::goOn(const Head& head, BootTime notBefore, const Now& now) {
  head_ = head;
  head_.message = taken_->message;
  const bool waits = now.boot < notBefore;
  if (taken_->done) {  // all that is left is to write that nothing is in work
    if (now.stopAsked && head_.storeIsAway) return Ends{};
    return waits ? Decision(Waits{notBefore}) : Settled{};
  }
  const bool troubled = !taken_->trouble.empty();
  if (!troubled && !waits && now.mayFinish) return needsTurn() ? askForTurn() : run(now);
  constexpr std::chrono::milliseconds pause{20};
  if (!now.stopAsked && (waits || !troubled)) return Waits{waits ? notBefore : now.boot + pause};
  if (now.stopAsked && head_.storeIsAway) return Ends{};
  return failed(troubled ? taken_->trouble : "its leader left before its turn came", now);
}

/// The store has no effect to refuse where the handler is external, its answer has none, or the message was skipped.
Decision TakenDelivery::handled() {
  taken_->done = state_.options.handlerIsExternal || isWithoutEffects_ || skipped_.has_value();
  return Settled{};
}

Decision TakenDelivery::attemptFailed(const Outcome& outcome, const Now& now) {
  return taken_ ? failed(outcome.reason, now) : Delivery::attemptFailed(outcome, now);
}

/// A message that others held up before it was taken is postponed like any other.
void TakenDelivery::notePostponed(const std::string& why, const Postponements& so, std::chrono::milliseconds wait,
                                  const Now& now) {
  if (!taken_) return Delivery::notePostponed(why, so, wait, now);
  taken_->begun = false;
}

Decision TakenDelivery::failed(const std::string& why, const Now& now) {
  head_.message = taken_->message;
  taken_->trouble = why;
  return deadLetter(why, taken_->begun ? 1 : 0, false, now);
}

void TakenDelivery::refused(const Error& error) {
  if (!taken_->done && taken_->trouble.empty())
    taken_->trouble = "the store did not take its effect: " + error.message();
}

MessagePtr TakenDelivery::close() {
  runIsDurable();
  return std::exchange(taken_, std::nullopt)->message;
}

void TakenDelivery::forgo(const std::string& why) {
  if (!taken_->done)
    state_.tell(MessageForgone{taken_->message->id.value, taken_->trouble.empty() ? why : taken_->trouble});
  taken_.reset();
}

}  // namespace tenure::consuming
