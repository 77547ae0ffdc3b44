/// Messages that wait for their time, for programs outside of a handler: look at them, take them back, give them
/// another time. A sink adds them (NewMessage::deliverAt); a handler has the same in its Transaction.
///
///     const auto shop = tenure::open("sqlite:shop.db?queue=orders", {tenure::sqlite::component()}).value();
///     const auto scheduled = shop->scheduled().value();
///     if (scheduled->cancel(MessageId{"o-1-timeout"}).value() == ScheduleChange::fired) …
#pragma once

#include <functional>
#include <optional>

#include "tenure/transaction.hpp"

namespace tenure {

struct ScheduledFilter {
  std::optional<GroupId> group{};
  std::optional<WallTime> dueBefore{};
};

/// How many messages of a queue wait, and for when.
struct ScheduledStats {
  std::int64_t waiting = 0;
  std::optional<WallTime> next{};  // when the next one comes to the queue
  /// The greatest lateness of those that came to the queue in the last five minutes, of a thousand at most; nullopt:
  /// none came.
  std::optional<std::chrono::milliseconds> lateness{};
  /// How many messages without a time other programs' transactions have sent that the leader has not brought to the
  /// queue yet, and when the oldest of them was sent.
  std::int64_t atOnce = 0;
  std::optional<WallTime> oldestAtOnce{};
};

/// The messages of one queue that wait for their time. Changes need no fence: a message is delivered, cancelled or
/// rescheduled, whichever commits first, and a change that comes too late is told so.
///
/// Errors of all:  notFound (there is no such place), storeBusy, storeFailed, unavailable, configurationRefused
/// Threads: one at a time.
class ScheduledMessages {
 public:
  virtual ~ScheduledMessages() = default;

  virtual Result<ScheduledStats> stats() = 0;
  /// As stats(), for those who ask again and again: it counts up to 10,001 messages with a time, and as many without.
  virtual Result<ScheduledStats> glance() = 0;
  /// Calls `each` with every message that the filter chooses, in the order in which they will come to the queue, until
  /// it returns false. A message without a deliverAt was sent by another program, for at once. Messages are read
  /// page by page: a message that is changed meanwhile may be missed.
  virtual Result<void> list(const ScheduledFilter& filter, const std::function<bool(const NewMessage&)>& each) = 0;
  /// Nullopt: no message waits under that id.
  virtual Result<std::optional<NewMessage>> find(const MessageId& id) = 0;
  virtual Result<ScheduleChange> cancel(const MessageId& id) = 0;
  /// A time in the past means now. Errors: invalidArgument  more than ten years ahead
  virtual Result<ScheduleChange> reschedule(const MessageId& id, WallTime at) = 0;
  /// The message comes to the queue at once, behind those that are due already.
  Result<ScheduleChange> runNow(const MessageId& id) { return reschedule(id, WallTime{}); }
};

}  // namespace tenure
