#include "career/career_machine.hpp"

#include "base/assert.hpp"

namespace tenure::career {

namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using Outcome = PhaseEnded::Outcome;

ExitStatus statusOf(const Error& error) noexcept {
  const bool refused = error.is(Errc::authenticationFailed) || error.is(Errc::permissionDenied);
  return refused ? ExitStatus::authentication : ExitStatus::configuration;
}

/// Another replica may lead by now: what the marker says is no longer ours to decide.
bool isLoss(EndReason reason) noexcept {
  return reason == EndReason::leaseLost || reason == EndReason::sessionExpired || reason == EndReason::znodeDeleted ||
         reason == EndReason::fenced;
}

/// A right that a claim lacks no later term will have either, until an operator grants it; what a handler is refused
/// may be a matter of one message.
bool isFinal(Phase phase, const Error& error) noexcept {
  return isFatal(error.code) || (phase == Phase::inaugurate && error.is(Errc::permissionDenied));
}

/// A career may end its term without having failed: it was asked to, or it noticed a loss before we did.
bool countsAsFailure(const Failure& failure) noexcept {
  switch (failure.reason) {
    case EndReason::handoverAsked:
    case EndReason::stopAsked:
    case EndReason::leaseLost:
    case EndReason::sessionExpired:
    case EndReason::znodeDeleted: return isFatal(failure.error.code);
    default: return true;
  }
}

}  // namespace

std::string_view toString(Phase phase) noexcept {
  switch (phase) {
    case Phase::prepare: return "prepare";
    case Phase::inaugurate: return "inaugurate";
    case Phase::execute: return "execute";
    case Phase::rest: return "rest";
    case Phase::handOver: return "hand_over";
  }
  return "unknown";
}

Actions CareerMachine::on(const Input& input, BootTime now, BootTime progress) {
  if (exited_) return {};
  now_ = now;
  noteProgress(progress);
  std::visit([this](const auto& what) { handle(what); }, input);
  checkInvariants();
  return std::exchange(actions_, {});
}

BootTime CareerMachine::deadline() const noexcept {
  if (exited_) return never;
  if (!leadership_) return std::min(preparation_ ? preparation_->limit : lookAgain_, departureDeadline_);
  const BootTime leadership =
      isOut() ? std::min(leadership_->phaseLimit, leadership_->drainLimit) : leadership_->nextExecute;
  return std::min({leadership, leadership_->worksUntil, departureDeadline_});
}

// --- inputs

void CareerMachine::handle(const Elected& input) {
  if (course_ != Course::contending) return;  // a stop before the inauguration cancels it
  TENURE_ASSERT(!leadership_);
  leadership_ = Leadership{};
  leadership_->term = input.term;
  leadership_->began = now_;
  leadership_->followsRequest = input.askedAt;
  leadership_->hold = input.hold;
  mayPrepare_ = mayCheck_ = isPrepared_ = next_ = false;
  lookAgain_ = never;
  act(Tell{input.term, TermBegan{}});
  if (!preparation_) return run(Phase::inaugurate);
  leadership_->phaseLimit = preparation_->limit;
  leadership_->overran = preparation_->overran;
  stopPreparing();
}

void CareerMachine::handle(const WorkHeld& input) {
  if (!leadership_ || leadership_->term != input.term) return;
  leadership_->hold = input.hold;
  leadership_->isAtRest = leadership_->isAtRest && input.hold == Hold::paused;
  leadership_->pausedThroughout = leadership_->pausedThroughout && input.hold == Hold::paused;
  if (leadership_->waits) goOn();
}

void CareerMachine::handle(const TermLost& input) {
  if (!leadership_ || leadership_->term != input.term) return;
  leadership_->lost = true;
  endTerm(input.reason);
}

void CareerMachine::handle(const HandoverAsked& input) {
  if (!leadership_ || leadership_->term != input.term || leadership_->ending != EndReason::none) return;
  if (!leadership_->askedAt) leadership_->askedAt = input.askedAt.value_or(now_);
  if (leadership_->worksUntil != never) return endTerm(EndReason::stopAsked);
  if (!input.by.empty()) act(Tell{input.term, tenure::HandoverAsked{input.by}});
  drain();
  endTerm(EndReason::handoverAsked);
}

