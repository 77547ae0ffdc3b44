/// The ZooKeeper C client (single-threaded build) behind ICoordination, driven by its descriptor on an Asio loop.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/asio_loop.hpp"
#include "coordination/coordination.hpp"
#include "tenure/candidate.hpp"

namespace tenure {

/// Refuses a host list it cannot parse with configurationRefused.
///   left   speaks for that session and never begins one of its own: when it is over, that is fatal (sessionExpired).
///          Two that speak for one session throw each other out, so its owner must be dead.
Result<std::unique_ptr<ICoordination>> makeZooKeeper(AsioLoop& loop, const ZooKeeperOptions& options,
                                                     std::optional<LeftSession> left = {});

/// The first host to which the digest would be sent so that it could be read on its way; nullopt when it stays on this
/// machine, or there is none.
std::optional<std::string> digestTravelsInClear(const ZooKeeperOptions& options);

}  // namespace tenure
