/// Two clocks, never a bare number: BootTime for "until when may I act", WallTime for "when is it due".
#pragma once

#include <chrono>
#include <stop_token>

namespace tenure {

using Duration = std::chrono::nanoseconds;

/// CLOCK_BOOTTIME: goes on while the machine is suspended, never steps. The lease is measured with it.
struct BootClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
  static time_point now() noexcept;
};
using BootTime = BootClock::time_point;

/// Milliseconds since 1970 by the machine's calendar clock; it may step. Only for records and due times.
using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds>;

/// The seam through which everything that has time reads it. Threads: any.
class IClock {
 public:
  virtual ~IClock() = default;
  virtual BootTime now() const noexcept = 0;
  virtual WallTime wallNow() const noexcept = 0;
  /// Blocks the calling thread until `deadline` or a requested stop, whichever is first. Virtual time moves on instead.
  virtual void waitUntil(BootTime deadline, const std::stop_token& stop) const;
};

/// The machine's own clocks.
const IClock& systemClock() noexcept;

}  // namespace tenure
