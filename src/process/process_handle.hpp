/// Pidfds by system call: glibc 2.36 declares its wrappers without C linkage, so C++ cannot link them.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include "process/descriptor.hpp"

namespace tenure {

/// A handle that means this process for ever, whatever its pid is used for later; readable once it has ended.
inline Descriptor openProcess(pid_t pid) noexcept {
  return Descriptor{static_cast<int>(syscall(SYS_pidfd_open, pid, 0))};
}

inline void signalThrough(const Descriptor& process, int signal) noexcept {
  syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0);
}

}  // namespace tenure
