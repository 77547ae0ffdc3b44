/// Times as Redis has them: milliseconds since 1970, in digits. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/text.hpp"
#include "tenure/values.hpp"

namespace tenure::redis {

inline std::string timeText(WallTime at) { return std::to_string(at.time_since_epoch().count()); }
/// 1970 for what is no number.
inline WallTime timeFrom(std::string_view text) noexcept {
  return WallTime{std::chrono::milliseconds{parseInteger(text).value_or(0)}};
}

}  // namespace tenure::redis
