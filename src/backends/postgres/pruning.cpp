// Forgetting idempotency keys and log lines: a look without a lock, and a transaction where something has to go.
#include "backends/postgres/store.hpp"
#include "backends/postgres/transaction.hpp"

namespace tenure::postgresql {

/// The server's.
Result<std::optional<WallTime>> Store::clock() {
  const auto connection = session();
  if (!connection) return connection.error();
  const Result<Answer> now = (*connection)->ask("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint");
  if (!now) return now.error();
  return std::optional(now->time(0, 0));
}

Result<Pruned> Store::prune(const Term& term, const Pruning& step) {
  if (const Result<void> ours = isClaimedBy(term); !ours) return ours.error();
  const auto connection = session();
  if (!connection) return connection.error();
  const Result<Answer> keys =
      (*connection)
          ->ask("SELECT id, at FROM tenure_key WHERE consumer = $1 AND id > $2 ORDER BY id LIMIT $3",
                step.consumer.value, Blob{step.after}, static_cast<std::int64_t>(step.atMost));
  if (!keys) return keys.error();
  Pruned pruned{.looked = static_cast<std::size_t>(keys->rows())};
  if (pruned.looked == 0) return pruned;
  const std::string last(keys->bytes(keys->rows() - 1, 0));
  if (pruned.looked == step.atMost) pruned.last = last;
  bool anyOld = false;
  for (int row = 0; row < keys->rows(); ++row) {
    const WallTime at = keys->time(row, 1);
    anyOld = anyOld || at < step.before;
    if (isOfTheFuture(at, step)) pruned.future = std::max(pruned.future.value_or(at), at);
  }
  if (!anyOld || pruned.future) return pruned;

  FencedTransaction transaction(*this, term);
  const auto removed = transaction.removeKeys(step, last);
  if (!removed) return removed.error();
  if (const Result<void> committed = transaction.commit(); !committed) return committed.error();
  pruned.removed = *removed;
  return pruned;
}

Result<std::size_t> Store::pruneLog(const Term& term, const LogPruning& step) {
  if (const Result<void> ours = isClaimedBy(term); !ours) return ours.error();
  const auto connection = session();
  if (!connection) return connection.error();
  const Result<Answer> ends = (*connection)
                                  ->ask(
                                      "SELECT n, ended_at, (SELECT max(n) FROM tenure_log WHERE consumer = $1)"
                                      " FROM tenure_log WHERE consumer = $1 ORDER BY n LIMIT 1",
                                      step.consumer.value);
  if (!ends) return ends.error();
  if (ends->rows() == 0) return std::size_t{0};
  const std::int64_t oldest = ends->integer(0, 0);
  const bool isOld = ends->time(0, 1) < step.before;
  LogBound& bound = claimed_->logBound;
  bound.look(step, oldest, ends->integer(0, 2));
  if (!isOld && bound.isCounting())
    if (const Result<void> counted = countSlice(**connection, step); !counted) return counted.error();
  if (!isOld && bound.isCounting()) return step.atMost;
  if (!isOld && oldest > bound.upTo()) return std::size_t{0};
  FencedTransaction transaction(*this, term);
  const auto removed = transaction.removeLog(step, bound.upTo());
  if (!removed) return removed;
  if (const Result<void> committed = transaction.commit(); !committed) return committed.error();
  return removed;
}

Result<void> Store::countSlice(Connection& connection, const LogPruning& step) {
  const LogBound::Slice slice = claimed_->logBound.next(step);
  const Result<Answer> counted = connection.ask(
      "SELECT count(*), coalesce(min(n), 0) FROM"
      " (SELECT n FROM tenure_log WHERE consumer = $1 AND n < $2 ORDER BY n DESC LIMIT $3) AS slice",
      step.consumer.value, slice.below, slice.atMost);
  if (!counted) return counted.error();
  claimed_->logBound.counted(slice, counted->integer(0, 0), counted->integer(0, 1));
  return {};
}

}  // namespace tenure::postgresql
