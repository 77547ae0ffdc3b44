/// What operators see of a user's table, and how a dead row of it comes to wait again.
#pragma once

#include <functional>
#include <span>

#include "backends/postgresql/outbox_shape.hpp"
#include "backends/shared/inspection.hpp"
#include "tenure/spi/admin.hpp"

namespace tenure::postgresql {

/// Adds the rows that wait, and tells the oldest of them. The connection's limit of a statement is the operator's.
Result<void> countOutbox(Connection& connection, const OutboxTable& table, QueueStats& stats);
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
