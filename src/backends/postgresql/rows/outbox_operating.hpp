/// What operators see of a user's table, and how a dead row of it comes to wait again.
#pragma once

#include <functional>
#include <span>

#include "backends/postgresql/rows/outbox_rows.hpp"
#include "backends/shared/inspection.hpp"
#include "tenure/spi/admin.hpp"

namespace tenure::postgresql {

/// Counts the rows of a user's table that wait. The caller limits how long a statement of the connection may take.
class OutboxCounts {
 public:
  static Result<OutboxCounts> of(Connection& connection, const OutboxTable& table);

  /// All of them and their bytes. Errors: timedOut
  Result<void> addAll(QueueStats& stats) const;
  /// Up to storage::mostAtAGlance; where more wait, as addEstimate. Errors: timedOut
  Result<void> addSome(QueueStats& stats) const;
  /// As many rows as PostgreSQL believes the whole table to have.
  Result<void> addEstimate(QueueStats& stats, std::int64_t atLeast = 0) const;
  /// Whether any row waits, and since when the oldest does.
  Result<bool> addOldest(QueueStats& stats) const;

 private:
  OutboxCounts(Connection& connection, OutboxShape shape) : connection_(connection), rows_(std::move(shape)) {}
  Result<Answer> ask(Command command) const;

  Connection& connection_;
  OutboxRows rows_;
};
/// As IQueueAdmin::peek; rows whose time is still to come are not shown.
Result<void> peekOutbox(Connection& connection, const OutboxTable& table, std::size_t limit,
                        const std::function<void(const Message&)>& each);
Result<void> lookAtOutbox(Connection& connection, const OutboxTable& table, backends::Inspection& found);

/// The dead rows of these messages wait again, without their numbers, whose turn is past: a column that takes no NULL,
/// or that this user may not write, keeps them. Those rows that are not there are inserted with the mapped columns. It
/// fails where one can be neither: a row of that id is there and not dead, or a column wants a value that no letter
/// has.
Command putBack(const OutboxShape& shape, std::span<const SentMessage> messages);

}  // namespace tenure::postgresql
