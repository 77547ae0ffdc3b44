// The machine's way of at most once: a message is taken, key and acknowledgement durable, before its handler starts.
// Then it is this term's alone, and no other term will see it: whatever else happens to it is said, as a dead letter
// where the store takes one, as an event where it does not.
#include <algorithm>

#include "consumer/consumer_machine.hpp"
#include "consumer/errors.hpp"

namespace tenure::consuming {
Action ConsumerMachine::take(const Moment& moment) {
  taking_ = true;
  return settle(moment);
}

/// A stop does not keep it from its turn: nobody else would give it one. What begins again after it was postponed may
/// have to wait for its rate limit once more.
Action ConsumerMachine::proceedWithTaken(const Moment& moment) {
  if (taken_->done) return closeTaken(moment);
  const bool troubled = !taken_->trouble.empty();
  const bool heldBack = !troubled && isHeldBack(moment);
  const BootTime turn = heldBack ? std::max(notBefore_, throttle_.mayGo(head().group, moment.now)) : notBefore_;
  const bool waits = moment.now < turn;
  if (!troubled && !waits && moment.mayBegin) return needsTurn() ? ask(Step::turn, TakeTurn{}) : run(moment);
  if (!moment.stopAsked && (waits || !troubled)) return waitFor(waits ? turn : moment.now + softLimitPause, moment);
  if (moment.stopAsked && storeIsAway()) return quit(trouble_);
  return takenFailed(troubled ? taken_->trouble : "its leader left before its turn came", moment);
}

/// All that is left is to write that nothing is in work.
Action ConsumerMachine::closeTaken(const Moment& moment) {
  if (moment.stopAsked && storeIsAway()) return quit(trouble_);
  return moment.now < notBefore_ ? waitFor(notBefore_, moment) : settle(moment);
}

Action ConsumerMachine::takenFailed(const std::string& why, const Moment& moment) {
  taken_->trouble = why;
  return bury(why, taken_->begun ? 1 : 0, false, moment);
}

/// The handler has had its one start: what the store did not take becomes a dead letter when the store is back. What an
/// external handler has done is done.
Action ConsumerMachine::takenRefused(const Error& error, const Moment& moment) {
  if (!taken_->done && taken_->trouble.empty())
    taken_->trouble = "the store did not take its effect: " + error.message();
  forgetTransaction();
  return isTransient(error) || isRefusal(error) || error.is(Errc::undone) ? troubled(false, error, moment)
                                                                          : quit(error);
}

/// The commit that takes it may or may not have happened. If it has, nobody will see the message again.
void ConsumerMachine::forgoWhatMayBeTaken(const std::string& why) {
  if (!taking_ || outcomeKnown_) return;
  taking_ = false;
  news_.push_back(MessageForgone{window().front().id.value, "it may have been taken: " + why});
}

void ConsumerMachine::lose(const std::string& why) {
  forgoWhatMayBeTaken(why);
  forgo(why);
}

void ConsumerMachine::forgo(const std::string& why) {
  if (!taken_) return;
  if (taken_->done) return taken_.reset();
  news_.push_back(MessageForgone{taken_->message.id.value, taken_->trouble.empty() ? why : taken_->trouble});
  taken_.reset();
}

}  // namespace tenure::consuming
