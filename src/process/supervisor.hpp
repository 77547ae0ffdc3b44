/// Child processes that die with their term.
///
/// The supervisor is a small process that the tool forks before it has threads. It starts the tool's commands, so that
/// they are the supervisor's descendants and not the tool's, and it outlives the tool by the moment it takes to kill
/// them all. Each command has a shim between itself and the supervisor:
///
///      tool ─────────── channel: "start this" ───────────► supervisor      ends with the tool, kill -9 included
///        │                                                     │ fork
///        └── a channel for each child: stop, until when ◄──► shim         one a command, ends with it
///                                  report: how it ended        │ fork, exec
///                                                           command      a session of its own
///                                                              ┊
///                                                           whatever it starts, double forks and all
///
/// Supervisor and shims are child subreapers: an orphan below them becomes their child, so that a shim without
/// children has proof that nothing of its command is left. A command may also get a control group (control_group.hpp).
/// The channel is what a command hangs by: when the tool's end closes, for whatever reason, the shim kills at once. The
/// deadline is a point on CLOCK_BOOTTIME that the tool moves on and the shim's own timer keeps, so that it holds
/// while the tool is frozen, and a deadline that the tool computed before a pause does not become a later one by it. It
/// travels on the channel and not in shared memory: the shim sleeps until it is due, and needs to poll nothing; an
/// order that did not arrive leaves the one before in force, which is an earlier one. The shim has it and not the
/// last-will helper, so that it also holds where there is no last will.
///
/// Supervisor and shims have a session of their own and block every signal: a signal to the tool's process group does
/// not reach them. When one of them is killed, another stands in for it. A command has ended only when a survivor has
/// proven that nothing of it is left:
///
///   killed                     who ends what is left of the command          what the tool learns
///   shim                       the supervisor, which has adopted it          it ended, its shim was lost
///   supervisor                 no process needs to: its shim goes on         it ended; the next command is refused
///   shim and supervisor        the tool, which is a subreaper itself         both
///   tool, and one of the two   the other one
///   all three                  the kernel, but only the command itself       (no process is left to tell)
///
/// A stopped shim is continued by the supervisor, a stopped supervisor by the tool.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <string>

#include "process/descriptor.hpp"
#include "process/ipc_channel.hpp"
#include "process/requests.hpp"
#include "tenure/result.hpp"

namespace tenure {

// The supervisor's own process.

/// The life of the supervisor, a fresh fork of the tool; never returns. All signals are blocked on entry.
///   tool    a pidfd: a channel could be held open by a stray copy of the tool, a death cannot be missed
///   ending  a pipe to say in that nothing is left, at the end
[[noreturn]] void guard(IpcChannel channel, Descriptor tool, Descriptor ending) noexcept;

/// The tool's end. Threads: any, once started.
class Supervisor {
 public:
  /// Call first in main: before any thread, and before descriptors are opened that a helper should not hold open. It
  /// makes this process a subreaper, whose children beside the supervisor must be helpers (helper.hpp).
  ///   withheld  variables of our environment that no command inherits, beside those of secret_variables.hpp
  /// Errors: unavailable (the system refuses another process or descriptor)
  static Result<Supervisor> start(std::span<const std::string> withheld = {});

  Supervisor(Supervisor&& other) noexcept;
  Supervisor& operator=(Supervisor&&) = delete;
  /// Ends the supervisor with everything that is left below it, and waits for it.
  ~Supervisor();

  pid_t pid() const noexcept { return pid_; }
  /// A pipe's reading end: gets a byte once the tool is gone and nothing that ran for it is left. It ends without one
  /// when that cannot be proven, as when the supervisor was killed.
  int childrenGone() const noexcept { return ending_.get(); }
  /// Killed, or it could not go on: no command can be started any more.
  bool isGone() const noexcept { return channel_.otherEndGone(); }
  /// Continues it if somebody has stopped it.
  void wake() const noexcept;
  /// After a shim was lost, and the supervisor did not report its end: ends what both have left to this process.
  ///   shim  0 when it has not said yet who it is; then it has not started the command either
  ///   handle  the shim's, if one was to be had
  ///
  /// Errors:  outcomeUnknown  something of the command may still run
  ///          unavailable     the supervisor lives, and the command was never started; safe to repeat
  Result<void> clearUpAfter(pid_t shim, const Descriptor& handle) const;
  /// Whether each command that ran has ended, with all that it started. One of which that could not be proven counts as
  /// running for good.
  bool nothingRuns() const noexcept { return *running_ == 0; }
  void began() const noexcept { ++*running_; }
  void provenEnded() const noexcept { --*running_; }

  /// Starts a command and returns the channel to its shim. See child.hpp for the comfortable way.
  ///   standard  stdin, stdout and stderr for the command; borrowed during the call
  /// Errors: invalidArgument  the request cannot be passed on
  ///         unsupported      the supervisor is gone (killed?)
  Result<IpcChannel> spawn(const SpawnRequest& request, const std::array<int, 3>& standard) const;

 private:
  Supervisor(pid_t pid, Descriptor process, IpcChannel channel, Descriptor ending) noexcept
      : pid_(pid), process_(std::move(process)), channel_(std::move(channel)), ending_(std::move(ending)) {}

  pid_t pid_ = -1;
  Descriptor process_;
  IpcChannel channel_;
  Descriptor ending_;
  std::shared_ptr<std::atomic<int>> running_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace tenure
