#include "career/career_thread.hpp"

#include <pthread.h>

#include <csignal>

#include "base/assert.hpp"

namespace tenure::career {
namespace {

/// A thread inherits its creator's mask: blocked before it starts, it never runs without.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t handled;
    sigemptyset(&handled);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) sigaddset(&handled, signal);
    pthread_sigmask(SIG_BLOCK, &handled, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

CareerThread::CareerThread() {
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { serve(); });
  pthread_setname_np(thread_.native_handle(), "career");
}

CareerThread::~CareerThread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void CareerThread::run(Task phase) {
  {
    const std::lock_guard lock(mutex_);
    TENURE_ASSERT(!next_);
    next_ = std::move(phase);
  }
  changed_.notify_one();
}

void CareerThread::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return next_ || ending_; });
    if (!next_) return;
    const Task phase = std::exchange(next_, nullptr);
    lock.unlock();
    phase();
    lock.lock();
  }
}

}  // namespace tenure::career
