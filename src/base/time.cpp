#include <condition_variable>
#include <ctime>
#include <mutex>

#include "tenure/values.hpp"

namespace tenure {

BootTime BootClock::now() noexcept {
  timespec at{};
  clock_gettime(CLOCK_BOOTTIME, &at);
  return BootTime{std::chrono::seconds{at.tv_sec} + std::chrono::nanoseconds{at.tv_nsec}};
}

void IClock::waitUntil(BootTime deadline, const std::stop_token& stop) const {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any stopped;
  // A suspended machine makes the wait longer by as much: for exact limits, read the clock afterwards.
  stopped.wait_for(lock, stop, deadline - now(), [] { return false; });
}

const IClock& systemClock() noexcept {
  class SystemClock final : public IClock {
   public:
    BootTime now() const noexcept override { return BootClock::now(); }
    WallTime wallNow() const noexcept override {
      return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
    }
  };
  static const SystemClock clock;
  return clock;
}

}  // namespace tenure
