/// ILoop in virtual time: nothing happens until a test says so, and then in one order only.
///
/// Posted tasks run first in, first out; timers run at their own time, equal times in the order they were set. A task
/// sees now() stand still. Seeded simulation runs on it as well as unit tests.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "base/loop.hpp"

namespace tenure::test {

/// Threads: now(), wallNow() and post() any, as ILoop promises; everything else the test's own.
class ManualLoop final : public ILoop {
 public:
  explicit ManualLoop(BootTime start = BootTime{std::chrono::hours{1}}) : now_(start.time_since_epoch().count()) {}

  BootTime now() const noexcept override { return BootTime{Duration{now_.load()}}; }
  WallTime wallNow() const noexcept override;
  void post(Task task) override;
  TimerId after(Duration delay, Task task) override;
  void cancel(TimerId timer) noexcept override;

  /// Runs what is due now, and what that makes due, without moving time.
  void runDue();
  /// Moves time on by `duration`, running every timer on the way at its own time.
  void advance(Duration duration);
  /// Moves time from timer to timer until `condition` holds; false when `limit` passes, or nothing is left, before.
  bool advanceUntil(const std::function<bool()>& condition, Duration limit = std::chrono::minutes{5});
  /// Moves time from timer to timer until nothing is left. False when something still is after `limit`: a timer that
  /// sets itself anew never ends.
  bool runUntilIdle(Duration limit = std::chrono::minutes{5});

  /// The machine sleeps: both clocks go on, nothing runs; what came due meanwhile runs at the next call, late.
  void suspend(Duration duration) noexcept { now_ += duration.count(); }
  /// Somebody sets the calendar clock. BootTime stays.
  void stepWallClock(std::chrono::milliseconds by) noexcept { wallStep_ += by.count(); }

  bool idle() const noexcept;
  std::size_t timers() const noexcept { return timers_.size(); }

 private:
  using Due = std::pair<BootTime, TimerId>;

  bool runOne(BootTime until);
  Task takePosted();

  std::atomic<Duration::rep> now_;
  std::atomic<std::chrono::milliseconds::rep> wallStep_{0};
  mutable std::mutex mutex_;
  std::deque<Task> posted_;  // guarded by mutex_
  std::map<Due, Task> timers_;
  std::map<TimerId, BootTime> dueOf_;
  TimerId lastTimer_ = 0;
};

}  // namespace tenure::test
