/// SQLite as queue and fenced store, the embedded default: one file, replicas and producers on one host.
///
/// Limits:  one host; files on network file systems are refused (their locks do not hold). Standbys do not open it.
///          All tables named tenure_* are Tenure's; others in the same file are yours, and share the transaction.
/// Durability: below SQLite 3.51.3 a rollback journal with synchronous=EXTRA, from there on WAL with FULL.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenure/events.hpp"
#include "tenure/source.hpp"
#include "tenure/store.hpp"

namespace tenure::sqlite {

struct Options {
  std::filesystem::path file;
  std::string queue = "default";
  /// How long a claim or commit waits for the file's write lock.
  std::chrono::milliseconds lockLimit{2'000};
  /// After lockLimit, kill the lock's holder when it is proven to be the unclean predecessor.
  bool evictFrozenHolder = true;
  /// Create file and schema when absent; otherwise an absent file is Errc::notFound.
  bool create = true;
};

struct QueueStats {
  std::int64_t waiting = 0;
  std::int64_t waitingBytes = 0;
  std::int64_t deadLetters = 0;
  std::int64_t retrying = 0;
  std::optional<WallTime> oldest;
  std::string election;  // that consumes it; empty before the first
};

/// The fence row of one election, for people and for `tenure fence`.
struct FenceRow {
  ElectionName election;
  EnsembleUuid ensemble;
  std::int64_t generation = 0;
  FencingToken token;
  std::int64_t sequence = 0;
  std::string path;
  CandidateUuid candidate;
  ProcessIdentity holder;
  WallTime claimedAt{};
};

/// One file as both ends of a consumer: source() and store() share each transaction. Its queue belongs to the election
/// whose term claims the store or attaches the source first; another one is refused with Errc::queueOwned.
/// Threads: open anywhere, then use from one thread at a time.
class Database {
 public:
  /// Opens the file on first use of either port, not before: a standby never holds it.
  Database(Options options, IEventSink& events);
  ~Database();

  IMessageSource& source() noexcept;
  IFencedStore& store() noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Any number of processes may append at the same time.
Result<std::unique_ptr<IMessageSink>> openSink(const Options& options);

/// Errors of all below: notFound, storeBusy, storeFailed, configurationRefused (network file system, other schema).
Result<QueueStats> queueStats(const Options& options);
Result<std::vector<DeadLetter>> deadLetters(const Options& options, std::size_t limit = 1000);
/// Puts dead letters back at the end of the queue and clears their idempotency keys. All when `numbers` is empty.
Result<std::size_t> requeueDeadLetters(const Options& options, const std::vector<std::int64_t>& numbers);
Result<std::size_t> purgeDeadLetters(const Options& options, const std::vector<std::int64_t>& numbers);
Result<std::vector<FenceRow>> fenceRows(const Options& options);
/// Makes the store accept terms of this ensemble, generation and path, whatever it saw before. An operator's act: be
/// sure that no leader of the old ensemble runs. Compares with `expected` and changes nothing when it differs; a fence
/// that was lost is expected as a row with nothing but its election.
///
/// Errors:  versionMismatch  the row is another one by now
///          invalidArgument  `generation` is not above the stored one
Result<void> rebaseFence(const Options& options, const FenceRow& expected, const EnsembleUuid& ensemble,
                         std::int64_t generation, const std::string& path);

}  // namespace tenure::sqlite
