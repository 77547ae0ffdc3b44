#include "backends/postgresql/rows/schema.hpp"

#include <algorithm>
#include <array>

#include "backends/postgresql/rows/fence_rows.hpp"
#include "backends/postgresql/rows/send_functions.hpp"
#include "backends/postgresql/session/connection.hpp"
#include "base/digest.hpp"
#include "base/text.hpp"

namespace tenure::postgresql {
namespace {

constexpr std::array<storage::SchemaStep, 0> steps{};  // from the first release on

// Rows that every commit changes leave room on their page, so that their new versions stay there and are cleaned up in
// passing; tables that empty as fast as they fill are vacuumed by what goes, not by a share of what is left.
constexpr std::string_view createTables = R"sql(CREATE TABLE tenure_schema(version bigint NOT NULL);
INSERT INTO tenure_schema VALUES(9);
CREATE TABLE tenure_queue(
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL,
  identity text NOT NULL UNIQUE DEFAULT gen_random_uuid()::text,  -- of a queue that is kept elsewhere, as its place tells it
  elsewhere boolean NOT NULL DEFAULT false,  -- its messages are not here: only its owner, keys, attempts, dead letters
  last bigint NOT NULL DEFAULT 0,  -- n of the newest message ever
  election text, path text)        -- that consumes it; null before the first term
  WITH (fillfactor = 10);
CREATE UNIQUE INDEX tenure_queue_here ON tenure_queue(name) WHERE NOT elsewhere;
CREATE TABLE tenure_message(
  queue bigint NOT NULL,           -- no foreign key: its check would cost as much as the row
  n bigint NOT NULL,
  id bytea NOT NULL, grp bytea NOT NULL, body bytea NOT NULL,
  headers text,                    -- JSON [[name, value], ...]; null for none
  enqueued_at bigint NOT NULL,
  PRIMARY KEY(queue, n))
  WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
        autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000);
CREATE TABLE tenure_number(
  queue bigint NOT NULL, grp bytea NOT NULL,
  last bigint NOT NULL,            -- that a message of the group was given
  PRIMARY KEY(queue, grp))
  WITH (fillfactor = 50);
CREATE TABLE tenure_sent(
  queue bigint NOT NULL, id bytea NOT NULL, at bigint NOT NULL,
  PRIMARY KEY(queue, id));
CREATE INDEX tenure_sent_at ON tenure_sent(at);
CREATE TABLE tenure_fence(
  election text PRIMARY KEY,
  ensemble text NOT NULL, generation bigint NOT NULL, token bigint NOT NULL CHECK(token >= 0),
  seq bigint NOT NULL,             -- counts the term's commits
  path text NOT NULL, candidate text NOT NULL,
  host text NOT NULL, pid bigint NOT NULL, start_time bigint NOT NULL, boot_id text NOT NULL,
  pid_namespace bigint NOT NULL,
  claimed_at bigint NOT NULL,
  change text NOT NULL)            -- who made the last change of seq
  WITH (fillfactor = 10);
CREATE TABLE tenure_lane(
  election text NOT NULL, lane bigint NOT NULL,
  token bigint NOT NULL,
  seq bigint NOT NULL,             -- counts the lane's commits in the term
  change text NOT NULL,            -- who made the last change of seq
  PRIMARY KEY(election, lane))
  WITH (fillfactor = 10);
CREATE TABLE tenure_key(
  queue bigint NOT NULL, consumer text NOT NULL, id bytea NOT NULL,
  state bigint NOT NULL,           -- 0 done, 1 dead
  digest bytea NOT NULL, token bigint NOT NULL, at bigint NOT NULL,
  PRIMARY KEY(queue, consumer, id));
CREATE TABLE tenure_attempt(
  queue bigint NOT NULL, consumer text NOT NULL, id bytea NOT NULL,
  attempts bigint NOT NULL, last_error bytea NOT NULL, first_at bigint NOT NULL, last_at bigint NOT NULL,
  state bigint NOT NULL DEFAULT 0,  -- 0 retrying, 1 blocked, 2 released
  begun_by bigint NOT NULL DEFAULT 0,  -- token of the term that began an attempt whose end is not known yet
  process_died bigint NOT NULL DEFAULT 0,  -- 1: in the last attempt
  postponed bigint NOT NULL DEFAULT 0, postponed_since bigint NOT NULL DEFAULT 0,
  next_at bigint NOT NULL DEFAULT 0,   -- when its leader will try it again; 0: not known
  PRIMARY KEY(queue, consumer, id));
CREATE TABLE tenure_in_work(
  queue bigint NOT NULL, consumer text NOT NULL,
  token bigint NOT NULL, more bigint NOT NULL,
  ids bytea NOT NULL,              -- each id followed by a NUL
  lane bigint NOT NULL DEFAULT 0,
  suspects_of bigint NOT NULL DEFAULT 0,  -- token of the term that may have died of them; 0: they are new
  narrowed bigint NOT NULL DEFAULT 0,     -- 1: those suspects come alone
  PRIMARY KEY(queue, consumer, lane))
  WITH (fillfactor = 10);
CREATE TABLE tenure_window(
  queue bigint NOT NULL, consumer text NOT NULL,
  front bigint NOT NULL, lanes bigint NOT NULL, ahead bigint NOT NULL,
  PRIMARY KEY(queue, consumer));
CREATE TABLE tenure_streak(
  queue bigint NOT NULL, consumer text NOT NULL,
  deaths bigint NOT NULL, last_reason bytea NOT NULL, first_at bigint NOT NULL, last_at bigint NOT NULL,
  state bigint NOT NULL,        -- 0 counting, 1 stopped, 2 resumed
  PRIMARY KEY(queue, consumer));
CREATE TABLE tenure_clock(
  queue bigint NOT NULL, consumer text NOT NULL,
  of_store bigint NOT NULL,        -- whose: 0 the leader's, 1 the store's
  wall bigint NOT NULL, boot_id text NOT NULL, since_boot bigint NOT NULL,
  trusted_from bigint NOT NULL,
  PRIMARY KEY(queue, consumer));
CREATE TABLE tenure_turn(
  queue bigint NOT NULL, consumer text NOT NULL, grp bytea NOT NULL,
  position bigint NOT NULL,        -- the last number that is past
  since bigint NOT NULL,           -- when the next one began to be missing
  PRIMARY KEY(queue, consumer, grp))
  WITH (fillfactor = 50);
CREATE TABLE tenure_kept(
  queue bigint NOT NULL, consumer text NOT NULL, grp bytea NOT NULL, number bigint NOT NULL,
  id bytea NOT NULL, digest bytea NOT NULL, body bytea NOT NULL,
  headers bytea NOT NULL,          -- CBOR, which holds any bytes
  enqueued_at bigint NOT NULL, position bigint NOT NULL,
  past bigint NOT NULL,            -- 1: it died before its turn
  PRIMARY KEY(queue, consumer, grp, number));
CREATE TABLE tenure_dead_letter(
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  queue bigint NOT NULL REFERENCES tenure_queue, consumer text NOT NULL,
  id bytea NOT NULL, grp bytea NOT NULL, body bytea NOT NULL, headers text, enqueued_at bigint NOT NULL,
  position bigint NOT NULL, reason bytea NOT NULL, attempts bigint NOT NULL,
  first_at bigint NOT NULL, died_at bigint NOT NULL,
  missing_from bigint NOT NULL DEFAULT 0, missing_to bigint NOT NULL DEFAULT 0,  -- numbers that never came
  lacks bytea NOT NULL DEFAULT '');  -- what the message lacks of what was sent; '': it is whole
CREATE INDEX tenure_dead_letter_of ON tenure_dead_letter(queue, number);
CREATE TABLE tenure_state(
  election text NOT NULL, key bytea NOT NULL, value bytea NOT NULL,
  PRIMARY KEY(election, key));
CREATE TABLE tenure_log(
  queue bigint NOT NULL, consumer text NOT NULL, n bigint GENERATED ALWAYS AS IDENTITY,  -- nearly in the order of commits
  id bytea NOT NULL, attempt bigint NOT NULL,
  outcome bigint NOT NULL, error bytea NOT NULL,
  token bigint NOT NULL, began_at bigint NOT NULL, ended_at bigint NOT NULL,
  PRIMARY KEY(queue, consumer, n));
CREATE TABLE tenure_waiting(
  queue text NOT NULL,             -- its name
  id bytea NOT NULL DEFAULT convert_to(gen_random_uuid()::text, 'UTF8'),
  due bigint NOT NULL DEFAULT 0,   -- 0: at once
  sent_by xid8 NOT NULL DEFAULT pg_current_xact_id(),  -- stands before `added`: it is drawn before that
  added bigint GENERATED ALWAYS AS IDENTITY,
  sent_at bigint NOT NULL DEFAULT floor(extract(epoch FROM clock_timestamp()) * 1000),
  grp bytea NOT NULL DEFAULT '', body bytea NOT NULL,
  headers text,                    -- as those of tenure_message
  numbered bigint NOT NULL DEFAULT 0,  -- 1: gets a number when it comes to its queue
  PRIMARY KEY(queue, id));           -- and what no message can be is refused (send_functions.hpp)
CREATE INDEX tenure_waiting_due ON tenure_waiting(queue, due, added);
CREATE TABLE tenure_fired(
  queue text NOT NULL, id bytea NOT NULL, due bigint NOT NULL,
  at bigint NOT NULL,              -- when it came to its queue
  PRIMARY KEY(queue, id));
CREATE INDEX tenure_fired_at ON tenure_fired(at);
CREATE TABLE tenure_reader(
  queue text PRIMARY KEY,          -- its name
  election text NOT NULL, path text NOT NULL, ensemble text NOT NULL,
  generation bigint NOT NULL, token bigint NOT NULL,
  asleep_until bigint NOT NULL DEFAULT 0)
  WITH (fillfactor = 10);
)sql";

