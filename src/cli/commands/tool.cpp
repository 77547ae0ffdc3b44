#include "cli/commands/tool.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <iostream>

#include "cli/commands/commands.hpp"
#include "cli/options/config_file.hpp"
#include "cli/options/environment.hpp"
#include "cli/options/mistakes.hpp"
#include "cli/replica/early_signals.hpp"
#include "tenure/version.hpp"

namespace tenure::cli {
namespace {

using Words = std::vector<std::string>;

void declareTool(CLI::App& tool, const std::vector<Command>& all, const Command*& chosen) {
  tool.name("tenure");
  tool.set_version_flag("--version", std::string("tenure ") + TENURE_VERSION);
  tool.set_config("--config");
  tool.config_formatter(std::make_shared<ConfigFile>(tool));
  tool.allow_config_extras(CLI::config_extras_mode::error);
  tool.require_subcommand(1);
  tool.fallthrough();
  for (const Command& command : all) {
    CLI::App& parser = declare(tool, command);
    if (command.act) parser.callback([&command, &chosen] { chosen = &command; });
  }
}

/// The configuration file as it is now.
ConfigReader readerOf(const CLI::App& tool) {
  return [&tool](const std::string& command, const std::string& option) -> Result<std::optional<std::string>> {
    const auto* file = dynamic_cast<const ConfigFile*>(tool.get_config_formatter_base().get());
    const auto path = tool.get_config_ptr()->as<std::string>();
    if (file == nullptr || path.empty()) return std::optional<std::string>{};
    try {
      return file->valueOf(path, command, option);
    } catch (const CLI::Error& error) {
      return Error{Errc::configurationRefused, error.what()};
    }
  };
}

/// Opens a standard stream that our parent closed: else the next opened file would get its number, and our output.
void occupy(int standard, const char* device, int mode) {
  if (::fcntl(standard, F_GETFD) >= 0) return;
  const int opened = ::open(device, mode);
  if (opened < 0 || opened == standard) return;
  ::dup2(opened, standard);
  ::close(opened);
}

/// What `run` shall run is not for the parser, which would read "[x]" as a list. Empty: there is no such mark.
Words cutCommand(Words& words) {
  const auto mark = std::find(words.begin(), words.end(), "--");
  if (mark == words.end() || std::find(words.begin(), mark, "run") == mark) return {};
  Words command(mark + 1, words.end());
  words.erase(mark, words.end());
  return command;
}

/// What a constructor of the library refused, in the tool's names.
Exit refuseInItsWords(const std::system_error& error, const Command& command) {
  std::string text = error.what();
  if (const std::string reason = ": " + error.code().message(); text.ends_with(reason))
    text.resize(text.size() - reason.size());
  return refuse("", Error{error.code(), withOptionNames(std::move(text), command.options())});
}

Exit runCommand(const CLI::App& tool, const Command& command) {
  const CLI::App* parser = &tool;
  while (!parser->get_subcommands().empty()) parser = parser->get_subcommands().back();
  if (const std::string idle = idleOption(*parser, command); !idle.empty()) return wrongUsage(idle);
  try {
    return command.act();
  } catch (const std::system_error& error) {
    return refuseInItsWords(error, command);
  }
}

void tellOfUnknownVariables(const std::vector<Command>& all) {
  for (const std::string& complaint : unknownVariables(environ, all)) complain(complaint);
}

Exit parseAndRun(Words words) {
  CLI::App tool;
  const std::vector<Command> all = commands(cutCommand(words), readerOf(tool));
  const Command* chosen = nullptr;
  declareTool(tool, all, chosen);
  const HelpScope scope = turnHelpAround(words);
  if (const std::string moved = movedCommand(words); !moved.empty()) return wrongUsage(moved);
  if (const std::string unknown = unknownCommand(words, all); !unknown.empty()) {
    complain(unknown);
    tellOfUnknownVariables(all);
    return Exit::usage;
  }
  const Words given = words;
  const PlacedComplaints placed([&](std::string what) { return withItsPlace(std::move(what), tool, given); });
  try {
    std::reverse(words.begin(), words.end());  // so the parser wants it
    tool.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    const Exit exit = explain(tool, error, all, scope);
    if (exit != Exit::done) tellOfUnknownVariables(all);
    return exit;
  }
  tellOfUnknownVariables(all);
  if (!tool.got_subcommand("consume") && !tool.got_subcommand("run")) {
    if (!tool.got_subcommand("relay")) releaseSignals();
    occupy(STDIN_FILENO, "/dev/null", O_RDONLY);
    occupy(STDOUT_FILENO, "/dev/full", O_WRONLY);
  }
  return runCommand(tool, *chosen);
}

/// Below `tenure run` these tell the command about its term; they are no options of a tool that the command starts.
/// `fence check` is there to be asked about that very term.
void forgetTheTermOfRun(const Words& words) {
  const std::array check{"fence", "check"};
  const bool isAsked = std::search(words.begin(), words.end(), check.begin(), check.end()) != words.end();
  if (std::getenv("TENURE_TERM") == nullptr || isAsked) return;
  for (const char* variable : {"TENURE_ELECTION", "TENURE_ID", "TENURE_STORE"}) ::unsetenv(variable);
}

/// The reader of our pipe has read what it wanted, as `head` does.
bool isReaderGone() {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

/// An answer that could not be written was not given, unless its reader has gone.
Exit withOutput(Exit exit) {
  if (std::cout.flush()) return exit;
  if (isReaderGone()) return exit;
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
