/// The ways in which a process dies by its own hand.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>

namespace tenure::test {

/// Writes down, again and again in the same place, when it was last seen alive: nanoseconds of the steady clock.
class LastSeen {
 public:
  explicit LastSeen(const std::string& file)
      : file_(file.empty() ? -1 : open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {}
  void now() const noexcept {
    const std::string at = std::to_string(std::chrono::steady_clock::now().time_since_epoch().count()) + "\n";
    if (file_ >= 0 && pwrite(file_, at.data(), at.size(), 0) < 0) return;
  }

 private:
  int file_;
};

/// Asks for memory until the kernel's out-of-memory killer comes; not for so much that a whole machine would notice.
inline void hoard(const LastSeen& seen) {
  constexpr std::size_t step = std::size_t{1} << 20U;
  constexpr std::size_t enough = 1024;
  std::ofstream("/proc/self/oom_score_adj") << 1000;  // nobody but us
  for (std::size_t i = 0; i < enough; ++i) {
    seen.now();
    mmap(nullptr, step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  }
}

/// segv, abort, exit (without a stop), or oom, which needs a MemoryGroup. Returns for any other word.
inline void dieOf(const std::string& how, const LastSeen& seen) {
  seen.now();
  if (how == "segv") raise(SIGSEGV);
  if (how == "abort") std::abort();
  if (how == "exit") std::exit(0);
  if (how == "oom") hoard(seen);
}

}  // namespace tenure::test
