/// Times and ids as text. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenure/message.hpp"

namespace tenure::backends {

/// Milliseconds since 1970.
std::string timeText(WallTime at);
/// 1970 for what is no number.
WallTime timeFrom(std::string_view text) noexcept;

/// Each followed by a NUL, which no id holds.
std::vector<MessageId> splitIds(std::string_view joined);

}  // namespace tenure::backends
