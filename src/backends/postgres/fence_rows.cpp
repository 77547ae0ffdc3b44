#include "backends/postgres/fence_rows.hpp"

namespace tenure::postgresql {
namespace {

using storage::StoredFence;

const std::string selectColumns =
    "SELECT election, ensemble, generation, token, seq, path, candidate, host, pid, start_time, boot_id,"
    " pid_namespace, claimed_at FROM tenure_fence";

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

Command countCommit(const TermIdentity& term, std::int64_t sequence, Lane lane) {
  if (lane)
    return command(
        "WITH fence AS (SELECT 1 FROM tenure_fence WHERE election = $1 AND generation = $2 AND token = $3"
        " AND candidate = $4 AND ensemble = $5 FOR SHARE), passed AS (UPDATE tenure_lane SET seq = seq + 1"
        " WHERE election = $1 AND lane = $7 AND token = $3 AND seq = $6 AND EXISTS (SELECT 1 FROM fence) RETURNING 1)"
        " SELECT 1 / count(*) FROM passed",
        term.election.value, term.generation, term.token.value, term.candidate.value, term.ensemble.value, sequence,
        *lane);
  return command(
      "WITH passed AS (UPDATE tenure_fence SET seq = seq + 1 WHERE election = $1 AND generation = $2 AND token = $3"
      " AND candidate = $4 AND ensemble = $5 AND seq = $6 RETURNING 1)"
      " SELECT 1 / count(*) FROM passed",
      term.election.value, term.generation, term.token.value, term.candidate.value, term.ensemble.value, sequence);
}

}  // namespace

Command beginTransaction() { return command("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"); }

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
      " path, candidate, host, pid, start_time, boot_id, pid_namespace, claimed_at FROM tenure_fence AS f"
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
  return command("SELECT 1 FROM tenure_lane WHERE election = $1 AND lane = $2 FOR UPDATE", election, lane);
}

Command joinLane(const TermIdentity& term, std::int64_t lane) {
  return command(
      "INSERT INTO tenure_lane AS known (election, lane, token, seq) VALUES($1, $2, $3, 0) ON CONFLICT(election, lane)"
      " DO UPDATE SET token = $3, seq = CASE WHEN known.token = $3 THEN known.seq + 1 ELSE 0 END RETURNING seq",
      term.election.value, lane, term.token.value);
}

Command selectFences() { return command(selectColumns + " ORDER BY election"); }

std::vector<StoredFence> fencesFrom(const Answer& rows) {
  std::vector<StoredFence> fences;
  for (int row = 0; row < rows.rows(); ++row) fences.push_back(fenceFrom(rows, row));
  return fences;
}

Command selectQueue(const std::string& queue) {
  return command("SELECT number, coalesce(election, ''), coalesce(path, '') FROM tenure_queue WHERE name = $1", queue);
}

Queue queueFrom(const Answer& row) { return {row.integer(0, 0), {row.text(0, 1), row.text(0, 2)}}; }

Command takeQueue(std::int64_t queue, const TermIdentity& term) {
  return command("UPDATE tenure_queue SET election = $2, path = $3 WHERE number = $1 AND election IS NULL", queue,
                 term.election.value, term.electionPath);
}

Command writeClaim(const TermIdentity& term, storage::Claim claim, WallTime at) {
  constexpr const char* first =
      "INSERT INTO tenure_fence(election, ensemble, generation, token, path, candidate, host, pid, start_time, boot_id,"
      " pid_namespace, claimed_at, seq) VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
      " ON CONFLICT(election) DO NOTHING RETURNING seq";
  constexpr const char* later =
      "UPDATE tenure_fence SET ensemble = $2, generation = $3, token = $4, path = $5, candidate = $6, host = $7,"
      " pid = $8, start_time = $9, boot_id = $10, pid_namespace = $11, claimed_at = $12, seq = seq * $13 + $13"
      " WHERE election = $1 RETURNING seq";
  const ProcessIdentity& holder = term.holder;
  const std::int64_t goesOn = claim == storage::Claim::again ? 1 : 0;
  return command(claim == storage::Claim::first ? first : later, term.election.value, term.ensemble.value,
                 term.generation, term.token.value, term.electionPath, term.candidate.value, holder.host, holder.pid,
                 holder.startTime, holder.bootId, static_cast<std::int64_t>(holder.pidNamespace), at, goesOn);
}

std::vector<Command> passFence(const TermIdentity& term, std::int64_t sequence, Lane lane) {
  return {beginTransaction(), awaitTurn(term.election.value, lane ? Turn::shared : Turn::alone),
          countCommit(term, sequence, lane)};
}

bool isFenceTableGone(const Failure& failure) noexcept {
  return failure.sqlState == "42P01" && failure.error.detail.find("tenure_fence") != std::string::npos;
}

Result<void> writeRebased(Connection& connection, const FenceRow& row) {
  const ProcessIdentity& holder = row.holder;
  const Exchange written = connection.exchange(std::vector{
      command("DELETE FROM tenure_fence WHERE election = $1", row.election.value),
      command("INSERT INTO tenure_fence(election, ensemble, generation, token, seq, path, candidate, host, pid,"
              " start_time, boot_id, pid_namespace, claimed_at) VALUES($1, $2, $3, 0, 0, $4, '', $5, $6, $7, $8, $9,"
              " $10)",
              row.election.value, row.ensemble.value, row.generation, row.path, holder.host, holder.pid,
              holder.startTime, holder.bootId, static_cast<std::int64_t>(holder.pidNamespace), systemClock().wallNow()),
      command("UPDATE tenure_queue SET path = $1 WHERE election = $2", row.path, row.election.value)});
  return written ? Result<void>{} : written.error();
}

Result<void> writeMove(Connection& connection, const FenceRow& from, const FenceRow& to) {
  const std::string others = " AND NOT EXISTS(SELECT 1 FROM tenure_queue WHERE election = $1)";
  const Exchange written = connection.exchange(std::vector{
      command("UPDATE tenure_fence SET generation = $2, token = $3, seq = 0, candidate = '', claimed_at = $4"
              " WHERE election = $1",
              from.election.value, to.generation, to.token.value, to.claimedAt),
      command("INSERT INTO tenure_fence(election, ensemble, generation, token, seq, path, candidate, host, pid,"
              " start_time, boot_id, pid_namespace, claimed_at) VALUES($1, $2, $3, $4, 0, $5, '', '', 0, 0, '', 0, $6)"
              " ON CONFLICT(election) DO NOTHING",
              to.election.value, to.ensemble.value, to.generation, to.token.value, to.path, to.claimedAt),
      command("SELECT 1 FROM tenure_state WHERE election = $1 AND key IN"
              " (SELECT key FROM tenure_state WHERE election = $2)" +
                  others,
              from.election.value, to.election.value)});
  if (!written) return written.error();
  if (written.answers[2].rows() > 0) return storage::stateIsInTheWay(to);
  const Result<Answer> moved = connection.ask("UPDATE tenure_state SET election = $2 WHERE election = $1" + others,
                                              from.election.value, to.election.value);
  return moved ? Result<void>{} : moved.error();
}

}  // namespace tenure::postgresql
