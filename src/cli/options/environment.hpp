/// The tool's part of the environment: most options have a variable there, and a name that is none of them is a mistake
/// that would otherwise change nothing, in silence.
#pragma once

#include <string>
#include <vector>

#include "cli/options/command.hpp"

namespace tenure::cli {

/// A complaint for each name in `environment` ("NAME=value") that begins with TENURE_ and is read by nothing. Values
/// are not repeated: they may be secrets.
std::vector<std::string> unknownVariables(const char* const* environment, const std::vector<Command>& commands);

}  // namespace tenure::cli
