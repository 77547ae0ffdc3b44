// The machine's second half: the transaction, from its first message to the commit, and what becomes of it when
// something fails.
#include <algorithm>

#include "base/assert.hpp"
#include "consumer/consumer_machine.hpp"
#include "consumer/errors.hpp"

namespace tenure::consuming {
bool ConsumerMachine::batchIsOver(const Moment& moment) const noexcept {
  const bool lastHeld = held_ > 0 && settled_ == held_;
  if (batchEnds_ || lastHeld || settled_ >= granted_ || settled_ >= sizer_.size() || suspects_ > 0) return true;
  if (moment.stopAsked || !moment.mayBegin || moment.transactionIsFull) return true;
  // The next message is expected to take as long as the last one.
  return moment.now - batchBegan_ + lastRun_ >= sizer_.workLimit(settled_);
}

/// Where each is named when it begins, one that failed in good order has to answer for nothing while it waits.
std::size_t ConsumerMachine::suspectsAfterCommit() const noexcept {
  const bool cameHome = settled_ == 0 && !charging_ && (toRecord_ || toForgive_);
  if (namesEach() && suspects_ == 1 && cameHome) return 0;
  return suspects_ - std::min(suspects_, settled_);
}

/// Whoever waits, for whatever, is not in work.
bool ConsumerMachine::headWaits(const Moment& moment) const {
  if (!namesEach()) return false;
  const bool failed = toRecord_ && !charging_;
  return failed || moment.now < notBefore_ || (settled_ > 0 && throttle_.limitsAnything());
}

Action ConsumerMachine::commit(const Moment& moment) {
  checkInvariants();
  glanceAtClock(moment);
  const bool closing = phase_ == Phase::leaving || moment.stopAsked || takesFirst() || headWaits(moment);
  const std::size_t next = remaining() - settled_;
  const std::size_t suspectsLeft = suspectsAfterCommit();
  // The records of a predecessor's lanes stand until this term has declared how far it goes itself.
  const bool named = role_ == Role::alone && suspectsLeft > theirs().front && theirs().lanes > 0;
  const std::size_t wanted = named ? theirs().front : suspectsLeft > 0 ? suspectsLeft : closing ? 0 : sizer_.size();
  // Who comes next is not in the window, or the lanes have him when what is left here is parked.
  const bool elsewhere = (collapser_ && collapser_->leavesHeirs()) || (sequencer_ && sequencer_->readies()) ||
                         (role_ == Role::recovery && !closing) || named;
  const bool leavesOpen = role_ != Role::lane && (!namesEach() || suspectsLeft > 0);
  const bool areTheirs = suspectsLeft > 0 && !(namesEach() && charging_);
  booking_ = Commit{.settled = settled_,
                    .inWork = std::min(wanted, next),
                    .more = leavesOpen && (next < wanted || (elsewhere && wanted > 0)),
                    .undo = marked_,
                    .acknowledge = held_ == 0,
                    .record = toRecord_ ? &*toRecord_ : nullptr,
                    .forgive = toForgive_ ? &*toForgive_ : nullptr,
                    .log = log_.lines(),
                    .clock = lookToBook_ ? &*lookToBook_ : nullptr,
                    .streak = streakToBook(),
                    .suspectsOf = areTheirs ? std::optional(suspectsOf_) : std::nullopt};
  commitBegan_ = moment.now;
  return ask(Step::commit, booking_);
}

Action ConsumerMachine::committed(const Moment& moment) {
  endOutage(false, moment);
  if (outcomeKnown_) sizer_.committed(settled_, commitBegan_ - batchBegan_, moment.now - commitBegan_);
  outcomeKnown_ = recorded_ = true;
  undoneBefore_ = false;
  log_.committed();
  if (toForgive_) {
    attempts_.erase(*toForgive_);
    blockade_.lift(*toForgive_);
  }
  if (toRecord_) noteAttempt(moment);
  if (booking_.streak != nullptr) streak_.kept();
  lookToBook_.reset();
  if (succeeded_ && deaths_ == 0) streak_.broken();
  deaths_ = 0;
  succeeded_ = false;
  if (charging_)
    charged_ = toRecord_->id;
  else if (toForgive_ || toRecord_)
    charged_.reset();
  tellCommitted(moment);
  if (sequencer_) sequencer_->committed();
  suspects_ = suspectsAfterCommit();
  granted_ = suspects_ > 0 ? suspects_ : booking_.more || takesFirst() ? limit_ : booking_.inWork;
  ledger_ = booking_.inWork > 0 || booking_.more ? Ledger::open : Ledger::closed;
  topped_ = false;
  if (settled_ > 0 && !shared_ && booking_.acknowledge) return ask(Step::acknowledge, Acknowledge{settled_});
  return acknowledged(moment);
}

void ConsumerMachine::noteAttempt(const Moment& moment) {
  attempts_.insert_or_assign(toRecord_->id, *toRecord_);
  if (toRecord_->standing != Standing::blocked || charging_ || phase_ == Phase::leaving) return;
  auto news = blockade_.raise(head(), *toRecord_, moment.now, options_.retryMax);
  if (news) pending_.push_back(*std::move(news));
}

void ConsumerMachine::tellCommitted(const Moment& moment) {
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(moment.now - commitBegan_);
  if (settled_ > 0) ran_.reset();
  if (taking_) {
    taken_ = Taken{window().front()};
  } else if (taken_) {
    unusedTokens_.erase(taken_->message.id);
    pending_.push_back(BatchCommitted{1, std::exchange(taken_, std::nullopt)->message.position, took, 1});
  } else if (settled_ > 0)
    pending_.push_back(BatchCommitted{settled_, window()[settled_ - 1].position, took, sizer_.size()});
  tellPending();
}

Action ConsumerMachine::acknowledged(const Moment& moment) {
  const std::size_t known = held_ > 0 ? 0 : std::min(settled_, unacknowledged_.size());
  unacknowledged_.erase(unacknowledged_.begin(), unacknowledged_.begin() + static_cast<std::ptrdiff_t>(known));
  const bool orphans = collapser_ && collapser_->leavesOrphans();
  std::vector<Message> heirs;
  if (collapser_) heirs = collapser_->left(window().first(settled_));
  if (!unusedTokens_.empty() && !taking_)
    for (const Message& message : window().first(settled_)) unusedTokens_.erase(message.id);
  held_ -= std::min(held_, settled_);
  first_ += settled_;
  apart_ -= std::min(apart_, settled_);
  forgetTransaction();
  // Where each is named when it begins, a record that names nobody does not say that the term is over.
  const bool goesOn = ledger_ == Ledger::open || namesEach();
  if (goesOn && (orphans || (suspects_ > 0 && !heirs.empty())))
    readAgain();
  else if (goesOn)
    succeed(std::move(heirs));
  return proceed(moment);
}

/// The places of dropped messages are taken by those for which they stood; the record leaves open who comes next.
void ConsumerMachine::succeed(std::vector<Message> heirs) {
  for (Message& heir : heirs) {
    const auto begin = window_.begin() + static_cast<std::ptrdiff_t>(first_);
    const auto place = std::ranges::upper_bound(begin, window_.end(), heir.position, {}, &Message::position);
    window_.insert(place, std::move(heir));
  }
}

/// Those that a dropped message stood for are to be found at the source, at their places. The record names the suspects
/// that are left, or leaves open who comes next.
void ConsumerMachine::readAgain() {
  attached_ = false;
  ledger_ = Ledger::unread;
}

/// What is acknowledged only now may come before them: they are to be found by their ids.
void ConsumerMachine::loseSightOfSuspects() {
  if (suspects_ == 0) return;
  for (const Message& suspect : window().first(suspects_)) inWork_.insert(suspect.id);
  suspects_ = 0;
  ledger_ = Ledger::unread;
}

/// What the open transaction knew. Its messages are the window's first again.
void ConsumerMachine::forgetTransaction() noexcept {
  if (collapser_) collapser_->undone();
  company_.forget();
  settled_ = joined_ = 0;
  streak_.undone(std::exchange(deaths_, 0));
  succeeded_ = false;
  batchEnds_ = charging_ = taking_ = false;
  joining_ = checked_ = known_ = marked_ = admitted_ = false;
  toRecord_.reset();
  toForgive_.reset();
  log_.undone();
  pending_.clear();
  if (sequencer_) sequencer_->undone();
}

// --- answers without a value, and failures

Action ConsumerMachine::did(const Moment& moment) {
  switch (step_) {
    case Step::claim:
      claimed_ = true;
      endOutage(false, moment);
      break;
    case Step::declare:
      declared_ = own_;
      endOutage(false, moment);
      break;
    case Step::attach:
      attached_ = true;  // an outage of the source is over when it delivers
      loseSightOfSuspects();
      window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(first_));
      window_.resize(held_);
      if (collapser_) collapser_->clear();
      first_ = 0;
      topped_ = dry_ = false;
      break;
    case Step::undo: admitted_ = false; return handled(moment);
    case Step::bury:
      pending_.push_back(MessageDeadLettered{head().id.value, reason_, buriedAfter_});
      noteDeath(moment);
      batchEnds_ = true;
      return settle(moment, false);
    case Step::commit: return committed(moment);
    case Step::acknowledge: return acknowledged(moment);
    case Step::abandon:
      tellPending();
      forgetTransaction();
      break;
    default: break;
  }
  return proceed(moment);
}