constexpr std::array<std::string_view, 21> tables{
    "tenure_schema", "tenure_fence",  "tenure_lane",    "tenure_queue",   "tenure_message",     "tenure_number",
    "tenure_sent",   "tenure_key",    "tenure_attempt", "tenure_in_work", "tenure_dead_letter", "tenure_state",
    "tenure_log",    "tenure_window", "tenure_streak",  "tenure_clock",   "tenure_waiting",     "tenure_fired",
    "tenure_reader", "tenure_turn",   "tenure_kept"};

struct Missing {
  std::vector<std::string> tables;
  std::string schema;  // the connection's current one; empty when there is none
};

Command selectMissing() {
  return command(
      "SELECT coalesce(current_schema()::text, ''), name FROM (SELECT 1) AS one"
      " LEFT JOIN unnest(string_to_array($1, ',')) AS name ON to_regclass(name) IS NULL",
      allTables());
}
Command selectVersion() { return command("SELECT coalesce(max(version), 0) FROM tenure_schema"); }
Command selectForbidden() {
  return command(
      "SELECT coalesce(string_agg(name, ', '), '') FROM unnest(string_to_array($1, ',')) AS name"
      " WHERE NOT (has_table_privilege(name, 'SELECT') AND (name = 'tenure_schema' OR"
      " has_table_privilege(name, 'INSERT') AND has_table_privilege(name, 'UPDATE') AND"
      " has_table_privilege(name, 'DELETE')))",
      allTables());
}

