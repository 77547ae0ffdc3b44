#include "backends/sqlite/schema.hpp"

#include <array>
#include <set>

#include "backends/sqlite/connection.hpp"
#include "base/random.hpp"
#include "storage/schema_steps.hpp"

namespace tenure::sqlite {
namespace {

constexpr std::int64_t schemaVersion = 5;

constexpr const char* createTables = R"sql(
CREATE TABLE tenure_schema(version INTEGER NOT NULL);
INSERT INTO tenure_schema VALUES(5);
CREATE TABLE tenure_queue(
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  identity TEXT NOT NULL UNIQUE,  -- a random uuid; of a queue that is kept elsewhere, as its place tells it
  elsewhere INTEGER NOT NULL,   -- 0: its messages are here; 1: only its owner, keys, attempts and dead letters
  last INTEGER NOT NULL,        -- n of the newest message ever
  election TEXT, path TEXT);    -- that consumes it; null before the first term
CREATE UNIQUE INDEX tenure_queue_here ON tenure_queue(name) WHERE elsewhere = 0;
CREATE TABLE tenure_message(
  n INTEGER PRIMARY KEY,        -- queue number << 40 | place in the queue
  id TEXT NOT NULL, grp TEXT NOT NULL, body BLOB NOT NULL,
  headers TEXT,                 -- JSON [[name, value], …]; null for none
  enqueued_at INTEGER NOT NULL);
CREATE TABLE tenure_number(
  queue INTEGER NOT NULL, grp TEXT NOT NULL,
  last INTEGER NOT NULL,        -- that a message of the group was given
  PRIMARY KEY(queue, grp)) WITHOUT ROWID;
CREATE TABLE tenure_sent(
  queue INTEGER NOT NULL, id TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(queue, id)) WITHOUT ROWID;
CREATE INDEX tenure_sent_at ON tenure_sent(at);
CREATE TABLE tenure_fence(
  election TEXT NOT NULL PRIMARY KEY,
  ensemble TEXT NOT NULL, generation INTEGER NOT NULL, token INTEGER NOT NULL CHECK(token >= 0),
  seq INTEGER NOT NULL,         -- counts the term's commits
  path TEXT NOT NULL, candidate TEXT NOT NULL,
  host TEXT NOT NULL, pid INTEGER NOT NULL, start_time INTEGER NOT NULL, boot_id TEXT NOT NULL,
  pid_namespace INTEGER NOT NULL,
  claimed_at INTEGER NOT NULL,
  change TEXT NOT NULL) WITHOUT ROWID;  -- who made the last change of seq
CREATE TABLE tenure_key(
  queue INTEGER NOT NULL, consumer TEXT NOT NULL, id TEXT NOT NULL,
  state INTEGER NOT NULL,       -- 0 done, 1 dead
  digest BLOB NOT NULL, token INTEGER NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(queue, consumer, id)) WITHOUT ROWID;
CREATE TABLE tenure_attempt(
  queue INTEGER NOT NULL, consumer TEXT NOT NULL, id TEXT NOT NULL,
  attempts INTEGER NOT NULL, last_error TEXT NOT NULL, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL,
  standing INTEGER NOT NULL DEFAULT 0,  -- 0 retrying, 1 blocked, 2 released
  begun_by INTEGER NOT NULL DEFAULT 0,  -- token of the term that began an attempt whose end is not known yet
  process_died INTEGER NOT NULL DEFAULT 0,  -- 1: in the last attempt
  postponed INTEGER NOT NULL DEFAULT 0, postponed_since INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(queue, consumer, id)) WITHOUT ROWID;
CREATE TABLE tenure_in_work(
  queue INTEGER NOT NULL, consumer TEXT NOT NULL,
  lane INTEGER NOT NULL DEFAULT 0,
  token INTEGER NOT NULL, more INTEGER NOT NULL,
  ids BLOB NOT NULL,            -- each id followed by a NUL
  suspects_of INTEGER NOT NULL DEFAULT 0,  -- token of the term that may have died of them; 0: they are new
  narrowed INTEGER NOT NULL DEFAULT 0,     -- 1: those suspects come alone
  PRIMARY KEY(queue, consumer, lane)) WITHOUT ROWID;
CREATE TABLE tenure_window(
  queue INTEGER NOT NULL, consumer TEXT NOT NULL,
  front INTEGER NOT NULL, lanes INTEGER NOT NULL, ahead INTEGER NOT NULL,
  PRIMARY KEY(queue, consumer)) WITHOUT ROWID;
CREATE TABLE tenure_streak(
  queue INTEGER NOT NULL, consumer TEXT NOT NULL,
  deaths INTEGER NOT NULL, last_reason TEXT NOT NULL, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL,
  standing INTEGER NOT NULL,    -- 0 counting, 1 stopped, 2 resumed
  PRIMARY KEY(queue, consumer)) WITHOUT ROWID;
CREATE TABLE tenure_clock(
  queue INTEGER NOT NULL, consumer TEXT NOT NULL,
  of_store INTEGER NOT NULL,    -- whose: 0 the leader's, 1 the store's
  wall INTEGER NOT NULL, boot_id TEXT NOT NULL, since_boot INTEGER NOT NULL,
  trusted_from INTEGER NOT NULL,
  PRIMARY KEY(queue, consumer)) WITHOUT ROWID;
CREATE TABLE tenure_dead_letter(
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  queue INTEGER NOT NULL, consumer TEXT NOT NULL,
  id TEXT NOT NULL, grp TEXT NOT NULL, body BLOB NOT NULL, headers TEXT, enqueued_at INTEGER NOT NULL,
  position INTEGER NOT NULL, reason TEXT NOT NULL, attempts INTEGER NOT NULL,
  first_at INTEGER NOT NULL, died_at INTEGER NOT NULL);
CREATE INDEX tenure_dead_letter_of ON tenure_dead_letter(queue);
CREATE TABLE tenure_state(
  election TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL,
  PRIMARY KEY(election, key)) WITHOUT ROWID;
CREATE TABLE tenure_log(
  queue INTEGER NOT NULL, consumer TEXT NOT NULL, n INTEGER NOT NULL,  -- in the order of commits
  id TEXT NOT NULL, attempt INTEGER NOT NULL,
  outcome INTEGER NOT NULL, error TEXT NOT NULL,
  token INTEGER NOT NULL, began_at INTEGER NOT NULL, ended_at INTEGER NOT NULL,
  PRIMARY KEY(queue, consumer, n)) WITHOUT ROWID;
CREATE TABLE tenure_waiting(
  added INTEGER PRIMARY KEY AUTOINCREMENT,
  queue TEXT NOT NULL,          -- its name
  id TEXT NOT NULL,
  due INTEGER NOT NULL DEFAULT 0,
  grp TEXT NOT NULL DEFAULT '', body BLOB NOT NULL,
  headers TEXT,                 -- as those of tenure_message
  numbered INTEGER NOT NULL DEFAULT 0,  -- 1: gets a number when it comes to its queue
  UNIQUE(queue, id));
CREATE INDEX tenure_waiting_due ON tenure_waiting(queue, due, added);
CREATE TABLE tenure_fired(
  queue TEXT NOT NULL, id TEXT NOT NULL, due INTEGER NOT NULL,
  at INTEGER NOT NULL,          -- when it came to its queue
  PRIMARY KEY(queue, id)) WITHOUT ROWID;
CREATE INDEX tenure_fired_at ON tenure_fired(at);
CREATE TABLE tenure_reader(
  queue TEXT NOT NULL PRIMARY KEY,  -- its name
  election TEXT NOT NULL, path TEXT NOT NULL, ensemble TEXT NOT NULL,
  generation INTEGER NOT NULL, token INTEGER NOT NULL,
  asleep_until INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
)sql";

constexpr std::array steps{
    storage::SchemaStep{4, R"sql(
CREATE TABLE tenure_window(
  queue INTEGER NOT NULL, consumer TEXT NOT NULL,
  front INTEGER NOT NULL, lanes INTEGER NOT NULL, ahead INTEGER NOT NULL,
  PRIMARY KEY(queue, consumer)) WITHOUT ROWID;
CREATE TABLE tenure_streak(
  queue INTEGER NOT NULL, consumer TEXT NOT NULL,
  deaths INTEGER NOT NULL, last_reason TEXT NOT NULL, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL,
  standing INTEGER NOT NULL,
  PRIMARY KEY(queue, consumer)) WITHOUT ROWID;
CREATE TABLE tenure_clock(
  queue INTEGER NOT NULL, consumer TEXT NOT NULL,
  of_store INTEGER NOT NULL,
  wall INTEGER NOT NULL, boot_id TEXT NOT NULL, since_boot INTEGER NOT NULL,
  trusted_from INTEGER NOT NULL,
  PRIMARY KEY(queue, consumer)) WITHOUT ROWID;
INSERT INTO tenure_streak SELECT queue, consumer, attempts, last_error, first_at, last_at, standing
  FROM tenure_attempt WHERE id = 'tenure: dead letters in a row';
INSERT INTO tenure_clock
  SELECT queue, consumer, whose = 'store', last_at, substr(look, 1, instr(look, ' ') - 1),
    CAST(substr(look, instr(look, ' ') + 1) AS INTEGER), first_at
  FROM (SELECT *, substr(last_error, 1, instr(last_error, ' ') - 1) AS whose,
          substr(last_error, instr(last_error, ' ') + 1) AS look
        FROM tenure_attempt WHERE id = 'tenure: last look at the clock');
DELETE FROM tenure_attempt WHERE id IN ('tenure: dead letters in a row', 'tenure: last look at the clock');
INSERT INTO tenure_window
  SELECT queue, substr(consumer, 1, length(consumer) - 7), CAST(CAST(substr(ids, 1, one - 1) AS TEXT) AS INTEGER),
    CAST(CAST(substr(rest, 1, two - 1) AS TEXT) AS INTEGER),
    CAST(CAST(substr(rest, two + 1, length(rest) - two - 1) AS TEXT) AS INTEGER)
  FROM (SELECT *, instr(rest, x'00') AS two
        FROM (SELECT *, instr(ids, x'00') AS one, substr(ids, instr(ids, x'00') + 1) AS rest FROM tenure_in_work
              WHERE consumer GLOB '*' || char(31) || 'window'));
DELETE FROM tenure_in_work WHERE consumer GLOB '*' || char(31) || 'window';
ALTER TABLE tenure_in_work RENAME TO tenure_in_work_4;
CREATE TABLE tenure_in_work(
  queue INTEGER NOT NULL, consumer TEXT NOT NULL,
  lane INTEGER NOT NULL DEFAULT 0,
  token INTEGER NOT NULL, more INTEGER NOT NULL,
  ids BLOB NOT NULL,
  suspects_of INTEGER NOT NULL DEFAULT 0,
  narrowed INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(queue, consumer, lane)) WITHOUT ROWID;
INSERT INTO tenure_in_work
  SELECT queue, CASE WHEN is_lane THEN substr(consumer, 1, unit - 1) ELSE consumer END,
    CASE WHEN is_lane THEN CAST(substr(consumer, unit + 1) AS INTEGER) ELSE 0 END, token, more,
    CASE WHEN head GLOB char(31) || 'suspects of [0-9]*' OR head GLOB char(31) || 'few suspects of [0-9]*'
      THEN substr(ids, one + 1) ELSE ids END,
    CASE WHEN head GLOB char(31) || 'suspects of [0-9]*' THEN CAST(substr(head, 14) AS INTEGER)
         WHEN head GLOB char(31) || 'few suspects of [0-9]*' THEN CAST(substr(head, 18) AS INTEGER) ELSE 0 END,
    head GLOB char(31) || 'few suspects of [0-9]*'
  FROM (SELECT *, instr(consumer, char(31)) AS unit, instr(ids, x'00') AS one,
          consumer GLOB '*' || char(31) || '[0-9]*'
            AND substr(consumer, instr(consumer, char(31)) + 1) NOT GLOB '*[^0-9]*' AS is_lane,
          coalesce(CAST(substr(ids, 1, max(instr(ids, x'00') - 1, 0)) AS TEXT), '') AS head FROM tenure_in_work_4);
DROP TABLE tenure_in_work_4;
ALTER TABLE tenure_attempt ADD COLUMN begun_by INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenure_attempt ADD COLUMN process_died INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenure_attempt ADD COLUMN postponed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenure_attempt ADD COLUMN postponed_since INTEGER NOT NULL DEFAULT 0;
UPDATE tenure_attempt SET begun_by = CAST(substr(last_error, 15) AS INTEGER), last_error = ''
  WHERE last_error GLOB 'begun by term [0-9]*, which has not told how it ended';
UPDATE tenure_attempt SET process_died = 1 WHERE last_error = 'its process died';
UPDATE tenure_attempt SET postponed = CAST(substr(last_error, 11) AS INTEGER), postponed_since = first_at,
  last_error = substr(last_error, instr(last_error, 'Z: ') + 3)
  WHERE last_error GLOB 'postponed [0-9]* times since *Z: *';
CREATE TABLE tenure_waiting(
  added INTEGER PRIMARY KEY AUTOINCREMENT,
  queue TEXT NOT NULL,          -- its name
  id TEXT NOT NULL,
  due INTEGER NOT NULL DEFAULT 0,
  grp TEXT NOT NULL DEFAULT '', body BLOB NOT NULL,
  headers TEXT,                 -- as those of tenure_message
  numbered INTEGER NOT NULL DEFAULT 0,  -- 1: gets a number when it comes to its queue
  UNIQUE(queue, id));
CREATE INDEX tenure_waiting_due ON tenure_waiting(queue, due, added);
CREATE TABLE tenure_fired(
  queue TEXT NOT NULL, id TEXT NOT NULL, due INTEGER NOT NULL,
  at INTEGER NOT NULL,          -- when it came to its queue
  PRIMARY KEY(queue, id)) WITHOUT ROWID;
CREATE INDEX tenure_fired_at ON tenure_fired(at);
CREATE TABLE tenure_reader(
  queue TEXT NOT NULL PRIMARY KEY,  -- its name
  election TEXT NOT NULL, path TEXT NOT NULL, ensemble TEXT NOT NULL,
  generation INTEGER NOT NULL, token INTEGER NOT NULL,
  asleep_until INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
)sql"},
};

constexpr std::array<std::string_view, 18> tables{
    "tenure_schema", "tenure_fence",   "tenure_queue",   "tenure_message",     "tenure_number", "tenure_sent",
    "tenure_key",    "tenure_attempt", "tenure_in_work", "tenure_dead_letter", "tenure_state",  "tenure_log",
    "tenure_window", "tenure_streak",  "tenure_clock",   "tenure_waiting",     "tenure_fired",  "tenure_reader"};

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

Result<std::int64_t> versionOf(Connection& connection) {
  Query version = connection.query("SELECT coalesce(max(version), 0) FROM tenure_schema");
  const Result<bool> row = version.next();
  if (!row) return row.error();
  return version.integer(0);
}

/// Another process may have taken it by now.
Result<void> take(Connection& connection, const storage::SchemaStep& step) {
  if (const Result<void> begun = connection.run("BEGIN IMMEDIATE"); !begun) return begun;
  const Result<std::int64_t> version = versionOf(connection);
  Result<void> taken = version ? Result<void>{} : version.error();
  if (taken && *version == step.from) {
    taken = connection.script(std::string(step.sql).c_str());
    if (taken) taken = connection.run("UPDATE tenure_schema SET version = ?1", step.from + 1);
  }
  if (taken) taken = connection.run("COMMIT");
  if (!taken) connection.rollback();
  return taken;
}

/// Which version the file has afterwards.
Result<std::int64_t> checkVersion(Connection& connection, OlderSchema older) {
  const Result<std::int64_t> version = versionOf(connection);
  if (!version) return version.error();
  const std::string file = connection.file().string();
  const auto missing = storage::stepsFrom(file, *version, schemaVersion, steps);
  if (!missing) return missing.error();
  if (!missing->empty() && older == OlderSchema::refuse) return storage::olderSchema(file, *version, schemaVersion);
  if (older == OlderSchema::accept) return version;
  for (const storage::SchemaStep& step : *missing)
    if (const Result<void> taken = take(connection, step); !taken) return taken.error();
  return schemaVersion;
}

Result<void> checkTables(Connection& connection, Names present, OlderSchema older) {
  bool isOlder = false;
  if (present.contains("tenure_schema")) {
    const Result<std::int64_t> version = checkVersion(connection, older);
    if (!version) return version.error();
    isOlder = *version < schemaVersion;
    Result<Names> now = presentTables(connection);
    if (!now) return now.error();
    present = *std::move(now);
  }
  for (const std::string_view table : tables) {
    if (present.contains(table) || (isOlder && table != "tenure_fence")) continue;
    return Error{table == "tenure_fence" ? Errc::fenceLost : Errc::storeFailed,
                 connection.file().string() + ": table " + std::string(table) + " is missing"};
  }
  return {};
}

/// Under the write lock, because several processes may find the file empty at the same time.
Result<void> makeSchema(Connection& connection) {
  if (const Result<void> begun = connection.run("BEGIN IMMEDIATE"); !begun) return begun;
  const Result<Names> present = presentTables(connection);
  Result<void> made = present ? Result<void>{} : present.error();
  if (made && present->empty()) made = connection.script(createTables);
  if (made) made = connection.run("COMMIT");
  if (!made) connection.rollback();
  return made;
}

}  // namespace

Result<void> ensureSchema(Connection& connection, bool create, OlderSchema older) {
  Result<Names> present = presentTables(connection);
  if (!present) return present.error();
  if (create && present->empty()) {
    if (const Result<void> made = makeSchema(connection); !made) return made;
    present = presentTables(connection);
    if (!present) return present.error();
  }
  if (!present->empty()) return checkTables(connection, *std::move(present), older);
  return Error{Errc::notFound, connection.file().string() + " holds no Tenure queue"};
}

Result<void> lookAtSchema(Connection& connection, bool mayCreate) {
  const Result<Names> present = presentTables(connection);
  if (!present) return present.error();
  if (mayCreate && present->empty()) return {};
  return ensureSchema(connection, false, OlderSchema::accept);
}

std::string schemaSql() { return "BEGIN;" + std::string(createTables) + "COMMIT;\n"; }

Result<void> applySchema(const Options& options) {
  const auto opened = Connection::open(options, {}, OlderSchema::bringForward);
  return opened ? Result<void>{} : opened.error();
}

Result<std::int64_t> findQueue(Connection& connection, const storage::WhichQueue& queue) {
  const bool isNamedOnly = queue.elsewhere && queue.elsewhere->value.empty();
  Query number = !queue.elsewhere
                     ? connection.query("SELECT number FROM tenure_queue WHERE name = ?1 AND elsewhere = 0", queue.name)
                 : isNamedOnly
                     ? connection.query("SELECT number FROM tenure_queue WHERE name = ?1 AND elsewhere = 1", queue.name)
                     : connection.query("SELECT number FROM tenure_queue WHERE identity = ?1", queue.elsewhere->value);
  const Result<bool> found = number.next();
  if (!found) return found.error();
  const std::string file = connection.file().string();
  if (!*found) return storage::noSuchQueue(file, queue);
  const std::int64_t first = number.integer(0);
  const Result<bool> another = number.next();
  if (!another) return another.error();
  return *another ? Result<std::int64_t>(storage::severalQueues(file, queue)) : first;
}

Result<std::int64_t> ensureQueue(Connection& connection, const storage::WhichQueue& queue) {
  const Result<std::int64_t> known = findQueue(connection, queue);
  if (known || !known.error().is(Errc::notFound)) return known;
  const std::string identity = queue.elsewhere ? queue.elsewhere->value : freshUuid();
  Query added = connection.query(
      "INSERT INTO tenure_queue(number, name, identity, elsewhere, last)"
      " SELECT next, ?1, ?2, ?3, next << 40 FROM (SELECT coalesce(max(number), 0) + 1 AS next FROM tenure_queue)"
      " RETURNING number",
      queue.name, identity, std::int64_t{queue.elsewhere ? 1 : 0});
  const Result<bool> row = added.next();
  if (!row) return row.error();
  const std::int64_t number = added.integer(0);
  // A RETURNING statement is complete only when it was stepped to its end.
  const Result<bool> end = added.next();
  if (!end) return end.error();
  return number;
}

Result<QueueIdentity> identityOf(Connection& connection, std::int64_t queue) {
  Query identity = connection.query("SELECT identity FROM tenure_queue WHERE number = ?1", queue);
  const Result<bool> found = identity.next();
  if (!found) return found.error();
  return QueueIdentity{*found ? identity.text(0) : ""};
}

}  // namespace tenure::sqlite
