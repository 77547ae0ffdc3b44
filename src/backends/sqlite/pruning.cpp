// Forgetting idempotency keys: a look without a lock, and a transaction where something is old enough.
#include <utility>

#include "backends/sqlite/store.hpp"
#include "backends/sqlite/transaction.hpp"
#include "base/assert.hpp"

namespace tenure::sqlite {
namespace {

/// What a step finds; `anyOld` when it has something to remove.
struct Look {
  Pruned seen;
  bool anyOld = false;
  std::string last;
};

Result<Look> lookAt(Connection& connection, const Pruning& step) {
  Look look;
  Query keys = connection.query("SELECT id, at FROM tenure_key WHERE consumer = ?1 AND id > ?2 ORDER BY id LIMIT ?3",
                                step.consumer.value, step.after, static_cast<std::int64_t>(step.atMost));
  for (;;) {
    const Result<bool> row = keys.next();
    if (!row) return row.error();
    if (!*row) break;
    ++look.seen.looked;
    look.anyOld = look.anyOld || keys.time(1) < step.before;
    look.last = keys.text(0);
    if (isOfTheFuture(keys.time(1), step))
      look.seen.future = std::max(look.seen.future.value_or(keys.time(1)), keys.time(1));
  }
  if (look.seen.looked == step.atMost) look.seen.last = look.last;
  return look;
}

// Of a consumer's lines, which have consecutive numbers.
struct OldLines {
  bool any = false;
  std::int64_t upTo = 0;  // these go for their number, whatever their age
};

Result<OldLines> oldLines(Connection& connection, const LogPruning& step) {
  Query ends = connection.query(
      "SELECT n, ended_at, (SELECT max(n) FROM tenure_log WHERE consumer = ?1)"
      " FROM tenure_log WHERE consumer = ?1 ORDER BY n LIMIT 1",
      step.consumer.value);
  const Result<bool> row = ends.next();
  if (!row) return row.error();
  OldLines old;
  if (!*row) return old;
  const std::int64_t newest = ends.integer(2);
  if (step.mostKept != 0 && std::cmp_less(step.mostKept, newest))
    old.upTo = newest - static_cast<std::int64_t>(step.mostKept);
  old.any = ends.time(1) < step.before || ends.integer(0) <= old.upTo;
  return old;
}

}  // namespace

Result<Pruned> Store::prune(const Term& term, const Pruning& step) {
  if (const Result<void> ours = isClaimedBy(term); !ours) return ours.error();
  Result<Look> look = lookAt(*connection_, step);
  if (!look) return look.error();
  if (!look->anyOld || look->seen.future) return look->seen;
  FencedTransaction transaction(*this, connection_, term);
  const auto removed = transaction.removeKeys(step, look->last);
  if (!removed) return removed.error();
  if (const Result<void> committed = transaction.commit(); !committed) return committed.error();
  look->seen.removed = *removed;
  return look->seen;
}

Result<std::size_t> Store::pruneLog(const Term& term, const LogPruning& step) {
  if (const Result<void> ours = isClaimedBy(term); !ours) return ours.error();
  const Result<OldLines> old = oldLines(*connection_, step);
  if (!old) return old.error();
  if (!old->any) return std::size_t{0};
  FencedTransaction transaction(*this, connection_, term);
  const auto removed = transaction.removeLog(step, old->upTo);
  if (!removed) return removed;
  if (const Result<void> committed = transaction.commit(); !committed) return committed.error();
  return removed;
}

}  // namespace tenure::sqlite