Missing missingFrom(const Answer& answer) {
  Missing missing{{}, answer.text(0, 0)};
  for (int row = 0; row < answer.rows(); ++row)
    if (!answer.isNull(row, 1)) missing.tables.push_back(answer.text(row, 1));
  return missing;
}

Result<Missing> missingTables(Connection& connection) {
  const Exchange asked = connection.exchange(std::vector{selectMissing()});
  return asked ? Result<Missing>(missingFrom(asked.answers[0])) : asked.error();
}

Result<std::int64_t> versionOf(Connection& connection) {
  const Exchange asked = connection.exchange(std::vector{selectVersion()});
  return asked ? Result<std::int64_t>(asked.answers[0].integer(0, 0)) : asked.error();
}

bool lacks(const Missing& missing, std::string_view table) {
  return std::find(missing.tables.begin(), missing.tables.end(), table) != missing.tables.end();
}

Result<void> checkVersion(const Connection& connection, std::int64_t version) {
  const auto toTake = storage::stepsFrom(connection.name(), version, schemaVersion, steps);
  if (!toTake) return toTake.error();
  return toTake->empty() ? Result<void>{} : storage::olderSchema(connection.name(), version, schemaVersion);
}

Result<void> checkMissing(const Connection& connection, const Missing& missing) {
  if (missing.tables.empty()) return {};
  const bool fence = lacks(missing, "tenure_fence");
  return Error{fence ? Errc::fenceLost : Errc::storeFailed,
               connection.name() + ": table " + (fence ? "tenure_fence" : missing.tables.front()) + " is missing"};
}

