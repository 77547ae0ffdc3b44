#include "backends/postgresql/queue_stats.hpp"

#include <algorithm>

#include "backends/postgresql/outbox_operating.hpp"

namespace tenure::postgresql {
namespace {

Result<void> countWaiting(Connection& connection, std::int64_t queue, QueueStats& stats) {
  const Result<Answer> counted = connection.ask(
      "SELECT count(*), coalesce(sum(octet_length(body)), 0)::bigint FROM tenure_message WHERE queue = $1", queue);
  if (counted) {
    stats.waiting = counted->integer(0, 0);
    stats.waitingBytes = counted->integer(0, 1);
    return {};
  }
  if (!counted.error().is(Errc::timedOut)) return counted.error();
  const Result<Answer> places =
      connection.ask("SELECT coalesce(max(n) - min(n) + 1, 0) FROM tenure_message WHERE queue = $1", queue);
  if (!places) return places.error();
  stats.waiting = places->integer(0, 0);
  stats.waitingIsAtMost = true;
  return {};
}

}  // namespace

Result<QueueStats> statsOf(Connection& connection, const Queue& queue, std::chrono::milliseconds limit,
                           const std::optional<OutboxTable>& table) {
  QueueStats stats;
  stats.election = queue.owner.election;
  stats.path = queue.owner.path;
  const Result<void> limited = connection.run("SET statement_timeout = " + std::to_string(limit.count()));
  if (!limited) return limited.error();
  if (const Result<void> counted = countWaiting(connection, queue.number, stats); !counted) return counted.error();
  if (table)
    if (const Result<void> counted = countOutbox(connection, *table, stats); !counted) return counted.error();
  const Result<Answer> others = connection.ask(
      "SELECT (SELECT count(*) FROM tenure_dead_letter WHERE queue = $1),"
      " (SELECT count(*) FROM tenure_attempt WHERE queue = $1),"
      " (SELECT enqueued_at FROM tenure_message WHERE queue = $1 ORDER BY n LIMIT 1)",
      queue.number);
  if (!others) return others.error();
  stats.deadLetters = others->integer(0, 0);
  stats.retrying = others->integer(0, 1);
  if (!others->isNull(0, 2)) stats.oldest = std::min(stats.oldest.value_or(WallTime::max()), others->time(0, 2));
  return stats;
}

}  // namespace tenure::postgresql
