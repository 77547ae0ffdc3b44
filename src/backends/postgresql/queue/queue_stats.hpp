/// What operators see of a queue at a glance.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "backends/postgresql/rows/fence_rows.hpp"
#include "tenure/postgresql.hpp"
#include "tenure/spi/admin.hpp"

namespace tenure::postgresql {

/// `table`: of the user's, in which the queue's messages are. Where the counting takes longer than `limit`, the places
/// that are taken stand for the messages. The connection is the operator's own, and keeps a limit for its statements.
Result<QueueStats> statsOf(Connection& connection, const Queue& queue, std::chrono::milliseconds limit,
                           const std::optional<OutboxTable>& table = {});
/// The same for IQueueAdmin::glance.
Result<QueueStats> glanceAt(Connection& connection, const Queue& queue, std::chrono::milliseconds limit,
                            const std::optional<OutboxTable>& table);

/// As places::Backend::queueNames.
Result<std::vector<std::string>> queueNames(const Options& options, bool onlyUnread);

}  // namespace tenure::postgresql
