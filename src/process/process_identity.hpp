/// Identifies a process, and tells whether another one is provably gone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "tenure/term.hpp"

namespace tenure {

/// What /proc says of one process, where it can be read.
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

/// This process, read once. `pidNamespace` is 0 where no process could be compared with us: without a /proc of our own
/// namespace, or with a clock of our own.
const ProcessIdentity& thisProcess();

enum class Liveness { alive, gone, unknown };
/// `gone` and `alive` are proofs, and only to be had on the same machine in the same pid namespace. The same machine is
/// the same boot id: two hosts may share a name, and a machine id is copied with its image. So another boot of our own
/// host proves nothing either. `gone`: the kernel knows no process of that number, or shows one that started at another
/// time. A process that cannot be looked at is unknown, and so is one that has died and is not reaped yet.
Liveness livenessOf(const ProcessIdentity& process);

}  // namespace tenure
