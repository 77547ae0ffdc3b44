/// What operators see of a queue at a glance.
#pragma once

#include "backends/sqlite/fence_rows.hpp"
#include "tenure/spi/admin.hpp"

namespace tenure::sqlite {

/// Where the connection's limit of a look ends the counting, the places that are taken stand for the messages.
Result<QueueStats> statsOf(Connection& connection, const Queue& queue);

}  // namespace tenure::sqlite
