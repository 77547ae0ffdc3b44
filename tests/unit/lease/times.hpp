/// A moment to count from: nothing of this room knows which time it is.
#pragma once

#include "tenure/values.hpp"

namespace tenure {

inline constexpr BootTime t0{std::chrono::hours{1}};

}  // namespace tenure
