/// The ready-made career: consumes a source strictly serially and commits each effect under the fence.
///
///   fetch → drop known ids → handle in the fenced transaction → commit → acknowledge
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

#include "tenure/detail/work_career.hpp"
#include "tenure/events.hpp"
#include "tenure/message.hpp"
#include "tenure/transaction.hpp"

namespace tenure {

class IAnswerer;
class IFencedStore;
class IMessageSource;

/// Where a handler that takes long says that it comes further.
class IProgress {
 public:
  virtual ~IProgress() = default;
  virtual void reportProgress() noexcept = 0;
};

/// One attempt at one message, as its handler sees it.
struct Delivery {
  const Message& message;
  Transaction& transaction;
  const Term& term;
  int attempt;                    // 1 at the first
  IProgress* progress = nullptr;  // of the lane that handles it; nullptr: of the term

  /// The handler's limit (CareerLimits::execute) counts from here. Threads: the handler's own.
  void reportProgress() const noexcept { progress != nullptr ? progress->reportProgress() : term.reportProgress(); }
};

/// What a handler says of its attempt. An exception is a failed attempt with its what() as the reason, but for
/// EndTerm: no attempt, the term ends. What the handler wrote to its transaction stays only when it is done.
struct Outcome {
  enum class Kind { done, retryLater, failed, reject, skip } kind = Kind::done;
  std::string reason{};
  std::chrono::milliseconds retryAfter{0};  // retryLater: 0 means the backoff's own choice

  static Outcome done() { return {}; }
  /// Again later, in its place in the order; does not count as a failed attempt.
  static Outcome retryLater(std::string why, std::chrono::milliseconds after = {}) {
    return {Kind::retryLater, std::move(why), after};
  }
  static Outcome failed(std::string why) { return {Kind::failed, std::move(why), {}}; }
  /// No attempt could help: a dead letter at once, also under OnDead::block.
  static Outcome reject(std::string why) { return {Kind::reject, std::move(why), {}}; }
  /// There is nothing to do for it: acknowledged like one that is done, and told (MessageSkipped).
  static Outcome skip(std::string why) { return {Kind::skip, std::move(why), {}}; }
};

using Handler = std::function<Outcome(const Delivery&)>;

/// Consecutive messages that are handled at once, for stores that like bulk statements. All of them are new, and their
/// keys part of the transaction, before the handler sees them: it writes under the store's lock.
struct BatchDelivery {
  std::span<const Message> messages;  // at least one, in source order
  Transaction& transaction;
  const Term& term;
  int attempt;  // above 1 only for a message that is alone
};

/// Anything but Outcome::done() for more than one message undoes them all and counts for none of them: they come again
/// one by one, and what each gets then is its own.
using BatchHandler = std::function<Outcome(const BatchDelivery&)>;

/// The promise for each message, despite any crash. An effect is what the handler writes to its transaction; what it
/// does elsewhere (a mail, a child process) happens as often as the handler is started.
enum class Guarantee {
  /// One effect for each id: a message that comes again is dropped by its idempotency key. A handler may be started
  /// again, when its process or its commit failed. Loses nothing.
  exactlyOnceEffect,
  /// No idempotency keys, so none to keep and none to look up: for handlers that may be repeated. What a producer or a
  /// broker sends twice is handled twice, and so is what was committed and not yet acknowledged when its process died
  /// or its broker was lost, unless the queue is kept in the store. Loses nothing.
  atLeastOnce,
  /// The key is durable, and the acknowledgement sent, before the handler starts, and it starts once: for what does
  /// more harm twice than not at all. What its process dies of is lost; what fails, a dead letter at once, without
  /// another attempt (but for Outcome::retryLater, the handler's own word that nothing has happened). Two commits a
  /// message, no batches.
  atMostOnce,
};

/// The order in which messages are handled.
struct Ordering {
  /// 0: all of them, in the order of the source, one after the other.
  std::size_t lanes = 0;

