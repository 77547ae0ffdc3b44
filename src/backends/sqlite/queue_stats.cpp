#include "backends/sqlite/queue_stats.hpp"

#include "backends/sqlite/schema.hpp"
#include "storage/driver.hpp"

namespace tenure::sqlite {
namespace {

/// Places that are taken, in place of messages.
Result<void> countPlaces(Connection& connection, std::int64_t queue, QueueStats& stats) {
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
  return countPlaces(connection, queue, stats);
}

/// Counts messages, dead letters and attempts, each up to `mostAtAGlance` and one more.
Result<void> countSome(Connection& connection, std::int64_t queue, QueueStats& stats) {
  Query counted = connection.query(
      "SELECT (SELECT count(*) FROM (SELECT 1 FROM tenure_message WHERE n > ?2 AND n <= ?3 LIMIT ?4)),"
      " (SELECT count(*) FROM (SELECT 1 FROM tenure_dead_letter WHERE queue = ?1 LIMIT ?4)),"
      " (SELECT count(*) FROM (SELECT 1 FROM tenure_attempt WHERE queue = ?1 LIMIT ?4))",
      queue, positionIn(queue, 0), lastPositionIn(queue), storage::mostAtAGlance + 1);
  const Result<bool> row = counted.next();
  if (!row) return row.error();
  stats.waiting = counted.integer(0);
  stats.deadLetters = counted.integer(1);
  stats.retrying = counted.integer(2);
  return stats.waiting > storage::mostAtAGlance ? countPlaces(connection, queue, stats) : Result<void>{};
}

Result<void> addOldest(Connection& connection, std::int64_t queue, QueueStats& stats) {
  Query first = connection.query("SELECT enqueued_at FROM tenure_message WHERE n > ?1 AND n <= ?2 ORDER BY n LIMIT 1",
                                 positionIn(queue, 0), lastPositionIn(queue));
  const Result<bool> row = first.next();
  if (!row) return row.error();
  if (*row) stats.oldest = first.time(0);
  return {};
}

QueueStats ownedBy(const Queue& queue) {
  QueueStats stats;
  stats.election = queue.owner.election;
  stats.path = queue.owner.path;
  return stats;
}

}  // namespace

Result<QueueStats> glanceAt(Connection& connection, const Queue& queue) {
  QueueStats stats = ownedBy(queue);
  if (const Result<void> counted = countSome(connection, queue.number, stats); !counted) return counted.error();
  const Result<void> looked = addOldest(connection, queue.number, stats);
  return looked ? Result<QueueStats>(stats) : looked.error();
}

Result<QueueStats> statsOf(Connection& connection, const Queue& queue) {
  QueueStats stats = ownedBy(queue);
  if (const Result<void> counted = countWaiting(connection, queue.number, stats); !counted) return counted.error();
  Query others = connection.query(
      "SELECT (SELECT count(*) FROM tenure_dead_letter WHERE queue = ?1),"
      " (SELECT count(*) FROM tenure_attempt WHERE queue = ?1)",
      queue.number);
  const Result<bool> row = others.next();
  if (!row) return row.error();
  stats.deadLetters = others.integer(0);
  stats.retrying = others.integer(1);
  const Result<void> looked = addOldest(connection, queue.number, stats);
  return looked ? Result<QueueStats>(stats) : looked.error();
}

}  // namespace tenure::sqlite
