// The machine's part that every message goes through: from its turn to its end, or back to its place.
#include "consumer/charges.hpp"
#include "consumer/consumer_machine.hpp"
#include "consumer/fitness.hpp"

namespace tenure::consuming {
namespace {

using namespace std::chrono_literals;

}  // namespace

Action ConsumerMachine::beginHead(const Moment& moment) {
  if (streak_.isStopped()) return standDown(moment);
  if (streak_.isLeftOver()) return commit(moment);  // before anything new is recorded in its place
  if (mustBeRecorded()) return commit(moment);
  if (settled_ == 0) batchBegan_ = moment.now;
  if (wasCommittedBefore()) {
    pending_.push_back(DuplicateDropped{head().id.value});
    return settle(moment, false);
  }
  if (joins(moment)) return join(moment);
  if (const std::string_view why = unfitness(head()); !why.empty())
    return hasUnknownTurn() ? ask(Step::consult, Consult{}) : refuse(why, moment);  // its number is past with it
  if (refused_ && refused_->id == head().id) return refusedByStore(moment);
  if (const auto turn = findTurn(moment)) return *turn;
  if (isReleased()) return letGo(moment);
  if (blockade_.any() && blockade_.holds(head().id) && !blockade_.mayGo(head().id, moment.now))
    return standStill(moment);

  if (isHeldBack(moment))
    return settled_ > 0 ? commit(moment) : waitFor(throttle_.mayGo(head().group, moment.now), moment);
  noticeHorizon(moment);
  if (namesEach() && granted_ == 0 && ran_ != head().id) return commit(moment);  // it is named with that
  if (takesFirst()) return needsTurn() ? ask(Step::turn, TakeTurn{}) : admit();
  if (!dedups()) return beginWithoutKey(moment);
  if (beginsUnlocked() && !checked_) return ask(Step::check, Check{});
  const bool onlyItsKeyIsLeft = known_ || ran_ == head().id;
  if (onlyItsKeyIsLeft) return admit();
  if (needsTurn()) return ask(Step::turn, TakeTurn{});
  if (suspect() && !charged()) return charge(moment);
  return beginsUnlocked() ? run(moment) : admit();
}

/// A key that is already part of it, or a handler that has run, waits for nothing.
bool ConsumerMachine::isHeldBack(const Moment& moment) {
  if (!throttle_.limitsAnything() || ran_ == head().id) return false;
  const BootTime turn = throttle_.mayGo(head().group, moment.now);
  if (turn <= moment.now) return false;
  tellHeldBack(turn, moment);
  return true;
}

void ConsumerMachine::tellHeldBack(BootTime turn, const Moment& moment) {
  if (heldBack_ == head().id) return;
  heldBack_ = head().id;
  news_.push_back(MessageHeldBack{head().id.value, head().group.value,
                                  std::chrono::ceil<std::chrono::milliseconds>(turn - moment.now)});
}

/// The first that is another one says that the rest was acknowledged after all.
bool ConsumerMachine::wasCommittedBefore() {
  if (held_ > 0 || settled_ >= unacknowledged_.size()) return false;
  const auto& [id, digest] = unacknowledged_[settled_];
  if (head().id == id && digestOf(head().body) == digest) return true;
  unacknowledged_.resize(settled_);
  return false;
}

/// A store that was away is asked for something first, or the handler would be run in vain.
Action ConsumerMachine::beginWithoutKey(const Moment& moment) {
  if (storeIsAway() && !checked_) return ask(Step::check, Check{});
  if (ran_ == head().id) return settle(moment);
  if (needsTurn()) return ask(Step::turn, TakeTurn{});
  if (suspect() && !charged()) return charge(moment);
  return run(moment);
}

/// It was buried before when its acknowledgement did not get through: a foreign source delivers it again.
Action ConsumerMachine::refuse(std::string_view why, const Moment& moment) {
  const bool hasKey = dedups() && isFit(head().id);
  if (hasKey && settled_ > 0) return commit(moment);
  if (hasKey && !checked_) return ask(Step::check, Check{});
  return known_ ? admit() : bury(why, 0, hasKey, moment);
}

/// What it holds against a message need not last, but only who blocks waits to see.
Action ConsumerMachine::refusedByStore(const Moment& moment) {
  const std::string why = refused_->lastError;
  if (!blocks()) return bury(why, attemptNumber() - 1, false, moment);
  refused_.reset();
  return attemptFailed(Outcome::failed(why), moment);
}

/// Its key is asked for by itself: it may have come meanwhile.
Action ConsumerMachine::letGo(const Moment& moment) {
  if (settled_ > 0) return commit(moment);
  if (dedups() && !checked_) return ask(Step::check, Check{});
  if (known_) return admit();
  const AttemptRecord& record = attempts_.at(head().id);
  return bury("released: " + record.lastError, record.attempts, true, moment);
}

/// It waits for its next attempt, or for an operator's word.
Action ConsumerMachine::standStill(const Moment& moment) {
  if (settled_ > 0) return commit(moment);
  const MessageId& id = head().id;
  if (blockade_.isQuestionDue(id, moment.now)) {
    blockade_.asked(id, moment.now);
    return ask(Step::inquire, Inquire{});
  }
  const BootTime until = blockade_.nextStep(id);
  if (!parks()) return waitFor(until, moment);
  parkUntil_ = until;
  return proceed(moment);
}

/// Until an operator lets us go on.
Action ConsumerMachine::standDown(const Moment& moment) {
  if (settled_ > 0) return commit(moment);
  if (moment.now < nextWord_) return waitFor(nextWord_, moment);
  nextWord_ = moment.now + 1s;
  return ask(Step::inquire, Inquire{});
}

Action ConsumerMachine::inquired(const ConsumerState& found, const Moment& moment) {
  endOutage(false, moment);
  if (streak_.isStopped()) {
    if (streak_.heard(noteIn(found.attempts, deadInARow()))) news_.push_back(ConsumerResumed{});
    return proceed(moment);
  }
  for (const AttemptRecord& attempt : found.attempts)
    if (attempt.id == head().id && attempt.standing == Standing::released)
      attempts_.at(head().id).standing = Standing::released;
  return proceed(moment);
}

/// While the store is away its lock comes first, or the handler would be run in vain.
bool ConsumerMachine::beginsUnlocked() const noexcept {
  return options_.handlerIsExternal || (settled_ == 0 && !storeIsAway());
}

Action ConsumerMachine::checked(bool known, const Moment& moment) {
  checked_ = true;
  known_ = known && dedups();
  return proceed(moment);
}

/// Makes the attempt at a suspect durable before its handler starts.
Action ConsumerMachine::charge(const Moment& moment) {
  const int attempt = attemptNumber();
  const AttemptRecord* before = attemptsOf(head().id);
  const bool died = before != nullptr && before->lastError == processDied;
  if (attempt > options_.maxAttempts) {
    if (!blocks()) {
      if (died) log_.died(*before);
      const std::string why = died ? std::string(processDied) + " during its last attempt" : before->lastError;
      return bury(why, attempt - 1, true, moment);
    }
    if (!blockade_.holds(head().id)) return spareProcess(moment);
  }
  if (died) {  // and nobody was left to tell
    pending_.push_back(AttemptFailed{head().id.value, before->attempts, before->lastError, 0ms});
    log_.died(*before);
  }
  before_ = before != nullptr ? std::optional(*before) : std::nullopt;
  record(head().id, attempt, begunBy(token_), moment);
  charging_ = true;
  pending_.push_back(MessageSuspected{head().id.value, attempt});
  return commit(moment);
}

/// Its handler did not come to an end of its own.
void ConsumerMachine::takeBackCharge() {
  if (before_ && (before_->attempts > 0 || postponedIn(*before_)))
    toRecord_ = before_;
  else
    toForgive_ = charged_;
}

/// Each attempt costs a process: the next one comes as late as any.
Action ConsumerMachine::spareProcess(const Moment& moment) {
  record(head().id, attemptNumber() - 1, attemptsOf(head().id)->lastError, moment);
  toRecord_->standing = Standing::blocked;
  return commit(moment);
}

Action ConsumerMachine::admit() { return ask(Step::admit, Admit{.mark = !marked_}); }

Action ConsumerMachine::admitted(Admission admission, const Moment& moment) {
  if (joining_) return admittedToJoin(admission, moment);
  const bool ranInTransaction = marked_;
  marked_ = admitted_ = true;
  if (admission == Admission::duplicate && ranInTransaction) return startOver();
  if (admission != Admission::fresh) return dropKnown(admission, moment);
  if (takesFirst()) return take(moment);
  if (ranInTransaction || ran_ == head().id) return settle(moment);
  return options_.handlerIsExternal ? startOver() : run(moment);
}

/// The head's key came or went after it was looked up: once more, without the store's lock.
Action ConsumerMachine::startOver() {
  pending_.clear();
  return ask(Step::abandon, Abandon{});
}

/// Its key is there already, and says that its body is the same, or another one.
Action ConsumerMachine::dropKnown(Admission admission, const Moment& moment) {
  if (admission == Admission::reused)
    return bury("its id was used before with another body", attemptNumber() - 1, false, moment);
  pending_.push_back(DuplicateDropped{head().id.value});
  return settle(moment, false);
}

Action ConsumerMachine::run(const Moment& moment) {
  runBegan_ = moment.now;
  log_.began(moment.wall);
  throttle_.went(head().group, moment.now);
  unusedTokens_.erase(head().id);
  turn_.reset();
  if (collapser_) collapser_->begins(head());
  skipped_.reset();
  if (taken_) taken_->begun = true;
  const bool marks = !options_.handlerIsExternal && !marked_;
  marked_ = marked_ || marks;
  return ask(Step::run, Handle{.attempt = attemptNumber(), .mark = marks});
}

Action ConsumerMachine::ran(const Outcome& outcome, const Moment& moment) {
  if (joined_ > 0) return ranTogether(outcome, moment);
  lastRun_ = moment.now - runBegan_;
  switch (outcome.kind) {
    case Outcome::Kind::done: logEnd(AttemptEnd::done, {}, moment); return handled(moment);
    case Outcome::Kind::skip: return skip(outcome, moment);
    case Outcome::Kind::retryLater: return postpone(outcome, moment);
    case Outcome::Kind::failed: return attemptFailed(outcome, moment);
    case Outcome::Kind::reject: break;
  }
  if (taken_) return takenFailed(outcome.reason, moment);
  logEnd(AttemptEnd::rejected, outcome.reason, moment);
  return bury(outcome.reason, attemptNumber(), true, moment);
}

Action ConsumerMachine::skip(const Outcome& outcome, const Moment& moment) {
  skipped_ = MessageSkipped{head().id.value, outcome.reason};
  logEnd(AttemptEnd::skipped, outcome.reason, moment);
  return marked_ ? ask(Step::undo, Undo{}) : handled(moment);
}

Action ConsumerMachine::handled(const Moment& moment) {
  if (taken_) taken_->done = options_.handlerIsExternal;
  if (admitted_ || taken_) return settle(moment);
  if (options_.handlerIsExternal) ran_ = head().id;
  return dedups() ? admit() : settle(moment);
}

/// `ran`: it has had its run, which stands for those that it collapsed.
Action ConsumerMachine::settle(const Moment& moment, bool ran) {
  succeeded_ = succeeded_ || (ran && !taking_);
  if (collapses()) settleOthers(ran);
  if (const AttemptRecord* before = attemptsOf(head().id)) {
    if (before->standing != Standing::retrying)
      pending_.push_back(QueueUnblocked{head().id.value, step_ == Step::bury ? "dead_lettered" : "done"});
    toForgive_ = head().id;
    batchEnds_ = true;
  }
  if (!postponements_.empty() && postponements_.erase(head().id) > 0) notes_->stuck.over(head().id);
  if (skipped_ && skipped_->message == head().id.value && step_ != Step::bury) pending_.push_back(*skipped_);
  checked_ = known_ = marked_ = admitted_ = false;
  if (taken_) return commit(moment);
  if (sequencer_) sequencer_->settle(head(), moment.wall);
  ++settled_;
  return proceed(moment);
}

void ConsumerMachine::settleOthers(bool ran) {
  if (!ran) collapser_ ? collapser_->dropped(head()) : company_.dropped(head());
  if (collapser_ && collapser_->leavesHeirs()) batchEnds_ = true;  // they come next
  const std::size_t others = !ran ? 0 : collapser_ ? collapser_->ran(head()) : company_.ran(head());
  if (others > 0) pending_.push_back(RequestsCollapsed{head().id.value, others});
}

Action ConsumerMachine::attemptFailed(const Outcome& outcome, const Moment& moment) {
  if (taken_) return takenFailed(outcome.reason, moment);
  const int attempt = attemptNumber();
  const bool last = attempt >= options_.maxAttempts;
  logEnd(AttemptEnd::failed, outcome.reason, moment);
  if (last && !blocks()) return bury(outcome.reason, attempt, true, moment);
  record(head().id, attempt, outcome.reason, moment);
  const auto wait = last ? options_.retryMax : retryBackoff_.draw(attempt);
  if (last)
    toRecord_->standing = Standing::blocked;
  else
    holdBack(moment.now + wait);
  pending_.push_back(AttemptFailed{head().id.value, attempt, outcome.reason, wait});
  return commit(moment);
}

Action ConsumerMachine::postpone(const Outcome& outcome, const Moment& moment) {
  const Postponements& so = countPostponement(moment);
  const auto wait = outcome.retryAfter > 0ms ? outcome.retryAfter : retryBackoff_.draw(so.times);
  holdBack(moment.now + wait);
  pending_.push_back(MessagePostponed{head().id.value, outcome.reason, wait});
  if (auto stuck = notes_->stuck.postponed(head().id, so, outcome.reason, moment.wall, moment.now))
    pending_.push_back(*std::move(stuck));
  if (taken_)
    taken_->begun = false;
  else if (!moment.stopAsked)  // else it may be its leader's word
    record(head().id, attemptNumber() - 1, postponedText(so, outcome.reason), moment);
  else if (charged())
    takeBackCharge();
  logEnd(AttemptEnd::postponed, outcome.reason, moment);
  if (settled_ > 0 || toRecord_ || toForgive_ || !log_.lines().empty() || namesEach()) return commit(moment);
  return ask(Step::abandon, Abandon{});
}

/// Where an earlier term has recorded some, they count on.
const Postponements& ConsumerMachine::countPostponement(const Moment& moment) {
  const auto [known, isNew] = postponements_.try_emplace(head().id, Postponements{0, moment.wall});
  if (const AttemptRecord* before = attemptsOf(head().id); isNew && before != nullptr)
    if (const auto recorded = postponedIn(*before)) known->second = *recorded;
  ++known->second.times;
  return known->second;
}

Action ConsumerMachine::bury(std::string_view reason, int attempts, bool withKey, const Moment& moment) {
  reason_ = reason;
  buriedAfter_ = attempts;
  const AttemptRecord* before = attemptsOf(head().id);
  const WallTime firstAt = before != nullptr ? before->firstAt : moment.wall;
  return ask(Step::bury, Bury{reason_, attempts, firstAt, marked_, withKey && dedups()});
}

/// What an operator has let go is no slip of his.
void ConsumerMachine::noteDeath(const Moment& moment) {
  if (!taken_ && isReleased()) return;
  if (std::exchange(succeeded_, false)) streak_.broken();
  const Streak::Death death = streak_.died(head().id, reason_, moment.wall);
  if (death.counted) ++deaths_;
  if (death.stops) pending_.push_back(ConsumerStopped{streak_.record().attempts, reason_});
}

/// Nullptr: the store knows it already.
const AttemptRecord* ConsumerMachine::streakToBook() {
  const bool isBroken = succeeded_ && deaths_ == 0 && streak_.counts() && !streak_.isStopped();
  if (deaths_ == 0 && !isBroken && !streak_.isLeftOver()) return nullptr;
  streakRecord_ = isBroken ? noteCalled(deadInARow()) : streak_.record();
  return &streakRecord_;
}

void ConsumerMachine::logEnd(AttemptEnd end, const std::string& why, const Moment& moment) {
  if (log_.isKept()) log_.ended(head().id, attemptNumber(), end, why, moment.wall);
}

const AttemptRecord* ConsumerMachine::attemptsOf(const MessageId& id) const {
  if (attempts_.empty()) return nullptr;
  const auto found = attempts_.find(id);
  return found == attempts_.end() ? nullptr : &found->second;
}

bool ConsumerMachine::isReleased() const {
  const AttemptRecord* before = attemptsOf(head().id);
  return before != nullptr && before->standing == Standing::released;
}

/// Of the head's attempt that runs or comes next.
int ConsumerMachine::attemptNumber() const {
  const AttemptRecord* before = attemptsOf(head().id);
  if (before == nullptr) return 1;
  return charged() ? before->attempts : before->attempts + 1;
}

void ConsumerMachine::record(const MessageId& id, int attempts, const std::string& error, const Moment& moment) {
  const AttemptRecord* before = attemptsOf(id);
  toRecord_ = AttemptRecord{id, attempts, error, moment.wall, moment.wall};
  if (before == nullptr) return;
  toRecord_->firstAt = before->firstAt;
  toRecord_->standing = before->standing;
}

}  // namespace tenure::consuming
