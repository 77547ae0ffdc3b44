/// Lease arithmetic: until when may a leader believe in itself?
///
/// A probe is a quorum write that fails when our znode is gone. A committed probe proves that we led at the moment it
/// was SENT; the reply's own time proves nothing. With a session timeout of T, the ensemble cannot have dropped a
/// session that touches it often enough (session_touches.hpp) before send + T/2 (worst case measured: 0.94 T), so:
///
///      sent ──────────── T/3 soft: begin no new work ──── T/2 hard: leadership is lost
///
/// One writer (the control thread), any readers; the clock is read on each question, no timer sets a flag.
#pragma once

#include <atomic>
#include <chrono>

#include "tenure/values.hpp"

namespace tenure {

class Lease {
 public:
  /// Nothing is valid before the first confirm().
  explicit Lease(Duration sessionTimeout) noexcept : timeout_(sessionTimeout.count()) {}

  /// A probe was committed that was sent at `from` or later. Never moves backwards, never revives an ended lease.
  void confirm(BootTime from) noexcept;
  /// Hard loss now, whatever the clock says; final.
  void end() noexcept { ended_.store(true, std::memory_order_release); }

  bool valid(BootTime now) const noexcept { return now < hardLimit(); }
  bool mayBeginWork(BootTime now) const noexcept { return now < softLimit(); }
  BootTime softLimit() const noexcept { return limit(3); }
  BootTime hardLimit() const noexcept { return limit(2); }
  BootTime confirmedAt() const noexcept;
  Duration timeout() const noexcept { return Duration{timeout_.load(std::memory_order_relaxed)}; }
  /// A reconnect may have negotiated another timeout; only a shorter one changes a lease that is already running.
  void shorten(Duration sessionTimeout) noexcept;
  /// A probe is due this long after the last one was sent.
  Duration probeInterval() const noexcept { return timeout() / 6; }

 private:
  BootTime limit(int fraction) const noexcept;

  std::atomic<Duration::rep> timeout_;
  std::atomic<Duration::rep> confirmed_{0};
  std::atomic<bool> ended_{false};
};

}  // namespace tenure
