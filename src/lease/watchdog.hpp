/// Progress feeds the lease. The session proves that the process can be reached, progress that its work goes on: the
/// client pings for a handler that hangs as it does for one that works.
///
///      began, or last progress ──── limit: begin no new work ──── + grace: the term is no longer valid
///
/// A thread that wakes up after a hang learns it from the clock, even before the control thread has ended the term.
/// Between phases no work can hang.
///
/// The control thread begins and ends, progress comes from any thread, the clock is read on each question.
#pragma once

#include <atomic>

#include "tenure/values.hpp"

namespace tenure {

class Watchdog {
 public:
  /// A phase begins.
  void begin(BootTime now, Duration limit, Duration grace) noexcept;
  /// The phase has ended.
  void end() noexcept { limit_.store(none, std::memory_order_release); }
  /// The term is ending: from now on a phase has the time it was given, whatever it reports.
  void starve() noexcept { feeding_.store(false, std::memory_order_release); }
  /// Progress.
  void feed(BootTime now) noexcept;

  bool mayBeginWork(BootTime now) const noexcept { return now < softLimit(); }
  bool valid(BootTime now) const noexcept { return now < hardLimit(); }
  BootTime softLimit() const noexcept;
  BootTime hardLimit() const noexcept;
  BootTime lastProgress() const noexcept { return BootTime{Duration{progress_.load(std::memory_order_relaxed)}}; }

 private:
  static constexpr Duration::rep none = -1;

  std::atomic<Duration::rep> progress_{0};
  std::atomic<Duration::rep> grace_{0};
  std::atomic<Duration::rep> limit_{none};  // written last and read first: it brings the others with it
  std::atomic<bool> feeding_{true};
};

}  // namespace tenure
