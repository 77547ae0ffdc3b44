/// A control group (cgroup v2) of its own for one command.
///
/// The group adds what the process tree cannot give: one write kills everything in it at once, however fast it forks.
/// Where there is no such hierarchy, or it is not ours to write (no root, no delegation, a read-only container), there
/// is no group, and the tree has to do. Nothing is limited or accounted by it.
///
/// A group is found again when no process is left that knows the tree: the next supervisor in the same parent group of
/// the same machine first ends what a killed shim left.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

namespace tenure {

class ControlGroup {
 public:
  /// A new one below the calling process's own, named after the shim of its command.
  static std::optional<ControlGroup> make(pid_t shim);
  ControlGroup(ControlGroup&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ControlGroup& operator=(ControlGroup&& other) noexcept {
    path_.swap(other.path_);
    return *this;
  }
  /// Removes it; one that is not empty stays.
  ~ControlGroup();

  /// Forks a child that is in it from its first moment, as all is that the child starts later. Like fork().
  pid_t fork() const noexcept;
  /// SIGKILL for all that is in it.
  void killAll() const noexcept;

  /// Kills and removes what a shim that was killed has left. True when there is nothing to remove any more.
  static bool removeAfter(pid_t shim);
  /// The same for all shims that are gone, also of other supervisors; waits a moment for what was in their groups.
  static void removeAfterTheGone();

 private:
  explicit ControlGroup(std::string path) noexcept : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace tenure
