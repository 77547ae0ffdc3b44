#include "backends/postgresql/rows/fence_rows.hpp"

namespace tenure::postgresql {
namespace {

using storage::Fence;
using storage::StoredFence;

const std::string selectColumns =
    "SELECT election, ensemble, generation, token, seq, path, candidate, host, pid, start_time, boot_id,"
    " pid_namespace, claimed_at, change FROM tenure_fence";
const std::string insertFence =
    "INSERT INTO tenure_fence(election, ensemble, generation, token, seq, path, candidate, host, pid, start_time,"
    " boot_id, pid_namespace, claimed_at, change) VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";

Command fenceCommand(SqlText sql, const Fence& fence) {
  const FenceRow& row = fence.row;
  const ProcessIdentity& holder = row.holder;
  return command(std::move(sql), row.election.value, row.ensemble.value, row.generation, row.token.value, row.sequence,
                 row.path, row.candidate.value, holder.host, holder.pid, holder.startTime, holder.bootId,
                 static_cast<std::int64_t>(holder.pidNamespace), row.claimedAt, fence.change);
}

std::string damageIn(const Answer& rows, int row) {
  const auto isBad = [&](int column) { return rows.isNull(row, column) || rows.integer(row, column) < 0; };
  if (isBad(2)) return "its generation is not a number from 0";
  if (isBad(3)) return "its token is not a number from 0";
  if (isBad(4)) return "its seq is not a number from 0";
  if (rows.isNull(row, 1) || rows.isNull(row, 5) || rows.isNull(row, 6))
    return "its ensemble, path or candidate is null";
  return {};
}

StoredFence fenceFrom(const Answer& rows, int row) {
  StoredFence fence{.row = {}, .damage = damageIn(rows, row)};
  fence.row = {.election = ElectionName{rows.text(row, 0)},
               .ensemble = EnsembleUuid{rows.text(row, 1)},
               .generation = rows.integer(row, 2),
               .token = FencingToken{rows.integer(row, 3)},
               .sequence = rows.integer(row, 4),
               .path = rows.text(row, 5),
               .candidate = CandidateUuid{rows.text(row, 6)},
               .holder = {.host = rows.text(row, 7),
                          .pid = rows.integer(row, 8),
                          .startTime = rows.integer(row, 9),
                          .bootId = rows.text(row, 10),
                          .pidNamespace = static_cast<std::uint64_t>(rows.integer(row, 11))},
               .claimedAt = rows.time(row, 12)};
  return fence;
}

Command countCommit(const Fence& expected, const Fence& next, Lane lane) {
  const FenceRow& row = expected.row;
  if (lane)
    return command(
        "WITH fence AS (SELECT 1 FROM tenure_fence WHERE election = $1 AND generation = $2 AND token = $3"
        " AND candidate = $4 AND ensemble = $5 FOR SHARE), passed AS (UPDATE tenure_lane SET seq = $8, change = $9"
        " WHERE election = $1 AND lane = $10 AND token = $3 AND seq = $6 AND change = $7"
        " AND EXISTS (SELECT 1 FROM fence) RETURNING 1) SELECT 1 / count(*) FROM passed",
        row.election.value, row.generation, row.token.value, row.candidate.value, row.ensemble.value, row.sequence,
        expected.change, next.row.sequence, next.change, *lane);
  return command(
      "WITH passed AS (UPDATE tenure_fence SET seq = $8, change = $9 WHERE election = $1 AND generation = $2"
      " AND token = $3 AND candidate = $4 AND ensemble = $5 AND seq = $6 AND change = $7 RETURNING 1)"
      " SELECT 1 / count(*) FROM passed",
      row.election.value, row.generation, row.token.value, row.candidate.value, row.ensemble.value, row.sequence,
      expected.change, next.row.sequence, next.change);
}

/// What the failure of a lone COMMIT says: whether it may have happened.
Error commitFailure(const Connection& connection, const Failure& failure) {
  return connection.isLost() ? Error{Errc::outcomeUnknown, failure.error.detail} : failure.error;
}

}  // namespace

Command beginTransaction() { return command("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"); }

Result<void> commitOf(Connection& connection) {
  const Exchange committed = connection.exchange(std::vector{command("COMMIT")});
  if (!committed) return commitFailure(connection, *committed.failure);
  return checkCommitted(connection, committed.answers[0]);
}

Result<void> checkCommitted(const Connection& connection, const Answer& answer) {
  if (answer.tag() != "COMMIT") return Error{Errc::storeFailed, "the transaction was rolled back instead"};
  // A wait for synchronous standbys that was cut short is only warned of.
  if (!connection.warning().empty()) return Error{Errc::outcomeUnknown, connection.warning()};
  return {};
}

// The table's own number keeps schemas of one database apart.
Command awaitTurn(const std::string& election, Turn turn) {
  constexpr const char* shared =
      "SELECT pg_advisory_xact_lock_shared('tenure_fence'::regclass::oid::int, hashtext($1))";
  constexpr const char* alone = "SELECT pg_advisory_xact_lock('tenure_fence'::regclass::oid::int, hashtext($1))";
  return command(turn == Turn::shared ? shared : alone, election);
}

Command lockFenceTable() { return command("LOCK TABLE tenure_fence IN EXCLUSIVE MODE"); }

Command withinLimit(std::chrono::milliseconds limit) {
  return command(
      "SELECT set_config('statement_timeout', greatest(1, least($1, $1 -"
      " (extract(epoch FROM clock_timestamp() - transaction_timestamp()) * 1000)::bigint))::text, true)",
      std::int64_t{limit.count()});
}

// -1 tells of the damage where the lane has lost its row; a newer term need not have joined it yet.
Command selectFence(const std::string& election, Lane lane) {
  if (!lane) return command(selectColumns + " WHERE election = $1", election);
  return command(
      "SELECT f.election, ensemble, generation, f.token,"
      " CASE WHEN l.token = f.token THEN l.seq WHEN l.token IS NULL THEN -1 ELSE f.seq END,"
      " path, candidate, host, pid, start_time, boot_id, pid_namespace, claimed_at,"
      " CASE WHEN l.token = f.token THEN l.change ELSE f.change END FROM tenure_fence AS f"
      " LEFT JOIN tenure_lane AS l ON l.election = f.election AND lane = $2 WHERE f.election = $1",
      election, *lane);
}

Command lockFence(const std::string& election) {
  return command(selectColumns + " WHERE election = $1 FOR UPDATE", election);
}

Command shareFence(const std::string& election) {
  return command(selectColumns + " WHERE election = $1 FOR SHARE", election);
}

Command lockLane(const std::string& election, std::int64_t lane) {
  return command("SELECT token, seq, change FROM tenure_lane WHERE election = $1 AND lane = $2 FOR UPDATE", election,
                 lane);
}

Command selectFences() { return command(selectColumns + " ORDER BY election"); }

std::vector<StoredFence> fencesFrom(const Answer& rows) {
  std::vector<StoredFence> fences;
  for (int row = 0; row < rows.rows(); ++row) fences.push_back(fenceFrom(rows, row));
  return fences;
}

storage::FenceFound foundIn(const Answer& rows) {
  storage::FenceFound found;
  found.stored = fencesFrom(rows);
  if (rows.rows() > 0) found.change = rows.text(0, 13);
  return found;
}

Command selectQueue(const storage::WhichQueue& queue) {
  constexpr const char* here =
      "SELECT number, coalesce(election, ''), coalesce(path, '') FROM tenure_queue WHERE name = $1 AND NOT elsewhere";
  constexpr const char* named =
      "SELECT number, coalesce(election, ''), coalesce(path, '') FROM tenure_queue WHERE name = $1 AND elsewhere";
  constexpr const char* identified =
      "SELECT number, coalesce(election, ''), coalesce(path, '') FROM tenure_queue WHERE identity = $1";
  if (!queue.elsewhere) return command(here, queue.name);
  if (queue.elsewhere->value.empty()) return command(named, queue.name);
  return command(identified, queue.elsewhere->value);
}

Queue queueFrom(const Answer& row) {
  return row.rows() == 0 ? Queue{} : Queue{row.integer(0, 0), {row.text(0, 1), row.text(0, 2)}};
}

Command takeQueue(std::int64_t queue, const TermIdentity& term) {
  return command("UPDATE tenure_queue SET election = $2, path = $3 WHERE number = $1 AND election IS NULL", queue,
                 term.election.value, term.electionPath);
}

Command addFence(const Fence& fence) {
  static const SqlText text(insertFence + " ON CONFLICT(election) DO NOTHING");
  return fenceCommand(text, fence);
}

Command writeFence(const Fence& fence) {
  return fenceCommand(
      "UPDATE tenure_fence SET ensemble = $2, generation = $3, token = $4, seq = $5, path = $6, candidate = $7,"
      " host = $8, pid = $9, start_time = $10, boot_id = $11, pid_namespace = $12, claimed_at = $13, change = $14"
      " WHERE election = $1",
      fence);
}

Command writeLane(const Fence& fence, std::int64_t lane) {
  return command(
      "INSERT INTO tenure_lane(election, lane, token, seq, change) VALUES($1, $2, $3, $4, $5)"
      " ON CONFLICT(election, lane) DO UPDATE SET token = $3, seq = $4, change = $5",
      fence.row.election.value, lane, fence.row.token.value, fence.row.sequence, fence.change);
}

std::vector<Command> passFence(const Fence& expected, const Fence& next, Lane lane) {
  return {beginTransaction(), awaitTurn(expected.row.election.value, lane ? Turn::shared : Turn::alone),
          countCommit(expected, next, lane)};
}

bool isFenceTableGone(const Failure& failure) noexcept {
  return failure.sqlState == "42P01" && failure.error.detail.find("tenure_fence") != std::string::npos;
}

Error errorOf(const Failure& failure) {
  return isFenceTableGone(failure) ? Error{Errc::fenceLost, failure.error.detail} : failure.error;
}

std::vector<Command> writeRebased(const Fence& fence) {
  return {command("DELETE FROM tenure_fence WHERE election = $1", fence.row.election.value),
          fenceCommand(insertFence, fence),
          command("UPDATE tenure_queue SET path = $1 WHERE election = $2", fence.row.path, fence.row.election.value)};
}

Result<void> writeMove(Connection& connection, std::int64_t queue, const ElectionName& from, const Fence& next) {
  const std::string others = " AND NOT EXISTS(SELECT 1 FROM tenure_queue WHERE election = $1)";
  const FenceRow& to = next.row;
  const Exchange raised = connection.exchange(std::vector{
      command("UPDATE tenure_queue SET election = $2, path = $3 WHERE number = $1 AND election = $4", queue,
              to.election.value, to.path, from.value),
      command("UPDATE tenure_fence SET generation = $2, token = $3, seq = 0, candidate = '', claimed_at = $4,"
              " change = $5 WHERE election = $1",
              from.value, to.generation, to.token.value, to.claimedAt, next.change)});
  if (!raised) return raised.error();
  if (raised.answers[0].changed() == 0) return Error{Errc::versionMismatch, "it is consumed by another one by now"};
  if (raised.answers[1].changed() == 0) return {};
  const Exchange made = connection.exchange(
      std::vector{addFence(next), command("SELECT 1 FROM tenure_state WHERE election = $1 AND key IN"
                                          " (SELECT key FROM tenure_state WHERE election = $2)" +
                                              others,
                                          from.value, to.election.value)});
  if (!made) return made.error();
  if (made.answers[1].rows() > 0) return storage::stateIsInTheWay(to);
  const Result<Answer> moved = connection.ask("UPDATE tenure_state SET election = $2 WHERE election = $1" + others,
                                              from.value, to.election.value);
  return moved ? Result<void>{} : moved.error();
}

}  // namespace tenure::postgresql
