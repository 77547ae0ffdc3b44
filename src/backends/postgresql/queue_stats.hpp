/// What operators see of a queue at a glance.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "backends/postgresql/fence_rows.hpp"
#include "tenure/postgresql.hpp"
#include "tenure/spi/admin.hpp"

namespace tenure::postgresql {

/// Where the counting takes longer than `limit`, the places that are taken stand for the messages. The connection is
/// the operator's own, and keeps that limit.
Result<QueueStats> statsOf(Connection& connection, const Queue& queue, std::chrono::milliseconds limit);

/// Every queue of the place, and every name that messages wait for. Errors: those of IQueueAdmin::stats() but notFound.
Result<std::vector<std::string>> queueNames(const Options& options);

}  // namespace tenure::postgresql
