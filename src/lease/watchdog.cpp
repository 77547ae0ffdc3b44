#include "lease/watchdog.hpp"

namespace tenure {

void Watchdog::begin(BootTime now, Duration limit, Duration grace) noexcept {
  progress_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  grace_.store(grace.count(), std::memory_order_relaxed);
  limit_.store(limit.count(), std::memory_order_release);
}

void Watchdog::feed(BootTime now) noexcept {
  if (feeding_.load(std::memory_order_acquire))
    progress_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
}

BootTime Watchdog::softLimit() const noexcept {
  const Duration::rep limit = limit_.load(std::memory_order_acquire);
  return limit == none ? BootTime::max() : lastProgress() + Duration{limit};
}

BootTime Watchdog::hardLimit() const noexcept {
  const BootTime soft = softLimit();
  return soft == BootTime::max() ? soft : soft + Duration{grace_.load(std::memory_order_relaxed)};
}

}  // namespace tenure
