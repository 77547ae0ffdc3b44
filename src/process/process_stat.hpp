/// What /proc says of one process, where it can be read.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace tenure {

struct ProcessStat {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = '?';  // of its main thread
  std::int64_t threads = 0;
  std::int64_t startTime = 0;  // in ticks since the machine's start
  std::string name{};          // of what it executes, cut to 15 bytes

  /// No thread of it runs any more, though its parent may not have noticed. Its main thread's end alone says nothing.
  bool isDead() const noexcept { return (state == 'Z' || state == 'X') && threads <= 1; }
};

/// Nullopt proves nothing: the process may be gone, hidden from us, or out of reach for want of a descriptor.
std::optional<ProcessStat> readProcessStat(pid_t pid);

}  // namespace tenure
