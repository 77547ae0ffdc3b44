#include "cli/options/help_page.hpp"

#include <sstream>

namespace tenure::cli {
namespace {

constexpr std::size_t width = 100;
constexpr std::size_t sentences = 30;  // the column where they begin

/// The text in lines, each but the first indented.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::string all, word;
  std::size_t at = indent;
  for (std::istringstream words(text); words >> word;) {
    if (at > indent && at + 1 + word.size() > width) {
      all += "\n" + std::string(indent, ' ');
      at = indent;
    } else if (at > indent) {
      all += ' ';
      ++at;
    }
    all += word;
    at += word.size();
  }
  return all;
}

std::string optionRows(const Options& options, HelpScope scope) {
  std::string rows;
  for (const Option& option : options) {
    if (option.ties.isExpert && scope == HelpScope::common) continue;
    rows += helpRow(option.usage(), option.sentence());
    std::size_t longest = 0;
    for (const auto& [name, meaning] : option.value.meanings) longest = std::max(longest, name.size());
    for (const auto& [name, meaning] : option.value.meanings) {
      const std::string label = std::string(sentences + 2, ' ') + name + std::string(longest - name.size() + 2, ' ');
      rows += label + wrapped(meaning, label.size()) + "\n";
    }
  }
  return rows;
}

std::string exitCodes() {
  const auto cell = [](const ExitRow& row) { return std::to_string(static_cast<int>(row.code)) + " " + row.name; };
  std::string page = "\nExit codes:\n";
  const std::size_t half = (exitRows.size() + 1) / 2;
  for (std::size_t i = 0; i < half; ++i) {
    std::string line = "  " + cell(exitRows[i]);
    if (i + half < exitRows.size()) line += std::string(35 - line.size(), ' ') + cell(exitRows[i + half]);
    page += line + "\n";
  }
  return page;
}

std::string usageOf(const Command& command, bool isGroup) {
  std::string usage = "Usage: tenure " + command.name;
  if (isGroup) return usage + " COMMAND OPTIONS\n";
  for (const Option& option : command.options())
    if (option.isPositional()) usage += ' ' + (option.ties.required ? option.usage() : '[' + option.usage() + ']');
  return usage + (command.groups.empty() ? "" : " OPTIONS") + command.usageEnd + "\n";
}

std::string commandRows(std::string_view group, const std::vector<Command>& commands) {
  std::string rows = "\nCommands:\n";
  for (const Command* each : commandsIn(group, commands))
    rows += helpRow(each->name.substr(each->name.rfind(' ') + 1), each->about);
  return rows;
}

}  // namespace

const char* const about =
    "Leader-elected, single-active consumers: one replica works, strictly in order, and a fencing\n"
    "token keeps every former leader from committing anything.";

const char* const firstSteps = R"help(tenure produce --queue 'sqlite:orders.db?queue=orders' <orders.txt
tenure consume --zookeeper 127.0.0.1:2181 --election orders --queue 'sqlite:orders.db?queue=orders' \
  --sql "INSERT INTO ledger(body) VALUES (:body)"
tenure run --zookeeper 127.0.0.1:2181 --election reports -- ./make-reports --every 5m
tenure status --zookeeper 127.0.0.1:2181 --election orders
tenure queue stats --queue 'sqlite:orders.db?queue=orders'
tenure check --zookeeper 127.0.0.1:2181 --queue 'sqlite:orders.db?queue=orders'
tenure help COMMAND)help";

const char* const urlHelp =
    "A URL names a queue or a store, such as 'sqlite:orders.db?queue=orders'; quote ? and & in a shell.\n"
    "`tenure urls` tells every form and parameter. A password comes from a file or the environment.\n";

const char* const settingHelp =
    "An option can also stand in a file given with --config (TOML: `zookeeper = \"host:2181\"`, sections\n"
    "named after commands) or in the environment (--queue is TENURE_QUEUE there); a flag wins over the\n"
    "file, the file over the environment. What concerns one call only, such as --json, is not read from\n"
    "the environment. A TENURE_ variable that no command reads is told. Secrets come from files or the\n"
    "environment, never from the command line.\n";

const char* const urlsAbout =
    "Queues and stores are named by URL. Quote ? and & in a shell; % escapes stand for bytes.";

std::string helpRow(const std::string& name, const std::string& text, std::size_t column) {
  std::string line = "  " + name;
  const bool fits = name.empty() || line.size() + 2 <= column;
  line += fits ? std::string(column - line.size(), ' ') : "\n" + std::string(column, ' ');
  return line + wrapped(text, column) + "\n";
}

std::string indented(const std::string& lines) {
  std::string all, line;
  for (std::istringstream in(lines); std::getline(in, line);) all += "  " + line + "\n";
  return all;
}

std::vector<const Command*> commandsIn(std::string_view group, const std::vector<Command>& commands) {
  std::vector<const Command*> found;
  for (const Command& each : commands) {
    const std::size_t space = each.name.find(' ');
    const bool isIn = group.empty()
                          ? space == std::string::npos
                          : space != std::string::npos && std::string_view(each.name).substr(0, space) == group;
    if (isIn) found.push_back(&each);
  }
  return found;
}

std::string toolPage(const std::vector<Command>& commands) {
  return std::string(about) + "\n\nUsage: tenure COMMAND OPTIONS\n" + commandRows("", commands) + "\nOptions:\n" +
         helpRow("--config FILE", "Read options from this file") + helpRow("--version", "Print the version") +
         helpRow("-h, --help",
                 "Print this page, or that of a command; `tenure help COMMAND --all` shows expert settings") +
         "\nExamples:\n" + indented(firstSteps) + exitCodes() + "\n" + settingHelp;
}

/// Which settings the page leaves out.
std::string expertNames(const Command& command) {
  std::string names;
  for (const Option& option : command.options())
    if (option.ties.isExpert) names += (names.empty() ? "" : ", ") + option.name;
  return names.empty()
             ? ""
             : "\nExpert settings, for `tenure help " + command.name + " --all`:\n  " + wrapped(names, 2) + "\n";
}

std::string helpPage(const Command& command, const std::vector<Command>& commands, HelpScope scope) {
  std::string page = command.about + "\n\n" + usageOf(command, !command.act);
  if (!command.help.empty()) page += "\n" + command.help;
  if (!command.act) page += commandRows(command.name, commands);
  for (const Group& group : command.groups)
    if (const std::string rows = optionRows(group.options, scope); !rows.empty())
      page += "\n" + group.title + ":\n" + rows;
  if (scope == HelpScope::common) page += expertNames(command);
  if (command.hasUrls) page += std::string("\n") + urlHelp;
  if (!command.examples.empty()) page += "\nExamples:\n" + indented(command.examples);
  return page + exitCodes() + "\n" + settingHelp;
}

}  // namespace tenure::cli
