/// Child processes that die with their term.
///
/// The guardian is a small process that the tool forks before it has threads. It starts the tool's commands, so that
/// they are the guardian's descendants and not the tool's, and it outlives the tool by the moment it takes to kill
/// them all. Each command has a keeper between itself and the guardian:
///
///      tool ───────────── line: "start this" ────────────► guardian      ends with the tool, kill -9 included
///        │                                                     │ fork
///        └── a line for each child: stop, until when ◄──► keeper         one a command, ends with it
///                                  report: how it ended        │ fork, exec
///                                                           command      a session of its own
///                                                              ┊
///                                                           whatever it starts, double forks and all
///
/// Guardian and keepers are child subreapers: an orphan below them becomes their child, so that a keeper without
/// children has proof that nothing of its command is left. A command may also get a control group (control_group.hpp).
/// The line is the leash: when the tool's end closes, for whatever reason, the keeper kills at once. The deadline is a
/// point on CLOCK_BOOTTIME that the tool moves on and the keeper's own timer keeps, so that it holds while the tool is
/// frozen, and a deadline that the tool computed before a pause does not become a later one by it. It travels on the
/// line and not in shared memory: the keeper sleeps until it is due, and needs to poll nothing; an order that did not
/// arrive leaves the one before in force, which is an earlier one. The keeper has it and not the last-will helper, so
/// that it also holds where there is no last will. If a keeper is killed, its command dies with it and the guardian
/// clears up the rest; if the guardian is killed, running commands keep their keepers, and the next command is refused.
///
/// Guardian and keepers have a session of their own and block every signal: what is sent to the tool's process group
/// does not reach them.
#pragma once

#include <sys/types.h>

#include <array>
#include <span>
#include <string>

#include "process/line.hpp"
#include "process/requests.hpp"
#include "tenure/result.hpp"

namespace tenure {

/// The tool's end. Threads: any, once started.
class Guardian {
 public:
  /// Call first in main: before any thread, and before descriptors are opened that a helper should not hold open.
  ///   withheld  variables of our environment that no command inherits, beside those of secret_variables.hpp
  /// Errors: unavailable (the system refuses another process or descriptor)
  static Result<Guardian> start(std::span<const std::string> withheld = {});

  Guardian(Guardian&& other) noexcept;
  Guardian& operator=(Guardian&&) = delete;
  /// Ends the guardian with everything that is left below it, and waits for it.
  ~Guardian();

  pid_t pid() const noexcept { return pid_; }
  /// A pipe's reading end: gets a byte once the tool is gone and nothing that ran for it is left. It ends without when
  /// that cannot be proven, as when the guardian was killed.
  int childrenGone() const noexcept { return ending_.get(); }
  /// Killed, or it could not go on: no command can be started any more.
  bool isGone() const noexcept { return line_.otherEndGone(); }

  /// Starts a command and returns the line to its keeper. See child.hpp for the comfortable way.
  ///   standard  stdin, stdout and stderr for the command; borrowed during the call
  /// Errors: invalidArgument  the request cannot be passed on
  ///         unsupported      the guardian is gone (killed?)
  Result<Line> spawn(const SpawnRequest& request, const std::array<int, 3>& standard) const;

 private:
  Guardian(pid_t pid, Line line, Descriptor ending) noexcept
      : pid_(pid), line_(std::move(line)), ending_(std::move(ending)) {}

  pid_t pid_ = -1;
  Line line_;
  Descriptor ending_;
};

}  // namespace tenure
