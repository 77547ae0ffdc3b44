/// A command of the tool as a page: what it does, its options in groups, and what happens when it is chosen. Parser,
/// help (help_page.hpp), manual and reference (reference.hpp) are made from it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/exit.hpp"
#include "cli/options/options.hpp"

namespace CLI {
class App;
}

namespace tenure::cli {

struct Group {
  std::string title;
  Options options;
};

struct Command {
  std::string name;   // "queue stats"
  std::string about;  // one line
  std::vector<Group> groups{};
  std::string help{};           // lines of at most 100 characters; what is indented stays as it stands
  std::string examples{};       // a command line each, and their continuations
  std::function<Exit()> act{};  // none: it is a group of commands
  std::string usageEnd{};       // what follows the options on the command line
  bool hasUrls = false;         // its page says where the forms of URLs are told

  Options options() const;
};

/// What the configuration file says now of an option of a command; nothing where it does not name it.
using ConfigReader =
    std::function<Result<std::optional<std::string>>(const std::string& command, const std::string& option)>;

/// Makes the parser of one command, whose group is there already. What refers to it stays valid as long as it does.
CLI::App& declare(CLI::App& tool, const Command& command);

/// What was given on the command line, in the file or in the environment, and does nothing where others are as they
/// are; empty: there is no such option.
std::string idleOption(const CLI::App& parser, const Command& command);

}  // namespace tenure::cli
