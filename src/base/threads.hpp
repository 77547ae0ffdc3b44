/// The seam to threads that work beside each other: real ones in production, fibers of one thread in the simulation.
///
/// Shared state is under a std::mutex. A thread never holds one while it waits for a server, for time or for another
/// thread, except in a signal. A lock that is held that long is an ILock. So fibers never meet a locked mutex.
#pragma once

#include <pthread.h>

#include <csignal>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>

#include "tenure/values.hpp"

namespace tenure {

/// As long as this object lives, threads that are started take no signals; the program's own threads handle them.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

/// The owner waits for its end before destroying it.
class IThread {
 public:
  virtual ~IThread() = default;
  virtual void join() = 0;
};

/// For std::unique_lock.
class ILock {
 public:
  virtual ~ILock() = default;
  virtual void lock() = 0;
  virtual bool try_lock() = 0;
  virtual void unlock() = 0;
};

/// Lets threads wait under a mutex until something has changed.
class ISignal {
 public:
  virtual ~ISignal() = default;
  /// Gives the mutex back while it waits: until `isOver`, asked after each notice, or as long as it may, or to a stop.
  virtual void wait(std::unique_lock<std::mutex>& lock, Duration atMost, const std::stop_token& stop,
                    const std::function<bool()>& isOver) = 0;
  virtual void notifyAll() noexcept = 0;
  /// Wakes at least one waiting thread.
  virtual void notifyOne() noexcept = 0;
};

class IThreads {
 public:
  virtual ~IThreads() = default;
  virtual std::unique_ptr<IThread> start(std::function<void()> work) = 0;
  virtual std::unique_ptr<ILock> makeLock() = 0;
  virtual std::unique_ptr<ISignal> makeSignal() = 0;
};

/// The machine's own.
IThreads& systemThreads() noexcept;

}  // namespace tenure
