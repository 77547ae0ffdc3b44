/// SQLite as queue and fenced store, the embedded default: one file, replicas and producers on one host.
///
/// Limits:  one host; files on network file systems are refused (their locks do not hold). Standbys only look at it.
///          All tables named tenure_* are Tenure's; others in the same file are yours, and share the transaction.
/// Durability: below SQLite 3.51.3 a rollback journal with synchronous=EXTRA, from there on WAL with FULL.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "tenure/events.hpp"
#include "tenure/scheduled.hpp"
#include "tenure/spi/admin.hpp"
#include "tenure/spi/source.hpp"
#include "tenure/spi/spool.hpp"
#include "tenure/spi/store.hpp"

namespace tenure {
struct Component;
}  // namespace tenure

namespace tenure::sqlite {

struct Options {
  std::filesystem::path file;
  std::string queue = "default";
  /// Of a store alone, for operators: the queue is kept elsewhere, and this is the one (IQueueAdmin::identity). Empty:
  /// it did not tell, and is the only one of that name. A consumer finds out by itself.
  std::optional<QueueIdentity> elsewhere{};
  /// How long a claim or commit waits for the file's write lock.
  std::chrono::milliseconds lockLimit{2'000};
  /// After lockLimit, kill the lock's holder when it is proven to be the unclean predecessor, and frozen: stopped, or
  /// not run for a second more.
  bool evictFrozenHolder = true;
  /// Create file and schema when absent; otherwise an absent file is Errc::notFound.
  bool create = true;
  /// Other programs write messages into the file, perhaps with an older SQLite: the file stays in a
  /// rollback journal, also with a SQLite that would use WAL. The first sink or leader with this option marks the file,
  /// and from then on it holds for all.
  bool senders = false;
  /// Whether statements of handlers keep to the foreign keys of the file's tables, as SQLite does only when it is asked
  /// to: a statement that breaks one fails, and one that is deferred refuses the commit.
  bool foreignKeys = true;
  /// Of a sink, and of what handlers send: numbers the messages of each group 1, 2, 3, … in the transaction that stores
  /// them, for all senders, and puts the number into numberHeader. An id sent before is known for seven days: it
  /// is not stored again, and takes no number. Messages without a group get none. All who send to a queue should agree.
  bool numbered = false;
  /// Of a source: gives each message that has a group and no number the group's next number. The transaction that
  /// writes it is durable before the message is handed out, so that a later delivery of the message has the same one.
  bool numberWhenRead = false;
  /// Of the store of a Relay: a numbered message that becomes a dead letter is followed, in the same transaction, by a
  /// message at the end of the queue that has its number and skipHeader. Not with `numbered`.
  bool skipDeadNumbers = false;
};

/// One file as both ends of a consumer: source() and store() share each transaction. Its queue belongs to the election
/// whose term claims the store or attaches the source first; another one is refused with Errc::queueOwned.
/// Threads: open anywhere, then use from one thread at a time.
class Database {
 public:
  /// Opens the file on first use of either port, not before: a standby never holds it, it looks and lets go.
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

/// What operators do, each call on a connection of its own that opens what is there and creates nothing.
std::unique_ptr<IDatabaseAdmin> openAdmin(const Options& options);
/// Messages that wait for their time (scheduled.hpp).
std::unique_ptr<ScheduledMessages> openScheduled(const Options& options);

struct SpoolOptions {
  std::filesystem::path file;
  /// Limit for bodies and headers of waiting and refused messages: 1 MiB to 1 TiB. The file may be somewhat larger.
  std::uint64_t maxBytes = 1ULL << 30U;
  /// Make the file where it is absent; otherwise that is Errc::notFound.
  bool create = true;
};

/// A file of its own for a Producer, with the tables of a queue and some beside it. The file stays locked while the
/// spool is open; that of a process that died is taken over. A damaged file is renamed to FILE.damaged-TIME and told
/// (SpoolDamaged), now or when the damage is met, and what can be read of it is in the new one.
///
/// Errors:  storeBusy  another process uses it; the detail names the process
///          configurationRefused  the file holds something else, or is on a network file system
///          notFound, permissionDenied, storeFull, storeFailed, unavailable
Result<std::unique_ptr<ISpool>> openSpool(const SpoolOptions& options, IEventSink& events = noEvents());

/// The tables, as SQL.
std::string schemaSql();
/// Makes file and tables where they are absent, and takes the steps that this version brings; all that is there stays.
/// Before the first release there are none: tables of another version are refused. A leader's first claim does it as
/// well.
///
/// Errors:  configurationRefused  tables of a newer version, or of one too old, or another program's file
///          storeBusy, storeFull, storeFailed, unavailable, permissionDenied
Result<void> applySchema(const Options& options);

/// What tenure::open() knows by it.
Component component();

}  // namespace tenure::sqlite
