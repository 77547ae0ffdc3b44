/// PostgreSQL as queue and fenced store: one database, replicas and producers anywhere.
///
/// Needs:   a server from version 14 on, reached directly or through a pooler that gives out whole sessions, and
///          Tenure's tables (schemaSql) in the connection's current schema. All tables named tenure_* are Tenure's;
///          others in the same database are yours, and share the transaction.
/// Durability: a commit that returned is on the server's disk, and on its synchronous standbys where it has some.
///          Commits that a failover to an asynchronous standby loses are lost together with the fence: it is noticed,
///          not undone. A server that may lose commits by itself (synchronous_commit below on, fsync off) is refused.
/// Limits:  a statement of a handler that fails is undone alone, and the handler may go on; behind 64 others of its
///          message that were asked and answered, its attempt has failed.
/// Secrets: the password comes from `passwordFile`, or from libpq's own PGPASSFILE or PGPASSWORD; never from a URL.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tenure/events.hpp"
#include "tenure/scheduled.hpp"
#include "tenure/spi/admin.hpp"
#include "tenure/spi/source.hpp"
#include "tenure/spi/store.hpp"

namespace tenure {
struct Component;
}  // namespace tenure

namespace tenure::postgresql {

/// A table of your own as the queue (an outbox): your transactions write its rows, and a leader delivers them.
///
/// Order:   by the column `order`. A row that is committed late is delivered late, and never passed over.
/// Rows:    a delivered row is marked, or deleted where there is no column `status`, in the transaction that
///          acknowledges its message. A dead one is marked as dead; without `status` it is only in tenure_dead_letter.
/// Rights:  SELECT on the mapped columns; UPDATE on those that Tenure writes, or DELETE on the table.
struct OutboxTable {
  /// Tenure writes status, attempts, failure, nextAt and sentAt, with numberWhenRead also number; it reads the others.
  /// A row that is put back has no number any more, where its column takes NULL and Tenure may update it.
  enum class Role {
    id,     // required: a number, a uuid or a text; NOT NULL, with a unique index of its own
    order,  // default: id
    group,
    body,      // required: text, bytea or JSON
    headers,   // JSON: an object, or an array of [name, value]
    exchange,  // text; published to it, not to the one of the sink's URL
    routingKey,
    number,     // the message's number within its group, delivered in numberHeader
    sendAt,     // a timestamp: not delivered before
    createdAt,  // a timestamp
    status,     // waiting, sent or dead
    attempts,   // how often it was tried
    failure,    // why the last attempt failed, or why it is dead
    nextAt,     // a timestamp: when the leader will try it again; a successor does so at once
    sentAt,     // a timestamp
  };
  using Columns = std::map<Role, std::string>;

