// The threads of a simulated process: fibers, and what they wait for each other with.
#include "testing/world/process_loop.hpp"

namespace tenure::test {
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
  /// Of a dead process nobody comes home; it may be destroyed by now.
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
