// The machine's way with a handler of many: consecutive new messages are admitted one after the other and wait for each
// other, then one call does them all, and the batch is committed. What is not plain about a message ends the run before
// it: it is a suspect, has failed before, is unfit, or has a key. A run whose handler is not done with it charges
// nobody: all of it is undone, and each message comes alone.
#include "consumer/consumer_machine.hpp"
#include "consumer/fitness.hpp"

namespace tenure::consuming {

/// May the head be handled with its neighbours?
bool ConsumerMachine::joins(const Moment& moment) const {
  const std::size_t taken = settled_ + joined_;
  if (!together_ || taken < apart_ || suspects_ > 0 || taken >= remaining()) return false;
  if (held_ > 0 && taken >= held_) return false;
  if (sequencer_ && sequencer_->turnOf(head()) > pipeline::Turn::next) return false;
  if (taken >= granted_ || taken >= sizer_.size() || moment.transactionIsFull) return false;
  const bool lonely = joined_ == 0 && (remaining() - taken < 2 || granted_ - taken < 2 || sizer_.size() - taken < 2);
  if (lonely || takesFirst() || storeIsAway() || !unacknowledged_.empty() || ran_) return false;
  if (collapses() || throttle_.limitsAnything() || areCounted_) return false;  // they look at each one
  return unfitness(head()).empty() && attemptsOf(head().id) == nullptr && !(refused_ && refused_->id == head().id);
}

Action ConsumerMachine::join(const Moment& moment) {
  noticeHorizon(moment);
  if (dedups()) {
    joining_ = true;
    return ask(Step::admit, Admit{.mark = false});
  }
  return joinHead(moment);
}

/// Its number is past for the one behind it.
Action ConsumerMachine::joinHead(const Moment& moment) {
  if (sequencer_) sequencer_->settle(head(), moment.wall);
  ++joined_;
  log_.began(moment.wall);
  return joinOrRun(moment);
}

/// Nothing has happened yet but keys in the transaction: a leader that leaves gives them up.
Action ConsumerMachine::joinOrRun(const Moment& moment) {
  if (moment.stopAsked || !moment.mayBegin) return startOver();
  if (joins(moment)) return join(moment);
  return ask(Step::run, HandleTogether{});
}

Action ConsumerMachine::admittedToJoin(Admission admission, const Moment& moment) {
  joining_ = false;
  if (admission == Admission::fresh) return joinHead(moment);
  if (joined_ > 0) return ask(Step::run, HandleTogether{});  // it is asked about again when those are done
  return dropKnown(admission, moment);  // no mark stands before it: what it would undo belongs to those before
}

Action ConsumerMachine::ranTogether(const Outcome& outcome, const Moment& moment) {
  if (outcome.kind == Outcome::Kind::done) {
    for (const Message& message : window().subspan(settled_, joined_))
      log_.ended(message.id, 1, AttemptEnd::done, {}, moment.wall);
    settled_ += joined_;
    succeeded_ = true;
    joined_ = 0;
    batchEnds_ = true;
    return proceed(moment);
  }
  news_.push_back(BatchSplit{joined_, outcome.reason});
  separate();
  return startOver();
}

}  // namespace tenure::consuming
