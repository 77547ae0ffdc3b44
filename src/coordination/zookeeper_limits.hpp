/// What is checked before the C client sees it: host list, digest, paths, sizes. Pure. Private to the room.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordination/coordination.hpp"
#include "tenure/candidate.hpp"

namespace tenure::zookeeper {

/// The servers' default jute.maxbuffer; a longer packet makes them cut the connection.
constexpr std::size_t maxPacket = 0xfffff;

/// Refuses with configurationRefused; the detail names the value and says what is expected.
Result<void> checkOptions(const ZooKeeperOptions& options);

/// The first host of a checked list that is not on this machine.
std::optional<std::string> reachedInClear(std::string_view hosts);

/// A checked host list as the C client reads it: it splits at the last colon and wants no brackets.
std::string clientHosts(std::string hosts);

/// The server's own rule. The C client's check comes too late inside a multi.
Result<void> checkPath(std::string_view path, CreateMode mode = CreateMode::persistent);

/// payloadTooLarge when the packet for it could be longer than the servers accept.
Result<void> checkSize(std::string_view path, std::string_view data);
/// Paths and sizes of all parts.
Result<void> checkOps(const std::vector<MultiOp>& ops);

}  // namespace tenure::zookeeper
