#include "consumer/consumer_machine.hpp"

#include <algorithm>

#include "base/process_identity.hpp"
#include "base/text.hpp"
#include "consumer/fitness.hpp"

namespace tenure::consuming {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t leastReadAhead = 32;

}  // namespace

ConsumerMachine::ConsumerMachine(const ConsumerOptions& options, bool shared, Random random, Role role, bool together,
                                 std::shared_ptr<pipeline::OpenGroups> lists, FencingToken token,
                                 std::shared_ptr<Notes> notes)
    : options_(options),
      shared_(shared),
      role_(role),
      together_(together),
      token_(token),
      own_(reachOf(options)),
      limit_(batchLimitOf(options)),
      readAhead_(std::max(limit_, leastReadAhead)),
      slice_(std::max<Duration>(options.idleWait, 20ms)),
      retryBackoff_(options.retryBase, options.retryMax, random.fork()),
      outageBackoff_(20ms, 1s, random.fork()),
      sizer_(limit_, options.latencyTarget, options.fixedBatch),
      notes_(notes ? std::move(notes) : std::make_shared<Notes>(options)),
      streak_(notes_->streak),
      pruner_(options),
      log_(options) {
  if (collapses() && role == Role::alone) collapser_.emplace(options.collapseKey, options.collapseAhead);
  if (options.followNumbers)
    sequencer_.emplace(options.name, options.gapLimit, options.maxKept, pipeline::Sequencer::defaultGroups,
                       std::move(lists));
  if (role != Role::lane) return;
  attached_ = reopened_ = true;
  granted_ = takesFirst() ? limit_ : 0;
}

// --- phases

Action ConsumerMachine::inaugurate(const Moment& moment) {
  phase_ = Phase::inaugurating;
  return proceed(moment);
}

Action ConsumerMachine::execute(const Moment& moment) {
  phase_ = Phase::executing;
  sliceBegan_ = moment.now;
  return proceed(moment);
}

Action ConsumerMachine::handOver(const Moment& moment) {
  phase_ = Phase::leaving;
  forgoWhatMayBeTaken("its leader left before that was known");
  forgetTransaction();
  const bool storeIsSound = recalled_ && !over_ && !storeIsAway() && outcomeKnown_;
  const bool healthy = storeIsSound && !outage_;
  if (taken_ && taken_->done && storeIsSound) return settle(moment);
  if (taken_ && storeIsSound) return takenFailed("its leader left while it was in work", moment);
  forgo("its leader left while it was in work");
  if (!healthy || ledger_ == Ledger::closed) return Return{false};
  if (ledger_ == Ledger::unread && horizon() > 0) return Return{false};  // its suspects stay on record as they are
  if (charged_) {  // with a start that did not come: a clean end counts nothing
    takeBackCharge();
  } else if (suspects_ > 0 && recorded_) {
    return Return{false};
  }
  return commit(moment);
}

Action ConsumerMachine::proceed(const Moment& moment) {
  if (phase_ == Phase::inaugurating) return enterOffice(moment);
  if (phase_ == Phase::leaving) return Return{false};
  if (!outcomeKnown_) return askAgain(moment);
  if (joined_ > 0) return joinOrRun(moment);
  if (settled_ > 0 && batchIsOver(moment)) return commit(moment);
  if (taken_) return proceedWithTaken(moment);
  if (parkUntil_) return ask(Step::park, Park{*parkUntil_});
  if (moment.stopAsked) return Return{false};
  if (moment.now < notBefore_) return waitFor(notBefore_, moment);
  if (!moment.mayBegin) return waitFor(moment.now + softLimitPause, moment);
  if (!attached_) return ask(Step::attach, Attach{});
  if (const auto tending = tendGroups(moment)) return *tending;
  if (ledger_ == Ledger::unread) return survey(moment);
  if (settled_ == 0 && moment.now - sliceBegan_ >= slice_) return Return{true};
  if (const auto step = sweep(moment)) return *step;
  if (wantsMessages()) return fetch(remaining() == 0 && !swept_ ? moment.now + options_.idleWait : onlyLook);
  const bool isPastSuspects = settled_ == 0 && suspects_ == 0 && !takesFirst();  // who takes first leaves none
  if (role_ == Role::alone && isPastSuspects && declared_ != own_) return ask(Step::declare, Declare{own_});
  return beginHead(moment);
}

