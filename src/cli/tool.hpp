/// The tool `tenure`: one command a file, each declares its options and says what it does when it is chosen.
///
///     main → runTool → parse flags, --config, environment → the chosen command's action → exit code
///
/// This room is the only place that knows concrete backends; whatever can be told without them lies below.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/exit.hpp"

namespace CLI {
class App;
}

namespace tenure::cli {

/// What a chosen command does once the whole command line is parsed.
using Action = std::function<Exit()>;

/// Each declares a command on the tool and sets `chosen` when the user names it.
void addConsume(CLI::App& tool, Action& chosen);
void addProduce(CLI::App& tool, Action& chosen);
void addQueue(CLI::App& tool, Action& chosen);
void addDeadLetters(CLI::App& tool, Action& chosen);
void addFence(CLI::App& tool, Action& chosen);
void addToken(CLI::App& tool, Action& chosen);
void addSchema(CLI::App& tool, Action& chosen);
void addCheck(CLI::App& tool, Action& chosen);
void addUrls(CLI::App& tool, Action& chosen);
void addStatus(CLI::App& tool, Action& chosen);
void addHandover(CLI::App& tool, Action& chosen);
/// `command` is what stands after "--".
void addRun(CLI::App& tool, Action& chosen, std::vector<std::string> command);

/// What main() does, callable from a test. Writes help to standard output and complaints to standard error.
Exit runTool(int argc, const char* const* argv);

}  // namespace tenure::cli
