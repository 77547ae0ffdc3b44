/// What a backend does so that FencedSession can keep its promises on it: a handful of verbs on rows.
///
///   readFence   the fence as it is, and whether the place was ever claimed
///   claim       compare and set: reads the fence, asks what it shall become, writes that, or begins again
///   read        rows by their keys
///   scan        rows in the order of their keys, page by page
///   commit      a WriteSet, if the fence is the expected one and every expectation is met: all of it or nothing
///
/// A driver decides nothing: who may claim, what a lost reply means, which message is new is FencedSession's to say.
/// Where a store speaks SQL, handlers' own statements run in a transaction on it (ISqlTransaction), and what Tenure
/// writes joins them at the commit.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "storage/fence.hpp"
#include "storage/write_set.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::storage {

/// The fence and who changed it last: `change` is another one for each change, so that a commit whose reply was lost is
/// told from a stranger's. Of a lane, `row.sequence` and `change` are the lane's own.
struct Fence {
  FenceRow row;
  std::string change;
};

/// More than one, or a damaged one, is a fence that was lost.
struct FenceFound {
  std::vector<StoredFence> stored;
  std::string change;  // of the only one
  /// The place's owner, where it can be one election's alone; with an absent fence, the place was claimed before.
  QueueOwner owner;
};

/// What the fence shall become, or why not; nullopt: it stays. May be asked more than once.
using ClaimJudge = std::function<Result<std::optional<Fence>>(const FenceFound& found)>;

struct RowName {
  Table table = Table::key;
  Row key;
};

/// A table's rows whose keys begin with `prefix`, from behind `after` on: the values of the rest of a key, or the first
/// of them.
struct Scan {
  Table table = Table::key;
  Row prefix{};
  Row after{};
  std::size_t atMost = 0;
  bool backward = false;  // from the end on
  std::size_t skip = 0;   // so many before the first one; of a driver whose log has gaps
  bool isLight = false;   // values of large columns are not needed: where the store can leave them out, they are empty
};

/// The rows of Table::waiting to read, of the driver's queue, in the order in which they come to it.
struct WaitingScan {
  std::int64_t due = 0;    // those behind the row with this time
  std::int64_t added = 0;  // and this `added`
  std::size_t atMost = 0;
};
struct WaitingPage {
  std::vector<Row> rows;
  std::vector<std::int64_t> added;  // of each
};

struct WaitingCounts {
  std::int64_t waiting = 0;
  std::optional<std::chrono::milliseconds> lateness{};  // as ScheduledStats has it, and the two below
  std::int64_t atOnce = 0;
  std::optional<WallTime> oldestAtOnce{};
};
/// So many rows of a kind are counted at a glance, and one more where there are more.
inline constexpr std::int64_t mostAtAGlance = 10'000;
/// Limits on the messages that count for the lateness: how long ago they came to their queue, and how many.
inline constexpr std::chrono::minutes latenessAge{5};
inline constexpr std::int64_t latenessRows = 1000;

/// In the order of the names; nullopt: there is none.
using Rows = std::vector<std::optional<Row>>;

enum class Outcome {
  committed,
  fenced,    // the fence is not the expected one; nothing was changed
  conflict,  // an expectation is not met; nothing was changed
};

struct Commit {
  /// Nullptr: an operator's or a producer's, which no fence concerns.
  const Fence* expected = nullptr;
  const Fence* next = nullptr;
  WriteSet* writes = nullptr;  // what is committed may be taken out of it
  /// Rows that will be asked for next: where that costs no journey of its own, they may be read with the commit.
  std::span<const RowName> alsoRead{};
  bool isProducers = false;  // its messages get numbers, where messages do
};
struct Committed {
  Outcome outcome = Outcome::committed;
  /// In the order of `alsoRead`; empty when they were not read.
  Rows read{};
};

