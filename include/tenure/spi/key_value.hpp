/// For who brings a key-value store to Tenure: implement IKeyValueDriver, and openStore makes the fenced store of it.
/// Unstable: it may change between minor versions.
///
/// A driver keeps named values and decides nothing. All that it has to promise is that a batch is applied as a whole or
/// not at all, that its expectations and its writes are one atomic step for everybody, and that what it has answered
/// for, or lets be read, is durable. Claims, fencing, idempotency keys, lost replies are made of that by the library.
///
/// A place (a file, a database, a path) belongs to one election; `Write::expected` on the fence's value is what keeps a
/// stale leader out. Names and values are any bytes; a name is unique in its table. Values are read by people at most.
///
/// examples/append_file_store is a whole driver; docs/guides/bring-a-store.md tells how to make and test one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "tenure/events.hpp"
#include "tenure/message.hpp"
#include "tenure/result.hpp"
#include "tenure/spi/admin.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::spi {

/// Kinds of values. A driver may keep each in the structure that suits it. Only those of fence, owner, counter, state
/// and turn are never scanned.
enum class Table : std::uint8_t {
  fence,       // one of the place: who may commit
  owner,       // one of the place: whose it is; outlives the fence
  counter,     // a few
  key,         // one a handled message: most of all there is, for days
  attempt,     // one a failing message
  inWork,      // one for each lane of a consumer
  deadLetter,  // with the message's body
  log,         // one a commit, where a log is kept
  state,       // a handler's own
  fact,        // a few a consumer
  turn,        // one for each group that follows numbers
  kept,        // one for each message that came before its turn, with its body
  fired,       // these two only of a driver that keeps messages with a time; read in this order, the last one first
  waiting,
};
inline constexpr std::size_t tableCount = 12;  // that every driver keeps: up to `kept`

struct Name {
  Table table = Table::fence;
  std::string text;  // 1..1,100 bytes, NUL among them
  friend auto operator<=>(const Name&, const Name&) = default;
};

/// What a value has to be when the batch is applied. An empty value is a value.
struct Expected {
  enum class Of : std::uint8_t { anything, absence, value };
  Of of = Of::anything;
  std::string value{};
};

struct Write {
  Name name;
  Expected expected{};
  /// Nullopt removes it. Removing what is not there is no failure.
  std::optional<std::string> value{};
  /// Or nothing is written: it is only expected.
  bool isWritten = true;
};

/// No name is there twice. Every expectation is looked at before the first write.
struct Batch {
  std::vector<Write> writes;
  /// For a driver that keeps a queue in the same place: positions of messages that leave it, and those that come to it.
  /// Empty for a store alone.
  std::span<const std::int64_t> acknowledged{};
  std::span<const SentMessage> enqueued{};
  /// Values that will be asked for next. Where that costs no journey of its own they may be read behind the writes, as
  /// they are then.
  std::span<const Name> alsoRead{};
};

using Values = std::vector<std::optional<std::string>>;

struct Applied {
  /// The first of the writes whose expectation was not met, and nothing was changed: that is an answer, not an error.
  /// Or their number, where a read was answered from memory and that was wrong. Nullopt: the batch was applied.
  std::optional<std::size_t> unmet{};
  /// Of `alsoRead`, or empty.
  Values read{};
};

/// Values in the order of their names' bytes (unsigned): those whose names begin with `prefix`, from behind `after` on.
/// Backward: from the last to the first, those before `after`. Tables key and kept may have another order, always the
/// same.
struct Range {
  Table table = Table::key;
  std::string prefix{};
  std::string after{};     // a whole name that begins with `prefix`; empty: from the first on, backward from the last
  std::size_t atMost = 0;  // never 0 when it is asked
  bool backward = false;
};
struct NamedValue {
  std::string name;
  std::string value;
};

/// The library keeps to them: what is larger never comes to the driver. They stay the same.
struct Limits {
  std::size_t batchBytes = 256U << 20U;  // names and values
  std::size_t stateBytes = 1U << 20U;    // a value of Table::state
  std::size_t bytesAWrite = 0;           // what each takes of a batch beside its name and value
  std::size_t maxBatch = 4096;           // messages in one transaction
  std::size_t namesARead = 512;          // keys looked up ahead at once; a read may have more names
  /// A read of a name costs as much as a batch: what is expected to be absent is not read before it is written.
  bool readsAreDear = false;
  /// How long values of Table::key are kept, where the driver lets them expire.
  std::optional<std::chrono::hours> keepsKeysFor{};
  /// The driver keeps queues in the same place: it takes Batch::enqueued.
  bool keepsQueue = false;
};

