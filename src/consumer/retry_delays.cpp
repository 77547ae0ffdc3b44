#include "consumer/retry_delays.hpp"

#include <algorithm>

#include "base/backoff.hpp"

namespace tenure::consuming {

std::chrono::milliseconds RetryDelays::after(int failures) noexcept {
  if (const auto& delays = options_.retryDelays; !delays.empty())
    return delays[std::min(static_cast<std::size_t>(std::max(failures - 1, 0)), delays.size() - 1)];
  const std::chrono::milliseconds bound = doubled(options_.retryBase, options_.retryMax, failures);
  const auto jitter = random_.below(static_cast<std::uint64_t>(bound.count() / 2) + 1);
  return bound - std::chrono::milliseconds{jitter};
}

std::chrono::milliseconds longestRetryDelay(const ConsumerOptions& options) noexcept {
  const auto& delays = options.retryDelays;
  return delays.empty() ? options.retryMax : *std::max_element(delays.begin(), delays.end());
}

}  // namespace tenure::consuming
