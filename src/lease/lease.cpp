#include "lease/lease.hpp"

namespace tenure {

void Lease::confirm(BootTime from) noexcept {
  const Duration::rep since = from.time_since_epoch().count();
  if (since > confirmed_.load(std::memory_order_relaxed)) confirmed_.store(since, std::memory_order_release);
}

void Lease::shorten(Duration sessionTimeout) noexcept {
  if (sessionTimeout < timeout()) timeout_.store(sessionTimeout.count(), std::memory_order_release);
}

BootTime Lease::confirmedAt() const noexcept { return BootTime{Duration{confirmed_.load(std::memory_order_acquire)}}; }

BootTime Lease::limit(int fraction) const noexcept {
  const BootTime confirmed = confirmedAt();
  // Before the first probe and after the end there is no time at which anything would be valid.
  if (ended_.load(std::memory_order_acquire) || confirmed == BootTime{}) return BootTime::min();
  return confirmed + timeout() / fraction;
}

}  // namespace tenure
