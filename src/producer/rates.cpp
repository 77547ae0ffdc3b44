#include "producer/rates.hpp"

#include <algorithm>

namespace tenure::producing {

void Rate::roll(BootTime now) noexcept {
  const std::int64_t second = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  if (first_ == 0) first_ = second_ = second;
  for (std::int64_t passed = std::max(second_ + 1, second - window); passed <= second; ++passed)
    seconds_[index(passed)] = 0;
  second_ = std::max(second_, second);
}

double Rate::perSecond(BootTime now) noexcept {
  roll(now);
  const std::int64_t full = std::min(second_ - first_, window);
  if (full == 0) return static_cast<double>(seconds_[index(second_)]);
  double all = 0;
  for (std::int64_t back = 1; back <= full; ++back) all += static_cast<double>(seconds_[index(second_ - back)]);
  return all / static_cast<double>(full);
}

std::optional<std::chrono::seconds> timeToFill(double room, double coming, double going) noexcept {
  constexpr double longest = 365.0 * 24 * 3600;
  if (coming <= going) return std::nullopt;
  return std::chrono::seconds(static_cast<std::int64_t>(std::clamp(room / (coming - going), 0.0, longest)));
}

}  // namespace tenure::producing
