#include "backends/sqlite/fence_rows.hpp"

#include "backends/sqlite/schema.hpp"

namespace tenure::sqlite {
namespace {

constexpr std::string_view fenceColumns =
    "SELECT election, ensemble, generation, token, seq, path, candidate, host, pid, start_time, boot_id,"
    " pid_namespace, claimed_at, change FROM tenure_fence";

std::string damageIn(const Query& row) {
  if (!row.isInteger(2) || row.integer(2) < 0) return "its generation is not a number from 0";
  if (!row.isInteger(3) || row.integer(3) < 0) return "its token is not a number from 0";
  if (!row.isInteger(4) || row.integer(4) < 0) return "its seq is not a number from 0";
  if (row.isNull(1) || row.isNull(5) || row.isNull(6)) return "its ensemble, path or candidate is null";
  return {};
}

StoredFence fenceFrom(const Query& row) {
  StoredFence fence{.row = {}, .damage = damageIn(row)};
  fence.row = {.election = ElectionName{row.text(0)},
               .ensemble = EnsembleUuid{row.text(1)},
               .generation = row.integer(2),
               .token = FencingToken{row.integer(3)},
               .sequence = row.integer(4),
               .path = row.text(5),
               .candidate = CandidateUuid{row.text(6)},
               .holder = {.host = row.text(7),
                          .pid = row.integer(8),
                          .startTime = row.integer(9),
                          .bootId = row.text(10),
                          .pidNamespace = static_cast<std::uint64_t>(row.integer(11))},
               .claimedAt = row.time(12)};
  return fence;
}

}  // namespace

Result<storage::FenceFound> readFence(Connection& connection, const std::string& election) {
  storage::FenceFound found;
  Query rows = connection.query(std::string(fenceColumns) + " WHERE election = ?1", election);
  for (;;) {
    const Result<bool> row = rows.next();
    if (!row) return row.error();
    if (!*row) return found;
    found.stored.push_back(fenceFrom(rows));
    found.change = rows.text(13);
  }
}

Result<std::vector<StoredFence>> readFences(Connection& connection) {
  std::vector<StoredFence> fences;
  Query rows = connection.query(std::string(fenceColumns) + " ORDER BY election");
  for (;;) {
    const Result<bool> row = rows.next();
    if (!row) return row.error();
    if (!*row) return fences;
    fences.push_back(fenceFrom(rows));
  }
}

Result<Queue> readQueue(Connection& connection, const storage::WhichQueue& queue) {
  const Result<std::int64_t> number = findQueue(connection, queue);
  if (!number) return number.error();
  Query row = connection.query("SELECT election, path FROM tenure_queue WHERE number = ?1", *number);
  const Result<bool> found = row.next();
  if (!found) return found.error();
  return Queue{*number, {row.text(0), row.text(1)}};
}

Result<Queue> readOrAddQueue(Connection& connection, const storage::WhichQueue& queue) {
  const Result<std::int64_t> number = ensureQueue(connection, queue);
  if (!number) return number.error();
  return readQueue(connection, queue);
}

Result<void> writeOwner(Connection& connection, std::int64_t queue, const QueueOwner& owner) {
  return connection.run("UPDATE tenure_queue SET election = ?1, path = ?2 WHERE number = ?3", owner.election,
                        owner.path, queue);
}

Result<void> writePath(Connection& connection, const QueueOwner& owner) {
  return connection.run("UPDATE tenure_queue SET path = ?1 WHERE election = ?2", owner.path, owner.election);
}

Result<void> writeFence(Connection& connection, const storage::Fence& fence) {
  const FenceRow& row = fence.row;
  const ProcessIdentity& holder = row.holder;
  return connection.run(
      "INSERT OR REPLACE INTO tenure_fence(election, ensemble, generation, token, seq, path, candidate, host, pid,"
      " start_time, boot_id, pid_namespace, claimed_at, change)"
      " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
      row.election.value, row.ensemble.value, row.generation, row.token.value, row.sequence, row.path,
      row.candidate.value, holder.host, holder.pid, holder.startTime, holder.bootId,
      static_cast<std::int64_t>(holder.pidNamespace), row.claimedAt, fence.change);
}

/// No request is ever late here, so that the number alone tells our last change.
Result<bool> passFence(Connection& connection, const storage::Fence& expected, const storage::Fence& next) {
  const FenceRow& row = expected.row;
  const Result<int> passed = connection.change(
      "UPDATE tenure_fence SET seq = ?1, change = ?2 WHERE election = ?3 AND generation = ?4 AND token = ?5"
      " AND candidate = ?6 AND ensemble = ?7 AND seq = ?8",
      next.row.sequence, next.change, row.election.value, row.generation, row.token.value, row.candidate.value,
      row.ensemble.value, row.sequence);
  if (!passed) return passed.error();
  return *passed == 1;
}

Result<void> moveFence(Connection& connection, const ElectionName& from, const storage::Fence& next) {
  const FenceRow& to = next.row;
  const Result<int> raised = connection.change(
      "UPDATE tenure_fence SET generation = ?2, token = ?3, seq = 0, candidate = '', claimed_at = ?4, change = ?5"
      " WHERE election = ?1",
      from.value, to.generation, to.token.value, to.claimedAt, next.change);
  if (!raised) return raised.error();
  if (*raised == 0) return {};
  const Result<storage::FenceFound> there = readFence(connection, to.election.value);
  if (!there) return there.error();
  if (there->stored.empty())
    if (Result<void> made = writeFence(connection, next); !made) return made;
  constexpr std::string_view others = " AND NOT EXISTS(SELECT 1 FROM tenure_queue WHERE election = ?1)";
  Query clash = connection.query(
      "SELECT 1 FROM tenure_state WHERE election = ?1 AND key IN"
      " (SELECT key FROM tenure_state WHERE election = ?2)" +
          std::string(others),
      from.value, to.election.value);
  const Result<bool> clashes = clash.next();
  if (!clashes) return clashes.error();
  if (*clashes) return storage::stateIsInTheWay(to);
  return connection.run("UPDATE tenure_state SET election = ?2 WHERE election = ?1" + std::string(others), from.value,
                        to.election.value);
}

}  // namespace tenure::sqlite
