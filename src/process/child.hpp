/// Running one command to its end, from a thread that may block. The story is in supervisor.hpp.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "process/supervisor.hpp"
#include "tenure/result.hpp"
#include "tenure/values.hpp"

namespace tenure {

enum class OutputStream { standard, error };

struct ChildCommand {
  std::vector<std::string> arguments;                            // the first is looked for in PATH
  std::vector<std::pair<std::string, std::string>> environment;  // on top of what the tool was started with
  /// Standard input: a file in memory, so that we never wait for a command that does not read.
  std::string_view input{};
  /// Passes our own standard input instead.
  bool passInput = false;
  /// Above 2: under this number the command reads `environment`, a line each, and then nothing until it is asked to
  /// end or killed; that is the end of the file.
  int termDescriptor = 0;
  /// Put it into a control group of its own where that is possible: killing is one step then, whatever it forks.
  bool controlGroup = false;
  /// What it says on standard error goes through this process on its way to our own, and ends in ChildEnd::errors.
  bool keepErrors = false;
  /// Called with what it says on both streams, on the thread of runChild(), in place of passing that on. Empty: none.
  std::function<void(OutputStream stream, std::string_view bytes)> onOutput{};
};

/// What runs `command` with /bin/sh.
std::vector<std::string> shell(std::string command);

struct ChildLimits {
  /// Asks the command and everything below it to end: SIGTERM, and SIGKILL after `grace`.
  std::stop_token stop{};
  std::chrono::milliseconds grace{5'000};
  /// Until when it may run, as far as is known now; asked again twenty times a second while it runs. Everything is
  /// killed at that time, also when this process is frozen by then. Empty: for ever.
  std::function<BootTime()> until{};
  /// SIGTERM this long before `until`; zero for none.
  std::chrono::milliseconds warning{0};
  /// How long after that the shim may be silent. Three times what it gives itself for killing.
  std::chrono::milliseconds answer{15'000};
};

/// How the command itself ended. When this is known nothing of it runs any more, unless `nothingLeft` is false: also
/// after shim or supervisor were killed (EndCause::shimLost, as if SIGKILL had ended it).
struct ChildEnd {
  std::optional<int> exitCode;  // or else
  int signal = 0;
  EndCause cause = EndCause::itself;
  bool killed = false;  // it did not end when it was asked to
  bool nothingLeft = true;
  Duration ran{};        // how long it ran, without what the supervisor cleared up before
  std::string errors{};  // the end of its standard error, at most errorsKept bytes, where that is kept

  static constexpr std::size_t errorsKept = 1'000;

  /// "exit status 3", "killed by SIGSEGV"
  std::string description() const;
};

/// Stdout and stderr are this process's own, unless `onOutput` takes them. Signals are at their defaults, none blocked.
/// A command that cannot be executed ends with 127 when there is none of that name, else with 126, as in a shell. One
/// whose time is up when it should start is not started: it has ended overdue, killed.
///
/// Errors:  invalidArgument  NUL bytes in the command or environment, or too much of it
///          timedOut         the shim does not answer (it is frozen, or the kernel holds it)
///          unavailable      no process or descriptor was to be had, nothing was started; safe to repeat
///          unsupported      the supervisor is gone: no command can run until this process is started again
Result<ChildEnd> runChild(const Supervisor& supervisor, const ChildCommand& command, const ChildLimits& limits = {});

}  // namespace tenure
