/// What a person got wrong on the command line, in a person's words: the word that is not known, the nearest right one,
/// and the page that tells more.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/command.hpp"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace tenure::cli {

/// The candidate that `word` may have been meant to be: at most a third of its letters differ, or are swapped.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

/// "help queue stats" as the parser knows it: "queue stats --help". Other words stay as they are.
void turnHelpAround(std::vector<std::string>& words);

/// A complaint that begins with an option's name, whose value was not on the command line, with the variable or the key
/// of the file that it stood under. `given`: the words of the command line.
std::string withItsPlace(std::string complaint, const CLI::App& tool, const std::vector<std::string>& given);

/// Answers what the parser threw: a wish for help is fulfilled, anything else is a complaint that repeats no value
/// beside an option that does not exist, because that may be a secret.
Exit explain(const CLI::App& tool, const CLI::ParseError& error, const std::vector<Command>& commands);

}  // namespace tenure::cli