struct Limits {
  std::size_t commitBytes = 256U << 20U;
  std::size_t stateBytes = 1U << 20U;  // a value of a handler's own state
  std::size_t bytesAWrite = 0;         // what each takes of a commit beside its row
  std::size_t maxBatch = 4096;         // messages in one transaction
  std::size_t rowsALook = 512;         // how many keys one look asks about
  /// A look costs as much as a commit: keys that are expected are taken for absent, and the commit finds out.
  bool looksAreDear = false;
  /// The numbers of a consumer's log lines have gaps: how many there are has to be counted.
  bool logHasGaps = false;
  /// How long idempotency keys are kept, where they expire by themselves.
  std::optional<std::chrono::hours> keepsIdsFor{};
  /// The place takes messages, and gives those of each group numbers.
  bool keepsQueue = false;
  bool numbersMessages = false;
  bool isQueueUsers = false;    // the driver's own queue is a table of the user's, to which handlers send by an INSERT
  bool keepsScheduled = false;  // and messages that wait for their time
  /// A dead letter's number is skipped by a message at the end of the queue.
  bool skipsDeadNumbers = false;
};

/// A transaction on the server, for handlers who speak SQL. Before begin() it holds nothing there.
///
/// Errors of all:  storeFailed   a statement failed; the transaction is as it was before
///                 transactionConflict  it cannot be taken back alone: everything was, and its messages are handled
///                 again staleTerm     the fence was found not to be the expected one, by what begin() had put off any
///                 other     the transaction is over
class ISqlTransaction {
 public:
  virtual ~ISqlTransaction() = default;
  /// Passes the fence if it is the `expected` one, and holds its lock from then on; the commit makes `next` of it.
  /// Conflict is no answer. May be put off until something has to be sent: it has not begun until then, and is asked
  /// for again.
  virtual Result<Outcome> begin(const Fence& expected, const Fence& next) = 0;
  virtual bool hasBegun() const noexcept = 0;
  /// The transaction holds the fence's lock by now.
  virtual bool isLocked() const noexcept { return hasBegun(); }
  /// The answer to every further call: success, or why it is over. Asks no server.
  virtual Result<void> status() const = 0;
  virtual bool isFull() const noexcept { return false; }

  // As ISqlStatements, after begin():
  virtual Result<std::vector<SqlRow>> execute(std::string_view sql, std::span<const SqlParameter> parameters) = 0;
  virtual Result<void> write(std::string_view sql, std::span<const SqlParameter> parameters) = 0;
  virtual Result<std::int64_t> touch(std::string_view sql, std::span<const SqlParameter> parameters) = 0;
  /// At any time.
  virtual Result<void> check(std::string_view sql, std::span<const SqlParameter> parameters) = 0;
  virtual Result<void> mark() = 0;
  virtual Result<void> rollbackToMark() = 0;

  /// With all that the handlers have done; begins where nothing was done, and has the fences of begin() elsewhere.
  virtual Result<Committed> commit(const Commit& commit) = 0;
  virtual void rollback() noexcept = 0;
};

/// Errors of all, besides what stands with each:  unavailable, storeBusy, storeFull, storeFailed, payloadTooLarge
///          outcomeUnknown  of claim and commit: the reply was lost
///          commitRefused   of commit: the store is well and rejects these writes
/// Threads: one at a time.
class IStoreDriver {
 public:
  virtual ~IStoreDriver() = default;
  /// For people: "redis cache:6379/0 queue orders".
  virtual std::string name() const = 0;
  /// The queue that it was opened for; empty where its place keeps one alone.
  virtual std::string queue() const { return {}; }
  virtual const Limits& limits() const noexcept = 0;

  /// What a standby does: as connect(), or less where a standby has to stay away.
  virtual Result<void> prepare(const std::stop_token& stop) { return connect(stop); }
  /// Connects where it is not connected, and looks at credentials, schema and rights. Ends early after a stop.
  virtual Result<void> connect(const std::stop_token& stop) = 0;
  /// Names the server: another text after it was restarted or replaced. Empty where that makes no difference.
  virtual std::string server() const { return {}; }

