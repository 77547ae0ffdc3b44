#include "backends/sqlite/schema.hpp"

#include <array>
#include <set>

#include "backends/sqlite/connection.hpp"
#include "base/random.hpp"

namespace tenure::sqlite {
namespace {

constexpr std::int64_t schemaVersion = 8;
constexpr std::array<storage::SchemaStep, 0> steps{};  // from the first release on

constexpr const char* createTables = R"sql(
CREATE TABLE tenure_schema(
  version INTEGER NOT NULL,
  senders INTEGER NOT NULL DEFAULT 0);  -- 1: other programs write the file, so it stays in a rollback journal
INSERT INTO tenure_schema(version) VALUES(8);
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
  state INTEGER NOT NULL DEFAULT 0,  -- 0 retrying, 1 blocked, 2 released
  begun_by INTEGER NOT NULL DEFAULT 0,  -- token of the term that began an attempt whose end is not known yet
  process_died INTEGER NOT NULL DEFAULT 0,  -- 1: in the last attempt
  postponed INTEGER NOT NULL DEFAULT 0, postponed_since INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER NOT NULL DEFAULT 0,   -- when its leader will try it again; 0: not known
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
  state INTEGER NOT NULL,    -- 0 counting, 1 stopped, 2 resumed
  PRIMARY KEY(queue, consumer)) WITHOUT ROWID;
CREATE TABLE tenure_clock(
  queue INTEGER NOT NULL, consumer TEXT NOT NULL,
  of_store INTEGER NOT NULL,    -- whose: 0 the leader's, 1 the store's
  wall INTEGER NOT NULL, boot_id TEXT NOT NULL, since_boot INTEGER NOT NULL,
  trusted_from INTEGER NOT NULL,
  PRIMARY KEY(queue, consumer)) WITHOUT ROWID;
CREATE TABLE tenure_turn(
  queue INTEGER NOT NULL, consumer TEXT NOT NULL, grp TEXT NOT NULL,
  position INTEGER NOT NULL,    -- the last number that is past
  since INTEGER NOT NULL,       -- when the next one began to be missing
  PRIMARY KEY(queue, consumer, grp)) WITHOUT ROWID;
CREATE TABLE tenure_kept(
  queue INTEGER NOT NULL, consumer TEXT NOT NULL, grp TEXT NOT NULL, number INTEGER NOT NULL,
  id TEXT NOT NULL, digest BLOB NOT NULL, body BLOB NOT NULL,
  headers BLOB NOT NULL,        -- CBOR, which holds any bytes
  enqueued_at INTEGER NOT NULL, position INTEGER NOT NULL,
  past INTEGER NOT NULL,        -- 1: it died before its turn
  PRIMARY KEY(queue, consumer, grp, number));
CREATE TABLE tenure_dead_letter(
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  queue INTEGER NOT NULL, consumer TEXT NOT NULL,
  id TEXT NOT NULL, grp TEXT NOT NULL, body BLOB NOT NULL, headers TEXT, enqueued_at INTEGER NOT NULL,
  position INTEGER NOT NULL, reason TEXT NOT NULL, attempts INTEGER NOT NULL,
  first_at INTEGER NOT NULL, died_at INTEGER NOT NULL,
  missing_from INTEGER NOT NULL DEFAULT 0, missing_to INTEGER NOT NULL DEFAULT 0,  -- numbers that never came
  lacks TEXT NOT NULL DEFAULT '');  -- what the message lacks of what was sent; '': it is whole
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
  id TEXT NOT NULL DEFAULT (lower(hex(randomblob(16)))),
  due INTEGER NOT NULL DEFAULT 0,  -- 0: at once
  sent_at INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)),
  grp TEXT NOT NULL DEFAULT '', body BLOB NOT NULL,
  headers TEXT,                 -- as those of tenure_message
  numbered INTEGER NOT NULL DEFAULT 0,  -- 1: gets a number when it comes to its queue
  UNIQUE(queue, id),
  CONSTRAINT queue_has_1_to_64_of_a_z_0_9_dot_underscore_hyphen
    CHECK (typeof(queue) = 'text' AND length(queue) BETWEEN 1 AND 64 AND queue NOT GLOB '*[^-A-Za-z0-9._]*'
      AND queue NOT IN ('.', '..', 'zookeeper')),
  CONSTRAINT id_has_1_to_255_bytes_without_nul
    CHECK (length(CAST(id AS BLOB)) BETWEEN 1 AND 255 AND instr(CAST(id AS BLOB), x'00') = 0),
  CONSTRAINT grp_has_at_most_255_bytes_without_nul
    CHECK (length(CAST(grp AS BLOB)) <= 255 AND instr(CAST(grp AS BLOB), x'00') = 0),
  CONSTRAINT body_has_at_most_1_mib CHECK (length(CAST(body AS BLOB)) <= 1048576),
  CONSTRAINT headers_are_a_json_array_of_name_and_value
    CHECK (headers IS NULL OR headers = '' OR (length(CAST(headers AS BLOB)) <= 131072 AND json_valid(headers)
      AND json_type(headers) = 'array')),
  CONSTRAINT due_is_0_or_milliseconds_since_1970 CHECK (typeof(due) = 'integer' AND due BETWEEN 0 AND 9000000000000),
  CONSTRAINT numbered_is_0_or_1 CHECK (numbered IN (0, 1)));