Action ConsumerMachine::resolved(CommitFate fate, const Moment& moment) {
  if (std::exchange(repeats_, false)) {  // either way
    outcomeKnown_ = true;
    endOutage(false, moment);
    return proceed(moment);
  }
  if (fate == CommitFate::committed) return committed(moment);
  outcomeKnown_ = true;
  parkUntil_.reset();
  if (taken_) return takenRefused(trouble_, moment);
  forgetTransaction();
  return troubled(false, trouble_, moment);
}

Action ConsumerMachine::failed(const Error& error, const Moment& moment) {
  const bool mayHaveLanded = isOutcomeUnknown(error.code) || step_ == Step::resolve;
  if (!mayHaveLanded) parkUntil_.reset();
  if (phase_ == Phase::leaving) {
    forgo(error.message());
    news_.push_back(Warned{"what is in work could not be cleared: " + error.message()});
    return Return{false};
  }
  if (isTermOver(error.code)) return quit(error);
  if (error.is(Errc::undone) && !taken_) {
    forgetTransaction();
    if (std::exchange(undoneBefore_, true)) return troubled(false, error, moment);
    news_.push_back(Warned{"a batch is handled again: " + error.message()});
    return proceed(moment);
  }
  const bool heardOfHandler = step_ == Step::run || step_ == Step::admit || (step_ == Step::commit && settled_ > 0);
  const bool ofTransaction = error.is(Errc::heldTooLong) || (step_ == Step::run && isRefusal(error));
  if (ofTransaction && heardOfHandler && !taken_) return overstrained(error, moment);
  switch (step_) {
    case Step::attach:
    case Step::fetch:
    case Step::acknowledge: return sourceFailed(error, moment);
    case Step::commit: return commitFailed(error, moment);
    case Step::declare:
    case Step::prune:
    case Step::pruneLog: return sideStepFailed(error, moment);
    case Step::resolve: return isTransient(error) ? troubled(false, error, moment) : quit(error);
    default: return storeFailed(error, moment);
  }
}

