#include "backends/postgresql/store/inspection.hpp"

#include "backends/postgresql/rows/fence_rows.hpp"
#include "backends/postgresql/rows/outbox_operating.hpp"
#include "backends/postgresql/rows/schema.hpp"
#include "backends/shared/inspection.hpp"
#include "backends/shared/servers.hpp"
#include "base/text.hpp"

namespace tenure::postgresql {
namespace {

using backends::Inspection;

/// Safe to be without where `options` say so.
Severity severityOfUnsafe(const Options& options) noexcept {
  return options.allowUnsafeCommits ? Severity::warning : Severity::refusal;
}

Result<void> lookAtServer(Connection& connection, const Options& options, Inspection& found) {
  const Result<Answer> server = connection.ask(
      "SELECT current_setting('server_version'), current_setting('synchronous_commit'), current_setting('fsync'),"
      " current_setting('full_page_writes'), pg_is_in_recovery()::int::bigint, current_user::text,"
      " current_setting('default_transaction_read_only'), coalesce(current_setting('transaction_timeout', true), '0')");
  if (!server) return server.error();
  const std::string commits = server->text(0, 1);
  const bool isReplica = server->integer(0, 4) != 0;
  const Severity unsafe = severityOfUnsafe(options);
  found.fact("PostgreSQL", server->text(0, 0), connection.name());
  found.require(!isReplica, "role", isReplica ? "replica" : "primary", "the primary: a replica cannot be written to");
  found.expect(commits == "on" || commits == "remote_apply", unsafe, "synchronous_commit", commits,
               "on: a crash may lose commits that were reported");
  found.expect(server->bytes(0, 2) == "on", unsafe, "fsync", server->text(0, 2),
               "on: a crash may lose or damage what was committed");
  found.expectSafe(server->bytes(0, 3) == "on", "full_page_writes", server->text(0, 3),
                   "on: without it a power loss may damage pages, unless the file system writes them whole");
  found.require(isReplica || server->bytes(0, 6) == "off", "default_transaction_read_only", server->text(0, 6), "off");
  found.expectSafe(server->bytes(0, 7) == "0", "transaction_timeout", server->text(0, 7),
                   "0: it would end a batch that handlers take long over");
  found.expectSafe(!connection.isPooled(), "connection", connection.isPooled() ? "through a pooler" : "direct",
                   "a direct one, or a pooler that gives out whole sessions: claims end sessions by their server's "
                   "process");
  return {};
}

Result<void> lookAtNetwork(Connection& connection, const Options& options, Inspection& found) {
  const Result<Answer> session = connection.ask(
      "SELECT coalesce(host(inet_server_addr()), ''), coalesce(version, ''), coalesce(cipher, '')"
      " FROM (SELECT 1) AS one LEFT JOIN pg_stat_ssl ON pid = pg_backend_pid() AND ssl");
  if (!session) return session.error();
  const std::string address = session->text(0, 0);
  const std::string version = session->text(0, 1);
  const bool isLocal = address.empty() || isOnThisMachine(address);
  const std::string shown = version.empty() ? (address.empty() ? "none, a Unix socket" : "none") : version;
  found.expectSafe(isLocal || options.tls, "TLS", shown + (options.tls ? ", verify-full" : ""),
                   "tls=yes in the URL: the server's name is not verified, so anybody on the way could pose as it");
  return {};
}

Result<void> lookAtStandbys(Connection& connection, Inspection& found) {
  const Result<Answer> counted = connection.ask(
      "SELECT count(*), count(*) FILTER (WHERE sync_state = 'async'), count(*) FILTER (WHERE sync_state IS NULL)"
      " FROM pg_stat_replication");
  if (!counted) return counted.error();
  const std::int64_t standbys = counted->integer(0, 0);
  const std::int64_t lagging = counted->integer(0, 1);
  if (counted->integer(0, 2) > 0) {
    found.fact("standbys", std::to_string(standbys),
               "whether they are synchronous is not known: the role would need pg_read_all_stats");
    return {};
  }
  found.expectSafe(lagging == 0, "standbys", std::to_string(standbys),
                   std::to_string(lagging) +
                       " of them not synchronous: a failover to one may lose acknowledged commits, with the fence");
  return {};
}

Result<void> lookAtQueue(Connection& connection, const Options& options, Inspection& found) {
  const Exchange read = connection.exchange(std::vector{selectQueue(whichQueue(options)), selectFences()});
  if (!read) return read.error();
  if (read.answers[0].rows() == 0) {
    found.fact("queue", "absent", "the first producer or leader makes it");
  } else {
    const std::string owner = queueFrom(read.answers[0]).owner.election;
    found.fact("queue", owner.empty() ? "of no election yet" : "of election " + owner);
  }
  for (const storage::StoredFence& fence : fencesFrom(read.answers[1]))
    found.require(fence.damage.empty(), "fence of " + fence.row.election.value, storage::described(fence.row),
                  "a sound row; " + fence.damage);
  return {};
}

/// Reports which roles may send with the functions. True: this role may.
Result<bool> lookAtSending(Connection& connection, Inspection& found) {
  const Result<bool> ours = hasSendFunctions(connection);
  if (!ours) return ours.error();
  found.expectSafe(*ours, "tenure_send", *ours ? "as this build knows it" : "absent, or of another version",
                   "that of this build: `tenure schema apply` makes it");
  const Result<Answer> rights = connection.ask(
      "SELECT coalesce(bool_or(has_function_privilege(oid, 'EXECUTE') AND proname = 'tenure_send'), "
      "false)::int::bigint,"
      " coalesce(bool_or(has_function_privilege('public', oid, 'EXECUTE')), false)::int::bigint,"
      " coalesce(has_table_privilege('tenure_waiting', 'INSERT'), false)::int::bigint,"
      " has_schema_privilege('public', current_schema(), 'CREATE')::int::bigint FROM pg_proc"
      " WHERE proname IN ('tenure_send', 'tenure_cancel') AND pronamespace = current_schema()::regnamespace");
  if (!rights) return rights.error();
  const bool maySend = rights->integer(0, 0) == 1 || rights->integer(0, 2) == 1;
  if (*ours) found.fact("senders", maySend ? "this role may send" : "this role may not send");
  const bool othersCreate = rights->integer(0, 3) == 1;
  found.expectSafe(!othersCreate, "schema", othersCreate ? "everybody may create in it" : "not open to everybody",
                   "REVOKE CREATE ON SCHEMA … FROM PUBLIC: what others create there may stand in the functions' way");
  const bool isOpen = rights->integer(0, 1) == 1;
  found.expectSafe(!isOpen, "senders", isOpen ? "everybody may send" : "only roles with a grant",
                   "REVOKE EXECUTE … FROM PUBLIC, and a GRANT to each role that sends");
  return maySend;
}

Result<void> lookAtTables(Connection& connection, const Options& options, Inspection& found) {
  const Result<void> schema = checkSchema(connection);
  if (!schema && connection.isLost()) return schema;
  if (schema || schema.error().is(Errc::permissionDenied)) {
    const Result<bool> maySend = lookAtSending(connection, found);
    if (!maySend) return maySend.error();
    if (!schema && *maySend) {
      found.expectSafe(
          false, "privileges", "those of a sender",
          "for a replica and for `tenure produce`: SELECT, INSERT, UPDATE and DELETE on the tables tenure_...");
      return {};
    }
  }
  found.require(schema.has_value(), "schema", schema ? "as this build knows it" : "unfit",
                schema ? "" : "the tables of this build; " + schema.error().detail);
  if (!schema) return {};
  const Result<std::string> forbidden = forbiddenTables(connection);
  if (!forbidden) return forbidden.error();
  const std::string& tables = *forbidden;
  found.require(tables.empty(), "privileges", tables.empty() ? "enough" : "too few",
                "SELECT, INSERT, UPDATE and DELETE on " + tables);
  if (!tables.empty()) return {};
  const Result<void> looked = lookAtQueue(connection, options, found);
  return looked && options.table ? lookAtOutbox(connection, *options.table, found) : looked;
}

}  // namespace

Result<Findings> inspect(const Options& options) {
  const Result<std::unique_ptr<Connection>> connection = Connection::look(options);
  if (!connection) return connection.error();
  Inspection found;
  backends::lookAtServers(options, found, [](const Options& one) { return Connection::look(one); });
  Result<void> looked = lookAtServer(**connection, options, found);
  if (looked) looked = lookAtNetwork(**connection, options, found);
  if (looked) looked = lookAtStandbys(**connection, found);
  if (looked) looked = lookAtTables(**connection, options, found);
  if (!looked) return looked.error();
  found.fact("idle_in_transaction_session_timeout", formatDuration(options.idleInTransactionLimit),
             "set by each of our sessions, as are lock_timeout " + formatDuration(options.lockLimit) +
                 " and statement_timeout " + formatDuration(options.statementLimit));
  return found.take();
}

}  // namespace tenure::postgresql
