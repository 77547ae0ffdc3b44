#include "base/threads.hpp"

#include <condition_variable>
#include <thread>

namespace tenure {
namespace {

class Thread final : public IThread {
 public:
  explicit Thread(std::function<void()> work) : thread_(std::move(work)) {}
  void join() override {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::jthread thread_;
};

class Lock final : public ILock {
 public:
  void lock() override { mutex_.lock(); }
  bool try_lock() override { return mutex_.try_lock(); }
  void unlock() override { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class Signal final : public ISignal {
 public:
  void wait(std::unique_lock<std::mutex>& lock, Duration atMost, const std::stop_token& stop,
            const std::function<bool()>& isOver) override {
    changed_.wait_for(lock, stop, atMost, isOver);
  }
  void notifyAll() noexcept override { changed_.notify_all(); }
  void notifyOne() noexcept override { changed_.notify_one(); }

 private:
  std::condition_variable_any changed_;
};

class SystemThreads final : public IThreads {
 public:
  std::unique_ptr<IThread> start(std::function<void()> work) override {
    return std::make_unique<Thread>(std::move(work));
  }
  std::unique_ptr<ILock> makeLock() override { return std::make_unique<Lock>(); }
  std::unique_ptr<ISignal> makeSignal() override { return std::make_unique<Signal>(); }
};

}  // namespace

IThreads& systemThreads() noexcept {
  static SystemThreads threads;
  return threads;
}

}  // namespace tenure
