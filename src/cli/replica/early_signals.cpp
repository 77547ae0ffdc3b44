#include "cli/replica/early_signals.hpp"

#include <csignal>

namespace tenure::cli {
namespace {

/// As runUntilSignalled() says.
constexpr int handled[] = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGHUP};

void mask(int how) noexcept {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : handled) sigaddset(&signals, number);
  pthread_sigmask(how, &signals, nullptr);
}

}  // namespace

void holdSignals() noexcept { mask(SIG_BLOCK); }
void releaseSignals() noexcept { mask(SIG_UNBLOCK); }

EarlySignals::EarlySignals() {
  for (const int number : handled) signals_.add(number);
  releaseSignals();
}

}  // namespace tenure::cli
