#include "consumer/retry_delays.hpp"

#include <algorithm>

namespace tenure::consuming {

std::chrono::milliseconds RetryDelays::after(int failures) noexcept {
  const int before = std::max(failures - 1, 0);
  if (const auto& delays = options_.retryDelays; !delays.empty())
    return delays[std::min(static_cast<std::size_t>(before), delays.size() - 1)];
  const int doublings = std::min(before, 30);
  const bool isPast = options_.retryBase.count() > options_.retryMax.count() >> doublings;  // doubled, it may overflow
  const auto bound = isPast ? options_.retryMax.count() : options_.retryBase.count() << doublings;
  const auto jitter = static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(bound / 2) + 1));
  return std::chrono::milliseconds{bound - jitter};
}

std::chrono::milliseconds longestRetryDelay(const ConsumerOptions& options) noexcept {
  const auto& delays = options.retryDelays;
  return delays.empty() ? options.retryMax : *std::max_element(delays.begin(), delays.end());
}

}  // namespace tenure::consuming