/// A pass may be long: nobody who comes meanwhile waits for more than a step.
std::optional<Action> ConsumerMachine::sweep(const Moment& moment) {
  if (settled_ > 0 || swept_) return std::nullopt;
  const bool idle = dry_ && remaining() == 0;
  const bool ofKeys = pruner_.isDue(idle, moment.now);
  const WallTime wall = moment.wall + clockOffset_;
  const bool isTrusted = notes_->clock.isTrusted(wall);
  swept_ = ofKeys || (isTrusted && log_.isDue(idle, moment.now));
  if (!swept_) return std::nullopt;
  if (!ofKeys) return ask(Step::pruneLog, PruneLog{log_.step(wall)});
  if (!looked_) return ask(Step::lookAtClock, LookAtClock{});
  if (isTrusted) return ask(Step::prune, Prune{pruner_.step(wall)});
  looked_ = swept_ = false;
  pruner_.rest(moment.now);
  return std::nullopt;
}

Action ConsumerMachine::lookedAt(const std::optional<WallTime>& storesClock, const Moment& moment) {
  using Whose = ClockWatch::Whose;
  endOutage(false, moment);
  looked_ = true;
  swept_ = false;
  clockOffset_ = storesClock ? *storesClock - moment.wall : std::chrono::milliseconds{0};
  if (clockOffset_ > ClockWatch::tolerance || clockOffset_ < -ClockWatch::tolerance)
    doubt(Whose::leader, "it says " + formatWallTime(moment.wall) + ", the store's " + formatWallTime(*storesClock));
  lookAt(storesClock ? Whose::store : Whose::leader, moment.wall + clockOffset_, moment);
  return settled_ == 0 && window().empty() ? commit(moment) : proceed(moment);
}

void ConsumerMachine::lookAt(ClockWatch::Whose whose, WallTime wall, const Moment& moment) {
  if (auto wrong = notes_->clock.look(whose, wall, moment.now, thisProcess().bootId)) doubt(whose, *std::move(wrong));
  lookToBook_ = notes_->clock.record();
}

/// One that is set within a term dates keys wrongly, and whoever follows may have the right one. Lanes look at it only
/// when they forget.
void ConsumerMachine::glanceAtClock(const Moment& moment) {
  if (role_ == Role::lane || !notes_->clock.isLeaders()) return;
  const auto wrong = notes_->clock.look(ClockWatch::Whose::leader, moment.wall, moment.now, thisProcess().bootId);
  if (!wrong) return;
  doubt(ClockWatch::Whose::leader, *wrong);
  lookToBook_ = notes_->clock.record();
}

void ConsumerMachine::doubt(ClockWatch::Whose whose, std::string what) {
  news_.push_back(ClockDoubted{whose == ClockWatch::Whose::store ? "the store's" : "the leader's", std::move(what)});
}

Action ConsumerMachine::enterOffice(const Moment& moment) {
  if (moment.stopAsked) return Return{false};
  if (moment.now < notBefore_) return ask(Step::wait, Wait{notBefore_});
  if (!claimed_) return ask(Step::claim, Claim{});
  if (!recalled_) return ask(Step::recall, Recall{});
  if (sequencer_ && !reopened_) return ask(Step::reopen, Reopen{});
  if (!attached_) return ask(Step::attach, Attach{});
  return Return{true};
}

/// As long as nobody knows what became of the commit, nothing else may happen; and to leave now is no clean end.
Action ConsumerMachine::askAgain(const Moment& moment) {
  if (moment.stopAsked) return quit(trouble_);
  if (moment.now < notBefore_) return waitFor(notBefore_, moment);
  return ask(Step::resolve, Resolve{});
}

/// Before the first message of a term begins, those are gathered that a dead predecessor may have had in work.
Action ConsumerMachine::survey(const Moment& moment) {
  // Of those that a predecessor collapsed it may have begun one that is far behind.
  const bool mayHideMore = collapser_ ? horizon() > 0 && collapser_->mayReadOn() : remaining() < held_ + horizon();
  if (!dry_ && mayHideMore) return fetch(onlyLook);
  findSuspects(moment);
  return proceed(moment);
}

Action ConsumerMachine::waitFor(BootTime until, const Moment& moment) {
  const BootTime sliceEnd = sliceBegan_ + slice_;
  if (moment.now >= sliceEnd) return Return{true};
  return ask(Step::wait, Wait{std::min(until, sliceEnd)});
}

// --- gathering

bool ConsumerMachine::wantsMessages() const noexcept {
  if (settled_ == remaining()) return true;
  if (role_ == Role::lane) return false;
  if (collapser_) return collapser_->mayReadOn() && (!dry_ || (settled_ == 0 && !topped_));
  return settled_ == 0 && !topped_ && remaining() < 2 * limit_;
}

