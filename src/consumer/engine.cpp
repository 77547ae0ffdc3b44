#include "consumer/engine.hpp"

#include "consumer/worker_contexts.hpp"

namespace tenure::consuming {
namespace {

constexpr std::size_t windowBytes = 64U << 20U;

supply::Dispatcher dispatcherOf(const ConsumerOptions& options) {
  std::optional<supply::Coalescer> coalescer;
  if (options.coalesce == Coalesce::byKey) coalescer.emplace(options.coalesceKey, options.coalesceAhead);
  return {{options.laneWindow, windowBytes, recoveryWindowOf(options).front},
          1 + options.ordering.lanes,
          std::move(coalescer)};
}

}  // namespace

Engine::Engine(IMessageSource& source, IFencedStore& store, Handlers handlers, const ConsumerOptions& options,
               IEventSink& events, const IClock& clock, IThreads& threads)
    : setting_{source, store,  source.sharesTransactionsWith(store), std::move(handlers), options, events,
               clock,  threads},
      sourceTimer_(options.outageLimit, watch_),
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
  setting_.store.prepare(stop).value();
  if (!stop.stop_requested()) setting_.source.prepare(stop).value();
  openStores();
  for (const auto& store : laneStores_)
    if (store != nullptr && !stop.stop_requested()) store->prepare(stop).value();
  if (setting_.options.prepare) setting_.options.prepare(stop);
}

/// Of the next term's lanes.
void Engine::openStores() {
  for (std::size_t number = laneStores_.size() + 1; number <= setting_.options.ordering.lanes; ++number)
    laneStores_.push_back(setting_.store.openLane(static_cast<std::int64_t>(number)));
}

void Engine::inaugurate(const Term& term) {
  join();
  lanes_.clear();  // of a term that nobody handed over
  main_.reset();
  context_.reset();
  stop_ = {};
  failure_ = nullptr;
  termState_ = {.election = term.identity().election, .token = term.token()};
  notes_ = std::make_shared<Notes>(setting_.options);
  notes_->requestedAt = term.requestedAt();
  if (hasLanes()) {
    sourceTimer_.reset();
    setting_.source.limitAnswers(&sourceTimer_);
    dispatcher_.emplace(dispatcherOf(setting_.options), 1 + setting_.options.ordering.lanes, setting_.clock,
                        setting_.threads);
    context_ = std::make_unique<RecoveryContext>(*this, term);
  } else {
    order_.emplace(setting_.options);
    context_ = std::make_unique<TotalContext>(*this, term);
  }
  main_.emplace(*context_, setting_.store, setting_.handlers, setting_.options, setting_.shares, setting_.events,
                setting_.clock);
  main_->inaugurate(term);
}

bool Engine::execute(const Term& term) {
  if (hasLanes()) return termState_.recovered ? read(term) : recover(term);
  readLimits();
  return main_->execute(term).again;
}

void Engine::rest(const Term& term) {
  if (hasLanes() && termState_.recovered) return restWithLanes(term);
  while (term.isPaused() && !term.stopToken().stop_requested() && !main_->execute(term).isAtRest) {
  }
}

void Engine::handOver(const Term& term) {
  join();
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
  dispatcher_.reset();
  order_.reset();
  setting_.source.limitAnswers(nullptr);
}

// --- before the lanes

bool Engine::recover(const Term& term) {
  readLimits();
  const Return over = main_->execute(term);
  term.reportProgress();
  if (term.stopToken().stop_requested()) return false;
  termState_.recovered = over.isIdle && static_cast<const RecoveryContext&>(*context_).isDone();
  if (termState_.recovered) open(term);
  return true;
}

void Engine::open(const Term& term) {
  dispatcher_->trust();
  dispatcher_->adopt(main_->takeSequenceStates());
  dispatcher_->remember(main_->takeHistories());
  termState_.lastProgress = setting_.clock.now();
  dispatcher_->leave(mainWorker);
  openStores();
  for (std::size_t number = 1; number <= setting_.options.ordering.lanes; ++number) {
    auto lane = std::make_unique<LaneThread>();
    lane->context = std::make_unique<LaneContext>(*this, number);
    lane->store = std::move(laneStores_[number - 1]);
    isSerialized_ = lane->store == nullptr;
    if (isSerialized_) dispatcher_->serialize();
    if (isSerialized_) lane->store = std::make_unique<SerializedStore>(access_, *lane->context, setting_.store);
    lane->context->useStore(*lane->store);
    ConsumerOptions options = setting_.options;
    if (options.jitterSeed != 0) options.jitterSeed += number;
    lane->runner = std::make_unique<LaneRunner>(*lane->context, *lane->store, setting_.handlers, options,
                                                setting_.shares, setting_.events, setting_.clock);
    lanes_.push_back(std::move(lane));
  }
  laneStores_.clear();
  for (const auto& lane : lanes_)
    lane->thread = setting_.threads.start([this, &lane = *lane, term] { work(lane, term); });
}

// --- a lane's thread

void Engine::work(LaneThread& lane, const Term& term) noexcept {
  try {
    lane.runner->inaugurate(term);
    while (!stop_.stop_requested()) lane.runner->execute(term);
  } catch (...) {
    lane.failed = true;
    fail(std::current_exception());
  }
  lane.runner->letGo();
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
  if (main_) main_->hurry(by);
  for (const auto& lane : lanes_) lane->runner->hurry(by);
}

void Engine::readLimits() {
  const RateLimits* limits = setting_.options.limits;
  if (limits == nullptr || termState_.limitsSeen == limits->version()) return;
  termState_.limitsSeen = limits->version();  // first: what changes meanwhile is seen next time
  hasLanes() ? dispatcher_->limit(limits->rules()) : order_->limit(limits->rules());
}

}  // namespace tenure::consuming