  static constexpr Ordering total() noexcept { return {}; }
  /// Only messages of one group wait for each other, and groups are handled beside each other in so many lanes, 1..64;
  /// but what several groups have for quick handlers shares commits, as much as takes no longer than one, or 1 ms.
  /// A message without a group waits for none. Its handler is called from that many threads, and each lane's commits
  /// are batches of its own, fenced like all; on a store that takes one transaction at a time (all but PostgreSQL) a
  /// handler has it for itself from its first statement to the commit, and the lanes help those that compute or wait
  /// before it. A group whose message has to wait for its next attempt waits alone. Before the lanes begin after an
  /// unclean end, what may have been in work is handled by itself, one after the other.
  static constexpr Ordering perGroup(std::size_t lanes) noexcept { return {lanes}; }
  friend bool operator==(const Ordering&, const Ordering&) = default;
};

/// What becomes of a message that asks for what another one, which waits before it, asks for already.
enum class Coalesce {
  never,
  /// One run stands for all that wait when it begins: the first of them runs, in its place; the others are acknowledged
  /// together with its commit, without a run and without an idempotency key of their own (an id that had no run may
  /// come again as a new request). When the first ends without a run, as a dead letter or as known before, the next one
  /// takes its place. For requests of which the key says all: refresh this entry, rebuild that index. The handler sees
  /// the first one's body. Loses nothing: despite crashes, each request is followed by a run that began after it came.
  byKey,
};

/// What a message that has used up its attempts does to those behind it. What no attempt could change (a rejected
/// message, one over the limits, an id that came with another body) is a dead letter either way.
enum class OnDead {
  /// The message is set aside as a dead letter, and those behind it go on.
  skip,
  /// The messages behind it wait. It is tried again every ConsumerOptions::retryMax (the longest of retryDelays), by
  /// each leader, until it succeeds or an operator makes a dead letter of it (IStoreAdmin::release, `tenure queue
  /// release`). Not with at most once.
  block,
};

/// Whether a running handler finishes its message when its leader is asked to hand over or to stop.
enum class WhenAsked {
  finish,  // within CareerLimits::drain
  /// The handler may return early when its term's stop token asks. Unless it says done, reject or skip, its transaction
  /// is rolled back, no attempt counts, and the successor handles its message first. For handlers whose work elsewhere
  /// may be broken off and repeated. Not with at most once.
  cut,
};

/// The policy for a group whose next number does not come within ConsumerOptions::gapLimit. A skip or stop comes only
/// after all that waits at the source was searched for the number (in lanes: and nothing is in work).
enum class GapPolicy {
  wait,  // for as long as it takes; the event tells of it
  skip,  // the numbers are given up, with a dead letter that names them; those after them are handled
  stop,  // the term ends with Errc::gapTooOld, and so does every later one until the numbers come
};

/// How many messages may begin in a second: of the whole queue, of each group, of one group in particular. Each is a
/// token bucket: `perSecond` is what flows in, `burst` what it holds, and it is full at the start of a term.
///
/// What is held back keeps its place. Where messages are handled one after the other, all behind it wait with it; where
/// groups go their own ways, only its group does.
///
/// Limits: what has flown is known of the 10,000 groups that went last and whose buckets are not full again; of more,
/// the one that went longest ago begins with a full bucket when it comes again.
struct Rate {
  double perSecond = 1;  // above 0, at most 10^9
  double burst = 1;      // messages that may go at once, 1 to 10^9, and full again within thirty years

  friend bool operator==(const Rate&, const Rate&) = default;
};

struct RateRules {
  std::optional<Rate> queue{};      // nothing: no limit
  std::optional<Rate> eachGroup{};  // messages without a group have only the queue's
  /// For a group of its own; nothing as its rate: no limit.
  std::map<GroupId, std::optional<Rate>> groups{};

  friend bool operator==(const RateRules&, const RateRules&) = default;
};

/// The rules that a running consumer keeps to; it takes notice of new ones within `ConsumerOptions::idleWait`.
/// Threads: any, all calls.
class RateLimits {
 public:
  RateLimits() = default;
  /// Throws std::system_error when a rate is out of its range.
  explicit RateLimits(RateRules rules);

  /// From now on. What has gone before still counts.
  ///
  /// Errors:  configurationRefused   a rate is out of its range; the rules stay as they are
  Result<void> set(RateRules rules);
  RateRules rules() const;
  /// Grows with each change. Costs one read.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }

