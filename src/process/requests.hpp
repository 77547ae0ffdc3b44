/// What is said on the lines: the tool asks the supervisor for a command, and then talks to that command's shim.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenure/result.hpp"
#include "tenure/values.hpp"

namespace tenure {

/// Tool → supervisor, with four descriptors: the shim's end of the child's channel, and the command's stdin, stdout,
/// stderr.
struct SpawnRequest {
  BootTime until{BootTime::max()};
  std::chrono::milliseconds grace{};
  std::chrono::milliseconds warning{};
  /// Under which number the command finds the term descriptor (child.hpp); 0 for none.
  int termDescriptor = 0;
  bool controlGroup = false;
  std::vector<std::string> arguments{};    // the first is looked for in PATH
  std::vector<std::string> environment{};  // NAME=value, added to what the tool was started with
};
/// Errors: invalidArgument (no command, a NUL byte, or longer than a packet)
Result<std::string> encode(const SpawnRequest& request);
std::optional<SpawnRequest> decodeSpawnRequest(std::string_view bytes);

/// Tool → shim. The end of the channel is the third order: kill everything at once.
struct ChildOrder {
  enum class Kind { stop, until } kind = Kind::stop;
  BootTime until{};
};

enum class EndCause {
  itself,
  stopAsked,
  overdue,
  shimLost,  // the process that kept it was killed
};

struct ChildReport {
  int waitStatus = 0;
  EndCause cause = EndCause::itself;
  bool killed = false;      // it did not end when it was asked to
  bool nothingLeft = true;  // false: something survived SIGKILL for seconds, the kernel holds it
  int startError = 0;       // errno when the command could not be started
};

/// Shim → tool: first who it is, and, once nothing of the command is left, how that ended. The supervisor says the
/// latter for a shim that was killed.
struct ChildNews {
  enum class Kind { begun, over } kind = Kind::begun;
  pid_t shim = 0;
  ChildReport report{};
};

}  // namespace tenure