  /// Names are as PostgreSQL keeps them: without quotes, in lower case where they were written without.
  std::string schema;
  std::string name;
  /// Empty: those of the table that outboxSql() makes.
  Columns columns{};
  /// The values of the column `status`, as texts.
  std::string waiting = "waiting";
  std::string sent = "sent";
  std::string dead = "dead";
  /// Sent rows older than this by their `sentAt` are deleted, which needs the right to DELETE. 0: never.
  std::chrono::milliseconds keepSent = std::chrono::hours{7 * 24};
};

/// What is empty or 0 is left to libpq: its environment variables, then its defaults.
struct Options {
  /// One or more names or addresses, separated by commas and tried in turn; `port` holds for each that has no `:port`
  /// of its own. A folder for a Unix socket.
  std::string host;
  std::uint16_t port = 0;
  std::string database;
  std::string user;
  /// The file's first line is the password.
  std::filesystem::path passwordFile;
  /// Connects only to a server whose certificate `tlsAuthority` (a file of certificates) vouches for under the name
  /// that was asked for; never falls back. Without it, libpq's PGSSLMODE decides.
  bool tls = false;
  std::filesystem::path tlsAuthority;
  std::string queue = "default";
  /// The queue is this table; `queue` is not used then. Attempts, dead letters and the queue's owner are filed under
  /// the table's name.
  std::optional<OutboxTable> table{};
  /// Of a store alone, for operators: the queue is kept elsewhere, and this is the one (IQueueAdmin::identity). Empty:
  /// it did not tell, and is the only one of that name. A consumer finds out by itself.
  std::optional<QueueIdentity> elsewhere{};
  /// How long a claim may take, whatever it waits for, until it ends those in its way; it then has a second more. And
  /// how long any other statement waits for a lock.
  std::chrono::milliseconds lockLimit{2'000};
  /// How long one statement may run; of a leader no longer than three quarters of ConsumerOptions::outageLimit.
  std::chrono::milliseconds statementLimit{30'000};
  /// How long one server may take to be connected to, in whole seconds from 2 on.
  std::chrono::milliseconds connectLimit{5'000};
  /// A transaction whose client is silent for so long is ended by the server: a frozen leader blocks others no longer,
  /// and a handler must not compute longer between two statements.
  std::chrono::milliseconds idleInTransactionLimit{2'000};
  /// How long bytes may go unacknowledged, or an idle connection unanswered, until it counts as cut.
  std::chrono::milliseconds networkLimit{10'000};
  /// After lockLimit, a claim ends the sessions of this election's older terms.
  bool evictFrozenHolder = true;
  /// Of a sink, and of what handlers send: numbers the messages of each group 1, 2, 3, … in the transaction that stores
  /// them, for all senders, and puts the number into numberHeader. An id sent before is known for seven days: it
  /// is not stored again, and takes no number. Messages without a group get none. All who send to a queue should agree.
  bool numbered = false;
  /// Of a source: gives each message that has a group and no number the group's next number. The transaction that
  /// writes it is durable before the message is handed out, so that a later delivery of the message has the same one.
  /// A table of yours needs columns for group and number.
  bool numberWhenRead = false;
  /// Of the store of a Relay: a numbered message that becomes a dead letter is followed, in the same transaction, by a
  /// message at the end of the queue that has its number and skipHeader. Not with `numbered`.
  bool skipDeadNumbers = false;
  /// Whether errors repeat the values of rows that break a constraint, as the server tells them; they then stand in
  /// logs and dead letters.
  bool errorDetails = false;
  /// Accept a server that reports commits before they are durable. A crash may then lose acknowledged messages.
  bool allowUnsafeCommits = false;
};

/// Both ends of a consumer: source() and store() share each transaction. Its queue belongs to the election whose term
/// claims the store or attaches the source first; another one is refused with Errc::queueOwned.
/// A user's SQL is PostgreSQL's, with :name for parameters. Text is bound without a type, as a quoted literal would be;
/// the other kinds of value are bigint, double precision and bytea. Results come back as these four; booleans are 0 and
/// 1, and every other type is text.
/// Threads: construct anywhere, then use from one thread at a time.
class Database {
 public:
  /// Connects on first use of either port, not before.
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

/// What operators do, each call on a connection of its own.
std::unique_ptr<IDatabaseAdmin> openAdmin(const Options& options);
/// Messages that wait for their time (scheduled.hpp), each on a session of its own.
std::unique_ptr<ScheduledMessages> openScheduled(const Options& options);

/// The tables, as SQL for psql or a migration tool; in a transaction of its own.
std::string schemaSql();
/// The SQL that makes a table for OutboxTable, its indexes, and the trigger that wakes its reader. `name` may be
/// qualified by a schema, and quoted. Needs Tenure's tables in the connection's current schema.
///
/// Errors:  invalidArgument
Result<std::string> outboxSql(std::string_view name);
/// Creates the tables in the connection's current schema, or takes the steps that this version brings; all that is
/// there stays. Before the first release there are none: tables of another version are refused.
///
/// Errors:  configurationRefused  tables of a newer version, of one too old, or only some of them, are there
///          permissionDenied, authenticationFailed, unavailable, storeFailed
Result<void> applySchema(const Options& options);

/// What tenure::open() knows by it.
Component component();

}  // namespace tenure::postgresql
