/// Is a message from a foreign source within the limits that every queue of ours keeps?
#pragma once

#include <string_view>

#include "tenure/message.hpp"

namespace tenure::consuming {

/// Bytes of an attempt's reason that are kept and told; the rest is cut.
inline constexpr std::size_t longestReason = 4096;

bool isWithinLimits(const MessageId& id) noexcept;
/// Why it cannot be consumed; empty when it can. The body may be any bytes. It may point into the message.
std::string_view brokenLimit(const Message& message) noexcept;

}  // namespace tenure::consuming
