#include <algorithm>
#include <map>
#include <string>

#include "cli/options/help_page.hpp"
#include "cli/output/reference.hpp"

namespace tenure::cli {
namespace {

constexpr const char* const head = R"bash(# Completion of the command line of tenure.
_tenure() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command= words= each
  for each in "${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
    [[ $each != -* ]] || break
    command+="${command:+ }$each"
  done
)bash";

constexpr const char* const tail = R"bash(  [[ $words ]] && mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _tenure tenure
)bash";

void add(std::string& words, const std::string& word) { words += (words.empty() ? "" : " ") + word; }

std::string optionsOf(const Command& command) {
  std::string words;
  for (const Option& option : command.options()) {
    if (option.isPositional()) continue;
    add(words, option.name);
    if (option.value.canBeOff) add(words, "--no-" + option.key());
  }
  add(words, "--help");
  return words;
}

std::string commandsBelow(const std::string& group, const std::vector<Command>& commands) {
  std::string words = group.empty() ? "help" : "";
  for (const Command* each : commandsIn(group, commands)) add(words, each->name.substr(each->name.rfind(' ') + 1));
  return words;
}

std::string caseOf(const std::string& pattern, const std::string& words) {
  return "    " + pattern + ") words=\"" + words + "\" ;;\n";
}

}  // namespace

Document bashCompletion(const std::vector<Command>& commands) {
  std::string text = head;
  text += "  case ${command#help } in\n" + caseOf("'' | help", commandsBelow("", commands));
  // Longer names first: `case` takes the first that matches.
  std::vector<const Command*> longestFirst;
  for (const Command& command : commands) longestFirst.push_back(&command);
  std::ranges::stable_sort(longestFirst, std::ranges::greater{}, [](const Command* each) { return each->name.size(); });
  for (const Command* command : longestFirst)
    text += command->act ? caseOf("'" + command->name + "'*", optionsOf(*command))
                         : caseOf("'" + command->name + "'", commandsBelow(command->name, commands));
  text += "  esac\n  case $before in\n";
  std::map<std::string, std::string> values;
  for (const Command& command : commands)
    for (const Option& option : command.options())
      for (const std::string& value : option.value.words)
        if ((" " + values[option.name] + " ").find(" " + value + " ") == std::string::npos)
          add(values[option.name], value);
  for (const auto& [option, words] : values) text += caseOf(option, words);
  return {"tenure.bash", text + "  esac\n" + tail};
}

}  // namespace tenure::cli
