#include "consumer/lane_runner.hpp"

#include <algorithm>

#include "consumer/charges.hpp"
#include "lease/term_state.hpp"

namespace tenure::consuming {
namespace {

/// How often a lane that has messages looks whether it may go on. A pause may last for days.
constexpr std::chrono::milliseconds pausedLook{100};

}  // namespace

LaneRunner::LaneRunner(IWorkerContext& context, IFencedStore& store, const Handlers& handlers,
                       const ConsumerOptions& options, bool shares, IEventSink& events, const IClock& clock)
    : context_(context),
      store_(store),
      handlers_(handlers),
      options_(options),
      shares_(shares),
      events_(events),
      clock_(clock),
      random_(options.jitterSeed != 0 ? options.jitterSeed : freshSeed()),
      storeTimer_(options.outageLimit, storeWatch_),
      sourceTimer_(options.outageLimit, sourceWatch_) {}

// --- phases

void LaneRunner::inaugurate(const Term& term) {
  storeTimer_.reset();
  sourceTimer_.reset();
  lane_.reset();
  enter(term);
  end();
  ConsumerOptions named = options_;
  named.name = name_;
  lane_.emplace(named, random_.fork(),
                Lane::Setup{.role = context_.role(),
                            .together = handlers_.many != nullptr,
                            .takesSkips = handlers_.takeSkips,
                            .token = term.token(),
                            .notes = context_.notes()});
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
  while (true) {
    if (lane_->hasNews()) tell();
    if (const auto* over = std::get_if<Return>(&action)) return *over;
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
          .isLimited = context_.isLimited(),
          .storeOwesSince = storeTimer_.since(),
          .sourceOwesSince = context_.sourceTimer(sourceTimer_).since()};
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
  storeTimer_.hold(lane_->failingSince(Side::store));
  sourceTimer_.hold(lane_->failingSince(Side::source));
}

void LaneRunner::hurry(BootTime by) noexcept {
  storeTimer_.hurry(by);
  sourceTimer_.hurry(by);
}

// --- the context, and waiting

Action LaneRunner::perform(Attach& attach) { return did(context_.attach(attach)); }

Action LaneRunner::perform(Take& take) {
  context_.reportProgress();
  Result<Share> share = context_.take(std::move(take));
  if (!share) return lane_->failed(share.error(), now());
  foretell(share->messages);
  return lane_->took(std::move(*share), now());
}

/// Not of a child process: what it does is in no transaction, and nothing but the store's own word may start it.
void LaneRunner::foretell(std::span<const Message> messages) {
  if (!options_.handlerIsExternal) store_.expect(messages);
}

Action LaneRunner::perform(TakeTurn& turn) {
  const std::optional<BootTime> heldUntil = context_.takeTurn(turn.group);
  return lane_->turned(heldUntil, now());
}

Action LaneRunner::perform(Begin& begin) { return lane_->begun(context_.begin(*begin.message), now()); }

Action LaneRunner::perform(Park& park) {
  context_.park(std::move(park.parked), park.until);
  return lane_->did(now());
}

Action LaneRunner::perform(Release& release) {
  context_.release(std::move(release.states));
  return lane_->did(now());
}

Action LaneRunner::perform(Acknowledge& acknowledge) {
  if (!term_->valid()) return lane_->failed(Errc::leaseLost, now());
  Result<Receipt> receipt = context_.acknowledge(acknowledge);
  return receipt ? lane_->acknowledged(std::move(*receipt), now()) : lane_->failed(receipt.error(), now());
}

Action LaneRunner::perform(Wait& wait) {
  context_.reportProgress();
  const BootTime until = term_->isPaused() ? std::max(wait.until, clock_.now() + pausedLook) : wait.until;
  context_.rests(lane_->isAtRest());
  clock_.waitUntil(until, stop_);
  context_.rests(false);
  return lane_->did(now());
}

Action LaneRunner::perform(Return& over) { return over; }  // run() has seen it

Action LaneRunner::perform(Quit& quit) {
  hurry(clock_.now() + lastAnswers);
  abandon();
  throw EndTerm(quit.reason, quit.why);
}

// --- the store, between transactions

Action LaneRunner::perform(Claim&) {
  const Result<QueueIdentity> queue = context_.identity();
  if (!queue) return lane_->unidentified(queue.error(), now());
  if (!queue->value.empty()) store_.serve(*queue);
  return did(store_.claim(*term_));
}

Action LaneRunner::perform(Recall&) {
  const Result<ConsumerState> left = context_.recall(name_, now().wall);
  return left ? lane_->recalled(*left, now()) : lane_->failed(left.error(), now());
}

Action LaneRunner::perform(Reopen&) {
  context_.reportProgress();
  Result<std::vector<NumberedGroup>> groups = store_.openGroups(name_);
  return groups ? lane_->reopened(*std::move(groups), now()) : lane_->failed(groups.error(), now());
}

Action LaneRunner::perform(Declare& declaration) {
  context_.reportProgress();
  abandon();
  Result<void> done = begin();
  if (done) done = transaction_->recordFact(name_, declaration.window);
  return did(commitAlone(std::move(done)));
}

/// What is not about messages has a transaction of its own.
Result<void> LaneRunner::commitAlone(Result<void> done) {
  if (done && !term_->valid()) done = Error{Errc::leaseLost, "before a commit"};
  if (done) done = transaction_->commit();
  abandon();
  return done;
}

Action LaneRunner::perform(Inquire&) {
  context_.reportProgress();
  const Result<ConsumerState> found = store_.consumerState(name_);
  return found ? lane_->inquired(*found, now()) : lane_->failed(found.error(), now());
}

Action LaneRunner::perform(Look& look) {
  const Result<std::vector<Admission>> known = store_.known(name_, {look.message.get(), 1});
  if (!known) return lane_->failed(known.error(), now());
  return lane_->looked(known->front() != Admission::fresh, now());
}

Action LaneRunner::perform(LookAtClock&) {
  context_.reportProgress();
  const auto clock = store_.clock();
  return clock ? lane_->lookedAt(*clock, now()) : lane_->failed(clock.error(), now());
}

Action LaneRunner::perform(Prune& prune) {
  context_.reportProgress();
  if (!term_->valid()) return lane_->failed(Errc::leaseLost, now());
  prune.step.consumer = name_;
  if (prune.step.after.empty())  // once a pass
    if (const Result<void> forgotten = forgetAttempts(prune); !forgotten)
      return lane_->failed(forgotten.error(), now());
  const Result<Pruned> pruned = store_.prune(*term_, prune.step);
  return pruned ? lane_->pruned(*pruned, now()) : lane_->failed(pruned.error(), now());
}

/// Of messages that nobody delivers any more: whatever took them from their queue, their records would stay for ever.
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

Action LaneRunner::perform(PruneLog& prune) {
  context_.reportProgress();
  if (!term_->valid()) return lane_->failed(Errc::leaseLost, now());
  prune.step.consumer = name_;
  const Result<std::size_t> removed = store_.pruneLog(*term_, prune.step);
  return removed ? lane_->logPruned(*removed, now()) : lane_->failed(removed.error(), now());
}

Action LaneRunner::perform(Resolve&) {
  const Result<CommitFate> fate = store_.resolve(*term_);
  if (!fate) return lane_->failed(fate.error(), now());
  return lane_->resolved(*fate, now());
}

}  // namespace tenure::consuming
