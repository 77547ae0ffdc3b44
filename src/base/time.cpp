#include "tenure/time.hpp"

#include <ctime>

namespace tenure {

BootTime BootClock::now() noexcept {
  timespec at{};
  clock_gettime(CLOCK_BOOTTIME, &at);
  return BootTime{std::chrono::seconds{at.tv_sec} + std::chrono::nanoseconds{at.tv_nsec}};
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
