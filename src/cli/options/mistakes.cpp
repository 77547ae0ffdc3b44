#include "cli/options/mistakes.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>

#include "base/nearest.hpp"
#include "base/text.hpp"
#include "cli/options/config_file.hpp"
#include "cli/options/help_page.hpp"

namespace tenure::cli {
namespace {

using Words = std::vector<std::string>;

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
std::string pageOf(const CLI::App& tool, const std::vector<Command>& commands, HelpScope scope) {
  const std::string name = fullName(namedCommand(tool));
  for (const Command& command : commands)
    if (name == "tenure " + command.name) return helpPage(command, commands, scope);
  return toolPage(commands);
}

struct Word {
  std::string_view from;
  std::string_view to;
};

/// What has another name now.
constexpr std::array moved{Word{"queue list", "list --store URL"}, Word{"token check", "fence check"},
                           Word{"token", "fence check"}};

/// What others call it.
constexpr std::array otherNames{
    Word{"--retries", "--max-attempts"},
    Word{"--max-retries", "--max-attempts"},
    Word{"--attempts", "--max-attempts"},
    Word{"--timeout", "--execute-limit"},
    Word{"--concurrency", "--lanes"},
    Word{"--workers", "--lanes"},
    Word{"--parallel", "--lanes"},
    Word{"--threads", "--lanes"},
    Word{"--batch", "--max-batch"},
    Word{"--batch-size", "--max-batch"},
    Word{"--backoff", "--retry-delays"},
    Word{"--retry-delay", "--retry-delays"},
    Word{"--dlq", "--on-dead"},
    Word{"--dead-letter-queue", "--on-dead"},
    Word{"--grace-period", "--drain-limit"},
    Word{"--port", "--http"},
    Word{"--metrics", "--http"},
    Word{"--verbose", "--log-level"},
    Word{"--config-file", "--config"},
    Word{"--name", "--id"},
    Word{"--zk", "--zookeeper"},
    Word{"--command", "--exec"},
};

template <std::size_t count>
std::string_view wordFor(std::string_view word, const std::array<Word, count>& table) {
  const auto found = std::ranges::find(table, word, &Word::from);
  return found == table.end() ? std::string_view{} : found->to;
}

std::optional<std::string> meantBy(const std::string& word, const Words& candidates) {
  const std::string known{wordFor(word, otherNames)};
  return std::ranges::find(candidates, known) != candidates.end() ? std::optional(known) : nearest(word, candidates);
}

std::string unknown(const std::string& word, const std::string& kind, const CLI::App& command,
                    const Words& candidates) {
  const auto meant = meantBy(word, candidates);
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

std::string movedCommand(const std::vector<std::string>& words) {
  std::string name;
  for (std::size_t i = 0; i < std::min<std::size_t>(words.size(), 2); ++i) {
    name += (i == 0 ? "" : " ") + words[i];
    const std::string_view now = wordFor(name, moved);
    if (!now.empty()) return "\"tenure " + name + "\" is `tenure " + std::string(now) + "` now";
  }
  return {};
}

std::string unknownCommand(const std::vector<std::string>& words, const std::vector<Command>& commands) {
  if (words.empty() || words.front().starts_with('-')) return {};
  Words names;
  for (const Command* each : commandsIn("", commands)) names.push_back(each->name);
  if (std::ranges::find(names, words.front()) != names.end()) return {};
  return "\"" + words.front() + "\" is no command of tenure" + didYouMean(words.front(), names) + "; see tenure --help";
}

HelpScope turnHelpAround(std::vector<std::string>& words) {
  if (words.empty() || words.front() != "help") return HelpScope::common;
  words.erase(words.begin());
  const bool isWhole = std::erase(words, "--all") > 0;
  words.emplace_back("--help");
  return isWhole ? HelpScope::all : HelpScope::common;
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

Exit explain(const CLI::App& tool, const CLI::ParseError& error, const std::vector<Command>& commands,
             HelpScope scope) {
  const auto strangers = unknownWords(tool);
  if (error.get_exit_code() == 0 && !strangers) {
    std::cout << (error.get_name() == "CallForVersion" ? error.what() + std::string("\n")
                                                       : pageOf(tool, commands, scope));
    return Exit::done;
  }
  const bool isRefused = isRefusedValue(error);
  const std::string complaint = strangers && !isRefused ? *strangers : inUserWords(error, tool);
  complain(complaint + "; see " + fullName(namedCommand(tool)) + " --help");
  return isRefused ? Exit::configuration : Exit::usage;
}

}  // namespace tenure::cli
