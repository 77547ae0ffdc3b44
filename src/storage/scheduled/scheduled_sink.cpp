#include "storage/scheduled/scheduled_sink.hpp"

#include <algorithm>

#include "messages/message_check.hpp"
#include "storage/waiting_rows.hpp"

namespace tenure::storage {
namespace {

/// After so many conflicts the sender is told that the store is busy.
constexpr int mostConflicts = 16;

}  // namespace

Result<void> ScheduledSink::append(std::span<const NewMessage> messages) {
  if (std::ranges::none_of(messages, hasTime)) return direct_->append(messages);
  if (const Result<void> checked = check(messages); !checked) return checked;
  if (const Result<void> made = direct_->append({}); !made) return made;  // the queue itself
  if (const Result<void> connected = driver_->connect({}); !connected) return connected;
  for (int conflicts = 0; conflicts < mostConflicts; ++conflicts) {
    const auto leftOut = tryToAppend(messages);
    if (!leftOut) return leftOut.error();
    if (!*leftOut) continue;
    leftOut_ += **leftOut;
    return {};
  }
  return Error{Errc::storeBusy, "others send messages under the same ids all the time"};
}

Result<void> ScheduledSink::check(std::span<const NewMessage> messages) const {
  const WallTime now = clock_.wallNow();
  for (const NewMessage& message : messages) {
    if (Result<void> valid = messages::checkMessage(message, driver_->limits().numbersMessages); !valid) return valid;
    if (Result<void> valid = checkTime(message, now); !valid) return valid;
    if (const auto text = messages::headersTextOf(message); !text) return text.error();
  }
  return {};
}

/// For each message that has a time, the two rows under its id: that of Table::waiting, then that of Table::fired.
Result<Rows> ScheduledSink::readBeside(std::span<const NewMessage> messages) {
  std::vector<RowName> names;
  for (const NewMessage& message : messages) {
    if (!hasTime(message)) continue;
    names.push_back({Table::waiting, waitingKey(driver_->queue(), message.id)});
    names.push_back({Table::fired, names.back().key});
  }
  Result<std::optional<Rows>> rows = driver_->read(names, nullptr);
  if (!rows) return rows.error();
  return **std::move(rows);
}

Result<std::optional<std::int64_t>> ScheduledSink::tryToAppend(std::span<const NewMessage> messages) {
  const Result<Rows> found = readBeside(messages);
  if (!found) return found.error();
  const Result<WallTime> now = nowIn(*driver_, clock_);
  if (!now) return now.error();
  WriteSet writes;
  std::int64_t leftOut = 0;
  for (std::size_t place = 0; const NewMessage& message : messages) {
    if (!hasTime(message)) {
      writes.enqueue(message);
      continue;
    }
    const std::optional<Row>& there = (*found)[place++];
    const std::optional<Row>& fired = (*found)[place++];
    const Write* own = writes.find(nameOf(Table::waiting, waitingKey(driver_->queue(), message.id)));
    auto change = toSchedule(driver_->queue(), message, driver_->limits().numbersMessages, *now,
                             own != nullptr ? std::optional(own->row) : there, fired);
    if (!change) return change.error();
    if (*change)
      schedule(**std::move(change), writes);
    else
      ++leftOut;
  }
  if (writes.isEmpty()) return leftOut;
  const Result<Committed> committed = driver_->commit({.writes = &writes, .isProducers = true});
  if (!committed) return committed.error();
  return committed->outcome == Outcome::committed ? std::optional(leftOut) : std::nullopt;
}

}  // namespace tenure::storage
