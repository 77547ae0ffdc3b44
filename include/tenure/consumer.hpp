/// The ready-made career: consumes a source strictly serially and commits each effect under the fence.
///
///   fetch → drop known ids → handle in the fenced transaction → commit → acknowledge
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tenure/career.hpp"
#include "tenure/events.hpp"
#include "tenure/message.hpp"
#include "tenure/source.hpp"
#include "tenure/store.hpp"

namespace tenure {

class RateLimits;

/// One attempt at one message, as its handler sees it.
struct Delivery {
  const Message& message;
  Transaction& transaction;
  const Term& term;
  int attempt;  // 1 at the first
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

/// What is promised of each message, whoever dies. An effect is what the handler writes to its transaction; what it
/// does elsewhere (a mail, a child process) happens as often as the handler is started.
enum class Guarantee {
  /// One effect for each id: a message that comes again is dropped by its idempotency key. A handler may be started
  /// again, when its process or its commit failed. Loses nothing.
  exactlyOnceEffect,
  /// No idempotency keys, so none to keep and none to look up: for handlers that may be repeated. What a producer or a
  /// broker sends twice is handled twice, and so is what was committed and not yet acknowledged when its process died
  /// or
  /// its broker was lost, unless the queue is kept in the store. Loses nothing.
  atLeastOnce,
  /// The key is durable, and the acknowledgement sent, before the handler starts, and it starts once: for what does
  /// more harm twice
  /// than not at all. What its process dies of is lost; what fails, a dead letter at once, without another attempt
  /// (but for Outcome::retryLater, the handler's own word that nothing has happened). Two commits a message, no
  /// batches.
  atMostOnce,
};

/// Which messages wait for which.
struct Ordering {
  /// 0: all of them, in the order of the source, one after the other.
  std::size_t lanes = 0;

  static constexpr Ordering total() noexcept { return {}; }
  /// Only messages of one group wait for each other, and groups are handled beside each other in so many lanes, 1..64.
  /// A message without a group waits for none. Its handler is called from that many threads, and each lane's commits
  /// are batches of its own, fenced like all; on a store that takes one transaction at a time (all but PostgreSQL) a
  /// handler has it for itself from its first statement to the commit, and the lanes help those that compute or wait
  /// before it. A group whose message has to wait for its next attempt waits alone. Before the lanes begin after an
  /// unclean end, what may have been in work is handled by itself, one after the other.
  static constexpr Ordering perGroup(std::size_t lanes) noexcept { return {lanes}; }
  friend bool operator==(const Ordering&, const Ordering&) = default;
};

/// What becomes of a message that asks for what another one, which waits before it, asks for already.
enum class Collapse {
  never,
  /// One run stands for all that wait when it begins: the first of them runs, in its place; the others are acknowledged
  /// together with its commit, without a run and without an idempotency key of their own (an id that had no run may
  /// come again as a new request). When the first ends without a run, as a dead letter or as known before, the next one
  /// takes its place. For requests of which the key says all: refresh this entry, rebuild that index. The handler sees
  /// the first one's body. Loses nothing: whoever dies, each request is followed by a run that began after it came.
  byKey,
};

/// What a message that has used up its attempts does to those behind it. What no attempt could change (a rejected
/// message, one over the limits, an id that came with another body) is a dead letter either way.
enum class OnDead {
  /// It is set aside as a dead letter, and they go on.
  skip,
  /// They wait: it is tried again every ConsumerOptions::retryMax, by whoever leads, until it succeeds or an operator
  /// releases it (IStoreAdmin::release, `tenure queue release`), which makes a dead letter of it. Not with at most
  /// once.
  block,
};

struct ConsumerOptions {
  /// Whose idempotency keys and attempts these are; the election's name when empty. Consumers that share a name and a
  /// store drop each other's ids.
  ConsumerName name{};
  Guarantee delivery = Guarantee::exactlyOnceEffect;
  /// Replicas should agree on it: one with fewer lanes than its dead predecessor may not find all that it was killed by.
  Ordering ordering{};
  /// Messages read ahead for the lanes, waiting and in work, 64..100,000; and at most 64 MiB of waiting bodies. As far
  /// as this, no group waits for another.
  std::size_t laneWindow = 4096;
  /// Messages that share a transaction at most, 1..4096, and no more than the store takes; 1 commits each on its own.
  std::size_t maxBatch = 64;
  /// A batch is committed when its first message has waited this long, 0..10 s.
  std::chrono::milliseconds latencyTarget{20};
  /// Failed attempts until a message becomes a dead letter, 1..1000.
  int maxAttempts = 5;
  /// Exponential with full jitter: attempt n waits up to min(retryMax, retryBase · 2^(n-1)).
  std::chrono::milliseconds retryBase{200};
  std::chrono::milliseconds retryMax{30'000};
  OnDead onDead = OnDead::skip;
  /// A store or source that stays away this long ends the term.
  std::chrono::milliseconds outageLimit{10'000};
  /// The longest wait for messages in one `execute`; a wake-up ends it at once.
  std::chrono::milliseconds idleWait{1'000};
  /// The handler never touches its transaction and may take long (a child process): commit what is done before it
  /// runs, and never hold the store's lock meanwhile.
  bool handlerIsExternal = false;
  /// The redelivery horizon: idempotency keys are kept at least this long, and a message that comes again later than
  /// that is handled again. Longer than any broker redelivers and any producer repeats; 0 keeps them for ever.
  std::chrono::hours keepIdsFor{7 * 24};
  /// More keys than this raise an alarm, and stay; 0 for none.
  std::size_t keyAlarm = 50'000'000;
  /// What the handler wants loaded before its replica is elected, as in ILeaderCareer::prepare. The source is not
  /// touched before the claim, and the store only connects to its server (IFencedStore::prepare): a standby does not
  /// even open an SQLite file.
  std::function<void(const std::stop_token&)> prepare{};
  /// Of the jitter between attempts; 0 takes one from the kernel. For runs that must repeat exactly.
  std::uint64_t jitterSeed = 0;
  /// Not with Guarantee::atMostOnce.
  Collapse collapse = Collapse::never;
  /// The header that holds the key; messages without it never collapse. Empty: the group is the key. A run stands for
  /// messages of its own group only, and for none that comes after another message of that group; messages without a
  /// group have only their key.
  std::string collapseKey{};
  /// Waiting messages are read until the source has no more, so many are collapsed, or 16 MiB of others wait, 1 to
  /// 10,000,000. No further than what a source hands out unacknowledged: RabbitMQ's `prefetch`.
  std::size_t collapseAhead = 100'000;
  /// Borrowed, may be changed while the consumer runs; what counts is the start of a handler. Nullptr: no limits.
  const RateLimits* limits = nullptr;
};

/// Threads: constructed anywhere; its phases run on the career thread.
class Consumer final : public ILeaderCareer {
 public:
  /// Borrows source, store and events; they must outlive it. They may be the two ends of one database.
  Consumer(IMessageSource& source, IFencedStore& store, Handler handler, const ConsumerOptions& options,
           IEventSink& events, const IClock& clock = systemClock());
  ~Consumer() override;

  void prepare(const std::stop_token& stop) override;
  void inaugurate(const Term& term) override;
  bool execute(const Term& term) override;
  void handOver(const Term& term) override;

 private:
  std::unique_ptr<ILeaderCareer> work_;
};

}  // namespace tenure
