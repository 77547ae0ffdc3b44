#include "cli/options/command.hpp"

#include <CLI/CLI.hpp>
#include <sstream>

#include "base/nearest.hpp"
#include "base/text.hpp"

namespace tenure::cli {
namespace {

/// The parser of "queue" for "queue stats"; that of the tool for "queue".
CLI::App& groupOf(CLI::App& tool, const std::string& command) {
  const std::size_t space = command.find(' ');
  return space == std::string::npos ? tool : *tool.get_subcommand(command.substr(0, space));
}

void take(const Option& option, const std::string& word) {
  if (!option.value.take(word))
    throw CLI::ValidationError(
        option.isPositional() ? option.value.type : option.name,
        "\"" + escaped(word) + "\" is not " + option.value.expected + didYouMean(word, option.value.words));
}

CLI::Option& declare(CLI::App& parser, const Option& option) {
  const Value& value = option.value;
  CLI::Option* made = nullptr;
  if (value.flag != nullptr) {
    made = parser.add_flag(value.canBeOff ? option.name + ",!--no-" + option.key() : option.name, *value.flag);
  } else if (value.repeats) {
    const auto each = [&option](const std::vector<std::string>& words) {
      for (const std::string& word : words) take(option, word);
    };
    made = parser.add_option_function<std::vector<std::string>>(option.name, each);
  } else {
    made = parser.add_option_function<std::string>(option.name,
                                                   [&option](const std::string& word) { take(option, word); });
  }
  if (option.ties.required) made->required();
  if (const std::string variable = option.variable(); !variable.empty()) made->envname(variable);
  return *made;
}

}  // namespace

Options Command::options() const {
  Options all;
  for (const Group& group : groups) all.insert(all.end(), group.options.begin(), group.options.end());
  return all;
}

CLI::App& declare(CLI::App& tool, const Command& command) {
  CLI::App& parser = *groupOf(tool, command.name).add_subcommand(command.name.substr(command.name.rfind(' ') + 1));
  if (!command.act) parser.require_subcommand(1);
  for (const Group& group : command.groups)
    for (const Option& option : group.options) declare(parser, option);
  for (const Group& group : command.groups)
    for (const Option& option : group.options)
      for (const std::string& other : option.ties.excludes)
        parser.get_option(option.name)->excludes(parser.get_option(other));
  return parser;
}

std::string idleOption(const CLI::App& parser, const Command& command) {
  for (const Group& group : command.groups)
    for (const Option& option : group.options)
      for (const Idle& idle : option.ties.idle)
        if (parser.count(option.name) > 0 && idle.applies())
          return option.name + " does nothing " + idle.where + (idle.why.empty() ? "" : ": " + idle.why);
  return {};
}

}  // namespace tenure::cli
