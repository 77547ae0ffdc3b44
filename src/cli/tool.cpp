#include "cli/tool.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "cli/config_file.hpp"
#include "cli/early_signals.hpp"
#include "cli/mistakes.hpp"

namespace tenure::cli {
namespace {

using Words = std::vector<std::string>;

constexpr const char* about =
    "Leader-elected, single-active consumers: one replica works, strictly in order, and a fencing\n"
    "token keeps every former leader from committing anything.";

constexpr const char* firstSteps = R"help(
Examples:
  tenure produce --queue sqlite:orders.db?queue=orders <orders.txt
  tenure consume --zookeeper 127.0.0.1:2181 --election orders --queue sqlite:orders.db?queue=orders \
    --sql "INSERT INTO ledger(body) VALUES (:body)"
  tenure run --zookeeper 127.0.0.1:2181 --election reports -- ./make-reports --every 5m
  tenure status --zookeeper 127.0.0.1:2181 --election orders
  tenure queue stats --queue sqlite:orders.db?queue=orders
  tenure check --zookeeper 127.0.0.1:2181 --queue sqlite:orders.db?queue=orders
  tenure help COMMAND)help";

void declareTool(CLI::App& tool, Action& chosen, const Words& command) {
  tool.name("tenure");
  tool.set_version_flag("--version", std::string("tenure ") + TENURE_VERSION);
  tool.set_config("--config", "", "Read options from this file");
  tool.config_formatter(std::make_shared<ConfigFile>(tool));
  tool.allow_config_extras(CLI::config_extras_mode::error);
  tool.require_subcommand(1);
  tool.fallthrough();
  tool.get_formatter()->column_width(34);
  tool.footer(std::string(firstSteps) + "\n" + exitCodesHelp);
  addConsume(tool, chosen);
  addRun(tool, chosen, command);
  addProduce(tool, chosen);
  addStatus(tool, chosen);
  addHandover(tool, chosen);
  addQueue(tool, chosen);
  addDeadLetters(tool, chosen);
  addFence(tool, chosen);
  addToken(tool, chosen);
  addSchema(tool, chosen);
  addCheck(tool, chosen);
  addUrls(tool, chosen);
}

/// Closed by whoever started us, its number would go to the first file that is opened, and our output into that.
void occupyStandardOutput() {
  if (::fcntl(STDOUT_FILENO, F_GETFD) >= 0) return;
  const int full = ::open("/dev/full", O_WRONLY);
  if (full < 0 || full == STDOUT_FILENO) return;
  ::dup2(full, STDOUT_FILENO);
  ::close(full);
}

/// What `run` shall run is not for the parser, which would read "[x]" as a list. Empty: there is no such mark.
Words cutCommand(Words& words) {
  const auto mark = std::find(words.begin(), words.end(), "--");
  if (mark == words.end() || std::find(words.begin(), mark, "run") == mark) return {};
  Words command(mark + 1, words.end());
  words.erase(mark, words.end());
  return command;
}

Exit parseAndRun(Words words) {
  CLI::App tool(about);
  Action chosen;
  const Words command = cutCommand(words);
  declareTool(tool, chosen, command);
  turnHelpAround(words);
  try {
    std::reverse(words.begin(), words.end());  // so the parser wants it
    tool.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return explain(tool, error);
  }
  if (tool.got_subcommand("consume") || tool.got_subcommand("run")) return chosen();
  releaseSignals();
  occupyStandardOutput();
  return chosen();
}

/// Below `tenure run` these tell the command about its term; they are no options of a tool that the command starts.
/// `token` is there to be asked about that very term.
void forgetTheTermOfRun(const Words& words) {
  if (std::getenv("TENURE_TERM") == nullptr || std::find(words.begin(), words.end(), "token") != words.end()) return;
  for (const char* variable : {"TENURE_ELECTION", "TENURE_ID", "TENURE_STORE"}) ::unsetenv(variable);
}

/// An answer that nobody could read was not given.
Exit withOutput(Exit exit) {
  if (std::cout.flush()) return exit;
  complain("standard output cannot be written");
  return exit == Exit::done || exit == Exit::no ? Exit::unavailable : exit;
}

}  // namespace

Exit runTool(int argc, const char* const* argv) {
  Words words(argv + std::min(argc, 1), argv + argc);
  forgetTheTermOfRun(words);
  return withOutput(parseAndRun(std::move(words)));
}

}  // namespace tenure::cli
