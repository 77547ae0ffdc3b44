#include "backends/postgresql/queue/queue_stats.hpp"

#include <algorithm>

#include "backends/postgresql/rows/outbox_operating.hpp"
#include "storage/driver.hpp"

namespace tenure::postgresql {
namespace {

constexpr std::chrono::seconds patience{5};  // for a statement that reads few rows

/// Places that are taken, in place of messages.
Result<void> countPlaces(Connection& connection, std::int64_t queue, QueueStats& stats) {
  const Result<Answer> places =
      connection.ask("SELECT coalesce(max(n) - min(n) + 1, 0) FROM tenure_message WHERE queue = $1", queue);
  if (!places) return places.error();
  stats.waiting = places->integer(0, 0);
  stats.waitingIsAtMost = true;
  return {};
}

Result<void> limitStatements(Connection& connection, std::chrono::milliseconds limit) {
  return connection.run("SET statement_timeout = " + std::to_string(limit.count()));
}

Result<void> countWaiting(Connection& connection, std::int64_t queue, QueueStats& stats) {
  const Result<Answer> counted = connection.ask(
      "SELECT count(*), coalesce(sum(octet_length(body)), 0)::bigint FROM tenure_message WHERE queue = $1", queue);
  if (counted) {
    stats.waiting = counted->integer(0, 0);
    stats.waitingBytes = counted->integer(0, 1);
    return {};
  }
  if (!counted.error().is(Errc::timedOut)) return counted.error();
  if (const Result<void> limited = limitStatements(connection, patience); !limited) return limited.error();
  return countPlaces(connection, queue, stats);
}

/// Counts messages, dead letters and attempts, each up to `mostAtAGlance` and one more.
Result<void> countSome(Connection& connection, std::int64_t queue, QueueStats& stats) {
  const Result<Answer> counted = connection.ask(
      "SELECT (SELECT count(*) FROM (SELECT FROM tenure_message WHERE queue = $1 LIMIT $2) AS counted),"
      " (SELECT count(*) FROM (SELECT FROM tenure_dead_letter WHERE queue = $1 LIMIT $2) AS counted),"
      " (SELECT count(*) FROM (SELECT FROM tenure_attempt WHERE queue = $1 LIMIT $2) AS counted)",
      queue, storage::mostAtAGlance + 1);
  if (!counted) return counted.error();
  stats.waiting = counted->integer(0, 0);
  stats.deadLetters = counted->integer(0, 1);
  stats.retrying = counted->integer(0, 2);
  return stats.waiting > storage::mostAtAGlance ? countPlaces(connection, queue, stats) : Result<void>{};
}

Result<void> addOldest(Connection& connection, std::int64_t queue, QueueStats& stats) {
  const Result<Answer> first =
      connection.ask("SELECT enqueued_at FROM tenure_message WHERE queue = $1 ORDER BY n LIMIT 1", queue);
  if (!first) return first.error();
  if (first->rows() > 0) stats.oldest = std::min(stats.oldest.value_or(WallTime::max()), first->time(0, 0));
  return {};
}

Result<QueueStats> beginLook(Connection& connection, const Queue& queue, std::chrono::milliseconds limit) {
  if (const Result<void> limited = limitStatements(connection, limit); !limited) return limited.error();
  QueueStats stats;
  stats.election = queue.owner.election;
  stats.path = queue.owner.path;
  return stats;
}

Result<void> addOutbox(Connection& connection, const OutboxTable& table, bool atAGlance, QueueStats& stats) {
  const Result<OutboxCounts> rows = OutboxCounts::of(connection, table);
  if (!rows) return rows.error();
  const QueueStats without = stats;
  Result<void> added = atAGlance ? rows->addSome(stats) : rows->addAll(stats);
  if (!added && added.error().is(Errc::timedOut)) {
    added = limitStatements(connection, patience);
    if (added) added = rows->addEstimate(stats);
  }
  if (!added) return added;
  const Result<bool> waits = rows->addOldest(stats);
  if (!waits) return waits.error();
  if (!*waits && stats.waitingIsAtMost) stats = without;  // an estimate, of rows that are sent or come later
  return {};
}

/// Adds the rows of the user's table, and since when the oldest message waits.
Result<QueueStats> completeLook(Connection& connection, const Queue& queue, const std::optional<OutboxTable>& table,
                                bool atAGlance, QueueStats stats) {
  if (table)
    if (const Result<void> added = addOutbox(connection, *table, atAGlance, stats); !added) return added.error();
  const Result<void> looked = addOldest(connection, queue.number, stats);
  return looked ? Result<QueueStats>(std::move(stats)) : looked.error();
}

}  // namespace

Result<QueueStats> glanceAt(Connection& connection, const Queue& queue, std::chrono::milliseconds limit,
                            const std::optional<OutboxTable>& table) {
  Result<QueueStats> stats = beginLook(connection, queue, limit);
  if (!stats) return stats;
  if (const Result<void> counted = countSome(connection, queue.number, *stats); !counted) return counted.error();
  return completeLook(connection, queue, table, true, *std::move(stats));
}

Result<QueueStats> statsOf(Connection& connection, const Queue& queue, std::chrono::milliseconds limit,
                           const std::optional<OutboxTable>& table) {
  Result<QueueStats> stats = beginLook(connection, queue, limit);
  if (!stats) return stats;
  if (const Result<void> counted = countWaiting(connection, queue.number, *stats); !counted) return counted.error();
  const Result<Answer> others = connection.ask(
      "SELECT (SELECT count(*) FROM tenure_dead_letter WHERE queue = $1),"
      " (SELECT count(*) FROM tenure_attempt WHERE queue = $1)",
      queue.number);
  if (!others) return others.error();
  stats->deadLetters = others->integer(0, 0);
  stats->retrying = others->integer(0, 1);
  return completeLook(connection, queue, table, false, *std::move(stats));
}

}  // namespace tenure::postgresql
