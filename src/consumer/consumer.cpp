#include "tenure/consumer.hpp"

#include "base/validation.hpp"
#include "consumer/engine/engine.hpp"
#include "consumer/work.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t mostCounted = 1'000'000'000'000;

const ConsumerOptions& validated(const ConsumerOptions& options) {
  Complaints complaints;
  complaints.require(options.name.value.size() <= 255, "consumer.name", options.name.value, "must be up to 255 bytes");
  complaints.require(options.maxBatch >= 1 && options.maxBatch <= 4096, "consumer.maxBatch",
                     static_cast<std::int64_t>(options.maxBatch), "must be 1 to 4096");
  complaints.require(options.ordering.lanes <= 64, "consumer.ordering.lanes",
                     static_cast<std::int64_t>(options.ordering.lanes), "must be 1 to 64");
  complaints.require(options.laneWindow >= 64 && options.laneWindow <= 100'000, "consumer.laneWindow",
                     static_cast<std::int64_t>(options.laneWindow), "must be 64 to 100,000");
  complaints.require(options.latencyTarget >= 0ms && options.latencyTarget <= 10s, "consumer.latencyTarget",
                     options.latencyTarget, "must be 0 to 10 s: the store's lock is held that long");
  complaints.require(options.maxAttempts >= 1 && options.maxAttempts <= 1000, "consumer.maxAttempts",
                     static_cast<std::int64_t>(options.maxAttempts), "must be 1 to 1000");
  complaints.require(options.retryBase >= 0ms, "consumer.retryBase", options.retryBase, "must not be negative");
  complaints.require(options.retryMax >= options.retryBase, "consumer.retryMax", options.retryMax,
                     "must be at least retryBase");
  complaints.require(options.onDead == OnDead::skip || options.delivery != Guarantee::atMostOnce, "consumer.onDead",
                     "block", "a message that was acknowledged before its handler started holds nobody up");
  complaints.require(options.deadLetterLimit <= 1'000'000, "consumer.deadLetterLimit",
                     std::to_string(options.deadLetterLimit), "must be up to 1,000,000; 0 for none");
  complaints.require(options.outageLimit >= 0ms, "consumer.outageLimit", options.outageLimit, "must not be negative");
  complaints.require(options.keepIdsFor >= 0h, "consumer.keepIdsFor", options.keepIdsFor,
                     "must not be negative; 0 keeps them for ever");
  complaints.require(options.idleWait >= 0ms && options.idleWait <= 30s, "consumer.idleWait", options.idleWait,
                     "must be 0 to 30 s, well below the execute limit");
  complaints.require(options.collapse == Collapse::never || options.delivery != Guarantee::atMostOnce,
                     "consumer.collapse", "byKey", "does not go with at most once: that acknowledges before the run");
  complaints.require(options.collapse == Collapse::byKey || options.collapseKey.empty(), "consumer.collapseKey",
                     options.collapseKey, "means nothing without collapse");
  complaints.require(options.collapseAhead >= 1 && options.collapseAhead <= 10'000'000, "consumer.collapseAhead",
                     static_cast<std::int64_t>(options.collapseAhead), "must be 1 to 10,000,000");
  complaints.require(options.gapLimit >= 0ms && options.gapLimit <= 30 * 24h, "consumer.gapLimit", options.gapLimit,
                     "must be 0 to 30 days");
  complaints.require(options.maxKept >= 1 && options.maxKept <= 10'000, "consumer.maxKept",
                     static_cast<std::int64_t>(options.maxKept), "must be 1 to 10,000");
  complaints.require(!options.followNumbers || options.collapse == Collapse::never, "consumer.followNumbers", "true",
                     "cannot be combined with collapse");
  complaints.require(
      !options.followNumbers || options.whenGapIsOld != GapPolicy::skip || options.delivery != Guarantee::atLeastOnce,
      "consumer.whenGapIsOld", "skip",
      "cannot be combined with at least once: without keys, what comes after its number was given up "
      "looks like a repeat, and would be lost");
  complaints.require(options.keepLogFor >= 0h, "consumer.keepLogFor", options.keepLogFor,
                     "must not be negative; 0 keeps no log");
  complaints.require(options.keepLogLines <= mostCounted, "consumer.keepLogLines", std::to_string(options.keepLogLines),
                     "must be up to 10^12; 0 for any number");
  complaints.require(options.keyAlarm <= mostCounted, "consumer.keyAlarm", std::to_string(options.keyAlarm),
                     "must be up to 10^12; 0 for no alarm");
  complaints.require(options.keepLogFor == 0h || options.delivery != Guarantee::atMostOnce, "consumer.keepLogFor",
                     options.keepLogFor, "what at most once loses would be missing from the log");
  complaints.throwIfAny();
  return options;
}

