/// The tool `tenure`: one command a file, each a page (command.hpp) with its table of options (option.hpp).
///
///     main → runTool → parse flags, --config, environment → what the chosen command does → exit code
///
/// This room is the only place that knows concrete backends; whatever can be told without them lies below.
#pragma once

#include "cli/exit.hpp"

namespace tenure::cli {

/// What main() does, callable from a test. Writes help to standard output and complaints to standard error.
Exit runTool(int argc, const char* const* argv);

}  // namespace tenure::cli
