/// Messages that wait for their time, as rows (tables.hpp): what a sender adds, and what cancelling and rescheduling
/// do. Pure: each is decided from the rows that are there, and written where they are still the same.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "storage/driver.hpp"
#include "storage/write_set.hpp"
#include "tenure/message.hpp"
#include "tenure/transaction.hpp"

namespace tenure::storage {

inline bool hasTime(const NewMessage& message) noexcept { return message.deliverAt.has_value(); }
inline Row waitingKey(std::string_view queue, const MessageId& id) { return {std::string(queue), id.value}; }

/// Errors:  invalidArgument  more than ten years ahead of `now`, or it has a number already
Result<void> checkTime(const NewMessage& message, WallTime now);

/// A message that waits, and whether it gets a number when it comes to its queue.
struct WaitingMessage {
  NewMessage message;
  bool numbered = false;
  std::string damagedHeaders{};  // their text, where they cannot be read; it comes to the queue as it is

  bool getsNumber() const noexcept { return numbered && damagedHeaders.empty(); }
};
/// By the ids of their messages.
using DamagedHeaders = std::unordered_map<MessageId, std::string>;
/// Errors: storeFailed.
Result<WaitingMessage> waitingFrom(const Row& row);

/// The row to write for a message with a time, and what must be in the store for that. Nullopt: the very same message
/// waits already, or has come to its queue. `waiting`, `fired`: the rows under its id, as they were read.
///
/// Errors:  alreadyScheduled, alreadyDone  see IMessageSink::append
///          invalidArgument                a header is not UTF-8
struct ToSchedule {
  Row row;
  Expectation expected;
};
Result<std::optional<ToSchedule>> toSchedule(std::string_view queue, const NewMessage& message, bool numbered,
                                             WallTime now, const std::optional<Row>& waiting,
                                             const std::optional<Row>& fired);

/// Adds the row to the writes. That a new message has not come to its queue is expected after its row is written: from
/// then on no other transaction can bring a message of this id there.
void schedule(ToSchedule change, WriteSet& writes);

/// The row of a message that waits, with another time.
ToSchedule toReschedule(const Row& waiting, WallTime at, WallTime now);
/// Messages without a time and those that are due, in turns, so that neither kind starves; the order of each stays.
WaitingPage inTurns(WaitingPage once, WaitingPage timed, std::size_t atMost);
/// SQL: the names that messages wait for, as room(name), with a NULL among them. Each is found by one search of the
/// index, however many messages it has.
inline constexpr std::string_view withRooms =
    "WITH RECURSIVE room(name) AS (SELECT min(queue) FROM tenure_waiting UNION ALL"
    " SELECT (SELECT min(queue) FROM tenure_waiting WHERE queue > name) FROM room WHERE name IS NOT NULL)";
/// SQL, after `withRooms`: those that no leader has read yet, with the time at which their first message was sent.
inline constexpr std::string_view unreadRooms =
    " SELECT name, (SELECT sent_at FROM tenure_waiting WHERE queue = name ORDER BY due, added LIMIT 1) FROM room"
    " WHERE name IS NOT NULL AND NOT EXISTS (SELECT 1 FROM tenure_reader WHERE queue = name) LIMIT 100";
/// SQL, after `withRooms`: every queue of the place, consumed or not.
inline constexpr std::string_view queueNames =
    " SELECT name FROM room WHERE name IS NOT NULL UNION SELECT name FROM tenure_queue WHERE NOT elsewhere ORDER BY 1";
/// SQL that answers with these names.
inline std::string namesSql(bool onlyUnread) {
  return std::string(withRooms) + std::string(onlyUnread ? unreadRooms : queueNames);
}
/// The error of a term that is not the reader of the queue any more.
inline Error newerReader(std::string_view queue) {
  return {Errc::staleTerm, "queue \"" + std::string(queue) + "\" is read by a newer term"};
}
/// The error of a term whose queue went back to a backup: its last position, or its reader's term, is an older one.
inline Error wentBack(std::string_view queue) {
  return {Errc::placeReplaced, "queue \"" + std::string(queue) + "\" is not the one that this term has read so far"};
}
/// The answer where no message waits under the id.
inline ScheduleChange changeWithout(const std::optional<Row>& fired) {
  return fired ? ScheduleChange::fired : ScheduleChange::unknown;
}

}  // namespace tenure::storage
