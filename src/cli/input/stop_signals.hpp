/// SIGTERM and SIGINT as something to look at and to poll, for a command that finishes its work before it ends.
#pragma once

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

namespace tenure::cli {

/// Make it before any thread: those that are started later inherit that the signals are held. One in a process.
/// Threads: one.
class StopSignals {
 public:
  StopSignals() noexcept {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    descriptor_ = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~StopSignals() { ::close(descriptor_); }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Can be read when one has come.
  int descriptor() const noexcept { return descriptor_; }
  /// How many have come so far.
  int count() noexcept {
    signalfd_siginfo one{};
    while (::read(descriptor_, &one, sizeof one) == sizeof one) ++count_;
    return count_;
  }

 private:
  int descriptor_ = -1;
  int count_ = 0;
};

}  // namespace tenure::cli
