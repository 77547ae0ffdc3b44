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
  const Result<Answer> oldest =
      (*connection)->ask("SELECT ended_at FROM tenure_log WHERE consumer = $1 ORDER BY n LIMIT 1", step.consumer.value);
  if (!oldest) return oldest.error();
  if (oldest->rows() == 0 || oldest->time(0, 0) >= step.before) return std::size_t{0};
  FencedTransaction transaction(*this, term);
  const auto removed = transaction.removeLog(step);
  if (!removed) return removed;
  if (const Result<void> committed = transaction.commit(); !committed) return committed.error();
  return removed;
}

}  // namespace tenure::postgresql
