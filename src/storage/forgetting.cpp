// What a term forgets of its consumer: old idempotency keys, and the old end of its log.
#include <algorithm>

#include "storage/fenced_session.hpp"
#include "storage/records.hpp"

namespace tenure::storage {

/// Looks without a lock, and commits only where something is old enough. A key that was made anew meanwhile stays.
Result<Pruned> FencedSession::prune(const Term& term, const Pruning& step) {
  if (const Result<void> ours = holdsClaim(term); !ours) return ours.error();
  if (claimed_->inDoubt) return Error{Errc::outcomeUnknown, "the last commit is not resolved"};
  if (const Result<void> reached = reach(); !reached) return reached.error();
  if (limits().keepsIdsFor) {
    const Result<std::size_t> count = driver_->countKeys();
    return count ? Pruned{.looked = *count} : Result<Pruned>(count.error());
  }
  Scan scan{.table = Table::key, .prefix = {step.consumer.value}, .atMost = std::min(step.atMost, limits().maxBatch)};
  if (!step.after.empty()) scan.after = {step.after};
  const Result<std::vector<Row>> page = driver_->scan(scan);
  if (!page) return page.error();
  Pruned pruned;
  WriteSet writes;
  const WallTime latest = step.now == WallTime::max() ? step.now : step.now + std::chrono::minutes{1};
  for (const Row& row : *page) {
    if (isFull(writes)) break;
    ++pruned.looked;
    const WallTime at = wallTimeOf(integerIn(row, key::at));
    if (at > latest) pruned.future = std::max(pruned.future.value_or(at), at);
    if (at >= step.before) continue;
    writes.remove(Table::key, {row[key::consumer], row[key::id]}, Expectation::has(key::at, row[key::at]));
    ++pruned.removed;
  }
  if (pruned.looked < page->size() || page->size() == scan.atMost)
    pruned.last = textIn((*page)[pruned.looked - 1], key::id);
  if (pruned.future) pruned.removed = 0;
  if (pruned.removed == 0) return pruned;
  const Result<void> committed = commit(writes);
  return committed ? Result<Pruned>(pruned) : committed.error();
}

/// Mostly nothing has to go: the oldest line says so, and the newest one how many there are.
Result<std::size_t> FencedSession::pruneLog(const Term& term, const LogPruning& step) {
  if (const Result<void> ours = holdsClaim(term); !ours) return ours.error();
  if (claimed_->inDoubt) return Error{Errc::outcomeUnknown, "the last commit is not resolved"};
  if (const Result<void> reached = reach(); !reached) return reached.error();
  Scan scan{.table = Table::log, .prefix = {step.consumer.value}, .atMost = 1};
  const Result<std::vector<Row>> oldest = driver_->scan(scan);
  if (!oldest) return oldest.error();
  if (oldest->empty()) return std::size_t{0};
  const auto last = lastBeyondBound(step, integerIn(oldest->front(), log::number));
  if (!last) return last.error();
  const auto mayGo = [&](const Row& row) {
    return wallTimeOf(integerIn(row, log::endedAt)) < step.before || integerIn(row, log::number) <= last->value_or(0);
  };
  if (!mayGo(oldest->front())) return *last ? 0 : step.atMost;
  scan.atMost = step.atMost;
  const Result<std::vector<Row>> page = driver_->scan(scan);
  if (!page) return page.error();
  WriteSet writes;
  std::size_t removed = 0;
  for (const Row& row : *page) {
    if (!mayGo(row) || isFull(writes)) break;
    writes.remove(Table::log, {row[log::consumer], row[log::number]});
    ++removed;
  }
  if (removed == 0) return removed;
  const Result<void> committed = commit(writes);
  return committed ? Result<std::size_t>(removed) : committed.error();
}

/// Lines up to this number go, whatever their age; nullopt: it is still to be counted.
Result<std::optional<std::int64_t>> FencedSession::lastBeyondBound(const LogPruning& step, std::int64_t oldest) {
  if (step.mostKept == 0) return std::optional<std::int64_t>{0};
  Scan scan{.table = Table::log, .prefix = {step.consumer.value}, .atMost = 1, .backward = true};
  const Result<std::vector<Row>> newest = driver_->scan(scan);
  if (!newest) return newest.error();
  const std::int64_t last = newest->empty() ? 0 : integerIn(newest->front(), log::number);
  if (!limits().logHasGaps) {
    const bool areTooMany = std::cmp_less(step.mostKept, last);
    return std::optional(areTooMany ? last - static_cast<std::int64_t>(step.mostKept) : std::int64_t{0});
  }
  LogBound& bound = claimed_->logBound;
  bound.look(step, oldest, last);
  if (bound.isCounting()) {
    const LogBound::Slice slice = bound.next(step);
    scan.after = {slice.below};
    scan.skip = static_cast<std::size_t>(slice.atMost - 1);
    const Result<std::vector<Row>> lowest = driver_->scan(scan);
    if (!lowest) return lowest.error();
    bound.counted(slice, lowest->empty() ? std::nullopt : std::optional(integerIn(lowest->front(), log::number)));
  }
  return bound.isCounting() ? std::nullopt : std::optional(bound.upTo());
}

}  // namespace tenure::storage
