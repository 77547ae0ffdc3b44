#include "backends/sqlite/queue_stats.hpp"

#include "backends/sqlite/schema.hpp"

namespace tenure::sqlite {
namespace {

Result<void> countWaiting(Connection& connection, std::int64_t queue, QueueStats& stats) {
  Query counted =
      connection.query("SELECT count(*), coalesce(sum(length(body)), 0) FROM tenure_message WHERE n > ?1 AND n <= ?2",
                       positionIn(queue, 0), lastPositionIn(queue));
  const Result<bool> row = counted.next();
  if (row) {
    stats.waiting = counted.integer(0);
    stats.waitingBytes = counted.integer(1);
    return {};
  }
  if (!row.error().is(Errc::timedOut)) return row.error();
  Query places = connection.query(
      "SELECT (SELECT max(n) FROM tenure_message WHERE n > ?1 AND n <= ?2)"
      " - (SELECT min(n) FROM tenure_message WHERE n > ?1 AND n <= ?2) + 1",
      positionIn(queue, 0), lastPositionIn(queue));
  const Result<bool> found = places.next();
  if (!found) return found.error();
  stats.waiting = places.integer(0);
  stats.waitingIsAtMost = true;
  return {};
}

}  // namespace

Result<QueueStats> statsOf(Connection& connection, const Queue& queue) {
  QueueStats stats;
  stats.election = queue.owner.election;
  stats.path = queue.owner.path;
  if (const Result<void> counted = countWaiting(connection, queue.number, stats); !counted) return counted.error();
  Query others = connection.query(
      "SELECT (SELECT count(*) FROM tenure_dead_letter WHERE queue = ?1),"
      " (SELECT count(*) FROM tenure_attempt WHERE queue = ?1),"
      " (SELECT enqueued_at FROM tenure_message WHERE n > ?2 AND n <= ?3 ORDER BY n LIMIT 1)",
      queue.number, positionIn(queue.number, 0), lastPositionIn(queue.number));
  const Result<bool> row = others.next();
  if (!row) return row.error();
  stats.deadLetters = others.integer(0);
  stats.retrying = others.integer(1);
  if (!others.isNull(2)) stats.oldest = others.time(2);
  return stats;
}

}  // namespace tenure::sqlite