Result<void> mayTake(Connection& connection, const storage::SchemaStep& step) {
  if (step.refusedBy.empty()) return {};
  const Result<Answer> refusal = connection.ask(std::string(step.refusedBy));
  if (!refusal) return refusal.error();
  return refusal->rows() > 0 ? Result<void>(storage::refusedStep(connection.name(), step)) : Result<void>{};
}

Result<void> checkForbidden(const Connection& connection, const std::string& forbidden) {
  if (forbidden.empty()) return {};
  return Error{Errc::permissionDenied,
               connection.name() + ": no right to SELECT, INSERT, UPDATE and DELETE on " + forbidden};
}

std::string digestOfFunctions() { return hexadecimal(digestOf(sendFunctions)); }

std::string functionsSql() {
  return std::string(sendFunctions) + "COMMENT ON FUNCTION tenure_cancel(text, text) IS '" + digestOfFunctions() +
         "';\n";
}

}  // namespace

std::string allTables() {
  std::string all;
  for (const std::string_view table : tables) all += (all.empty() ? "" : ",") + std::string(table);
  return all;
}

bool isOurTable(std::string_view name) noexcept {
  return std::any_of(tables.begin(), tables.end(), [&](std::string_view table) {
    return name == table || (name.starts_with(table) && name.ends_with("_seq"));
  });
}

Result<void> takeSteps(Connection& connection, std::span<const storage::SchemaStep> known, std::int64_t version) {
  const Result<std::int64_t> present = versionOf(connection);
  if (!present) return present.error();
  const auto toTake = storage::stepsFrom(connection.name(), *present, version, known);
  if (!toTake) return toTake.error();
  for (const storage::SchemaStep& step : *toTake) {
    if (const Result<void> may = mayTake(connection, step); !may) return may;
    const std::string raise = "UPDATE tenure_schema SET version = " + std::to_string(step.from + 1) + ";\n";
    if (const Result<void> taken = connection.script(std::string(step.sql) + raise); !taken) return taken;
  }
  return {};
}

Result<void> checkSchema(Connection& connection) {
  return judgeTables(connection, connection.exchange(std::vector{selectMissing(), selectVersion()}));
}

std::vector<Command> tableQuestions() { return {selectMissing(), selectVersion(), selectForbidden()}; }

/// In this order, as a missing table makes the later questions fail.
Result<void> judgeTables(const Connection& connection, const Exchange& asked) {
  const std::vector<Answer>& answers = asked.answers;
  if (answers.empty()) return asked.error();
  const Missing missing = missingFrom(answers[0]);
  if (missing.tables.size() == tables.size())
    return Error{Errc::configurationRefused, connection.name() + ": no Tenure tables in schema \"" +
                                                 escaped(missing.schema) +
                                                 "\"; run `tenure schema apply` or psql with `tenure schema print`"};
  if (!lacks(missing, "tenure_schema")) {
    if (answers.size() < 2) return asked.error();
    if (const Result<void> known = checkVersion(connection, answers[1].integer(0, 0)); !known) return known;
  }
  if (const Result<void> whole = checkMissing(connection, missing); !whole) return whole;
  if (answers.size() < 3) return asked ? Result<void>{} : asked.error();
  return checkForbidden(connection, answers[2].text(0, 0));
}

std::string schemaSql() { return "BEGIN;\n" + std::string(createTables) + functionsSql() + "COMMIT;\n"; }

