#include "storage/waiting_rows.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "messages/headers.hpp"
#include "messages/message_check.hpp"
#include "storage/records.hpp"

namespace tenure::storage {
namespace {

std::string named(const MessageId& id) { return "message \"" + escaped(id.value) + "\""; }

/// A time in the past means now: what is stored is when the message was sent. All past times count as the same.
std::int64_t dueOf(WallTime at, WallTime now) { return millisecondsOf(std::max(at, now)); }
bool isSameTime(std::int64_t stored, WallTime asked, WallTime now) {
  return wallTimeOf(stored) == asked || (wallTimeOf(stored) <= now && asked <= now);
}

bool isSame(const Row& there, const Row& ours, WallTime asked, WallTime now) {
  const bool isSameContent =
      std::ranges::all_of(std::array{waiting::group, waiting::body, waiting::headers, waiting::numbered},
                          [&](std::size_t place) { return there.at(place) == ours.at(place); });
  return isSameContent && isSameTime(integerIn(there, waiting::due), asked, now);
}

}  // namespace

Result<void> checkTime(const NewMessage& message, WallTime now) {
  if (!message.deliverAt) return {};
  if (*message.deliverAt > now + farthestDelivery)
    return Error{Errc::invalidArgument, named(message.id) + ": its time " + formatWallTime(*message.deliverAt) +
                                            " is more than ten years ahead"};
  if (std::ranges::count(message.headers, numberHeader, &Headers::value_type::first) > 0)
    return Error{Errc::invalidArgument, named(message.id) + ": one with a header \"" + std::string(numberHeader) +
                                            "\" has its turn already, and can have no time"};
  return {};
}

Result<WaitingMessage> waitingFrom(const Row& row) {
  WaitingMessage found;
  const std::string& headers = textIn(row, waiting::headers);
  Message read;
  messages::readSentHeaders(headers, read);
  if (!read.lacks.empty()) found.damagedHeaders = headers;
  found.message.headers = std::move(read.headers);
  found.message.id = MessageId{textIn(row, waiting::id)};
  found.message.group = GroupId{textIn(row, waiting::group)};
  found.message.body = textIn(row, waiting::body);
  if (const std::int64_t due = integerIn(row, waiting::due); due != 0) found.message.deliverAt = wallTimeOf(due);
  found.numbered = integerIn(row, waiting::numbered) != 0;
  return found;
}

Result<std::optional<ToSchedule>> toSchedule(std::string_view queue, const NewMessage& message, bool numbered,
                                             WallTime now, const std::optional<Row>& waiting,
                                             const std::optional<Row>& fired) {
  const WallTime asked = message.deliverAt.value();
  const auto headers = messages::headersTextOf(message);
  if (!headers) return headers.error();
  Row row = rowWith(std::string(queue), message.id.value, dueOf(asked, now), message.group.value, message.body,
                    headers->value_or(""), std::int64_t{numbered ? 1 : 0});
  if (!waiting && !fired) return ToSchedule{std::move(row), Expectation::absent()};
  if (!waiting) {
    const std::int64_t due = integerIn(*fired, fired::due);
    // Of a message with a time in the past, `due` is when it was sent: the same message again asks for an earlier time.
    if (millisecondsOf(asked) <= due) return std::optional<ToSchedule>{};
    return Error{Errc::alreadyDone, named(message.id) + " was due at " + formatWallTime(wallTimeOf(due)) +
                                        " and came to its queue at " +
                                        formatWallTime(wallTimeOf(integerIn(*fired, fired::at)))};
  }
  if (isSame(*waiting, row, asked, now)) return std::optional<ToSchedule>{};
  const std::int64_t due = integerIn(*waiting, waiting::due);
  if (message.replacesScheduled) return ToSchedule{std::move(row), Expectation::has(waiting::due, due)};
  const bool isOfSameTime = isSameTime(due, asked, now);
  return Error{Errc::alreadyScheduled, named(message.id) + " waits " +
                                           (due == 0 ? "to come at once" : "for " + formatWallTime(wallTimeOf(due))) +
                                           (isOfSameTime ? ", with other content" : "") + "; this one is for " +
                                           formatWallTime(asked)};
}

void schedule(ToSchedule change, WriteSet& writes) {
  const bool isNew = change.expected.of == Expectation::Of::absence;
  Row key = {change.row.at(waiting::queue), change.row.at(waiting::id)};
  writes.put(Table::waiting, std::move(change.row), std::move(change.expected));
  if (isNew) writes.expect(Table::fired, std::move(key), Expectation::absent());
}

WaitingPage inTurns(WaitingPage once, WaitingPage timed, std::size_t atMost) {
  WaitingPage both;
  const auto take = [&](WaitingPage& from, std::size_t place) {
    if (place >= from.rows.size() || both.rows.size() == atMost) return;
    both.rows.push_back(std::move(from.rows[place]));
    both.added.push_back(from.added[place]);
  };
  for (std::size_t place = 0; place < std::max(once.rows.size(), timed.rows.size()); ++place) {
    take(once, place);
    take(timed, place);
  }
  return both;
}

ToSchedule toReschedule(const Row& waiting, WallTime at, WallTime now) {
  ToSchedule change{waiting, Expectation::has(waiting::due, waiting.at(waiting::due))};
  change.row.at(waiting::due) = dueOf(at, now);
  return change;
}

}  // namespace tenure::storage