void CareerMachine::handle(const StopAsked&) {
  if (stops_ > 0 && now_ < lastStop_ + repeatWindow) return;
  lastStop_ = now_;
  ++stops_;
  if (stops_ == 1) {
    if (course_ == Course::contending) course_ = Course::leaving;
    if (!leadership_) {
      stopPreparing();
      return leave(Resignation::clean);
    }
    if (!leadership_->askedAt) leadership_->askedAt = now_;
    drain();
    const bool isAtWork = leadership_->ending == EndReason::none && leadership_->running != Phase::inaugurate;
    if (!seeksSuccessors_ || !isAtWork || preparation_) return endTerm(EndReason::stopAsked);
    leadership_->worksUntil = now_ + std::min(successorLimit, limits_.drain / 2);
    return act(SeekSuccessor{leadership_->term});
  }
  if (stops_ == 2) return abort();
  settle(ExitStatus::aborted);
  exit();
}

void CareerMachine::handle(const PhaseEnded& input) {
  TENURE_ASSERT(leadership_ && leadership_->term == input.term && leadership_->running == input.phase);
  leadership_->running.reset();
  if (input.outcome == Outcome::failed) fail(input.phase, input.failure);
  switch (input.phase) {
    case Phase::prepare: return;  // comes home as PreparationEnded
    case Phase::inaugurate: return afterInaugurate(input.outcome);
    case Phase::execute: return afterExecute(input.outcome);
    case Phase::rest: return afterRest(input.outcome);
    case Phase::handOver: return comeHome();
  }
}

void CareerMachine::handle(const Woken&) {
  if (!leadership_) return;
  if (isOut()) leadership_->woken = true;
  if (leadership_->waits && leadership_->hold == Hold::none) run(Phase::execute);
}

void CareerMachine::handle(const Tick&) {
  if (now_ >= departureDeadline_) return departed();
  if (!leadership_) return judgePreparation();
  if (now_ >= leadership_->worksUntil) return endTerm(EndReason::stopAsked);
  if (!isOut()) {
    if (now_ >= leadership_->nextExecute) run(Phase::execute);
    return;
  }
  if (now_ >= leadership_->drainLimit) return abort();
  if (now_ < leadership_->phaseLimit) return;
  if (!leadership_->overran) return overrun();
  settle(ExitStatus::hung);
  giveUp(EndReason::hung);
}

void CareerMachine::handle(const HasLeft&) {
  if (electionOver_) return;
  electionOver_ = true;
  act(Tell{{}, Left{}});
  exitIfOver();
}

void CareerMachine::handle(const ElectionEnded& input) {
  electionOver_ = true;
  act(Tell{{}, GaveUp{input.error.message()}});
  if (course_ == Course::contending) course_ = Course::leaving;
  settle(statusOf(input.error));
  stopPreparing();
  if (leadership_) {
    leadership_->lost = true;
    endTerm(EndReason::failed);
  } else if (preparation_) {
    departureDeadline_ = std::min(departureDeadline_, now_ + departureLimit);
  }
  exitIfOver();
}

// --- the way of a term

/// Counts for a present term, up to the moment it begins to end; from then on it has only the time it was given.
void CareerMachine::noteProgress(BootTime progress) noexcept {
  if (leadership_ && leadership_->running && leadership_->ending == EndReason::none)
    leadership_->phaseLimit = std::max(leadership_->phaseLimit, progress + limitOf(*leadership_->running));
}

void CareerMachine::run(Phase phase) {
  Leadership& leadership = *leadership_;
  TENURE_ASSERT(!leadership.running && !leadership.handedOver);
  leadership.running = phase;
  leadership.phaseLimit = now_ + limitOf(phase);
  leadership.overran = leadership.waits = false;
  leadership.nextExecute = never;
  leadership.pausedThroughout = phase == Phase::rest;
  if (phase == Phase::execute) leadership.woken = false;
  if (phase == Phase::handOver) {
    leadership.handedOver = true;
    leadership.drainLimit = never;
  }
  if (leadership.givenUp) leadership.phaseLimit = never;  // the departure deadline decides alone
  act(RunPhase{leadership.term, phase, limitOf(phase), limits_.grace});
}

