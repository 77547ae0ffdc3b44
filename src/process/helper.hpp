/// A helper program of ours that watches over this process, from outside.
///
///      candidate ─── channel: orders, files ────► helper        a program of its own, started by exec: it shares no
///          ╎                                        ╎           memory with the candidate and holds nothing of it open
///          ╰╌╌╌╌╌╌╌╌╌╌╌╌╌╌ pidfd ╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╯           sees the death, whatever became of the channel
///
/// The channel may tell of the death some milliseconds before the pidfd does, see isPastItsEnd(). By itself its end
/// proves nothing: a living process may close it, and copies of a dead one may hold it open. The helper has a session
/// of its own and blocks every signal, so that what is sent to the candidate's process group, or typed at its terminal,
/// does not reach it. The channel's ends are close-on-exec: no command that the candidate runs inherits them. It can
/// neither be traced nor dump core, because of the secrets it may be given.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "process/descriptor.hpp"
#include "process/ipc_channel.hpp"
#include "tenure/result.hpp"

namespace tenure {

/// The candidate's side. Threads: one.
class Helper {
 public:
  /// Runs `program`, whose main calls becomeHelper(). Errors: unavailable (no such program, or no process to be had).
  static Result<Helper> start(const std::string& program);

  Helper(Helper&& other) noexcept;
  Helper& operator=(Helper&&) = delete;
  /// Closes the channel and waits for the helper, for a second; then kills it.
  ~Helper();

  /// The helpers of this process that have not been waited for.
  static std::vector<pid_t> running();

  pid_t pid() const noexcept { return pid_; }
  const IpcChannel& channel() const noexcept { return channel_; }
  /// Readable once it has ended.
  const Descriptor& process() const noexcept { return process_; }
  void kill() const noexcept;

 private:
  Helper(pid_t pid, IpcChannel channel, Descriptor process) noexcept
      : pid_(pid), channel_(std::move(channel)), process_(std::move(process)) {}

  pid_t pid_ = -1;
  IpcChannel channel_;
  Descriptor process_;
};

/// Where the helper program of that name is: beside the running program, in ../libexec/tenure from there, where the
/// library that it was linked with was installed to, or where an installation goes by default. Errors: notFound, naming
/// each place.
Result<std::string> findHelper(const std::string& name);

/// The helper's side.
struct HelperPost {
  IpcChannel channel;
  Descriptor owner;  // a pidfd: readable once the process that started us is gone
  pid_t ownerPid = -1;
};

/// Call first in the helper's main. Errors: invalidArgument when the program was started by hand.
Result<HelperPost> becomeHelper(const char* name);

}  // namespace tenure
