/// Looks whether a command can be run at all, before anything depends on it. Starts nothing.
#pragma once

#include <string_view>

#include "tenure/result.hpp"
#include "tenure/term.hpp"

namespace tenure::cli {

// Until when a command of a term may run. Its shim enforces it (process/supervisor.hpp), whatever becomes of us.

/// The command is gone this long before the lease's hard limit: from then on a successor may act.
constexpr Duration killMargin = std::chrono::milliseconds{50};

/// Whether a command of a term that ends for `reason` may go on: it was asked for, or the term does not end.
bool mayFinish(EndReason reason) noexcept;

/// As far as is known now; BootTime::min(), which is "at once", when the term ends in any other way than by a request.
BootTime killDeadlineOf(const Term& term) noexcept;

/// As execvp finds it: along PATH, or where its name says.
///
/// Errors:  configurationRefused  no such program, or this process may not execute it
Result<void> lookUpProgram(std::string_view name);

/// The first program that the shell would start, as far as that can be told without running it: nothing is said
/// against what begins with a variable, a quote, a built-in or a word of the shell's own language.
Result<void> lookUpCommand(std::string_view shellCommand);

}  // namespace tenure::cli
