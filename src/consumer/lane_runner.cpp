#include "consumer/lane_runner.hpp"

#include <algorithm>
#include <exception>

#include "base/text.hpp"
#include "consumer/charges.hpp"
#include "consumer/limits.hpp"
#include "lease/term_state.hpp"
#include "messages/message_check.hpp"

namespace tenure::consuming {

namespace {

/// How often a lane that has messages looks whether it may go on. A pause may last for days.
constexpr std::chrono::milliseconds pausedLook{100};

}  // namespace

LaneRunner::LaneRunner(IWorkerContext& context, Supply& supply, std::shared_ptr<Notes> notes, IFencedStore& store,
                       const Handlers& handlers, const ConsumerOptions& options, bool shares, IEventSink& events,
                       const IClock& clock)
    : context_(context),
      supply_(supply),
      notes_(std::move(notes)),
      store_(store),
      handlers_(handlers),
      options_(options),
      shares_(shares),
      events_(events),
      clock_(clock),
      random_(options.jitterSeed != 0 ? options.jitterSeed : freshSeed()),
      storeTimer_(options.outageLimit, storeWatch_),
      sourceTimer_(options.outageLimit, sourceWatch_) {
  if (handlers.answerers) desk_.emplace(handlers.answerers(context.lane()), context.reads(), options_, clock_);
}

// --- phases

void LaneRunner::inaugurate(const Term& term) {
  storeTimer_.reset();
  sourceTimer_.reset();
  lane_.reset();
  storeIsLongAway_ = sourceIsLongAway_ = false;
  enter(term);
  end();
  ConsumerOptions named = options_;
  named.name = name_;
  lane_.emplace(named, random_.fork(),
                Lane::Setup{.reads = context_.reads(),
                            .together = handlers_.many != nullptr,
                            .answers = desk_.has_value(),
                            .atOnce = desk_ && !context_.reads() ? desk_->atOnce() : 1,
                            .takesSkips = handlers_.takeSkips,
                            .token = term.token(),
                            .notes = notes_});
  if (desk_) desk_->attend(term);
  if (context_.prunes()) lane_->sweep(clock_.now());
  run(lane_->inaugurate(now()));
}

Return LaneRunner::execute(const Term& term) {
  enter(term);
  if (std::exchange(wasPaused_, term.isPaused()) && !term.isPaused()) lane_->resumed(now());
  return run(lane_->execute(now()));
}

Return LaneRunner::handOver(const Term& term) {
  enter(term);
  if (isLongAway()) hurry(clock_.now() + lastAnswers);
  abandon();
  Return over{.isClosed = true};
  if (lane_ && term.valid()) over = run(lane_->handOver(now()));
  leave();
  return over;
}

void LaneRunner::leaveSilently(const Term& term) {
  enter(term);
  abandon();
  leave();
}

void LaneRunner::leave() {
  if (lane_) lane_->lose("its term was lost");
  if (lane_ && lane_->hasNews()) tell();
  abandon();
  if (desk_) desk_->leave();
  context_.detach();
  store_.release();
  context_.limitAnswers(nullptr);
  store_.limitAnswers(nullptr);
  term_ = nullptr;
}

void LaneRunner::enter(const Term& term) {
  term_ = &term;
  name_ = options_.name.value.empty() ? ConsumerName{term.identity().election.value} : options_.name;
  stop_ = context_.stopToken();
  emit_.emplace(events_, clock_, term.identity().election);
  store_.limitAnswers(&storeTimer_);
  context_.limitAnswers(&sourceTimer_);
  bootAtEntry_ = clock_.now();
  wallAtEntry_ = clock_.wallNow();
}

Return LaneRunner::run(Action action) {
  const std::stop_callback leaving(stop_, [this] {
    if (storeIsLongAway_) storeTimer_.cut();
    if (sourceIsLongAway_) sourceTimer_.cut();
  });
  while (true) {
    if (lane_->hasNews()) tell();
    if (const auto* over = std::get_if<Return>(&action)) {
      if (over->ends) end(*over->ends);
      return *over;
    }
    holdTimers();
    action = std::visit([this](auto& asked) { return perform(asked); }, action);
  }
}

void LaneRunner::tell() {
  for (EventBody& body : lane_->takeNews()) (*emit_)(std::move(body), term_->token());
}

Now LaneRunner::now() const {
  const BootTime now = clock_.now();
  // Reckoned from one reading a phase: records need no more, and each reading costs as much as a map look-up.
  const WallTime wall = wallAtEntry_ + std::chrono::floor<std::chrono::milliseconds>(now - bootAtEntry_);
  const bool mayBegin = term_->mayBeginWork();
  return {.boot = now,
          .wall = wall,
          .mayBegin = mayBegin,
          .mayFinish = mayBegin || mayFinishWork(*term_),
          .stopAsked = stop_.stop_requested(),
          .transactionIsFull = transaction_ && transaction_->isFull(),
          .isLimited = supply_.isLimited(),
          .hasRelief = term_->hasRelief(),
          .storeOwesSince = storeTimer_.since(),
          .sourceOwesSince = sourceTimer_.since()};
}

// --- answers that do not come are told, and what has failed counts on though others come

void LaneRunner::Watch::onOverdue(BootTime since) {
  if (!runner_.lane_ || runner_.term_ == nullptr) return;
  runner_.lane_->overdue(side_, since, runner_.now());
  runner_.tell();
}

void LaneRunner::Watch::onAnswered() {
  if (!runner_.lane_ || runner_.term_ == nullptr) return;
  runner_.lane_->answeredLate(side_, runner_.now());
  runner_.tell();
}

void LaneRunner::holdTimers() noexcept {
  hold(storeTimer_, Side::store);
  hold(sourceTimer_, Side::source);
  storeIsLongAway_ = lane_->isLongAway(Side::store);
  sourceIsLongAway_ = lane_->isLongAway(Side::source);
  if (lane_->takeReliefWish()) term_->seekRelief();
}

/// Beyond the limit of an outage each attempt has the whole limit for itself.
void LaneRunner::hold(AnswerTimer& timer, Side side) noexcept {
  timer.hold(lane_->isLongAway(side) ? std::nullopt : lane_->failingSince(side));
  if (lane_->isLongAway(side)) timer.putOff();
}

void LaneRunner::cutOverdue() noexcept {
  const BootTime soon = clock_.now() - AnswerTimer::usual;
  for (AnswerTimer* timer : {&storeTimer_, &sourceTimer_})
    if (const auto since = timer->since(); since && *since < soon) timer->cut();
}

void LaneRunner::hurry(BootTime by) noexcept {
  storeTimer_.hurry(by);
  sourceTimer_.hurry(by);
}

// --- the context, and waiting

Action LaneRunner::perform(Attach&) { return answered<Attach>(context_.attach()); }

Action LaneRunner::perform(Take& take) {
  context_.reportProgress();
  Result<Supplied> supplied = context_.take(std::move(take));
  if (!supplied) return context_.takeStoresFault() ? failed<Sort>(supplied.error()) : failed<Take>(supplied.error());
  foretell(supplied->messages);
  return lane_->onTaken(std::move(*supplied), now());
}

/// Not of a child process: what it does is in no transaction, and nothing but the store's own word may start it.
void LaneRunner::foretell(std::span<const MessagePtr> messages) {
  if (options_.handlerIsExternal || messages.empty()) return;
  std::vector<MessageId> next;
  next.reserve(messages.size());
  for (const MessagePtr& message : messages) next.push_back(message->id);
  store_.expect(std::move(next));
}

Action LaneRunner::perform(TakeTurn& turn) {
  if (desk_ && !transaction_) desk_->awaitRoom(ways());
  const std::optional<BootTime> heldUntil = supply_.takeTurn(turn);
  return lane_->onTurned(heldUntil, now());
}

Action LaneRunner::perform(Begin& begin) { return lane_->onBegun(supply_.begin(context_.lane(), begin), now()); }

Action LaneRunner::perform(Report& report) {
  if (!term_->valid() && report.of.parked.empty()) return failed<Report>(Errc::leaseLost);
  if (desk_ && !report.of.parked.empty()) {
    for (const MessageHistory& parked : report.histories) desk_->notDone(parked.id);
    desk_->finish(report.group, ways());
  }
  const Result<Receipt> receipt = context_.report(std::move(report));
  return receipt ? lane_->onReported(*receipt, now()) : failed<Report>(receipt.error());
}

Action LaneRunner::perform(Wait& wait) {
  context_.reportProgress();
  if (wait.tends && !transaction_) {
    if (const Result<void> tended = context_.tend(); !tended) return failed<Tend>(tended.error());
    lane_->on(Done<Tend>{}, now());
  }
  const BootTime until = term_->isPaused() ? std::max(wait.until, clock_.now() + pausedLook) : wait.until;
  supply_.rests(context_.lane(), lane_->isAtRest());
  clock_.waitUntil(until, stop_);
  supply_.rests(context_.lane(), false);
  return lane_->on(Done<Wait>{}, now());
}

Action LaneRunner::perform(Return& over) { return over; }  // run() has seen it

void LaneRunner::end(const Return::Ending& ending) {
  hurry(clock_.now() + lastAnswers);
  abandon();
  throw EndTerm(ending.reason, ending.why);
}

// --- the store, between transactions

Action LaneRunner::perform(Claim&) {
  const Result<QueueIdentity> queue = context_.identity();
  if (!queue) return lane_->onUnidentified(queue.error(), now());
  if (!queue->value.empty()) store_.serve(*queue);
  return answered<Claim>(store_.claim(*term_));
}

Action LaneRunner::perform(Recall&) {
  const Result<ConsumerState> left = context_.recall(name_, now().wall);
  return left ? lane_->onRecalled(*left, now()) : failed<Recall>(left.error());
}

Action LaneRunner::perform(Declare& declaration) {
  context_.reportProgress();
  abandon();
  Result<void> done = begin();
  if (done) done = transaction_->recordFact(name_, declaration.window);
  return answered<Declare>(commitAlone(std::move(done)));
}

/// Writes that are not about messages have a transaction of their own.
Result<void> LaneRunner::commitAlone(Result<void> done) {
  if (done && !term_->valid()) done = Error{Errc::leaseLost, "before a commit"};
  if (done) done = transaction_->commit();
  abandon();
  return done;
}

Action LaneRunner::perform(Inquire&) {
  context_.reportProgress();
  const Result<ConsumerState> found = store_.consumerState(name_);
  return found ? lane_->onInquired(*found, now()) : failed<Inquire>(found.error());
}

Action LaneRunner::perform(Look& look) {
  const Result<std::vector<Admission>> known = store_.known(name_, {&*look.message, 1});
  if (!known) return failed<Look>(known.error());
  return lane_->onLooked(known->front() != Admission::fresh, now());
}

Action LaneRunner::perform(Sweep& sweep) {
  return std::visit([this](auto& asked) { return step(asked); }, sweep.step);
}

Action LaneRunner::step(LookAtClock&) {
  context_.reportProgress();
  const auto clock = store_.clock();
  return clock ? lane_->onClockRead(*clock, now()) : failed<LookAtClock>(clock.error());
}

Action LaneRunner::step(Prune& prune) {
  context_.reportProgress();
  if (!term_->valid()) return failed<Prune>(Errc::leaseLost);
  prune.step.consumer = name_;
  if (prune.step.after.empty())  // once a pass
    if (const Result<void> forgotten = forgetAttempts(prune); !forgotten) return failed<Prune>(forgotten.error());
  const Result<Pruned> pruned = store_.prune(*term_, prune.step);
  return pruned ? lane_->onPruned(*pruned, now()) : failed<Prune>(pruned.error());
}

/// Forgets records of messages that are no longer delivered, however they left their queue: they would stay for ever.
Result<void> LaneRunner::forgetAttempts(const Prune& prune) {
  constexpr std::size_t together = 100;
  const Result<ConsumerState> found = store_.consumerState(name_);
  if (!found) return found.error();
  std::vector<MessageId> old;
  for (const AttemptRecord& record : found->attempts) {
    const bool isHere = std::ranges::find(prune.here, record.id) != prune.here.end();
    const bool isOver = record.lastAt < prune.step.before && !isHere;
    if (isOver && old.size() < together) old.push_back(record.id);
  }
  if (old.empty()) return {};
  abandon();
  Result<void> done = begin();
  for (const MessageId& id : old)
    if (done) done = transaction_->clearAttempt(name_, id);
  return commitAlone(std::move(done));
}

Action LaneRunner::step(PruneLog& prune) {
  context_.reportProgress();
  if (!term_->valid()) return failed<PruneLog>(Errc::leaseLost);
  prune.step.consumer = name_;
  const Result<std::size_t> removed = store_.pruneLog(*term_, prune.step);
  return removed ? lane_->onLogPruned(*removed, now()) : failed<PruneLog>(removed.error());
}

Action LaneRunner::perform(Resolve&) {
  const Result<CommitFate> fate = store_.resolve(*term_);
  if (!fate) return failed<Resolve>(fate.error());
  return lane_->onResolved(*fate, now());
}

// The runner's steps in the open transaction: keys, handlers, the commit, and numbers.

namespace {

/// The one place that catches what a handler throws.
template <class Callee, class Of>
Outcome called(const Callee& handler, const Of& delivery) {
  try {
    return handler(delivery);
  } catch (const EndTerm&) {
    throw;  // not the message's fault; handOver undoes what is open
  } catch (const std::exception& thrown) {
    return Outcome::failed(thrown.what());
  } catch (...) {
    return Outcome::failed("the handler threw something that is not a std::exception");
  }
}

/// As a dead letter that the store has not taken whole.
Message withoutBody(Message message) {
  leaveOut(message, 0, "the store refused all of it");
  return message;
}

}  // namespace

Result<void> LaneRunner::begin() {
  if (transaction_) return {};
  turn_ = context_.enter(lane_->company());
  if (turn_.hasWaited() && !term_->valid()) {
    turn_.release();
    return Error{Errc::leaseLost, "while other lanes were waited for"};
  }
  Result<std::unique_ptr<IFencedTransaction>> begun = store_.begin(*term_);
  if (!begun) turn_.release();
  if (!begun) return begun.error();
  transaction_ = std::move(*begun);
  return {};
}

void LaneRunner::abandon() noexcept {
  if (transaction_) transaction_->rollback();
  end();
}

void LaneRunner::end() noexcept {
  transaction_.reset();
  turn_.release();
}

void LaneRunner::release() noexcept { abandon(); }

Action LaneRunner::perform(Abandon& undo) {
  if (desk_) desk_->undone();
  if (undo.toMark) {
    const Result<void> undone = transaction_->rollbackToMark();
    return undone ? lane_->on(Done<Undo>{}, now()) : refused<Undo>(undone.error());
  }
  abandon();
  return lane_->on(Done<Abandon>{}, now());
}

Action LaneRunner::perform(Admit& asked) {
  const Message& message = *asked.message;
  Result<void> ready = begin();
  if (ready && asked.mark) ready = transaction_->mark();
  if (!ready) return refused<Admit>(ready.error());
  const Result<Admission> admission = transaction_->admit(name_, message.id, digestOf(message.body), MessageFate::done);
  return admission ? lane_->onAdmitted(*admission, now()) : refused<Admit>(admission.error());
}

Action LaneRunner::perform(WriteDeadLetter& deadLetter) {
  notDone(deadLetter.message->id);
  const Result<bool> deadLettered = write(deadLetter);
  if (!deadLettered) return refused<WriteDeadLetter>(deadLettered.error());
  return *deadLettered ? lane_->on(Done<WriteDeadLetter>{}, now()) : lane_->onKeyFound(now());
}

Result<bool> LaneRunner::write(const WriteDeadLetter& deadLetter) {
  const auto& [of, draft] = deadLetter;
  const Message& message = *of;
  Result<void> done = begin();
  if (done && draft.undo) done = transaction_->rollbackToMark();
  if (done)
    done = transaction_->deadLetter(name_, {.message = draft.withoutBody ? withoutBody(message) : message,
                                            .reason = draft.reason,
                                            .attempts = draft.attempts,
                                            .firstAt = draft.firstAt,
                                            .diedAt = now().wall});
  if (!done) return done.error();
  if (!draft.withKey) return true;
  const auto admission = transaction_->admit(name_, message.id, digestOf(message.body), MessageFate::dead);
  if (!admission) return admission.error();
  return *admission == Admission::fresh;
}

Action LaneRunner::perform(Commit& commit) {
  context_.reportProgress();
  for (const AttemptRecord& record : commit.records) notDone(record.id);
  const Result<void> committed = write(commit);
  if (committed) end();
  return committed ? lane_->on(Done<Commit>{}, now()) : refused<Commit>(committed.error());
}

Result<void> LaneRunner::write(const Commit& commit) {
  Result<void> done = begin();
  if (done && commit.undo) done = transaction_->rollbackToMark();
  for (const MessageId& id : commit.cleared)
    if (done) done = transaction_->clearAttempt(name_, id);
  for (const AttemptRecord& record : commit.records)
    if (done) done = transaction_->recordAttempt(name_, record);
  for (const ConsumerFact& fact : commit.facts)
    if (done) done = transaction_->recordFact(name_, fact);
  if (done && !commit.log.empty()) done = transaction_->logAttempts(name_, commit.log);
  for (std::size_t lane = 1; lane <= commit.voids; ++lane)
    if (done) done = transaction_->recordInWork(name_, lane, {});
  if (done) done = transaction_->recordInWork(name_, context_.lane(), commit.inWork);
  if (const std::vector<Message> known = stubsOf(commit.settled); done && shares_ && !known.empty())
    done = transaction_->acknowledge(known);
  if (done && shares_ && !commit.others.empty()) done = transaction_->acknowledge(commit.others);
  if (done) done = write(commit.numbers);
  // The last look at the lease; whatever passes between here and the store is the fence's to stop.
  if (done && !term_->valid()) done = Error{Errc::leaseLost, "before a commit"};
  return done ? transaction_->commit() : done;
}

Result<void> LaneRunner::write(const supply::NumberWrites& numbers) {
  Result<void> done;
  for (const KeptMessage& message : numbers.kept)
    if (done) done = transaction_->keep(name_, message);
  for (const auto& [group, number] : numbers.dropped)
    if (done) done = transaction_->dropKept(name_, group, number);
  for (const auto& [group, turn] : numbers.turns)
    if (done) done = transaction_->recordTurn(name_, group, turn);
  for (const DeadLetter& note : numbers.notes)
    if (done) done = transaction_->deadLetter(name_, note);
  return done;
}

// --- the handler

Action LaneRunner::perform(Handle& asked) {
  context_.reportProgress();
  Result<void> ready = begin();
  if (ready && asked.mark) ready = transaction_->mark();
  if (!ready) return refused<Handle>(ready.error());
  if (auto other = reconsider()) return *std::move(other);
  if (desk_) return applied(asked);
  return ran<Handle>(
      called(handlers_.one, tenure::Delivery{*asked.message, handed(), *term_, asked.attempt, &context_}));
}

/// Nothing waits here while a transaction is open: what precedes the message is committed first.
Action LaneRunner::perform(Gather& asked) {
  if (desk_->isReady(*asked.message, asked.attempt)) return lane_->onGathered(desk_->readyOne(*asked.message), now());
  if (transaction_) return lane_->onGathered({}, now());
  context_.reportProgress();
  const Result<Gathered> gathered = desk_->gather({.head = asked.message,
                                                   .attempt = asked.attempt,
                                                   .putOffSince = asked.putOffSince,
                                                   .startable = lane_->startable(now()),
                                                   .mayBegin = lane_->mayBegin(now()),
                                                   .ofLane = lane_->inHand(),
                                                   .batch = lane_->batch(),
                                                   .isTaken = lane_->hasTaken()},
                                                  ways());
  return gathered ? lane_->onGathered(*gathered, now()) : failed<Gather>(gathered.error());
}

AnswerDesk::Ways LaneRunner::ways() {
  return {.now = [this] { return now(); },
          .read = [this](const auto& keys) { return readState(keys); },
          .areNew = [this](auto messages) { return areNew(messages); },
          .tell = [this](EventBody body) { (*emit_)(std::move(body), term_->token()); },
          .waits = [this] { context_.reportProgress(); },
          .seekRelief = [this] { term_->seekRelief(); },
          .takesMore = [this] { return lane_->mayTakeMore(now()) && supply_.isReady(); },
          .stop = stop_};
}

Result<std::vector<bool>> LaneRunner::areNew(std::span<const MessagePtr> messages) {
  std::vector<Message> asked;
  for (const MessagePtr& message : messages) asked.push_back(*message);
  const Result<std::vector<Admission>> known = store_.known(name_, asked);
  if (!known) return known.error();
  std::vector<bool> areNew;
  for (const Admission admission : *known) areNew.push_back(admission == Admission::fresh);
  return areNew;
}

/// In a transaction that is rolled back: a read by itself is none of the store's port.
Result<StateValues> LaneRunner::readState(const std::vector<std::string>& keys) {
  if (const Result<void> begun = begin(); !begun) return begun.error();
  StateValues values;
  for (const std::string& key : keys) {
    Result<std::optional<std::string>> value = transaction_->get(key);
    if (!value) {
      abandon();
      return value.error();
    }
    values.emplace_back(key, *std::move(value));
  }
  abandon();
  return values;
}

/// A refusal by the store is no fault of the answer: its message is handled again, from the answer at hand.
Action LaneRunner::applied(const Handle& asked) {
  std::optional<Outcome> outcome = desk_->apply(*asked.message, handed());
  if (const Result<void> sound = transaction_->status(); !sound) return refused<Handle>(sound.error());
  if (!outcome) return lane_->onStale(now());
  if (!isEnded(*outcome)) notDone(asked.message->id);
  return ran<Handle>(*std::move(outcome));
}

Action LaneRunner::perform(HandleTogether& asked) {
  context_.reportProgress();
  if (const Result<void> ready = begin(); !ready) return refused<HandleTogether>(ready.error());
  if (auto other = reconsider()) return *std::move(other);
  std::vector<Message> messages;
  messages.reserve(asked.messages.size());
  for (const MessagePtr& message : asked.messages) messages.push_back(*message);
  return ran<HandleTogether>(called(handlers_.many, BatchDelivery{messages, handed(), *term_, 1}));
}

/// After a wait for its turn, a lane looks at lease and stop again before it calls its handler.
std::optional<Action> LaneRunner::reconsider() { return turn_.hasWaited() ? lane_->reconsider(now()) : std::nullopt; }

/// A transaction that the store has refused is not the message's fault, whatever outcome the handler returns.
template <class Asked>
Action LaneRunner::ran(Outcome outcome) {
  if (const Result<void> sound = transaction_->status(); !sound) return refused<Asked>(sound.error());
  Now heard = now();
  outcome = judged(std::move(outcome), heard);
  if constexpr (std::is_same_v<Asked, Handle>) return lane_->onRan(outcome, heard);
  return lane_->onRanTogether(outcome, heard);
}

/// The handler's outcome, corrected by calls of its transaction that have failed and by a cut at a handover.
Outcome LaneRunner::judged(Outcome outcome, Now& heard) const {
  const std::optional<Error> failure = guarded_->failure();
  const bool isUndone = outcome.kind == Outcome::Kind::failed || (outcome.kind == Outcome::Kind::done && failure);
  // Another program has locked a row that the handler wants: no attempt of its message has failed. At most once its
  // start was the only one.
  const bool mayStartAgain = options_.delivery != Guarantee::atMostOnce;
  if (isUndone && failure && failure->is(Errc::rowLocked) && mayStartAgain)
    outcome = Outcome::retryLater(failure->message());
  else if (outcome.kind == Outcome::Kind::done && failure)
    outcome = Outcome::failed("done, though a call has failed: " + failure->message());
  outcome.reason = shortened(std::move(outcome.reason), longestReason);
  if (isCut(outcome)) {
    outcome = Outcome::retryLater("cut, as its leader was asked to leave: " + outcome.reason);
    heard.stopAsked = true;  // a lane hears of it a moment after its handler
  }
  return outcome;
}

bool LaneRunner::isCut(const Outcome& outcome) const noexcept {
  const EndReason ends = term_->endReason();
  const bool isUndone = outcome.kind == Outcome::Kind::failed || outcome.kind == Outcome::Kind::retryLater;
  const bool isAsked = ends == EndReason::handoverAsked || ends == EndReason::stopAsked;
  return isUndone && isAsked && options_.whenAsked == WhenAsked::cut;
}

/// The transaction that a handler may write to.
Transaction& LaneRunner::handed() noexcept {
  return guarded_.emplace(*transaction_, GuardedTransaction::Rules{.namesQueues = !shares_});
}

}  // namespace tenure::consuming