ConsumerOptions fitted(ConsumerOptions options, const IFencedStore& store) {
  Complaints complaints;
  complaints.require(options.keepLogFor == 0h || store.keepsLog(), "consumer.keepLogFor", options.keepLogFor,
                     "this store keeps no log of attempts; those of the library do");
  complaints.throwIfAny();
  options.maxBatch = std::min(options.maxBatch, store.maxBatch());
  options.keepIdsFor = store.keepsIdsFor().value_or(options.keepIdsFor);
  return options;
}

template <class Callable>
Callable callable(Callable handler) {
  Complaints complaints;
  complaints.require(handler != nullptr, "handler", "", "there is none: expected something that can be called");
  complaints.throwIfAny();
  return handler;
}

Handler oneByOne(BatchHandler handler) {
  return [handler = std::move(handler)](const Delivery& delivery) {
    return handler({{&delivery.message, 1}, delivery.transaction, delivery.term, delivery.attempt});
  };
}

ConsumerOptions forBatches(const ConsumerOptions& options) {
  Complaints complaints;
  complaints.require(!options.handlerIsExternal, "consumer.handlerIsExternal", "true",
                     "a handler of many at once writes to its transaction");
  complaints.throwIfAny();
  return options;
}

}  // namespace

Agreement agreementOf(const ConsumerOptions& options, const ElectionName& election) {
  constexpr const char* guarantees[] = {"exactly once", "at least once", "at most once"};
  constexpr const char* policies[] = {"wait", "skip", "stop"};
  const bool coalesces = options.collapse == Collapse::byKey;
  return {{"consumer", options.name.value.empty() ? election.value : options.name.value},
          {"delivery", guarantees[static_cast<std::size_t>(options.delivery)]},
          {"coalescing",
           coalesces ? "by " + (options.collapseKey.empty() ? "group" : "header " + options.collapseKey) : "never"},
          {"numbers", options.followNumbers
                          ? std::string("followed, ") + policies[static_cast<std::size_t>(options.whenGapIsOld)]
                          : "not followed"}};
}

Result<void> consuming::isReady(IMessageSource& source, IFencedStore& store, const std::stop_token& stop) {
  Result<void> ready = store.prepare(stop);
  if (!ready || stop.stop_requested() || source.sharesTransactionsWith(store)) return ready;
  return source.prepare(stop);
}

std::unique_ptr<ILeaderCareer> consuming::workOf(IMessageSource& source, IFencedStore& store, Handlers handlers,
                                                 const ConsumerOptions& options, IEventSink& events,
                                                 const IClock& clock, IThreads& threads) {
  const ConsumerOptions fit = fitted(validated(options), store);
  return std::make_unique<engine::Engine>(source, store, std::move(handlers), fit, events, clock, threads);
}

Consumer::Consumer(IMessageSource& source, IFencedStore& store, Handler handler, const ConsumerOptions& options,
                   IEventSink& events, const IClock& clock)
    : work_(consuming::workOf(source, store, {callable(std::move(handler)), nullptr}, options, events, clock)) {}

Consumer::Consumer(OfMany many, IMessageSource& source, IFencedStore& store, const ConsumerOptions& options,
                   IEventSink& events, const IClock& clock)
    : work_(consuming::workOf(source, store, {oneByOne(callable(many.handler)), many.handler}, forBatches(options),
                              events, clock)) {}
Consumer::~Consumer() = default;

void Consumer::check(const std::stop_token& stop) { work_->check(stop); }
void Consumer::prepare(const std::stop_token& stop) { work_->prepare(stop); }
void Consumer::inaugurate(const Term& term) { work_->inaugurate(term); }
bool Consumer::execute(const Term& term) { return work_->execute(term); }
void Consumer::handOver(const Term& term) { work_->handOver(term); }

}  // namespace tenure
