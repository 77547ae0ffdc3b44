#include "base/backoff.hpp"

#include <algorithm>

namespace tenure {

std::chrono::milliseconds doubled(std::chrono::milliseconds base, std::chrono::milliseconds max,
                                  int failures) noexcept {
  const int doublings = std::clamp(failures - 1, 0, 30);
  const bool isPast = base.count() > max.count() >> doublings;  // to double it first might overflow
  return isPast ? max : base * (std::int64_t{1} << doublings);
}

std::chrono::milliseconds Backoff::draw(int failures) noexcept {
  const std::chrono::milliseconds bound = doubled(base_, max_, failures);
  return std::chrono::milliseconds{random_.below(static_cast<std::uint64_t>(bound.count()) + 1)};
}

}  // namespace tenure