void CareerMachine::afterInaugurate(Outcome outcome) {
  if (outcome == Outcome::withheld) return comeHome();  // never inaugurated, so nothing to hand over
  if (outcome == Outcome::done) metNewerToken_ = false;
  if (leadership_->ending != EndReason::none) return run(Phase::handOver);
  act(Tell{leadership_->term,
           Inaugurated{duration_cast<milliseconds>(now_ - leadership_->began), since(leadership_->followsRequest)}});
  act(TellReadiness{Readiness::inaugurated});
  goOn();
}

void CareerMachine::afterExecute(Outcome outcome) {
  if (leadership_->ending != EndReason::none) return run(Phase::handOver);
  const bool hasMore = outcome == Outcome::again || (outcome == Outcome::idle && leadership_->woken);
  if (hasMore || leadership_->hold != Hold::none) return goOn();
  wait(now_ + (outcome == Outcome::idle ? limits_.idleInterval : leaseRetry));
}

void CareerMachine::afterRest(Outcome outcome) {
  if (leadership_->ending != EndReason::none) return run(Phase::handOver);
  if (leadership_->pausedThroughout && outcome == Outcome::done) {
    leadership_->isAtRest = true;
    act(TellRest{leadership_->term});
  }
  goOn();
}

/// After a phase, or when the hold has changed meanwhile.
void CareerMachine::goOn() {
  switch (leadership_->hold) {
    case Hold::none: return run(Phase::execute);
    case Hold::unread: return wait(never);
    case Hold::paused: return leadership_->isAtRest ? wait(never) : run(Phase::rest);
  }
}

void CareerMachine::wait(BootTime nextExecute) {
  leadership_->waits = true;
  leadership_->nextExecute = nextExecute;
}

void CareerMachine::endTerm(EndReason reason) {
  Leadership& leadership = *leadership_;
  if (!isWorse(reason, leadership.ending)) return;
  leadership.ending = reason;
  leadership.worksUntil = never;
  act(StopPhase{leadership.term, reason});
  if (leadership.waits) run(Phase::handOver);
}

void CareerMachine::drain() {
  if (leadership_->running != Phase::handOver && !leadership_->givenUp)
    leadership_->drainLimit = std::min(leadership_->drainLimit, now_ + limits_.drain);
}

void CareerMachine::fail(Phase phase, const Failure& failure) {
  Leadership& leadership = *leadership_;
  const bool heedsTheStop = leadership.ending != EndReason::none && failure.error.is(Errc::cancelled);
  if (heedsTheStop && phase != Phase::handOver) return;
  if (countsAsFailure(failure)) {
    leadership.failed = true;
    act(Tell{leadership.term, PhaseFailed{std::string(toString(phase)), failure.error.message()}});
  }
  // A failed handOver may have left open what a clean end promises to be closed.
  const bool open = phase == Phase::handOver || isOutcomeUnknown(failure.error.code);
  if (open || isLoss(failure.reason)) leadership.unclean = true;
  if (open) leadership.mayRunOn = true;
  if (isFinal(phase, failure.error) && !mayBeOvertaken(failure.error)) {
    settle(statusOf(failure.error));
    if (course_ == Course::contending) course_ = Course::leaving;
  }
  endTerm(failure.reason == EndReason::none ? EndReason::failed : failure.reason);
}

/// A newer token in the store condemns the ensemble only when ours was made after we had met one. At first it may be a
/// successor's: when an operator deletes a candidacy, its lease goes on for a while.
bool CareerMachine::mayBeOvertaken(const Error& error) noexcept {
  return error.is(Errc::tokenRegression) && !std::exchange(metNewerToken_, true);
}

