#include "backends/sqlite/schema.hpp"

#include <array>
#include <set>

#include "backends/sqlite/connection.hpp"
#include "base/text.hpp"

namespace tenure::sqlite {
namespace {

constexpr std::int64_t schemaVersion = 1;

constexpr const char* createTables = R"sql(
CREATE TABLE tenure_schema(version INTEGER NOT NULL);
INSERT INTO tenure_schema VALUES(1);
CREATE TABLE tenure_queue(
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  last INTEGER NOT NULL,        -- n of the newest message ever
  election TEXT, path TEXT);    -- that consumes it; null before the first term
CREATE TABLE tenure_message(
  n INTEGER PRIMARY KEY,        -- queue number << 40 | place in the queue
  id TEXT NOT NULL, grp TEXT NOT NULL, body BLOB NOT NULL,
  headers TEXT,                 -- JSON [[name, value], …]; null for none
  enqueued_at INTEGER NOT NULL);
CREATE TABLE tenure_fence(
  election TEXT NOT NULL PRIMARY KEY,
  ensemble TEXT NOT NULL, generation INTEGER NOT NULL, token INTEGER NOT NULL CHECK(token >= 0),
  seq INTEGER NOT NULL,         -- counts the term's commits
  path TEXT NOT NULL, candidate TEXT NOT NULL,
  host TEXT NOT NULL, pid INTEGER NOT NULL, start_time INTEGER NOT NULL, boot_id TEXT NOT NULL,
  pid_namespace INTEGER NOT NULL,
  claimed_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE tenure_key(
  consumer TEXT NOT NULL, id TEXT NOT NULL,
  state INTEGER NOT NULL,       -- 0 done, 1 dead
  digest BLOB NOT NULL, token INTEGER NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(consumer, id)) WITHOUT ROWID;
CREATE TABLE tenure_attempt(
  consumer TEXT NOT NULL, id TEXT NOT NULL,
  attempts INTEGER NOT NULL, last_error TEXT NOT NULL, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL,
  PRIMARY KEY(consumer, id)) WITHOUT ROWID;
CREATE TABLE tenure_in_work(
  consumer TEXT NOT NULL PRIMARY KEY,
  token INTEGER NOT NULL, more INTEGER NOT NULL,
  ids BLOB NOT NULL) WITHOUT ROWID;  -- each id followed by a NUL
CREATE TABLE tenure_dead_letter(
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  queue INTEGER NOT NULL, consumer TEXT NOT NULL,
  id TEXT NOT NULL, grp TEXT NOT NULL, body BLOB NOT NULL, headers TEXT, enqueued_at INTEGER NOT NULL,
  position INTEGER NOT NULL, reason TEXT NOT NULL, attempts INTEGER NOT NULL,
  first_at INTEGER NOT NULL, died_at INTEGER NOT NULL);
CREATE TABLE tenure_state(
  election TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL,
  PRIMARY KEY(election, key)) WITHOUT ROWID;
)sql";

constexpr std::array<std::string_view, 9> tables{"tenure_schema",  "tenure_fence",       "tenure_queue",
                                                 "tenure_message", "tenure_key",         "tenure_attempt",
                                                 "tenure_in_work", "tenure_dead_letter", "tenure_state"};

using Names = std::set<std::string, std::less<>>;

Result<Names> presentTables(Connection& connection) {
  Names present;
  Query names = connection.query("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'tenure_*'");
  for (;;) {
    const Result<bool> row = names.next();
    if (!row) return row.error();
    if (!*row) return present;
    present.insert(names.text(0));
  }
}

Result<void> checkVersion(Connection& connection) {
  Query version = connection.query("SELECT max(version) FROM tenure_schema");
  const Result<bool> row = version.next();
  if (!row) return row.error();
  if (version.integer(0) == schemaVersion) return {};
  return Error{Errc::configurationRefused, connection.file().string() + " has schema version " + version.text(0) +
                                               ", this build knows " + std::to_string(schemaVersion)};
}

Result<void> checkTables(Connection& connection, const Names& present) {
  for (const std::string_view table : tables) {
    if (present.contains(table)) continue;
    return Error{table == "tenure_fence" ? Errc::fenceLost : Errc::storeFailed,
                 connection.file().string() + ": table " + std::string(table) + " is missing"};
  }
  return checkVersion(connection);
}

/// Under the write lock, because several processes may find the file empty at the same time.
Result<void> createSchema(Connection& connection) {
  if (const Result<void> begun = connection.run("BEGIN IMMEDIATE"); !begun) return begun;
  const Result<Names> present = presentTables(connection);
  if (!present || !present->empty()) {
    connection.rollback();
    if (!present) return present.error();
    return checkTables(connection, *present);
  }
  Result<void> created = connection.script(createTables);
  if (created) created = connection.run("COMMIT");
  if (!created) connection.rollback();
  return created;
}

}  // namespace

Result<void> ensureSchema(Connection& connection, bool create) {
  const Result<Names> present = presentTables(connection);
  if (!present) return present.error();
  if (!present->empty()) return checkTables(connection, *present);
  if (create) return createSchema(connection);
  return Error{Errc::notFound, connection.file().string() + " holds no Tenure queue"};
}

Result<std::int64_t> findQueue(Connection& connection, const std::string& queue) {
  Query number = connection.query("SELECT number FROM tenure_queue WHERE name = ?1", queue);
  const Result<bool> found = number.next();
  if (!found) return found.error();
  if (*found) return number.integer(0);
  return Error{Errc::notFound, connection.file().string() + " has no queue \"" + escaped(queue) + "\""};
}

Result<std::int64_t> ensureQueue(Connection& connection, const std::string& queue) {
  const Result<std::int64_t> known = findQueue(connection, queue);
  if (known || !known.error().is(Errc::notFound)) return known;
  Query added = connection.query(
      "INSERT INTO tenure_queue(number, name, last)"
      " SELECT next, ?1, next << 40 FROM (SELECT coalesce(max(number), 0) + 1 AS next FROM tenure_queue)"
      " RETURNING number",
      queue);
  const Result<bool> row = added.next();
  if (!row) return row.error();
  const std::int64_t number = added.integer(0);
  // A RETURNING statement is complete only when it was stepped to its end.
  const Result<bool> end = added.next();
  if (!end) return end.error();
  return number;
}

}  // namespace tenure::sqlite
