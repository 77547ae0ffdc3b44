#include "base/backoff.hpp"

#include <algorithm>

namespace tenure {

std::chrono::milliseconds Backoff::draw(int failures) noexcept {
  const int doublings = std::clamp(failures - 1, 0, 30);
  const bool isPast = base_.count() > max_.count() >> doublings;  // to double it first might overflow
  const auto bound = isPast ? max_.count() : base_.count() << doublings;
  return std::chrono::milliseconds{random_.below(static_cast<std::uint64_t>(bound) + 1)};
}

}  // namespace tenure
