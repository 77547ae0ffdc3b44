/// The ZooKeeper C client (single-threaded build) behind ICoordination, driven by its descriptor on an Asio loop.
#pragma once

#include <memory>

#include "base/asio_loop.hpp"
#include "coordination/coordination.hpp"
#include "tenure/candidate.hpp"

namespace tenure {

/// Refuses a host list it cannot parse with configurationRefused.
Result<std::unique_ptr<ICoordination>> makeZooKeeper(AsioLoop& loop, const ZooKeeperOptions& options);

}  // namespace tenure