void CareerMachine::comeHome() {
  const Leadership leadership = *leadership_;
  const Resignation unclean = leadership.mayRunOn ? Resignation::unclean : Resignation::nothingRuns;
  const Resignation how = leadership.lost || leadership.unclean ? unclean : Resignation::clean;
  if (!leadership.givenUp) tellTermEnded(how == Resignation::clean);
  if (leadership.failed) foundReady_ = false;  // so that Ready is told again after the next check
  leadership_.reset();
  if (course_ == Course::contending) return act(Resign{how, leadership.failed});
  if (!electionOver_) leave(how);
  exitIfOver();
}

// --- phases that stay away

void CareerMachine::overrun() {
  const Phase phase = leadership_->running.value_or(Phase::prepare);
  leadership_->overran = true;
  leadership_->failed = true;
  leadership_->phaseLimit = now_ + limits_.grace;
  act(Tell{leadership_->term, PhaseOverran{std::string(toString(phase)), limitOf(phase)}});
  endTerm(EndReason::hung);
}

void CareerMachine::abort() {
  settle(ExitStatus::aborted);
  if (leadership_ && !leadership_->givenUp) return giveUp(EndReason::aborted);
  course_ = Course::aborting;
  departureDeadline_ = std::min(departureDeadline_, now_ + abortLimit);
}

void CareerMachine::giveUp(EndReason reason) {
  Leadership& leadership = *leadership_;
  course_ = Course::aborting;
  leadership.givenUp = true;
  leadership.phaseLimit = leadership.drainLimit = never;
  endTerm(reason);
  tellTermEnded(false);
  leave(Resignation::unclean);
}

// --- the end of the candidacy

void CareerMachine::leave(Resignation how) {
  if (departureDeadline_ != never) return;
  departureDeadline_ = now_ + (course_ == Course::aborting ? abortLimit : departureLimit);
  if (!electionOver_) act(Leave{how});
}

void CareerMachine::departed() {
  departureDeadline_ = never;
  electionOver_ = true;                   // it had its time
  if (isOut() && !exitWhenHung_) return;  // who comes home ends it
  if (preparation_) settle(ExitStatus::hung);
  exit();
}

void CareerMachine::exitIfOver() {
  if (electionOver_ && !leadership_ && !preparation_ && course_ != Course::contending) exit();
}

void CareerMachine::exit() {
  exited_ = true;
  act(Exit{status_, !isOut()});
}

void CareerMachine::settle(ExitStatus status) noexcept {
  if (status_ == ExitStatus::done) status_ = status;
}

void CareerMachine::tellTermEnded(bool clean) {
  const auto served = duration_cast<milliseconds>(now_ - leadership_->began);
  act(Tell{leadership_->term, TermEnded{leadership_->ending, served, clean, since(leadership_->askedAt)}});
}

milliseconds CareerMachine::limitOf(Phase phase) const noexcept {
  switch (phase) {
    case Phase::prepare: return limits_.prepare;
    case Phase::inaugurate: return limits_.inaugurate;
    case Phase::execute:
    case Phase::rest: return limits_.execute;
    case Phase::handOver: return limits_.handOver;
  }
  return limits_.execute;
}

std::string CareerMachine::describe() const {
  if (!leadership_ && course_ != Course::contending) return "leaving";
  if (!leadership_) return preparation_ ? "preparing" : "no term";
  const std::string doing = isOut() ? std::string(toString(leadership_->running.value_or(Phase::prepare))) : "idle";
  return doing + " token=" + std::to_string(leadership_->term.value) +
         (leadership_->ending == EndReason::none ? "" : " ending=" + std::string(toString(leadership_->ending)));
}

void CareerMachine::checkInvariants() const {
  if (!leadership_ || exited_) return;
  // Between phases a term waits for its next execute; an ending one never waits.
  TENURE_ASSERT(!preparation_ || !leadership_->running);
  TENURE_ASSERT(isOut() || (leadership_->waits && leadership_->ending == EndReason::none));
  TENURE_ASSERT(!leadership_->waits || leadership_->nextExecute != never || leadership_->hold != Hold::none);
  TENURE_ASSERT(!leadership_->handedOver || leadership_->running == Phase::handOver);
  TENURE_ASSERT(!leadership_->givenUp || course_ == Course::aborting);
  TENURE_ASSERT(deadline() != never || !exitWhenHung_ || leadership_->givenUp || leadership_->waits);
}

