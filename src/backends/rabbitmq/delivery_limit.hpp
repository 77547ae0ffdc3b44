/// How often a quorum queue delivers a message before it drops it, or makes a dead letter of it. Each change of leaders
/// delivers anew, so that a small limit loses sound messages. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "backends/rabbitmq/connection.hpp"

namespace tenure::rabbitmq {

inline constexpr const char* deliveryLimitArgument = "x-delivery-limit";
/// What leaders that come and go do not use up.
inline constexpr std::int64_t fewestDeliveries = 100;
/// No limit, from RabbitMQ 4 on, where nothing declared means 20. Before, nothing means none, and every return is more
/// than -1.
inline constexpr std::int64_t noDeliveryLimit = -1;

/// As the queue was declared.
struct DeliveryLimit {
  bool told = true;
  std::optional<QueueArgument> declared{};
};

/// Whether this version knows noDeliveryLimit. True also for a version that cannot be parsed.
bool knowsNoDeliveryLimit(std::string_view serverVersion) noexcept;

/// Why no leader may consume there, with the command that mends it; empty when it may.
std::string dangerOf(const DeliveryLimit& limit, std::string_view serverVersion, const Options& options);

}  // namespace tenure::rabbitmq