Action ConsumerMachine::fetch(BootTime until) {
  if (role_ == Role::lane) return ask(Step::fetch, Fetch{limit_ - settled_, until});
  if (collapser_) return ask(Step::fetch, Fetch{pipeline::Collapser::page, until});
  const std::size_t room = held_ + std::max(limit_ + readAhead_, horizon());
  return ask(Step::fetch, Fetch{room - std::min(room - 1, remaining()), until});
}

Action ConsumerMachine::fetched(std::vector<Message> messages, const Moment& moment) {
  endOutage(true, moment);
  topped_ = true;
  swept_ = false;
  dry_ = messages.empty();
  if (collapser_) sift(messages);
  if (first_ * 2 >= window_.size()) {  // a long window is not moved for a few
    window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  if (window_.empty())
    window_ = std::move(messages);
  else
    window_.insert(window_.end(), std::move_iterator(messages.begin()), std::move_iterator(messages.end()));
  if (remaining() == 0 && ledger_ != Ledger::unread && !visit_) {
    const bool handsOverToLanes = role_ == Role::recovery && !moment.stopAsked;
    if (handsOverToLanes && lookToBook_) return commit(moment);  // before any key of theirs
    if (handsOverToLanes && declared_ != own_) return ask(Step::declare, Declare{own_});
    return Return{options_.idleWait > 0ms && !moment.stopAsked};
  }
  if (settled_ > 0 && settled_ == remaining()) batchEnds_ = true;
  return proceed(moment);
}

/// Where exactly one was in work, nobody behind it was: it runs once more, for all that wait by now. A run that is over
/// already is not for them, whoever delivers it again.
void ConsumerMachine::sift(std::vector<Message>& messages) {
  using Named = pipeline::Collapser::Named;
  std::unordered_set<MessageId> named = inWork_;
  if (ran_) named.insert(*ran_);
  const bool wasTheOnlyOne = inWork_.size() == 1 && !moreInWork_ && !ran_;
  collapser_->sift(messages, named, wasTheOnlyOne ? Named::standForOthers : Named::standAlone);
}

std::size_t ConsumerMachine::horizon() const noexcept {
  if (role_ == Role::recovery) return std::max(inWork_.size(), moreInWork_ ? limit_ : std::size_t{0});
  const bool namedByLanes = theirs().lanes > 0 && !inWork_.empty();
  return std::max(namedByLanes ? theirs().window : inWork_.size(), moreInWork_ ? theirs().front : std::size_t{0});
}

/// A source delivers again in order, so what was in work is at its front.
void ConsumerMachine::findSuspects(const Moment& moment) {
  const auto messages = window();
  for (std::size_t i = 0; i < messages.size(); ++i)
    if (inWork_.contains(messages[i].id)) suspects_ = i + 1;
  // Where there may be more, those that were named stand for nobody: one behind each may have been in work as well.
  const std::size_t apart = collapser_ ? inWork_.size() : 0;
  if (moreInWork_) suspects_ = std::max(suspects_, std::min(held_ + theirs().front + apart, messages.size()));
  if (role_ == Role::recovery) suspects_ = messages.size();
  if (suspects_ > 0) news_.push_back(SuspectsFound{suspects_});
  granted_ = suspects_ > 0 ? suspects_ : namesEach() ? 0 : limit_;
  ledger_ = Ledger::open;
  if (role_ == Role::alone) startPruning(moment.now);
  inWork_.clear();
  moreInWork_ = false;
}

Action ConsumerMachine::recalled(Recollection left, const Moment& moment) {
  endOutage(false, moment);
  recalled_ = true;
  declared_ = left.reach;
  const ConsumerState& state = left.state;
  if (role_ == Role::lane) {  // its suspects are dealt with; what stays of them is a record to close
    ledger_ = state.inWork.empty() ? Ledger::closed : Ledger::open;
    return proceed(moment);
  }
  notes_->clock.restore(left.clock);
  if (notes_->clock.isLeaders()) lookAt(ClockWatch::Whose::leader, moment.wall, moment);
  streak_.restore(left.streak);
  if (streak_.isStopped()) news_.push_back(ConsumerStopped{left.streak->attempts, left.streak->lastError});
  for (const AttemptRecord& attempt : state.attempts) attempts_.emplace(attempt.id, attempt);
  if (takesFirst()) return proceed(moment);  // whatever was in work is either taken or was not begun
  inWork_ = {state.inWork.begin(), state.inWork.end()};
  moreInWork_ = state.moreInWork;
  suspectsOf_ = state.recordedBy;
  expects_ = horizon() > 0;
  return proceed(moment);
}

}  // namespace tenure::consuming
