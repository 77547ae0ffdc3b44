#include "cli/tool.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "cli/config_file.hpp"
#include "cli/early_signals.hpp"

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
  tenure COMMAND --help)help";

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

/// What no command takes, without values: beside an option that does not exist, one may be a secret.
std::string unknownWords(const CLI::App& tool) {
  const auto isOption = [](const std::string& word) { return word.starts_with('-'); };
  const Words words = tool.remaining(true);
  const bool anyOption = std::any_of(words.begin(), words.end(), isOption);
  std::string all;
  for (const std::string& word : words)
    if (isOption(word) || !anyOption)
      all += (all.empty() ? "" : ", ") + word.substr(0, isOption(word) && !word.starts_with("--") ? 2 : word.find('='));
  return "not known here: " + all;
}

/// The parser's words for a slip in the configuration file and for a number that is none are its own, not the user's.
std::string inUserWords(const CLI::ParseError& error) {
  const std::string text = error.what();
  const std::string unknown = "INI was not able to parse ";
  if (error.get_name() == "ConfigError" && text.rfind(unknown, 0) == 0)
    return "--config: no command has an option \"" + text.substr(unknown.size()) + "\"";
  if (error.get_name() == "ConfigError" || error.get_name() == "FileError") return "--config: " + text;
  if (text.rfind("Could not convert: ", 0) == 0) return text + ": expected a whole number, as in the option's range";
  return text;
}

/// What the parser threw: a wish for help is fulfilled, anything else is a complaint.
Exit answer(const CLI::App& tool, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {
    tool.exit(error, std::cout, std::cerr);
    return Exit::done;
  }
  const bool isExtra = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  complain((isExtra ? unknownWords(tool) : inUserWords(error)) + "; see tenure --help");
  const bool isFile = error.get_name() == "FileError" || error.get_name() == "ConfigError";
  return isFile ? Exit::configuration : Exit::usage;
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
  try {
    std::reverse(words.begin(), words.end());  // so the parser wants it
    tool.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return answer(tool, error);
  }
  if (tool.got_subcommand("consume") || tool.got_subcommand("run")) return chosen();
  releaseSignals();
  occupyStandardOutput();
  return chosen();
}

/// An answer that nobody could read was not given.
Exit withOutput(Exit exit) {
  if (std::cout.flush()) return exit;
  complain("standard output cannot be written");
  return exit == Exit::done || exit == Exit::no ? Exit::unavailable : exit;
}

}  // namespace

Exit runTool(int argc, const char* const* argv) {
  return withOutput(parseAndRun(Words(argv + std::min(argc, 1), argv + argc)));
}

}  // namespace tenure::cli
