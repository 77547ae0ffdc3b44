/// For who brings a key-value store to Tenure: implement IKeyValueDriver, and openStore makes the fenced store of it.
/// Unstable: it may change between minor versions.
///
/// A driver keeps named values and decides nothing. All that it has to promise is that a batch is applied as a whole or
/// not at all, that its expectations and its writes are one atomic step for everybody, and that what it has answered
/// for is durable. Claims, fencing, idempotency keys, lost replies are made of that by the library.
///
/// A place (a file, a database, a path) belongs to one election; `Write::expected` on the fence's value is what keeps a
/// stale leader out. Names and values are any bytes; a name is unique in its table. Values are read by people at most.
///
/// examples/directory_store.cpp is a whole driver.
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

#include "tenure/admin.hpp"
#include "tenure/events.hpp"
#include "tenure/message.hpp"
#include "tenure/result.hpp"
#include "tenure/store.hpp"

namespace tenure::spi {

/// Kinds of values. A driver may keep each in the structure that suits it; only those of `ordered` are ever scanned.
enum class Table : std::uint8_t {
  fence,       // one of the place: who may commit
  owner,       // one of the place: whose it is; outlives the fence
  counter,     // a few
  key,         // one a handled message: most of all there is, for days
  attempt,     // one a failing message
  inWork,      // one a consumer
  deadLetter,  // with the message's body
  log,         // one a commit, where a log is kept
  state,       // a handler's own
};
inline constexpr std::size_t tableCount = 9;

struct Name {
  Table table = Table::fence;
  std::string text;  // 1..1,100 bytes
  friend auto operator<=>(const Name&, const Name&) = default;
};

/// What a value has to be when the batch is applied.
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

/// No name is there twice.
struct Batch {
  std::vector<Write> writes;
  /// For a driver that keeps a queue in the same place: positions of messages that leave it, and those that come to it.
  std::span<const std::int64_t> acknowledged{};
  std::span<const NewMessage> enqueued{};
  /// Values that will be asked for next. Where that costs no journey of its own they may be read behind the writes.
  std::span<const Name> alsoRead{};
};

using Values = std::vector<std::optional<std::string>>;

struct Applied {
  /// The first of the writes whose expectation was not met; nullopt: the batch was applied.
  std::optional<std::size_t> unmet{};
  /// Of `alsoRead`, or empty.
  Values read{};
};

/// Values in the order of their names' bytes: those whose names begin with `prefix`, from behind `after` on.
struct Range {
  Table table = Table::key;
  std::string prefix{};
  std::string after{};  // a whole name; empty: from the first on, backward from the last
  std::size_t atMost = 0;
  bool backward = false;
};
struct NamedValue {
  std::string name;
  std::string value;
};

struct Limits {
  std::size_t batchBytes = 256U << 20U;  // names and values
  std::size_t stateBytes = 1U << 20U;    // a value of Table::state
  std::size_t maxBatch = 4096;           // messages in one transaction
  std::size_t namesARead = 512;
  /// A read of a name costs as much as a batch: what is expected to be absent is not read before it is written.
  bool readsAreDear = false;
  /// How long values of Table::key are kept, where the driver lets them expire.
  std::optional<std::chrono::hours> keepsKeysFor{};
};

/// Errors of all:  unavailable, timedOut   nothing was changed, safe to repeat
///                 outcomeUnknown          of apply: the reply was lost
///                 storeBusy, storeFull, storeFailed, authenticationFailed, permissionDenied, configurationRefused
/// Threads: one at a time.
class IKeyValueDriver {
 public:
  virtual ~IKeyValueDriver() = default;
  /// For people: "redis cache:6379/0 queue orders".
  virtual std::string name() const = 0;
  virtual const Limits& limits() const noexcept = 0;
  /// Connects where it is not connected. Ends early after a stop.
  virtual Result<void> connect(const std::stop_token& stop) = 0;
  /// Which server is connected: another text after it was restarted or replaced. Empty where that makes no difference.
  virtual std::string server() const { return {}; }
  /// The fence is this one from now on, by a claim of ours.
  virtual Result<void> claimed(const FenceRow& fence) {
    static_cast<void>(fence);
    return {};
  }

  /// In the order of the names; nullopt for what is absent. Sees every batch that was applied before.
  virtual Result<Values> read(std::span<const Name> names) = 0;
  virtual Result<std::vector<NamedValue>> scan(const Range& range) = 0;
  virtual Result<Applied> apply(const Batch& batch) = 0;

  /// As IStoreAdmin::inspect: what is particular to this store.
  virtual Result<Findings> inspect() { return Findings{}; }
  /// How many values of Table::key there are, where they expire.
  virtual Result<std::size_t> countKeys() { return std::size_t{0}; }
  /// As IFencedStore::limitAnswers.
  virtual void limitAnswers(AnswerTimer* timer) noexcept { static_cast<void>(timer); }
  /// Gives back connections and locks.
  virtual void release() noexcept = 0;
};

/// The fenced store on it. Borrows the events.
std::unique_ptr<IFencedStore> openStore(std::unique_ptr<IKeyValueDriver> driver, IEventSink& events = noEvents());
/// What operators ask of it and do to it; without a queue, messages are not requeued there.
std::unique_ptr<IStoreAdmin> openAdmin(std::unique_ptr<IKeyValueDriver> driver);

}  // namespace tenure::spi
