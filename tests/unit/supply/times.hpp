/// Nows to count from.
#pragma once

#include "tenure/values.hpp"

namespace tenure::supply {

inline constexpr WallTime morning{std::chrono::milliseconds{1'700'000'000'000}};
inline constexpr BootTime start{std::chrono::hours{1}};

}  // namespace tenure::supply