  /// As IFencedStore::serve.
  virtual void serve(const QueueIdentity& queue) { static_cast<void>(queue); }
  /// From here on rows that are an election's own are this one's; so they are after a claim.
  virtual Result<FenceFound> readFence(const ElectionName& election) = 0;
  /// Every one that is there, for people.
  virtual Result<std::vector<StoredFence>> fences() = 0;
  /// For a term, or for an operator (nullptr). Connects where it is not connected.
  virtual Result<void> claim(const ElectionName& election, const Term* term, const ClaimJudge& judge) = 0;
  /// Nullopt where the fence is not the `expected` one; nullptr expects none.
  virtual Result<std::optional<Rows>> read(std::span<const RowName> rows, const Fence* expected) = 0;
  virtual Result<std::vector<Row>> scan(const Scan& scan) = 0;
  /// Messages that wait, in the order of their times, then as they were added. Only where Limits::keepsScheduled.
  virtual Result<WaitingPage> waiting(const WaitingScan& scan) {
    static_cast<void>(scan);
    return WaitingPage{};
  }
  /// Counts up to `atMost` messages with a time, and as many without.
  virtual Result<WaitingCounts> countWaiting(std::int64_t atMost) {
    static_cast<void>(atMost);
    return WaitingCounts{};
  }
  virtual Result<Committed> commit(const Commit& commit) = 0;
  /// As spi::IKeyValueDriver::tryQueue.
  virtual Result<void> tryQueue(const std::string& queue) {
    static_cast<void>(queue);
    return {};
  }

  /// Nullptr where the store speaks no SQL; what it says is under the lock of the fence then. One at a time.
  virtual std::unique_ptr<ISqlTransaction> open() { return nullptr; }
  /// A driver on a session of its own, whose claim joins that of this one and whose commits do not wait for each other
  /// (IFencedStore::openLane): of its fence the sequence is -1 where it has none in this term. Nullptr: it has no
  /// lanes.
  virtual std::unique_ptr<IStoreDriver> openLane(std::int64_t number) {
    static_cast<void>(number);
    return nullptr;
  }
  /// As IFencedStore::checkSql.
  virtual Result<void> checkSql(std::string_view sql, std::span<const SqlParameter> parameters) {
    static_cast<void>(sql), static_cast<void>(parameters);
    return Error{Errc::unsupported, "the store speaks no SQL"};
  }

  /// As IStoreAdmin::inspect.
  virtual Result<Findings> inspect() = 0;
  /// Idempotency keys that have not expired, where they do so by themselves.
  virtual Result<std::size_t> countKeys() { return std::size_t{0}; }
  virtual Result<std::optional<WallTime>> clock() { return std::optional<WallTime>{}; }
  virtual void limitAnswers(AnswerTimer* timer) noexcept = 0;
  /// Gives back connections and locks.
  virtual void release() noexcept = 0;
};

/// Whether any of them belongs to a queue, which must be there for that. Messages that wait need none.
inline bool isOfQueue(Table table) noexcept { return schemaOf(table).scope != Scope::place; }
inline bool concernsQueue(std::span<const RowName> rows) noexcept {
  return std::ranges::any_of(rows, isOfQueue, &RowName::table);
}
inline bool concernsQueue(const WriteSet& writes) {
  bool concerns = !writes.enqueued().empty() || !writes.acknowledged().empty();
  writes.forEach([&](const Write& write) { concerns = concerns || isOfQueue(write.table); });
  return concerns;
}

/// By the store's own clock; by `clock` where it has none.
inline Result<WallTime> nowIn(IStoreDriver& driver, const IClock& clock) {
  const Result<std::optional<WallTime>> stores = driver.clock();
  return stores ? Result<WallTime>(stores->value_or(clock.wallNow())) : stores.error();
}

/// All rows of a scan, in pages of `atMost`, until `use` wants no more.
template <class Use>  // Result<bool>(const Row&)
Result<void> forEachRow(IStoreDriver& driver, Scan scan, Use use) {
  const auto prefix = static_cast<std::ptrdiff_t>(scan.prefix.size());
  const auto keys = static_cast<std::ptrdiff_t>(schemaOf(scan.table).keys);
  for (;;) {
    const Result<std::vector<Row>> page = driver.scan(scan);
    if (!page) return page.error();
    for (const Row& row : *page) {
      const Result<bool> more = use(row);
      if (!more) return more.error();
      if (!*more) return {};
    }
    if (page->size() < scan.atMost) return {};
    scan.after.assign(page->back().begin() + prefix, page->back().begin() + keys);
  }
}

}  // namespace tenure::storage