CREATE INDEX tenure_waiting_due ON tenure_waiting(queue, due, added);
-- What a CHECK cannot look at: each element of the headers.
CREATE TRIGGER tenure_waiting_headers BEFORE INSERT ON tenure_waiting
  WHEN NEW.headers <> '' AND json_valid(NEW.headers) AND EXISTS (
    SELECT 1 FROM json_each(NEW.headers) AS pair WHERE CASE WHEN pair.type <> 'array' THEN 1
      ELSE json_array_length(pair.value) <> 2 OR json_type(pair.value, '$[0]') <> 'text'
        OR json_type(pair.value, '$[1]') <> 'text' END)
  BEGIN SELECT RAISE(ABORT, 'tenure_waiting: headers: expected a JSON array of [name, value], both of them texts'); END;
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

constexpr std::array<std::string_view, 20> tables{
    "tenure_schema",  "tenure_fence", "tenure_queue",   "tenure_message", "tenure_number",
    "tenure_sent",    "tenure_key",   "tenure_attempt", "tenure_in_work", "tenure_dead_letter",
    "tenure_state",   "tenure_log",   "tenure_window",  "tenure_streak",  "tenure_clock",
    "tenure_waiting", "tenure_fired", "tenure_reader",  "tenure_turn",    "tenure_kept"};

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

Result<void> mayTake(Connection& connection, const storage::SchemaStep& step) {
  if (step.refusedBy.empty()) return {};
  Query refusal = connection.query(step.refusedBy);
  const Result<bool> row = refusal.next();
  if (!row) return row.error();
  return *row ? Result<void>(storage::refusedStep(connection.file().string(), step)) : Result<void>{};
}

/// Another process may have taken it by now.
Result<void> take(Connection& connection, const storage::SchemaStep& step) {
  if (const Result<void> begun = connection.run("BEGIN IMMEDIATE"); !begun) return begun;
  const Result<std::int64_t> version = versionOf(connection);
  Result<void> taken = version ? Result<void>{} : version.error();
  if (taken && *version == step.from) {
    taken = mayTake(connection, step);
    if (taken) taken = connection.script(std::string(step.sql).c_str());
    if (taken) taken = connection.run("UPDATE tenure_schema SET version = ?1", step.from + 1);
  }
  if (taken) taken = connection.run("COMMIT");
  if (!taken) connection.rollback();
  return taken;
}

/// Returns the version that the file has afterwards.
Result<std::int64_t> checkVersion(Connection& connection, OlderSchema older) {
  const Result<std::int64_t> version = versionOf(connection);
  if (!version) return version.error();
  const std::string file = connection.file().string();
  const auto missing = storage::stepsFrom(file, *version, schemaVersion, steps);
  if (!missing) return missing.error();
  if (!missing->empty() && older == OlderSchema::refuse) return storage::olderSchema(file, *version, schemaVersion);
  if (older == OlderSchema::accept) return version;
  const Result<void> taken = takeSteps(connection, steps, schemaVersion);
  return taken ? Result<std::int64_t>(schemaVersion) : taken.error();
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

Result<bool> isForSenders(Connection& connection) {
  Query column = connection.query("SELECT 1 FROM pragma_table_info('tenure_schema') WHERE name = 'senders'");
  if (const Result<bool> isThere = column.next(); !isThere || !*isThere) return isThere;
  Query marked = connection.query("SELECT 1 FROM tenure_schema WHERE senders = 1");
  return marked.next();
}

Result<void> markForSenders(Connection& connection) {
  const Result<bool> marked = isForSenders(connection);
  if (!marked) return marked.error();
  return *marked ? Result<void>{} : connection.run("UPDATE tenure_schema SET senders = 1");
}

Result<void> lookAtSchema(Connection& connection, bool mayCreate) {
  const Result<Names> present = presentTables(connection);
  if (!present) return present.error();
  if (mayCreate && present->empty()) return {};
  return ensureSchema(connection, false, OlderSchema::accept);
}

Result<void> takeSteps(Connection& connection, std::span<const storage::SchemaStep> known, std::int64_t version) {
  const Result<std::int64_t> present = versionOf(connection);
  if (!present) return present.error();
  const auto missing = storage::stepsFrom(connection.file().string(), *present, version, known);
  if (!missing) return missing.error();
  for (const storage::SchemaStep& step : *missing)
    if (const Result<void> taken = take(connection, step); !taken) return taken;
  return {};
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
