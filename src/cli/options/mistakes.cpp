#include "cli/options/mistakes.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <numeric>

#include "base/text.hpp"
#include "cli/options/config_file.hpp"
#include "cli/options/help_page.hpp"

namespace tenure::cli {
namespace {

using Words = std::vector<std::string>;

/// How many letters must be changed, added, removed or swapped with their neighbour to make `b` of `a`.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> beforeLast(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), 0U);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      const bool isSwapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (isSwapped) row[j] = std::min(row[j], beforeLast[j - 2] + 1);
    }
    beforeLast.swap(last);
    last.swap(row);
  }
  return last.back();
}

bool isOption(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

/// Without its value: "--name" of "--name=value", "-n" of "-nvalue".
std::string nameOf(const std::string& option) {
  return option.substr(0, option.starts_with("--") ? option.find('=') : 2);
}

/// The command that was named, as deep as it was.
const CLI::App& namedCommand(const CLI::App& tool) {
  const CLI::App* deepest = &tool;
  for (auto below = deepest->get_subcommands(); !below.empty(); below = deepest->get_subcommands())
    deepest = below.back();
  return *deepest;
}

/// "tenure queue stats"
std::string fullName(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : fullName(*parent) + " " + command.get_name();
}

Words commandsOf(const CLI::App& command) {
  Words names;
  for (const CLI::App* below : command.get_subcommands({})) names.push_back(below->get_name());
  return names;
}

/// The command's own options, and those of the commands above it.
Words optionsOf(const CLI::App& command) {
  Words names;
  for (const CLI::App* each = &command; each != nullptr; each = each->get_parent())
    for (const CLI::Option* option : each->get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

/// What the user asked to be helped with.
std::string pageOf(const CLI::App& tool, const std::vector<Command>& commands) {
  const std::string name = fullName(namedCommand(tool));
  for (const Command& command : commands)
    if (name == "tenure " + command.name) return helpPage(command, commands);
  return toolPage(commands);
}

std::string unknown(const std::string& word, const std::string& kind, const CLI::App& command,
                    const Words& candidates) {
  const auto meant = nearest(word, candidates);
  return "\"" + word + "\" is no " + kind + " of " + fullName(command) +
         (meant ? "; did you mean " + *meant + "?" : "");
}

/// A line for each word that nothing took; values beside an unknown option are left out.
std::optional<std::string> unknownWords(const CLI::App& tool) {
  const CLI::App& command = namedCommand(tool);
  const Words words = tool.remaining(true);
  if (words.empty()) return std::nullopt;
  if (const Words commands = commandsOf(command); !commands.empty() && !isOption(words.front()))
    return unknown(words.front(), "command", command, commands);
  const bool anyOption = std::any_of(words.begin(), words.end(), isOption);
  std::string all;
  for (const std::string& word : words) {
    if (anyOption && !isOption(word)) continue;
    if (!all.empty()) all += "\n";
    all += anyOption ? unknown(nameOf(word), "option", command, optionsOf(command))
                     : "\"" + word.substr(0, word.find('=')) + "\" belongs to no option of " + fullName(command);
  }
  return all;
}

/// The parser's words for some mistakes are its own, not the user's.
std::string inUserWords(const CLI::ParseError& error, const CLI::App& tool) {
  const std::string text = error.what();
  const std::string unread = "INI was not able to parse ";
  if (error.get_name() == "ConfigError" && text.rfind(unread, 0) == 0)
    return "--config: no command has an option \"" + text.substr(unread.size()) + "\"";
  if (error.get_name() == "ConfigError" || error.get_name() == "FileError") return "--config: " + text;
  // Of all values it converts those of flags by itself.
  const std::string unconverted = "Could not convert: ";
  if (const auto at = text.find(" = "); text.starts_with(unconverted) && at != std::string::npos)
    return text.substr(unconverted.size(), at - unconverted.size()) + ": \"" + text.substr(at + 3) +
           "\" is not true or false";
  if (text == "A subcommand is required") {
    const CLI::App& command = namedCommand(tool);
    const Words commands = commandsOf(command);
    std::string all;
    for (const std::string& name : commands) all += (all.empty() ? "" : ", ") + name;
    return fullName(command) + " wants a command: one of " + all;
  }
  return text;
}

/// Whether the configuration file has the option, for that command or for all.
bool isInFile(const CLI::App& tool, const CLI::App& command, const std::string& option) {
  const auto* file = dynamic_cast<const ConfigFile*>(tool.get_config_formatter_base().get());
  const auto path = tool.get_config_ptr()->as<std::string>();
  try {
    return file != nullptr && !path.empty() && file->names(path, fullName(command), option);
  } catch (const CLI::Error&) {
    return false;
  }
}

/// "TENURE_QUEUE (--queue)", "queue in the file of --config"; the option itself where it was on the command line.
std::string placeOf(const std::string& option, const CLI::App& tool, const Words& given) {
  const auto isIt = [&](const std::string& word) { return word == option || word.starts_with(option + "="); };
  const CLI::App& command = namedCommand(tool);
  const CLI::Option* known = command.get_option_no_throw(option);
  if (known == nullptr || std::any_of(given.begin(), given.end(), isIt)) return option;
  if (isInFile(tool, command, option.substr(2))) return option.substr(2) + " in the file of --config";
  const std::string variable = known->get_envname();
  const bool isSet = !variable.empty() && std::getenv(variable.c_str()) != nullptr;
  return isSet ? variable + " (" + option + ")" : option;
}

/// A value that an option does not take, wherever it stood, and a file that cannot be read as one.
bool isRefusedValue(const CLI::ParseError& error) {
  const std::string& kind = error.get_name();
  return kind == "ValidationError" || kind == "ConversionError" || kind == "FileError" || kind == "ConfigError";
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates)
    if (const std::size_t apart = distance(word, candidate); apart < least) {
      least = apart;
      best = candidate;
    }
  return best;
}

void turnHelpAround(std::vector<std::string>& words) {
  if (words.empty() || words.front() != "help") return;
  words.erase(words.begin());
  words.emplace_back("--help");
}

std::string withItsPlace(std::string complaint, const CLI::App& tool, const Words& given) {
  const std::string excludes = " excludes ";
  for (const std::size_t begin : {complaint.find(excludes) + excludes.size(), std::size_t{0}}) {
    const std::size_t end = std::min(complaint.find_first_of(": ;", begin), complaint.size());
    if (complaint.compare(begin, 2, "--") != 0) continue;
    complaint.replace(begin, end - begin, placeOf(complaint.substr(begin, end - begin), tool, given));
  }
  return complaint;
}

Exit explain(const CLI::App& tool, const CLI::ParseError& error, const std::vector<Command>& commands) {
  const auto strangers = unknownWords(tool);
  if (error.get_exit_code() == 0 && !strangers) {
    std::cout << (error.get_name() == "CallForVersion" ? error.what() + std::string("\n") : pageOf(tool, commands));
    return Exit::done;
  }
  const bool isRefused = isRefusedValue(error);
  const std::string complaint = strangers && !isRefused ? *strangers : inUserWords(error, tool);
  complain(complaint + "; see " + fullName(namedCommand(tool)) + " --help");
  return isRefused ? Exit::configuration : Exit::usage;
}

}  // namespace tenure::cli