 private:
  mutable std::mutex mutex_;
  RateRules rules_;
  std::atomic<std::uint64_t> version_ = 0;
};

struct ConsumerOptions {
  /// The owner of idempotency keys and attempts; the election's name when empty. Consumers that share a name and a
  /// store drop each other's ids.
  ConsumerName name{};
  Guarantee delivery = Guarantee::exactlyOnceEffect;
  /// Replicas may differ in it, and in maxBatch, not in what they coalesce: a term writes down how far it goes, and its
  /// successor looks as far for what it may have died of.
  Ordering ordering{};
  /// Messages read ahead for the lanes, waiting and in work, 64..100,000; and at most 64 MiB of waiting bodies. As far
  /// as this, no group waits for another.
  std::size_t laneWindow = 4096;
  /// Messages that share a transaction at most, 1..4096, and no more than the store takes; 1 commits each on its own.
  std::size_t maxBatch = 512;
  /// A batch is committed when its first message has waited this long, 0..10 s.
  std::chrono::milliseconds latencyTarget{20};
  /// Always up to maxBatch messages a commit, and a latencyTarget for handlers alone. Otherwise batches shrink where
  /// the measured time of handlers and commit together would miss the target, and grow again where it would hold.
  bool fixedBatch = false;
  /// Failed attempts until a message becomes a dead letter, 1..1000; nullopt: one more than there are retryDelays, or
  /// 12 where there are none. With the waits below that is after about 14 minutes.
  std::optional<int> maxAttempts{};
  int attempts() const noexcept {
    return maxAttempts.value_or(retryDelays.empty() ? 12 : static_cast<int>(retryDelays.size()) + 1);
  }
  /// After its n-th failed attempt a message waits from half to all of min(retryMax, retryBase · 2^(n-1)).
  std::chrono::milliseconds retryBase{1'000};
  std::chrono::milliseconds retryMax{300'000};
  /// In place of these: exactly the n-th after the n-th failure, and the last one from then on; up to 999 of them, each
  /// 0..30 d.
  std::vector<std::chrono::milliseconds> retryDelays{};
  OnDead onDead = OnDead::skip;
  /// So many different dead letters, without a message between them that is done, stop the consumer: the stop is on
  /// record in the store, and each leader waits until an operator resumes the consumer (`tenure queue resume`,
  /// IStoreAdmin::resume). 0: nothing stops it.
  std::size_t deadLetterLimit = 20;
  /// A leader whose store or source has not answered for this long hands over to a standby that can reach its own
  /// (Term::seekRelief); without such a standby it keeps the leadership. The time counts from the first request that
  /// had no answer; later attempts do not restart it. A statement that runs longer than this counts as an outage, too.
  std::chrono::milliseconds outageLimit{10'000};
  /// The longest wait for messages in one `execute`; a wake-up ends it at once.
  std::chrono::milliseconds idleWait{1'000};
  /// The handler never touches its transaction and may take long (a child process): commit what is done before it
  /// runs, and never hold the store's lock meanwhile.
  bool handlerIsExternal = false;
  WhenAsked whenAsked = WhenAsked::finish;
  /// The redelivery horizon: idempotency keys are kept at least this long, and a message that comes again later than
  /// that is handled again. Longer than any broker redelivers and any producer repeats; 0 keeps them for ever.
  std::chrono::hours keepIdsFor{7 * 24};
  /// More keys than this raise an alarm, and stay; up to 10^12, 0 for none.
  std::size_t keyAlarm = 50'000'000;
  /// The consume log: what became of each attempt is kept this long, for `tenure queue log`; 0 keeps none. A success is
  /// a line more in the transaction that has its effect. Only where the store can (IFencedStore::keepsLog), and not
  /// with at most once.
  std::chrono::hours keepLogFor{0};
  /// Of more attempts than this the oldest are forgotten before their time; up to 10^12, 0 for any number.
  std::size_t keepLogLines = 10'000'000;
  /// What the handler wants loaded before its replica is elected, as in ILeaderCareer::prepare. Source and store only
  /// look whether they could be used (IFencedStore::prepare): a standby takes and writes nothing.
  std::function<void(const std::stop_token&)> prepare{};
  /// Handles the messages of a group in the order of their numbers (numberHeader), whatever order they come in. What
  /// comes early is kept in the store, and acknowledged, until the numbers before it have come; what comes again is
  /// dropped; what comes after its number was given up, or under a number that another message had, is a dead letter.
  /// The first number is 1. Messages without a group or a number are handled as they come.
  bool followNumbers = false;
  /// A group that waits for its next number longer than this raises an event; 0..30 d.
  std::chrono::milliseconds gapLimit{60'000};
  GapPolicy whenGapIsOld = GapPolicy::wait;
  /// Messages of one group that wait for an earlier one, 1..10'000; with one more the term ends with Errc::gapTooOld,
  /// or under GapPolicy::skip the numbers are given up at once.
  std::size_t maxKept = 1'000;
  /// Of the jitter between attempts; 0 takes one from the kernel. For runs that must repeat exactly.
  std::uint64_t jitterSeed = 0;
  /// Not with Guarantee::atMostOnce.
  Coalesce coalesce = Coalesce::never;
  /// The header that holds the key; messages without it are never coalesced. Empty: the group is the key. A run stands
  /// for messages of its own group only, and for none that comes after another message of that group; messages without
  /// a group have only their key, and with lanes those of one key run one after the other, in whatever lane.
  std::string coalesceKey{};
  /// Waiting messages are read until the source has no more, so many are coalesced, or 16 MiB of others wait, 1 to
  /// 10,000,000. No further than a source hands out unacknowledged (RabbitMQ's prefetch) and, in lanes, laneWindow.
  std::size_t coalesceAhead = 100'000;
  /// Borrowed, may be changed while the consumer runs; what counts is the start of a handler. Nullptr: no limits.
  const RateLimits* limits = nullptr;
};

/// What the replicas of a consumer must agree on, for CandidateOptions::agreement: consumer, delivery, coalescing and
/// numbers. `election` names the consumer where the options do not. Queue and store are for the caller to add.
Agreement agreementOf(const ConsumerOptions& options, const ElectionName& election);

/// Threads: constructed anywhere; its phases run on the career thread.
class Consumer final : public detail::WorkCareer {
 public:
  /// Borrows source, store and events; they must outlive it. They may be the two ends of one database.
  Consumer(IMessageSource& source, IFencedStore& store, Handler handler, const ConsumerOptions& options,
           IEventSink& events, const IClock& clock = systemClock());
  /// The same for a handler of many at once, in batches as large as commits may be; in lanes, of one group. Messages
  /// that failed, or that an earlier process may have died of, come alone; so does every one of Guarantee::atMostOnce,
  /// of Coalesce::byKey, and each that a rate limit counts. Not for an external handler.
  template <class Together>
  requires(!std::is_convertible_v<Together, Handler> && std::is_convertible_v<Together, BatchHandler>)
      Consumer(IMessageSource& source, IFencedStore& store, Together handler, const ConsumerOptions& options,
               IEventSink& events, const IClock& clock = systemClock())
      : Consumer(OfMany{BatchHandler(std::move(handler))}, source, store, options, events, clock) {}
  /// The same for handlers that answer with values (spi/answers.hpp), one for each lane. Not for an external handler.
  struct ByValues {
    std::function<std::unique_ptr<IAnswerer>(std::size_t lane)> answererOf;
  };
  Consumer(IMessageSource& source, IFencedStore& store, ByValues handlers, const ConsumerOptions& options,
           IEventSink& events, const IClock& clock = systemClock());

 private:
  struct OfMany {
    BatchHandler handler;
  };
  Consumer(OfMany many, IMessageSource& source, IFencedStore& store, const ConsumerOptions& options, IEventSink& events,
           const IClock& clock);
};

/// The career that publishes a queue's messages elsewhere, each at least once and each group in its order: a consumer
/// whose handler is a sink. A refused message is a failed attempt, or a dead letter at once if a retry cannot help.
/// While the sink is unavailable, messages wait and no attempt counts. `options.delivery` is at least once.
class Relay final : public detail::WorkCareer {
 public:
  using OpenSink = std::function<Result<std::unique_ptr<IMessageSink>>()>;
  /// As Consumer's. `open` is called from any thread, by one at a time.
  Relay(IMessageSource& source, IFencedStore& store, OpenSink open, const ConsumerOptions& options, IEventSink& events,
        const IClock& clock = systemClock());
};

}  // namespace tenure
