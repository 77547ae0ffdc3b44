/// What operators see of a queue at a glance.
#pragma once

#include <string>
#include <vector>

#include "backends/sqlite/fence_rows.hpp"
#include "tenure/spi/admin.hpp"
#include "tenure/sqlite.hpp"

namespace tenure::sqlite {

/// Where the connection's limit of a look ends the counting, the places that are taken stand for the messages.
Result<QueueStats> statsOf(Connection& connection, const Queue& queue);
/// The same for IQueueAdmin::glance.
Result<QueueStats> glanceAt(Connection& connection, const Queue& queue);

/// As places::Backend::queueNames.
Result<std::vector<std::string>> queueNames(const Options& options, bool onlyUnread);

}  // namespace tenure::sqlite
