#include "consumer/engine.hpp"

#include <algorithm>

#include "base/backoff.hpp"
#include "base/random.hpp"
#include "consumer/errors.hpp"
#include "consumer/supply/dispatcher.hpp"
#include "consumer/supply/single_line.hpp"
#include "consumer/worker_contexts.hpp"

namespace tenure::consuming {

namespace {

constexpr std::size_t windowBytes = 64U << 20U;

std::unique_ptr<supply::IOrder> orderOf(const ConsumerOptions& options) {
  std::optional<supply::Coalescer> coalescer;
  if (options.coalesce == Coalesce::byKey) coalescer.emplace(options.coalesceKey, options.coalesceAhead);
  if (options.ordering.lanes == 0) return std::make_unique<supply::SingleLine>(std::move(coalescer));
  const supply::Dispatcher::Limits limits{options.laneWindow, windowBytes, recoveryWindowOf(options).unrecordedWindow};
  return std::make_unique<supply::Dispatcher>(limits, 1 + options.ordering.lanes, std::move(coalescer));
}

}  // namespace

Engine::Engine(IMessageSource& source, IFencedStore& store, Handlers handlers, const ConsumerOptions& options,
               IEventSink& events, const IClock& clock, IThreads& threads)
    : setting_{source, store,  source.sharesTransactionsWith(store), std::move(handlers), options, events,
               clock,  threads},
      sourceTimer_(options.outageLimit, watch_),
      storeTimer_(options.outageLimit, storeWatch_),
      turns_(threads),
      access_(clock, threads) {}

Engine::~Engine() { join(); }

// --- phases

void Engine::check(const std::stop_token& stop) {
  Result<void> ready = setting_.store.prepare(stop);
  if (ready && !setting_.shares && !stop.stop_requested()) ready = setting_.source.prepare(stop);
  setting_.source.detach();
  setting_.store.release();
  laneStores_.clear();  // which prepare() has opened, where this replica is the next in line no more
  ready.value();
}

void Engine::prepare(const std::stop_token& stop) {
  openStores();
  confirm(stop);
  if (setting_.options.prepare) setting_.options.prepare(stop);
}

/// Each session that is kept is asked, and opened anew where it has died.
void Engine::confirm(const std::stop_token& stop) {
  setting_.store.prepare(stop).value();
  if (!stop.stop_requested()) setting_.source.prepare(stop).value();
  for (const auto& store : laneStores_)
    if (store != nullptr && !stop.stop_requested()) store->prepare(stop).value();
}

/// Opens stores for the next term's lanes, and one for its reader where numbers are followed.
void Engine::openStores() {
  const std::size_t lanes = setting_.options.ordering.lanes;
  const std::size_t stores = lanes > 0 && setting_.options.followNumbers ? lanes + 1 : lanes;
  for (std::size_t number = laneStores_.size() + 1; number <= stores; ++number)
    laneStores_.push_back(setting_.store.openLane(static_cast<std::int64_t>(number)));
}

void Engine::inaugurate(const Term& term) {
  join();
  lanes_.clear();  // of a term that ended without a handover
  main_.reset();
  context_.reset();
  stop_ = {};
  failure_ = nullptr;
  sourceIsLongAway_ = false;
  termState_ = {.election = term.identity().election, .token = term.token()};
  notes_ = std::make_shared<Notes>(setting_.options);
  notes_->requestedAt = term.requestedAt();
  reading_.emplace(setting_.source, setting_.store, setting_.options, setting_.shares, term, setting_.events,
                   setting_.clock);
  readersStore_.reset();
  sourceTimer_.reset();
  supply_.emplace(orderOf(setting_.options), 1 + setting_.options.ordering.lanes, setting_.clock, setting_.threads,
                  [this](auto done) { return reading_->settled(done); });
  context_ = std::make_unique<MainContext>(*this, term);
  main_.emplace(*context_, *supply_, notes_, setting_.store, setting_.handlers, setting_.options, setting_.shares,
                setting_.events, setting_.clock);
  main_->inaugurate(term);
}

/// The lanes begin when all that a predecessor may have died of is done.
bool Engine::execute(const Term& term) {
  if (termState_.lanesWork) return read(term);
  readLimits();
  const Return over = main_->execute(term);
  if (setting_.isOneLine()) return over.again;
  term.reportProgress();
  if (term.stopToken().stop_requested()) return false;
  if (over.isIdle && context_->isPastSuspects()) open(term);
  return true;
}

void Engine::rest(const Term& term) {
  if (termState_.lanesWork) return restWithLanes(term);
  while (term.isPaused() && !term.stopToken().stop_requested() && !main_->execute(term).isAtRest) {
  }
}

void Engine::handOver(const Term& term) {
  join();
  if (isLongAway()) hurry();
  bool inOrder = main_.has_value();
  for (const auto& lane : lanes_) {
    const bool orderly = !lane->failed && term.valid();
    bool isClosed = false;
    orderly ? static_cast<void>(isClosed = lane->runner->handOver(term).isClosed) : lane->runner->leaveSilently(term);
    inOrder = inOrder && orderly && isClosed;
  }
  lanes_.clear();
  if (main_) inOrder ? static_cast<void>(main_->handOver(term)) : main_->leaveSilently(term);
  main_.reset();
  context_.reset();
  supply_.reset();
  reading_.reset();
  readersStore_.reset();
  setting_.source.limitAnswers(nullptr);
}

// --- lanes

void Engine::open(const Term& term) {
  termState_.lanesWork = true;
  setting_.source.limitAnswers(&sourceTimer_);
  supply_->trust();
  supply_->remember(main_->takeHistories());
  termState_.lastProgress = setting_.clock.now();
  supply_->leave(mainWorker);
  openStores();
  for (std::size_t number = 1; number <= setting_.options.ordering.lanes; ++number) {
    auto lane = std::make_unique<LaneThread>();
    lane->context = std::make_unique<LaneContext>(*this, number);
    lane->store = std::move(laneStores_[number - 1]);
    isSerialized_ = lane->store == nullptr;
    if (isSerialized_) supply_->serialize();
    if (isSerialized_) lane->store = std::make_unique<SerializedStore>(access_, *lane->context, setting_.store);
    lane->context->useStore(*lane->store);
    ConsumerOptions options = setting_.options;
    if (options.jitterSeed != 0) options.jitterSeed += number;
    lane->runner = std::make_unique<LaneRunner>(*lane->context, *supply_, notes_, *lane->store, setting_.handlers,
                                                options, setting_.shares, setting_.events, setting_.clock);
    lanes_.push_back(std::move(lane));
  }
  readBesideLanes();
  laneStores_.clear();
  for (const auto& lane : lanes_)
    lane->thread = setting_.threads.start([this, &lane = *lane, term] { work(lane, term); });
}

void Engine::readBesideLanes() {
  if (setting_.options.followNumbers) {
    readersStore_ = isSerialized_ ? std::make_unique<SerializedStore>(access_, storeWatch_, setting_.store)
                                  : std::move(laneStores_.back());
    storeTimer_.reset();
    readersStore_->limitAnswers(&storeTimer_);
  }
  reading_->workBeside(
      {.store = readersStore_.get(), .passToRead = [this] { return passForReading(); }, .stop = stop_.get_token()});
}

// --- a lane's thread

void Engine::work(LaneThread& lane, const Term& term) noexcept {
  try {
    lane.runner->inaugurate(term);
    while (!stop_.stop_requested() || lane.runner->hasBegun()) lane.runner->execute(term);
  } catch (...) {
    lane.failed = true;
    fail(std::current_exception());
  }
  lane.runner->release();
  if (isSerialized_) lane.store->release();
  lane.context->leave();
}

void Engine::fail(std::exception_ptr why) noexcept {
  const std::lock_guard lock(failureMutex_);
  if (failure_ == nullptr) failure_ = std::move(why);
  hurry();
  stop_.request_stop();
}

void Engine::join() {
  stop_.request_stop();
  for (const auto& lane : lanes_)
    if (lane->thread != nullptr) lane->thread->join();
}

void Engine::hurry() noexcept {
  const BootTime by = setting_.clock.now() + lastAnswers;
  sourceTimer_.hurry(by);
  storeTimer_.hurry(by);
  if (main_) main_->hurry(by);
  for (const auto& lane : lanes_) lane->runner->hurry(by);
}

bool Engine::isLongAway() const noexcept {
  return sourceIsLongAway_ || std::ranges::any_of(lanes_, [](const auto& lane) { return lane->runner->isLongAway(); });
}

/// In a long outage no lane waits for overdue answers: a standby waits for us.
void Engine::leave() noexcept {
  if (sourceIsLongAway_) sourceTimer_.cut();
  if (isLongAway())
    for (const auto& lane : lanes_) lane->runner->cutOverdue();
  stop_.request_stop();
}

void Engine::readLimits() {
  const RateLimits* limits = setting_.options.limits;
  if (limits == nullptr || termState_.limitsSeen == limits->version()) return;
  termState_.limitsSeen = limits->version();  // first: what changes meanwhile is seen next time
  supply_->limit(limits->rules());
}

// The career thread while the lanes are at work: between the source and the supply.

namespace {

using namespace std::chrono_literals;

/// Between two looks at a source that cannot be waited for.
constexpr Duration lookInterval = 5ms;

}  // namespace

/// Comes back when every lane has made some progress: an execute that returned while one hangs would begin its limit
/// anew.
bool Engine::read(const Term& term) {
  const std::stop_callback leaving(term.stopToken(), [this] { leave(); });
  const Duration slice = std::max<Duration>(setting_.options.idleWait, 20ms);
  const BootTime begin = setting_.clock.now();
  const auto isOver = [&] {
    if (termState_.sourceTrouble) return true;
    return setting_.clock.now() - begin >= slice && supply_->madeProgressSince(begin);
  };
  if (const auto trouble = std::exchange(termState_.sourceTrouble, std::nullopt)) sourceFailed(term, *trouble);
  while (!stop_.stop_requested() && !isOver() && !term.isPaused()) {
    reportProgress(term);
    readLimits();
    const auto stop = stop_.get_token();
    if (const auto done = supply_->mustBeReadAgain() ? readAgain(term) : readOnce(setting_.clock.now() + slice, stop);
        !done)
      reading_->takeStoresFault() ? storeFailed(term, done.error()) : sourceFailed(term, done.error());
    else if (const auto since = reading_->isStored() ? std::exchange(termState_.storeFailsSince, {}) : std::nullopt)
      tellEnd(*since);
  }
  if (!stop_.stop_requested()) return true;
  settleDown(term);
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  return false;
}

/// Lanes keep what they have not begun: their threads wait until the election is resumed.
void Engine::restWithLanes(const Term& term) {
  const std::stop_callback leaving(term.stopToken(), [this] { stop_.request_stop(); });
  while (term.isPaused() && !stop_.stop_requested() && !supply_->isQuiet()) {
    reportProgress(term);
    if (const Result<void> done = acknowledge(); !done) sourceFailed(term, done.error());
    supply_->await(setting_.clock.now() + lookInterval, stop_.get_token());
  }
  if (!stop_.stop_requested()) return;
  settleDown(term);
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

Result<void> Engine::acknowledge() {
  const std::vector<Message> done = supply_->takeAcknowledgements();
  if (done.empty()) return {};
  const Result<void> acknowledged = setting_.source.acknowledge(done);
  if (acknowledged) supply_->confirm(done.size());
  return acknowledged;
}

Result<void> Engine::readOnce(BootTime until, const std::stop_token& stop) {
  if (const Result<void> acknowledged = acknowledge(); !acknowledged) return acknowledged;
  if (supply_->wantsLook()) return look(stop);
  reading_->tellOfGaps();
  if (const Result<void> given = giveUpOldGaps(stop); !given) return given;
  if (!supply_->wantsMore()) {
    supply_->await(until, stop);
    const SerialAccess::Pass pass = passForReading();
    return setting_.source.tend();
  }
  const bool onlyLooks = readsInTurn() && !supply_->isAtRest();
  Result<supply::Arrivals> arrivals = fetch(onlyLooks ? onlyLook : until, stop);
  if (!arrivals) return arrivals.error();
  const bool isDry = arrivals->isDry;
  supply_->receive(std::move(*arrivals));
  if (isDry && onlyLooks) supply_->await(setting_.clock.now() + lookInterval, stop);
  return {};
}

Result<void> Engine::look(const std::stop_token& stop) {
  supply_->beginLook();
  while (supply_->room() > 0) {
    Result<supply::Arrivals> arrivals = reading_->fetch(supply_->room(), onlyLook, stop);
    if (!arrivals) return arrivals.error();
    if (arrivals->isDry) break;
    supply_->receive(std::move(*arrivals));
  }
  supply_->endLook();
  return {};
}

/// Where the source has no message, and none is in work that would make it hold some back.
Result<void> Engine::giveUpOldGaps(const std::stop_token& stop) {
  if (!setting_.options.followNumbers || setting_.options.whenGapIsOld == GapPolicy::wait) return {};
  if (!supply_->isEmpty() || !reading_->mayGiveUp()) return {};
  Result<supply::Arrivals> arrivals = fetch(onlyLook, stop);
  if (!arrivals) return arrivals.error();
  const bool isDry = arrivals->isDry && !stop.stop_requested();
  supply_->receive(std::move(*arrivals));
  return isDry ? reading_->giveUpOldGaps() : Result<void>{};
}

Result<void> Engine::attach(const Term& term) {
  Result<void> attached = setting_.source.attach(term);
  if (attached) reading_->attached();
  return attached;
}

/// The supply knows too little of some coalesced messages to have them run.
Result<void> Engine::readAgain(const Term& term) {
  const Result<bool> rested = awaitRest(term, [this] { return acknowledge(); });
  if (!rested) return rested.error();
  if (stop_.stop_requested()) return {};
  if (!*rested) {
    supply_->close(false);
    return {};  // the supply still asks for it
  }
  supply_->clear();
  const SerialAccess::Pass pass = passForReading();
  const Result<void> attached = attach(term);
  if (attached) supply_->close(false);
  return attached;
}

/// Lanes finish what they hold, and take nothing more. False: a lane still holds messages, because the term ends or the
/// election is paused.
Result<bool> Engine::awaitRest(const Term& term, const std::function<Result<void>()>& each) {
  supply_->close(true);
  while (!supply_->isAtRest()) {
    if (stop_.stop_requested() || term.isPaused()) return false;
    if (!term.valid()) return Error{Errc::leaseLost, "while its lanes came to rest"};  // those may wait for it to end
    reportProgress(term);
    if (const Result<void> done = each(); !done) return done.error();
    supply_->await(setting_.clock.now() + lookInterval, stop_.get_token());
  }
  return true;
}

Result<supply::Arrivals> Engine::fetch(BootTime until, const std::stop_token& stop) {
  std::stop_source& interrupt = supply_->interrupt();
  const std::stop_callback leaving(stop, [&interrupt] { interrupt.request_stop(); });
  if (const auto due = supply_->nextDue(); due && readsInTurn()) until = std::min(until, *due);
  return reading_->fetch(supply_->room(), until, interrupt.get_token());
}

/// Attaches the source anew, which delivers again what was not acknowledged. While the election is paused the error is
/// kept until it is resumed, because lanes keep their messages.
void Engine::sourceFailed(const Term& term, const Error& error) {
  if (!isTransient(error)) throw EndTerm(reasonOf(error), error);
  if (term.isPaused()) return postpone(error);
  const BootTime began = sourceTimer_.since().value_or(setting_.clock.now());
  sourceTimer_.hold(began);
  const bool wasOverdue = std::exchange(termState_.overdueSince, std::nullopt).has_value();
  if (!std::exchange(termState_.sourceIsAway, true) && !wasOverdue) tell(OutageBegan{error.message()});
  Random random = setting_.options.jitterSeed != 0 ? Random(setting_.options.jitterSeed) : Random(freshSeed());
  Backoff backoff(20ms, 1s, random.fork());
  Error trouble = error;
  const auto isLost = [&] {
    const bool isLong = setting_.clock.now() - began >= setting_.options.outageLimit;
    if (!isLong || !term.hasRelief()) return isLong;
    sourceIsLongAway_ = true;
    if (trouble.is(Errc::unavailable) || trouble.is(Errc::timedOut)) term.seekRelief();
    sourceTimer_.hold(std::nullopt);  // each attempt has the whole limit for itself
    sourceTimer_.putOff();
    return false;
  };
  const Result<bool> rested = awaitRest(term, [&]() -> Result<void> {
    static_cast<void>(supply_->takeAcknowledgements());
    return isLost() ? Result<void>(trouble) : Result<void>{};
  });
  if (!rested) giveUp(rested.error());
  if (stop_.stop_requested()) return;
  if (!*rested) return postpone(error);
  supply_->clear();
  for (;;) {
    if (term.isPaused()) return postpone(trouble);
    if (isLost()) giveUp(trouble);
    setting_.clock.waitUntil(setting_.clock.now() + backoff.next(), stop_.get_token());
    if (stop_.stop_requested()) return;
    term.reportProgress();
    const SerialAccess::Pass pass = passForReading();
    const Result<void> attached = attach(term);
    if (attached) break;
    trouble = attached.error();
    if (!isTransient(trouble)) throw EndTerm(reasonOf(trouble), trouble);
  }
  sourceTimer_.hold(std::nullopt);
  termState_.sourceIsAway = false;
  sourceIsLongAway_ = false;
  supply_->close(false);
  tellEnd(began);
}

/// The store took no early messages, or told of none: again in a moment.
void Engine::storeFailed(const Term& term, const Error& error) {
  const bool mayPass = isTransient(error) || error.is(Errc::transactionConflict);
  if (!mayPass) throw EndTerm(reasonOf(error), error);
  const BootTime now = setting_.clock.now();
  storeFails(now, error.message());
  if (now - *termState_.storeFailsSince >= setting_.options.outageLimit) {
    if (!term.hasRelief()) giveUp(error);
    term.seekRelief();
  }
  setting_.clock.waitUntil(now + 20ms, stop_.get_token());
}

void Engine::storeFails(BootTime since, std::string why) {
  if (termState_.storeFailsSince) return;
  termState_.storeFailsSince = since;
  tell(OutageBegan{std::move(why)});
}

/// Keeps the error until the election is resumed. The outage counts from then on.
void Engine::postpone(const Error& error) {
  termState_.sourceTrouble = error;
  sourceTimer_.hold(std::nullopt);
}

void Engine::giveUp(const Error& error) {
  hurry();
  throw EndTerm(reasonOf(error), error);
}

void Engine::tell(EventBody body) {
  Emitter(setting_.events, setting_.clock, termState_.election)(std::move(body), termState_.token);
}

void Engine::tellEnd(BootTime since) {
  tell(OutageEnded{std::chrono::duration_cast<std::chrono::milliseconds>(setting_.clock.now() - since)});
}

void Engine::Watch::onOverdue(BootTime since) {
  engine_.termState_.overdueSince = since;
  if (engine_.termState_.sourceIsAway) return;
  engine_.tell(OutageBegan{noAnswer(true, engine_.setting_.clock.now() - since)});
}

void Engine::Watch::onAnswered() {
  const auto since = std::exchange(engine_.termState_.overdueSince, std::nullopt);
  if (!since || engine_.termState_.sourceIsAway) return;  // sourceFailed() tells when an outage ends
  engine_.tellEnd(*since);
}

/// Waits for the lanes to finish what they have begun.
void Engine::settleDown(const Term& term) {
  while (supply_->lanesLeft() <= lanes_.size()) {
    reportProgress(term);
    supply_->await(setting_.clock.now() + 20ms, {});
  }
  if (const std::vector<Message> done = supply_->takeAcknowledgements(); !done.empty() && term.valid())
    static_cast<void>(setting_.source.acknowledge(done));  // what does not get through comes again, and is known
}

/// The watchdog hears of progress when every lane with something in hand has made some.
void Engine::reportProgress(const Term& term) {
  if (!supply_->madeProgressSince(termState_.lastProgress)) return;
  termState_.lastProgress = setting_.clock.now();
  term.reportProgress();
}

}  // namespace tenure::consuming
