/// Looks whether a command can be run at all, before anything depends on it. Starts nothing.
#pragma once

#include <string_view>

#include "tenure/result.hpp"

namespace tenure::cli {

/// As execvp finds it: along PATH, or where its name says.
///
/// Errors:  configurationRefused  no such program, or this process may not execute it
Result<void> lookUpProgram(std::string_view name);

/// The first program that the shell would start, as far as that can be told without running it: nothing is said
/// against what begins with a variable, a quote, a built-in or a word of the shell's own language.
Result<void> lookUpCommand(std::string_view shellCommand);

}  // namespace tenure::cli
