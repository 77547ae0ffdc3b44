#include "storage/scheduled/scheduled_messages.hpp"

#include <limits>

#include "storage/records.hpp"

namespace tenure::storage {
namespace {

constexpr std::size_t waitingAPage = 64;  // their bodies may be large
/// After so many conflicts the caller is told that the store is busy.
constexpr int mostTries = 16;

bool isChosen(const ScheduledFilter& filter, const NewMessage& message) {
  return !filter.group || message.group == *filter.group;
}

}  // namespace

Result<ScheduledStats> ScheduledRows::stats() { return counted(std::numeric_limits<std::int64_t>::max()); }

Result<ScheduledStats> ScheduledRows::glance() { return counted(mostAtAGlance + 1); }

Result<ScheduledStats> ScheduledRows::counted(std::int64_t atMost) {
  if (const Result<void> connected = driver_->connect({}); !connected) return connected.error();
  const Result<WaitingCounts> counts = driver_->countWaiting(atMost);
  if (!counts) return counts.error();
  const WaitingScan timed{.due = 0, .added = std::numeric_limits<std::int64_t>::max(), .atMost = 1};
  const Result<WaitingPage> first = driver_->waiting(timed);
  if (!first) return first.error();
  ScheduledStats stats{.waiting = counts->waiting,
                       .lateness = counts->lateness,
                       .atOnce = counts->atOnce,
                       .oldestAtOnce = counts->oldestAtOnce};
  if (!first->rows.empty()) stats.next = wallTimeOf(integerIn(first->rows.front(), waiting::due));
  return stats;
}

Result<void> ScheduledRows::list(const ScheduledFilter& filter, const std::function<bool(const NewMessage&)>& each) {
  if (const Result<void> connected = driver_->connect({}); !connected) return connected.error();
  WaitingScan scan{.due = -1, .atMost = waitingAPage};
  for (;;) {
    const Result<WaitingPage> page = driver_->waiting(scan);
    if (!page) return page.error();
    if (page->rows.empty()) return {};
    for (const Row& row : page->rows) {
      const Result<WaitingMessage> found = waitingFrom(row);
      if (!found) return found.error();
      if (filter.dueBefore && found->message.deliverAt >= filter.dueBefore) return {};
      if (isChosen(filter, found->message) && !each(found->message)) return {};
    }
    scan.due = integerIn(page->rows.back(), waiting::due);
    scan.added = page->added.back();
  }
}

Result<ScheduledRows::Rows> ScheduledRows::rowsOf(const MessageId& id) {
  if (const Result<void> connected = driver_->connect({}); !connected) return connected.error();
  const Row key = waitingKey(driver_->queue(), id);
  const std::array names{RowName{Table::waiting, key}, RowName{Table::fired, key}};
  Result<std::optional<storage::Rows>> found = driver_->read(names, nullptr);
  if (!found) return found.error();
  return Rows{std::move((**found)[0]), std::move((**found)[1])};
}

Result<std::optional<NewMessage>> ScheduledRows::find(const MessageId& id) {
  const Result<Rows> rows = rowsOf(id);
  if (!rows) return rows.error();
  if (!rows->waiting) return std::optional<NewMessage>{};
  const Result<WaitingMessage> found = waitingFrom(*rows->waiting);
  return found ? Result<std::optional<NewMessage>>(found->message) : found.error();
}

Result<ScheduleChange> ScheduledRows::change(const MessageId& id, const Change& change) {
  for (int tries = 0; tries < mostTries; ++tries) {
    const Result<Rows> rows = rowsOf(id);
    if (!rows) return rows.error();
    if (!rows->waiting) return changeWithout(rows->fired);
    WriteSet writes;
    change(*rows->waiting, writes);
    const Result<Committed> committed = driver_->commit({.writes = &writes});
    if (!committed) return committed.error();
    if (committed->outcome == Outcome::committed) return ScheduleChange::done;
  }
  return Error{Errc::storeBusy, "message \"" + id.value + "\" is changed by others all the time"};
}

Result<ScheduleChange> ScheduledRows::cancel(const MessageId& id) {
  return change(id, [&](const Row& row, WriteSet& writes) {
    writes.remove(Table::waiting, waitingKey(driver_->queue(), id), Expectation::has(waiting::due, row[waiting::due]));
  });
}

Result<ScheduleChange> ScheduledRows::reschedule(const MessageId& id, WallTime at) {
  if (const Result<void> connected = driver_->connect({}); !connected) return connected.error();
  const Result<WallTime> now = nowIn(*driver_, clock_);
  if (!now) return now.error();
  if (const Result<void> valid = checkTime({.id = id, .deliverAt = at}, *now); !valid) return valid.error();
  return change(id, [&](const Row& row, WriteSet& writes) {
    ToSchedule change = toReschedule(row, at, *now);
    writes.put(Table::waiting, std::move(change.row), std::move(change.expected));
  });
}

}  // namespace tenure::storage
