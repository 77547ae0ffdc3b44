/// The control thread of one simulated process: its clocks, its timers, and whether it stands still. What comes due
/// while it does waits, in order; what comes due after its death is dropped.
///
/// It is the clock of the career thread and of its lanes as well, and makes those: who waits for a moment there leaves
/// his fiber until it has come (strand.hpp).
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/loop.hpp"
#include "base/threads.hpp"
#include "testing/world/strand.hpp"

namespace tenure::test {

/// For fibers, who wait by that clock.
std::unique_ptr<ILock> makeFiberLock(const IClock& clock);
std::unique_ptr<ISignal> makeFiberSignal(const IClock& clock);

class ProcessLoop final : public ILoop, public IThreads {
 public:
  /// offset   how much longer this machine has been up than the world
  /// drift    how much faster its clocks run, in millionths
  ProcessLoop(ILoop& world, Duration offset, std::int64_t drift) : world_(&world), offset_(offset), drift_(drift) {
    strands_.push_back(std::make_unique<Strand>(*this));
  }
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
  /// The machine's clocks stood still: what they say of a lease is worth nothing.
  bool clockHasStopped() const noexcept { return stoodStill_ > Duration::zero() || stoppedAt_.has_value(); }

  // --- its career thread, and its lanes

  /// Begins it on the career thread, as soon as the process moves.
  void runOnFiber(Task work) { strands_.front()->run(std::move(work)); }
  /// As Strand::call, on the strand of the calling fiber.
  void callFromFiber(Duration there, Duration back, bool here, const Task& operation) const {
    current().call(there, back, here, operation);
  }
  /// For people: what each of its threads is about.
  std::string describe() const;
  /// Whether the caller is one of its fibers.
  bool running() const noexcept;
  /// Whether the caller is a lane's fiber.
  bool inLane() const noexcept;
  std::unique_ptr<IThread> start(std::function<void()> work) override;
  std::unique_ptr<ILock> makeLock() override;
  std::unique_ptr<ISignal> makeSignal() override;

  /// No task runs any more. `landing`: requests under way to a server arrive there nevertheless, and only then are
  /// their fibers taken down; `isDown` is called when that has been done. Told again, it takes them down at once.
  void die(bool landing = false, Task isDown = {});
  bool dead() const noexcept { return dead_; }

  // --- for its strands

  ILoop& world() const noexcept { return *world_; }
  const std::shared_ptr<bool>& alive() const noexcept { return alive_; }
  /// One strand is down.
  void down();

 private:
  /// How long the world takes for what this machine's clocks call `delay`; never less.
  Duration inTheWorld(Duration delay) const noexcept;
  void runOrKeep(const Task& task);
  void flush();
  Strand& current() const;
  Strand& idleStrand();

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
  std::vector<std::unique_ptr<Strand>> strands_;  // the career thread's first
  Task isDown_;
};

}  // namespace tenure::test
