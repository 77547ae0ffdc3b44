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

/// What there is of a queue's.
struct ScheduledStats {
  std::int64_t waiting = 0;
  std::optional<WallTime> next{};  // the first time
  /// By how much the latest of the last thousand came to the queue too late, in the last five minutes; nullopt: none
  /// came.
  std::optional<std::chrono::milliseconds> lateness{};
};

/// Of one queue. What is changed is not fenced, and is exclusive with the leader: a message comes to its queue, is
/// cancelled or gets another time, and whoever comes second is told.
///
/// Errors of all:  notFound (there is no such place), storeBusy, storeFailed, unavailable, configurationRefused
/// Threads: one at a time.
class ScheduledMessages {
 public:
  virtual ~ScheduledMessages() = default;

  virtual Result<ScheduledStats> stats() = 0;
  /// Hands out those that are asked for in the order in which they come to the queue, each with its deliverAt, until
  /// `each` wants no more. Reads them page by page: what is added or changed meanwhile may be there or not.
  virtual Result<void> list(const ScheduledFilter& filter, const std::function<bool(const NewMessage&)>& each) = 0;
  /// Nullopt: none waits under that id.
  virtual Result<std::optional<NewMessage>> find(const MessageId& id) = 0;
  virtual Result<ScheduleChange> cancel(const MessageId& id) = 0;
  /// A time in the past means now. Errors: invalidArgument  more than ten years ahead
  virtual Result<ScheduleChange> reschedule(const MessageId& id, WallTime at) = 0;
  /// Now, by the clock of the queue's store.
  Result<ScheduleChange> runNow(const MessageId& id) { return reschedule(id, WallTime{}); }
};

}  // namespace tenure
