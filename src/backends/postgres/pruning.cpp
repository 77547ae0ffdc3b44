// Forgetting idempotency keys: a look without a lock, and a transaction where something is old enough.
#include "backends/postgres/store.hpp"
#include "backends/postgres/transaction.hpp"

namespace tenure::postgresql {

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
  for (int row = 0; row < keys->rows(); ++row) anyOld = anyOld || keys->time(row, 1) < step.before;
  if (!anyOld) return pruned;

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
  // Numbers are shared with other consumers: only where they leave it open are lines counted.
  const Result<Answer> old = (*connection)
                                 ->ask(
                                     "SELECT ended_at, n, CASE WHEN $2 > 0 AND (SELECT max(n) FROM tenure_log WHERE "
                                     "consumer = $1) - n >= $2 THEN"
                                     " coalesce((SELECT n FROM tenure_log WHERE consumer = $1 ORDER BY n DESC OFFSET "
                                     "$2 LIMIT 1), 0) ELSE 0 END"
                                     " FROM tenure_log WHERE consumer = $1 ORDER BY n LIMIT 1",
                                     step.consumer.value, static_cast<std::int64_t>(step.mostKept));
  if (!old) return old.error();
  if (old->rows() == 0) return std::size_t{0};
  const std::int64_t upTo = old->integer(0, 2);
  if (old->time(0, 0) >= step.before && old->integer(0, 1) > upTo) return std::size_t{0};
  FencedTransaction transaction(*this, term);
  const auto removed = transaction.removeLog(step, upTo);
  if (!removed) return removed;
  if (const Result<void> committed = transaction.commit(); !committed) return committed.error();
  return removed;
}

}  // namespace tenure::postgresql
