#include "testing/world/process_loop.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace tenure::test {

BootTime ProcessLoop::now() const noexcept {
  const Duration lived = stoppedAt_.value_or(world_->now()).time_since_epoch() - stoodStill_;
  return BootTime{lived + lived * drift_ / 1'000'000 + offset_};
}

Duration ProcessLoop::inTheWorld(Duration delay) const noexcept {
  if (drift_ == 0 || delay <= Duration::zero()) return delay;
  return delay * 1'000'000 / (1'000'000 + drift_) + Duration{1};
}

void ProcessLoop::post(Task task) {
  if (dead_) return;
  world_->post([this, alive = alive_, task = std::move(task)] {
    if (*alive) runOrKeep(task);
  });
}

TimerId ProcessLoop::after(Duration delay, Task task) {
  if (dead_) return 0;
  return world_->after(inTheWorld(delay), [this, alive = alive_, task = std::move(task)] {
    if (*alive) runOrKeep(task);
  });
}

void ProcessLoop::runOrKeep(const Task& task) {
  if (frozen_ || hung_ || !kept_.empty())
    kept_.push_back(task);
  else
    task();
}

void ProcessLoop::freeze(bool hard) {
  frozen_ = true;
  if (hard) stoppedAt_ = world_->now();
}

void ProcessLoop::thaw() {
  if (!std::exchange(frozen_, false)) return;
  if (stoppedAt_) stoodStill_ += world_->now() - *stoppedAt_;
  stoppedAt_.reset();
  for (const auto& strand : strands_) strand->thaw();
  if (!hung_) flush();
}

void ProcessLoop::unhang() {
  if (std::exchange(hung_, false) && !frozen_) flush();
}

/// One at a time, so that the career thread may come in between.
void ProcessLoop::flush() {
  world_->post([this, alive = alive_] {
    if (!*alive || frozen_ || hung_ || kept_.empty()) return;
    const Task next = std::move(kept_.front());
    kept_.pop_front();
    next();
    if (*alive) flush();
  });
}

void ProcessLoop::waitUntil(BootTime deadline, const std::stop_token& stop) const {
  current().wait(inTheWorld(deadline - now()), stop);
}

Strand& ProcessLoop::current() const {
  const auto running = std::ranges::find_if(strands_, [](const auto& strand) { return strand->running(); });
  TENURE_ASSERT(running != strands_.end());
  return **running;
}

bool ProcessLoop::running() const noexcept {
  return std::ranges::any_of(strands_, [](const auto& strand) { return strand->running(); });
}

bool ProcessLoop::inLane() const noexcept {
  return std::any_of(strands_.begin() + 1, strands_.end(), [](const auto& strand) { return strand->running(); });
}

std::string ProcessLoop::describe() const {
  std::string text = hung_ ? "control hangs" : frozen_ ? "frozen" : "moves";
  for (const auto& strand : strands_) text += std::string(", ") + strand->describe();
  return text;
}

Strand& ProcessLoop::idleStrand() {
  const auto idle =
      std::find_if(strands_.begin() + 1, strands_.end(), [](const auto& one) { return !one->underWay(); });
  return idle != strands_.end() ? **idle : *strands_.emplace_back(std::make_unique<Strand>(*this));
}

void ProcessLoop::die(bool landing, Task isDown) {
  if (!std::exchange(dead_, true)) {
    *alive_ = false;
    kept_.clear();
    isDown_ = std::move(isDown);
  }
  for (const auto& strand : strands_) strand->die(landing);
}

void ProcessLoop::down() {
  const bool all = std::ranges::none_of(strands_, [](const auto& strand) { return strand->underWay(); });
  if (all && isDown_) world_->post(std::exchange(isDown_, {}));
}

// The threads of a simulated process: fibers, and what they wait for each other with.

namespace {

constexpr auto veryLong = std::chrono::hours{1};

class FiberThread final : public IThread {
 public:
  FiberThread(const ProcessLoop& process, Strand& strand, std::function<void()> work)
      : process_(process), alive_(process.alive()) {
    strand.run([work = std::move(work), over = over_]() mutable {
      work();
      over.request_stop();
    });
  }
  /// Threads of a dead process never end; the process may be destroyed by now.
  void join() override {
    while (*alive_ && !over_.stop_requested()) process_.waitUntil(process_.now() + veryLong, over_.get_token());
  }

 private:
  const ProcessLoop& process_;
  std::shared_ptr<bool> alive_;
  std::stop_source over_;
};

class FiberSignal final : public ISignal {
 public:
  explicit FiberSignal(const IClock& clock) : clock_(clock) {}

  void wait(std::unique_lock<std::mutex>& lock, Duration atMost, const std::stop_token& stop,
            const std::function<bool()>& isOver) override {
    const BootTime deadline = clock_.now() + atMost;
    while (!isOver() && !stop.stop_requested() && clock_.now() < deadline) {
      if (changed_.stop_requested()) changed_ = {};
      std::stop_source changed = changed_;
      const std::stop_callback stopped(stop, [&changed] { changed.request_stop(); });
      lock.unlock();
      clock_.waitUntil(deadline, changed.get_token());
      lock.lock();
    }
  }
  void notifyAll() noexcept override { changed_.request_stop(); }
  void notifyOne() noexcept override { notifyAll(); }

 private:
  const IClock& clock_;
  std::stop_source changed_;
};

class FiberLock final : public ILock {
 public:
  explicit FiberLock(const IClock& clock) : freed_(clock) {}

  void lock() override {
    std::unique_lock lock(mutex_);
    while (!try_lock()) freed_.wait(lock, veryLong, {}, [this] { return !taken_; });
  }
  bool try_lock() override { return !std::exchange(taken_, true); }
  void unlock() override {
    taken_ = false;
    freed_.notifyAll();
  }

 private:
  std::mutex mutex_;  // only because a signal wants one
  FiberSignal freed_;
  bool taken_ = false;
};

}  // namespace

std::unique_ptr<IThread> ProcessLoop::start(std::function<void()> work) {
  return std::make_unique<FiberThread>(*this, idleStrand(), std::move(work));
}

std::unique_ptr<ILock> makeFiberLock(const IClock& clock) { return std::make_unique<FiberLock>(clock); }
std::unique_ptr<ISignal> makeFiberSignal(const IClock& clock) { return std::make_unique<FiberSignal>(clock); }

std::unique_ptr<ILock> ProcessLoop::makeLock() { return makeFiberLock(*this); }
std::unique_ptr<ISignal> ProcessLoop::makeSignal() { return makeFiberSignal(*this); }

}  // namespace tenure::test