Result<bool> hasSendFunctions(Connection& connection) {
  const Result<Answer> known = connection.ask(
      "SELECT count(*) FROM pg_proc WHERE oid = to_regprocedure('tenure_cancel(text,text)')"
      " AND obj_description(oid) = $1::text"
      " AND proconfig @> ARRAY['search_path=' || quote_ident(current_schema()) || ', pg_temp']",
      digestOfFunctions());
  return known ? Result<bool>(known->integer(0, 0) == 1) : known.error();
}

namespace {

/// Where they are these already, a role that does not own them may ask for them as well.
Result<void> applyFunctions(Connection& connection) {
  const Result<bool> known = hasSendFunctions(connection);
  if (!known) return known.error();
  return *known ? Result<void>{} : connection.script(functionsSql());
}

Result<void> applyTables(Connection& connection) {
  Result<Missing> missing = missingTables(connection);
  if (!missing) return missing.error();
  if (!lacks(*missing, "tenure_schema")) {
    if (const Result<void> forward = takeSteps(connection, steps, schemaVersion); !forward) return forward;
    missing = missingTables(connection);
    if (!missing) return missing.error();
  }
  if (missing->tables.size() < tables.size()) {
    const Result<void> sound = checkMissing(connection, *missing);
    if (sound || sound.error().is(Errc::unavailable)) return sound;
    return Error{Errc::configurationRefused, sound.error().detail + "; what is left of another schema is not touched"};
  }
  return connection.script(std::string(createTables));
}

}  // namespace

Result<void> applySchema(const Options& options) {
  Result<std::unique_ptr<Connection>> opened = Connection::open(options, "tenure schema");
  if (!opened) return opened.error();
  Connection& connection = **opened;
  // Two at the same time: the second waits and finds everything there.
  const Result<void> alone = connection.run("SELECT pg_advisory_lock(8391162081527821)");
  if (!alone) return alone;
  const Result<void> tables = applyTables(connection);
  return tables ? applyFunctions(connection) : tables;
}

Result<std::string> forbiddenTables(Connection& connection) {
  const Exchange asked = connection.exchange(std::vector{selectForbidden()});
  return asked ? Result<std::string>(asked.answers[0].text(0, 0)) : asked.error();
}

Result<std::string> channelOf(Connection& connection, std::int64_t queue) {
  const Result<Answer> table = connection.ask("SELECT 'tenure_message'::regclass::oid::bigint");
  if (!table) return table.error();
  return "tenure_" + std::to_string(table->integer(0, 0)) + "_" + std::to_string(queue);
}

Result<std::int64_t> findQueue(Connection& connection, const storage::WhichQueue& queue) {
  const Exchange found = connection.exchange(std::vector{selectQueue(queue)});
  if (!found) return found.error();
  const Answer& rows = found.answers[0];
  if (rows.rows() == 1) return rows.integer(0, 0);
  return rows.rows() == 0 ? storage::noSuchQueue(connection.name(), queue)
                          : storage::severalQueues(connection.name(), queue);
}

Result<std::int64_t> ensureQueue(Connection& connection, const storage::WhichQueue& queue) {
  const Result<std::int64_t> known = findQueue(connection, queue);
  if (known || !known.error().is(Errc::notFound)) return known;
  const Result<void> added =
      queue.elsewhere
          ? connection.run(
                "INSERT INTO tenure_queue(name, elsewhere, identity) VALUES($1, true, $2) ON CONFLICT DO NOTHING",
                queue.name, queue.elsewhere->value)
          : connection.run("INSERT INTO tenure_queue(name) VALUES($1) ON CONFLICT DO NOTHING", queue.name);
  if (!added) return added.error();
  return findQueue(connection, queue);
}

Result<QueueIdentity> identityOf(Connection& connection, std::int64_t queue) {
  const Result<Answer> identity = connection.ask("SELECT identity FROM tenure_queue WHERE number = $1", queue);
  if (!identity) return identity.error();
  return QueueIdentity{identity->rows() == 0 ? "" : identity->text(0, 0)};
}

}  // namespace tenure::postgresql