/// A handler asked more of its transaction, in time or in size, than the store allows. Alone in it, it has only itself
/// to blame. Else it comes alone next time, when it may compute before it holds anything.
Action ConsumerMachine::overstrained(const Error& error, const Moment& moment) {
  const bool alone = joined_ == 0 && settled_ == (step_ == Step::commit ? 1U : 0U);
  separate();
  forgetTransaction();
  if (alone) return attemptFailed(Outcome::failed(error.message()), moment);
  granted_ = 1;
  return proceed(moment);
}

Action ConsumerMachine::pruned(const Pruned& pruned, const Moment& moment) {
  endOutage(false, moment);
  if (pruned.future)
    doubt(notes_->clock.isLeaders() ? ClockWatch::Whose::leader : ClockWatch::Whose::store,
          notes_->clock.doubt(*pruned.future, moment.wall + clockOffset_));
  pruner_.did(pruned, moment.now);
  looked_ = !pruner_.isBetweenPasses() && !pruned.future;
  if (pruned.future) pruner_.rest(moment.now);
  for (EventBody& body : pruner_.takeNews()) news_.push_back(std::move(body));
  return proceed(moment);
}

Action ConsumerMachine::logPruned(std::size_t removed, const Moment& moment) {
  endOutage(false, moment);
  log_.pruned(removed, moment.now);
  return proceed(moment);
}

Action ConsumerMachine::sideStepFailed(const Error& error, const Moment& moment) {
  if (!isOutcomeUnknown(error.code)) return storeFailed(error, moment);
  trouble_ = error;
  outcomeKnown_ = false;
  repeats_ = true;
  return ask(Step::resolve, Resolve{});
}

/// Whoever repeats a message later than keys are kept has it handled twice; an old one is the sign of it.
void ConsumerMachine::noticeHorizon(const Moment& moment) {
  if (toldOfHorizon_ || !pruner_.isBeyondHorizon(head(), moment.wall)) return;
  toldOfHorizon_ = true;
  news_.push_back(BeyondHorizon{head().id.value, moment.wall - head().enqueuedAt});
}

Action ConsumerMachine::commitFailed(const Error& error, const Moment& moment) {
  if (isOutcomeUnknown(error.code)) {
    trouble_ = error;
    outcomeKnown_ = false;
    return ask(Step::resolve, Resolve{});
  }
  // Too much for one transaction, or against a rule that is checked at its end: its messages one at a time, and the one
  // whose fault it is, aside.
  if (isRefusal(error) && settled_ > 1) {
    separate();
    forgetTransaction();
    granted_ = 1;
    return proceed(moment);
  }
  return storeFailed(error, moment);
}

void ConsumerMachine::tellPending() {
  news_.insert(news_.end(), std::move_iterator(pending_.begin()), std::move_iterator(pending_.end()));
  pending_.clear();
}

void ConsumerMachine::checkInvariants() const {
  TENURE_ASSERT(settled_ <= remaining() && joined_ == 0);
  TENURE_ASSERT(settled_ <= granted_ || namesEach());  // nothing begins that a successor would not find in the record
  TENURE_ASSERT(held_ <= remaining() && (held_ == 0 || settled_ <= held_));  // one or the other in a transaction
  TENURE_ASSERT(suspects_ == 0 || settled_ <= 1);                            // a suspect is alone in its transaction
  TENURE_ASSERT(!toRecord_ || !toForgive_);
  TENURE_ASSERT(!taking_ || (settled_ == 1 && !taken_));
  TENURE_ASSERT(!taken_ || settled_ == 0);
  TENURE_ASSERT(!charging_ || (toRecord_ && settled_ == 0));
}

}  // namespace tenure::consuming
