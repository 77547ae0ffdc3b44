/// What a person got wrong on the command line, in a person's words: the word that is not known, the nearest right one,
/// and the page that tells more.
#pragma once

#include <string>
#include <vector>

#include "cli/options/command.hpp"
#include "cli/options/help_page.hpp"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace tenure::cli {

/// "\"tenure token\" is `tenure fence check` now"; empty: the words name no command that has moved.
std::string movedCommand(const std::vector<std::string>& words);

/// What is wrong with a first word that is no command, whatever stands behind it; empty: it is one, or an option.
std::string unknownCommand(const std::vector<std::string>& words, const std::vector<Command>& commands);

/// "help queue stats" as the parser knows it: "queue stats --help", with "--all" taken out. Other words stay as they
/// are.
HelpScope turnHelpAround(std::vector<std::string>& words);

/// A complaint that begins with an option's name, whose value was not on the command line, with the variable or the key
/// of the file that it stood under. `given`: the words of the command line.
std::string withItsPlace(std::string complaint, const CLI::App& tool, const std::vector<std::string>& given);

/// Answers what the parser threw: a wish for help is fulfilled, anything else is a complaint that repeats no value
/// beside an option that does not exist, because that may be a secret.
Exit explain(const CLI::App& tool, const CLI::ParseError& error, const std::vector<Command>& commands, HelpScope scope);

}  // namespace tenure::cli
