#include "tenure/consumer.hpp"

#include "base/validation.hpp"
#include "consumer/engine.hpp"
#include "consumer/limits.hpp"
#include "consumer/work.hpp"
#include "tenure/spi/source.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;

const ConsumerOptions& validated(const ConsumerOptions& options) {
  Complaints complaints;
  complaints.require(options.name.value.size() <= 255, "consumer.name", options.name.value, "must be up to 255 bytes");
  complaints.require(options.maxBatch, limits::maxBatch, "consumer.maxBatch");
  complaints.require(options.ordering.lanes, limits::lanes, "consumer.ordering.lanes", "; 0 for one line");
  complaints.require(options.laneWindow, limits::laneWindow, "consumer.laneWindow");
  complaints.require(options.latencyTarget, limits::latencyTarget, "consumer.latencyTarget",
                     ": the store's lock is held that long");
  complaints.require(options.attempts(), limits::maxAttempts, "consumer.maxAttempts");
  complaints.require(options.retryDelays.size() <= limits::retryDelays, "consumer.retryDelays",
                     std::to_string(options.retryDelays.size()) + " delays", "must be up to 999");
  for (const std::chrono::milliseconds delay : options.retryDelays)
    complaints.require(delay, limits::retryDelay, "consumer.retryDelays");
  complaints.require(options.retryBase >= 0ms, "consumer.retryBase", options.retryBase, "must not be negative");
  complaints.require(options.retryMax >= options.retryBase, "consumer.retryMax", options.retryMax,
                     "must be at least retryBase");
  complaints.require(options.onDead == OnDead::skip || options.delivery != Guarantee::atMostOnce, "consumer.onDead",
                     "block", "a message that was acknowledged before its handler started holds nobody up");
  complaints.require(options.whenAsked == WhenAsked::finish || options.delivery != Guarantee::atMostOnce,
                     "consumer.whenAsked", "cut", "does not go with at most once: a handler starts only once then");
  complaints.require(options.deadLetterLimit, limits::deadLetterLimit, "consumer.deadLetterLimit", "; 0 for none");
  complaints.require(options.outageLimit >= 0ms, "consumer.outageLimit", options.outageLimit, "must not be negative");
  complaints.require(options.keepIdsFor >= 0h, "consumer.keepIdsFor", options.keepIdsFor,
                     "must not be negative; 0 keeps them for ever");
  complaints.require(options.idleWait, limits::idleWait, "consumer.idleWait", ", well below the execute limit");
  complaints.require(options.coalesce == Coalesce::never || options.delivery != Guarantee::atMostOnce,
                     "consumer.coalesce", "byKey", "does not go with at most once: that acknowledges before the run");
  complaints.require(options.coalesce == Coalesce::byKey || options.coalesceKey.empty(), "consumer.coalesceKey",
                     options.coalesceKey, "means nothing without consumer.coalesce");
  complaints.require(options.coalesceAhead, limits::coalesceAhead, "consumer.coalesceAhead");
  complaints.require(options.gapLimit, limits::gapLimit, "consumer.gapLimit");
  complaints.require(options.maxKept, limits::maxKept, "consumer.maxKept");
  complaints.require(!options.followNumbers || options.coalesce == Coalesce::never, "consumer.followNumbers", "true",
                     "cannot be combined with consumer.coalesce");
  complaints.require(
      !options.followNumbers || options.whenGapIsOld != GapPolicy::skip || options.delivery != Guarantee::atLeastOnce,
      "consumer.whenGapIsOld", "skip",
      "cannot be combined with at least once: without keys, what comes after its number was given up "
      "looks like a repeat, and would be lost");
  complaints.require(options.keepLogFor >= 0h, "consumer.keepLogFor", options.keepLogFor,
                     "must not be negative; 0 keeps no log");
  complaints.require(options.keepLogLines, limits::counted, "consumer.keepLogLines", "; 0 for any number");
  complaints.require(options.keyAlarm, limits::counted, "consumer.keyAlarm", "; 0 for no alarm");
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
  const bool coalesces = options.coalesce == Coalesce::byKey;
  return {{"consumer", options.name.value.empty() ? election.value : options.name.value},
          {"delivery", guarantees[static_cast<std::size_t>(options.delivery)]},
          {"coalescing",
           coalesces ? "by " + (options.coalesceKey.empty() ? "group" : "header " + options.coalesceKey) : "never"},
          {"numbers", options.followNumbers
                          ? std::string("followed, ") + policies[static_cast<std::size_t>(options.whenGapIsOld)]
                          : "not followed"}};
}

std::unique_ptr<ILeaderCareer> consuming::workOf(IMessageSource& source, IFencedStore& store, Handlers handlers,
                                                 const ConsumerOptions& options, IEventSink& events,
                                                 const IClock& clock, IThreads& threads) {
  const ConsumerOptions fit = fitted(validated(options), store);
  return std::make_unique<consuming::Engine>(source, store, std::move(handlers), fit, events, clock, threads);
}

Consumer::Consumer(IMessageSource& source, IFencedStore& store, Handler handler, const ConsumerOptions& options,
                   IEventSink& events, const IClock& clock)
    : WorkCareer(consuming::workOf(source, store, {callable(std::move(handler)), nullptr}, options, events, clock)) {}

Consumer::Consumer(IMessageSource& source, IFencedStore& store, ByValues handlers, const ConsumerOptions& options,
                   IEventSink& events, const IClock& clock)
    : WorkCareer(consuming::workOf(source, store, {.one = {}, .many = {}, .answerers = callable(handlers.answererOf)},
                                   forBatches(options), events, clock)) {}

Consumer::Consumer(OfMany many, IMessageSource& source, IFencedStore& store, const ConsumerOptions& options,
                   IEventSink& events, const IClock& clock)
    : WorkCareer(consuming::workOf(source, store, {oneByOne(callable(many.handler)), many.handler}, forBatches(options),
                                   events, clock)) {}

}  // namespace tenure
