/// What a backend does so that FencedSession can keep its promises on it: a handful of verbs on rows.
///
///   readFence   the fence as it is, and whether the place was ever claimed
///   claim       compare and set: reads the fence, asks what it shall become, writes that, or begins again
///   read        rows by their keys
///   scan        rows in the order of their keys, page by page
///   commit      a WriteSet, if the fence is the expected one and every expectation is met: all of it or nothing
///
/// A driver decides nothing: who may claim, what a lost reply means, which message is new is FencedSession's to say.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "storage/fence.hpp"
#include "storage/write_set.hpp"
#include "tenure/store.hpp"

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
  /// Whose the place is, where it can be one election's alone; with an absent fence, it was claimed before.
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
};

/// In the order of the names; nullopt: there is none.
using Rows = std::vector<std::optional<Row>>;

enum class Outcome {
  committed,
  fenced,    // the fence is not the expected one; nothing was changed
  conflict,  // an expectation is not met; nothing was changed
};

struct Commit {
  /// Nullptr: an operator's, which no fence concerns.
  const Fence* expected = nullptr;
  const Fence* next = nullptr;
  const WriteSet* writes = nullptr;
  /// Rows that will be asked for next: where that costs no journey of its own, they may be read with the commit.
  std::span<const RowName> alsoRead{};
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
  /// How long idempotency keys are kept, where they expire by themselves.
  std::optional<std::chrono::hours> keepsIdsFor{};
};

/// Errors of all, besides what stands with each:  unavailable, storeBusy, storeFull, storeFailed, payloadTooLarge
///          outcomeUnknown  of claim and commit: the reply was lost
/// Threads: one at a time.
class IStoreDriver {
 public:
  virtual ~IStoreDriver() = default;
  /// For people: "redis cache:6379/0 queue orders".
  virtual std::string name() const = 0;
  virtual const Limits& limits() const noexcept = 0;

  /// Connects where it is not connected, and looks at credentials, schema and rights. Ends early after a stop.
  virtual Result<void> connect(const std::stop_token& stop) = 0;
  /// Which server answers: another text after it was restarted or replaced. Empty where that makes no difference.
  virtual std::string server() const { return {}; }

  virtual Result<FenceFound> readFence(const ElectionName& election) = 0;
  /// Every one that is there, for people.
  virtual Result<std::vector<StoredFence>> fences() = 0;
  /// For a term, or for an operator (nullptr).
  virtual Result<void> claim(const ElectionName& election, const Term* term, const ClaimJudge& judge) = 0;
  /// Nullopt where the fence is not the `expected` one; nullptr expects none.
  virtual Result<std::optional<Rows>> read(std::span<const RowName> rows, const Fence* expected) = 0;
  virtual Result<std::vector<Row>> scan(const Scan& scan) = 0;
  virtual Result<Committed> commit(const Commit& commit) = 0;

  /// As IStoreAdmin::inspect.
  virtual Result<Findings> inspect() = 0;
  /// Idempotency keys that have not expired, where they do so by themselves.
  virtual Result<std::size_t> countKeys() { return std::size_t{0}; }
  virtual Result<std::optional<WallTime>> clock() { return std::optional<WallTime>{}; }
  virtual void limitAnswers(AnswerTimer* timer) noexcept = 0;
  /// Gives back connections and locks.
  virtual void release() noexcept = 0;
};

}  // namespace tenure::storage