/// Errors of all:  unavailable, timedOut   nothing was changed, safe to repeat
///                 outcomeUnknown          of apply: the reply was lost
///                 storeBusy, storeFull, storeFailed, authenticationFailed, permissionDenied, configurationRefused
///                 notFound                there is no such place, and a claim would not make it
///                 commitRefused           of apply: the store is well and rejects this batch for its contents
/// Whatever the error, but for outcomeUnknown: nothing was changed, and nothing of it is ever found later. A driver
/// repeats no batch whose reply was lost; the library finds out what became of it, by its expectation on the fence.
///
/// Waiting is the driver's to bound: only connect() hears of a stop. Each verb ends within seconds, with unavailable,
/// timedOut or (for a lock) storeBusy.
///
/// Threads: one at a time. Each replica and each operator has a driver of its own.
class IKeyValueDriver {
 public:
  virtual ~IKeyValueDriver() = default;
  /// For people: "redis cache:6379/0 queue orders".
  virtual std::string name() const = 0;
  virtual const Limits& limits() const noexcept = 0;
  /// As IFencedStore::serve, for a driver that keeps several queues in one place.
  virtual void serve(const QueueIdentity& queue) { static_cast<void>(queue); }
  /// Connects where it is not connected. Ends early after a stop. Called before each step, so it costs nothing where
  /// the connection stands; a driver whose connection broke drops it, and makes another one here. Called by those who
  /// only look, too: it makes nothing. A place that is not there yet has no values, and the first batch makes it.
  virtual Result<void> connect(const std::stop_token& stop) = 0;
  /// Names the connected server: another text after it was restarted or replaced. Then the library claims again before
  /// it goes on. Empty where that makes no difference.
  virtual std::string server() const { return {}; }
  /// The fence is this one from now on, by the claim of a term of ours. For a driver that keeps something else in step
  /// with it; an error fails the claim.
  virtual Result<void> claimed(const FenceRow& fence) {
    static_cast<void>(fence);
    return {};
  }

  /// In the order of the names; nullopt for what is absent. Sees every batch that was applied before; else the next
  /// batch must find out.
  virtual Result<Values> read(std::span<const Name> names) = 0;
  virtual Result<std::vector<NamedValue>> scan(const Range& range) = 0;
  virtual Result<Applied> apply(const Batch& batch) = 0;
  /// Whether this user may send messages to that queue. Asked once a term, before the first message.
  ///
  /// Errors:  permissionDenied, invalidArgument   never with this user, or to this queue
  virtual Result<void> tryQueue(const std::string& queue) {
    static_cast<void>(queue);
    return {};
  }

  /// As IStoreAdmin::inspect: what is particular to this store. Comes after connect().
  virtual Result<Findings> inspect() { return Findings{}; }
  /// The time of the clock by which keys expire in the store; nullopt where they do not expire. The library compares it
  /// with CLOCK_BOOTTIME and raises an alarm when they disagree.
  virtual Result<std::optional<WallTime>> clock() { return std::optional<WallTime>{}; }
  /// How many values of Table::key there are, where they expire.
  virtual Result<std::size_t> countKeys() { return std::size_t{0}; }
  /// As IFencedStore::limitAnswers.
  virtual void limitAnswers(AnswerTimer* timer) noexcept { static_cast<void>(timer); }
  /// Gives back connections and locks; connect() may come again. A driver may also be destroyed without it.
  virtual void release() noexcept = 0;
};

/// The fenced store on it. Borrows the events.
std::unique_ptr<IFencedStore> openStore(std::unique_ptr<IKeyValueDriver> driver, IEventSink& events = noEvents());
/// What operators ask of it and do to it; without a queue, messages are not requeued there.
std::unique_ptr<IStoreAdmin> openAdmin(std::unique_ptr<IKeyValueDriver> driver);

}  // namespace tenure::spi
