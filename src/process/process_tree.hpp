/// The processes below this one, as /proc shows them, and how they are made to end.
///
/// A helper that uses this is a child subreaper: whatever its descendants orphan, by a double fork or otherwise,
/// becomes its own child. So nothing below it can get away, and "no child left to wait for" proves the tree empty.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenure {

struct LiveProcess {
  pid_t pid = 0;
  pid_t parent = 0;
  std::int64_t startTime = 0;
  std::string name{};  // of what it executes, cut to 15 bytes

  /// The same process, even after an adoption or an exec.
  friend bool operator==(const LiveProcess& a, const LiveProcess& b) noexcept {
    return a.pid == b.pid && a.startTime == b.startTime;
  }
};

/// Everything below `ancestor` that is not a zombie; the trees below `except` are left out.
std::vector<LiveProcess> descendantsOf(pid_t ancestor, const std::vector<pid_t>& except = {});

/// Sends the signal to exactly that process, not to a later one with its pid. A stopped process is continued so
/// that SIGTERM reaches it.
void signalProcess(const LiveProcess& process, int signal) noexcept;

void signalDescendants(int signal);

/// Kills whatever the calling process, a subreaper, has adopted, and all below it: those children of it that are
/// outside of the session `own` and are none of the `spared`. True when there is none, and none can come any more
/// unless a process of `own` dies: adoption has happened when a death can be seen. False as well when it cannot look.
bool endAdopted(pid_t own, const std::vector<pid_t>& spared = {});

/// Whether every thread of that process is past its end: the kernel has its memory and its descriptors back, and it
/// never runs a line of its program again. Its pidfd tells the same when the kernel has taken down what it held open,
/// and that may be much later: after one inotify watch 5 to 20 ms. False as well when it cannot be seen.
bool isPastItsEnd(pid_t pid);

/// Kills everything below the calling process, a subreaper, until nothing is left. False: something survived SIGKILL
/// for five seconds. SIGCHLD must be blocked.
bool endDescendants();

}  // namespace tenure
