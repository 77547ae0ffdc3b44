/// The control thread of one simulated process: its clocks, its timers, and whether it stands still. What comes due
/// while it does waits, in order; what comes due after its death is dropped.
///
/// It is the clock of the career thread as well: who waits for a moment there leaves the fiber until it has come.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "base/loop.hpp"
#include "fiber.hpp"

namespace tenure::simulation {

class ProcessLoop final : public ILoop {
 public:
  /// offset   how much longer this machine has been up than the world
  /// drift    how much faster its clocks run, in millionths
  ProcessLoop(ILoop& world, Duration offset, std::int64_t drift)
      : world_(&world), offset_(offset), drift_(drift), fiber_(std::make_unique<Fiber>()) {}
  ~ProcessLoop() override { die(); }

  BootTime now() const noexcept override;
  WallTime wallNow() const noexcept override { return world_->wallNow() + wallStep_; }
  void waitUntil(BootTime deadline, const std::stop_token& stop) const override;
  void post(Task task) override;
  TimerId after(Duration delay, Task task) override;
  void cancel(TimerId timer) noexcept override { world_->cancel(timer); }

  // --- the process's fate

  /// `hard`: a hypervisor's pause, in which no clock of the machine goes on.
  void freeze(bool hard);
  void thaw();
  bool frozen() const noexcept { return frozen_; }
  /// SIGSTOP hits the control thread alone: a debugger, a page that does not come.
  void hang() { hung_ = true; }
  void unhang();
  void stepWall(std::chrono::milliseconds by) noexcept { wallStep_ += by; }
  /// Its clocks stood still: what they say of a lease is worth nothing.
  bool clockHasStopped() const noexcept { return stoodStill_ > Duration::zero() || stoppedAt_.has_value(); }

  // --- its career thread

  /// Begins it there, as soon as the process moves.
  void runOnFiber(Task work);
  bool fiberUnderWay() const noexcept { return fiber_->underWay(); }
  bool onFiber() const noexcept { return fiber_->running(); }
  /// Leaves the fiber until `there` has passed, does `operation` where it belongs, and comes back after `back`.
  ///   here   it happens in the process itself: not while that stands still, and not after its death
  void callFromFiber(Duration there, Duration back, bool here, const Task& operation) const;

  /// No task runs any more. `landing`: a request under way to a server arrives there nevertheless, and only then is the
  /// fiber taken down; `buried` is called when that has been done. Told again, it takes it down at once.
  void die(bool landing = false, Task buried = {});
  bool dead() const noexcept { return dead_; }

 private:
  struct Call {
    TimerId timer = 0;
    bool here = true;
    bool arrived = false;
  };

  /// How long the world takes for what this machine's clocks call `delay`; never less.
  Duration inTheWorld(Duration delay) const noexcept;
  void runOrKeep(const std::shared_ptr<bool>& alive, const Task& task);
  void flush();
  void wakeFiber() const;
  void killFiber() const;

  ILoop* world_;
  Duration offset_;
  std::int64_t drift_;
  Duration stoodStill_{};
  std::optional<BootTime> stoppedAt_;
  std::chrono::milliseconds wallStep_{};
  bool frozen_ = false;
  bool hung_ = false;
  bool dead_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::deque<Task> kept_;
  std::unique_ptr<Fiber> fiber_;
  mutable Call call_;
  mutable bool wakeDue_ = false;  // the fiber would go on if the process did
  mutable Task operationDue_;     // its operation was due meanwhile
  Task workDue_;                  // was to begin meanwhile
  mutable Task buried_;
};

}  // namespace tenure::simulation