// What a standby does before a term: it looks whether one could begin here, and as the next in line keeps what it
// needs.

using std::chrono::duration_cast;
using std::chrono::milliseconds;

void CareerMachine::handle(const StandsBy&) {
  if (next_) return;  // more than a check is under way already
  mayCheck_ = true;
  prepare();
}

void CareerMachine::handle(const NextInLine& input) {
  next_ = mayPrepare_ = input.next;
  if (!input.next) isPrepared_ = false;
  if (!input.next && preparation_ && preparation_->look != Look::check) return stopPreparing();
  prepare();
}

/// A look that is under way, or that comes as the next in line, tells as well.
void CareerMachine::handle(const Offered&) {
  if (isPrepared_ && !preparation_ && !leadership_ && course_ == Course::contending) look(Look::confirm);
}

void CareerMachine::handle(const PreparationEnded& input) {
  TENURE_ASSERT(preparation_ && !(leadership_ && leadership_->running));
  const Preparation home = *preparation_;
  preparation_.reset();
  const bool heedsTheStop = home.stopped && (!input.failure || input.failure->is(Errc::cancelled));
  if (!heedsTheStop) prepared(home, input.failure);
  if (!leadership_) {
    prepare();  // next in line again meanwhile
    return exitIfOver();
  }
  if (leadership_->ending != EndReason::none) return comeHome();  // never inaugurated, so nothing to hand over
  run(Phase::inaugurate);
}

void CareerMachine::prepare() {
  if (!(mayPrepare_ || mayCheck_) || preparation_ || leadership_ || course_ != Course::contending) return;
  look(!mayPrepare_ && !failedPreparing_ ? Look::check : Look::prepare);
  mayPrepare_ = mayCheck_ = false;
}

void CareerMachine::look(Look what) {
  preparation_ = Preparation{now_, now_ + limits_.prepare, what};
  act(Prepare{what});
  lookAgain_ = never;
}

void CareerMachine::prepared(const Preparation& home, const std::optional<Error>& failure) {
  const bool onlyCheck = home.look == Look::check;
  isPrepared_ = !failure && !onlyCheck && next_;
  if (failure) {
    foundReady_ = false;
    failedPreparing_ = !onlyCheck;
    act(Tell{{}, NotReady{failure->message(), lookAgainIn_}});
    act(TellReadiness{Readiness::notReady, failure->message()});
    if (!leadership_) lookAgain_ = now_ + lookAgainIn_;
    lookAgainIn_ = std::min(2 * lookAgainIn_, longestLookAgain);
    return;
  }
  const bool news = !std::exchange(foundReady_, true) && (onlyCheck || lookAgainIn_ != firstLookAgain);
  if (news) act(Tell{{}, Ready{}});
  lookAgainIn_ = firstLookAgain;
  failedPreparing_ = false;
  if (isPrepared_ && !leadership_) lookAgain_ = now_ + confirmInterval;
  if (home.look == Look::prepare) act(Tell{{}, Prepared{duration_cast<milliseconds>(now_ - home.began)}});
  act(TellReadiness{onlyCheck ? Readiness::ready : Readiness::prepared});
}

void CareerMachine::stopPreparing() {
  if (preparation_ && !std::exchange(preparation_->stopped, true)) act(StopPreparing{});
}

void CareerMachine::judgePreparation() {
  if (now_ >= lookAgain_) {
    lookAgain_ = never;
    if (isPrepared_) return look(Look::confirm);
    (next_ ? mayPrepare_ : mayCheck_) = true;
    return prepare();
  }
  if (!preparation_ || now_ < preparation_->limit) return;
  if (!std::exchange(preparation_->overran, true)) {
    preparation_->limit = now_ + limits_.grace;
    act(Tell{{}, PhaseOverran{"prepare", limits_.prepare}});
    return stopPreparing();
  }
  preparation_->limit = never;  // the departure deadline decides alone
  settle(ExitStatus::hung);
  course_ = Course::aborting;
  leave(Resignation::unclean);
}

}  // namespace tenure::career
