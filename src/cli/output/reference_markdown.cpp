#include <sstream>

#include "cli/options/backends.hpp"
#include "cli/options/help_page.hpp"
#include "cli/output/reference.hpp"
#include "telemetry/http/series.hpp"

namespace tenure::cli {
namespace {

const std::string generated = "<!-- Made by tenure_reference from the tables in src/cli: change those. -->\n";

/// As a cell of a table.
std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, 1, '\\');
  return text;
}

std::string code(const std::string& text) { return text.empty() ? "" : "`" + cell(text) + "`"; }

std::string fenced(const std::string& text) { return "```text\n" + text + "\n```\n"; }

std::string markdownProse(const std::string& text) {
  std::string all;
  for (const Block& block : blocksOf(text)) all += "\n" + (block.isLiteral ? fenced(block.text) : block.text + "\n");
  return all;
}

/// All that the row says, in one cell.
std::string storyOf(const Option& option) {
  std::string story = option.help + ".";
  for (const auto& [name, meaning] : option.value.meanings) story += " `" + name + "`: " + meaning + ".";
  const std::string remarks = option.remarks();
  return cell(story + (remarks.empty() ? "" : " " + remarks));
}

std::string boundsOf(const Option& option) {
  if (!option.value.range.empty()) return cell(option.value.range);
  std::vector<std::string> names;
  for (const auto& [name, meaning] : option.value.meanings) names.push_back(name);
  return listed(names);
}

std::string defaultOf(const Option& option) { return option.ties.required ? "required" : cell(option.value.byDefault); }

std::string parametersTable(const Options& parameters) {
  std::string table = "\n| parameter | what it says | limits | default |\n| --- | --- | --- | --- |\n";
  for (const Option& row : parameters)
    table += "| " + code(row.name) + " | " + storyOf(row) + " | " + boundsOf(row) + " | " + defaultOf(row) + " |\n";
  return table;
}

std::string schemes() {
  std::string page;
  for (const Scheme* scheme : toldSchemes())
    page += "\n## " + std::string(scheme->name) + "\n\n" + fenced(scheme->form) + "\n" + scheme->about + "\n" +
            parametersTable(scheme->parameters()) + markdownProse(scheme->remarks);
  return page;
}

std::string optionsTable(const Options& options) {
  std::string table = "\n| option | what it says | limits | default | environment |\n| --- | --- | --- | --- | --- |\n";
  for (const Option& option : options)
    table += "| " + code(option.usage()) + " | " + storyOf(option) + " | " + boundsOf(option) + " | " +
             defaultOf(option) + " | " + code(option.variable()) + " |\n";
  return table;
}

std::string usageOf(const Command& command) {
  const std::string page = helpPage(command, {}, HelpScope::all);
  const std::size_t at = page.find("Usage: ") + std::string_view("Usage: ").size();
  return page.substr(at, page.find('\n', at) - at);
}

/// `heading` is "#" for a page of its own.
std::string pageOf(const Command& command, const std::string& heading) {
  std::string page = heading + " tenure " + command.name + "\n\n" + command.about + ".\n\n" + fenced(usageOf(command));
  page += markdownProse(command.help);
  if (command.name == "urls") page += std::string("\n") + urlsAbout + "\n" + schemes();
  for (const Group& group : command.groups)
    page += "\n" + heading + "# " + (heading == "#" ? "" : command.name + ": ") + group.title + "\n" +
            optionsTable(group.options);
  if (!command.examples.empty()) page += "\nExamples:\n\n" + fenced(command.examples);
  return page;
}

Document commandPage(const Command& command, const std::vector<Command>& commands) {
  std::string page = generated + "\n" + pageOf(command, "#");
  for (const Command* each : commandsIn(command.name, commands)) page += "\n" + pageOf(*each, "##");
  page +=
      "\nWhere options may stand besides: [configuration](../configuration.md). How the tool ends: [exit "
      "codes](../exit-codes.md).\n";
  return {"commands/" + command.name + ".md", page};
}

Document indexPage(const std::vector<Command>& commands) {
  std::string page =
      generated + "\n# Commands\n\n" + about +
      "\nEach has a page in the manual as well: `man tenure-consume`.\n\n| command | what it does |\n| --- | --- |\n";
  for (const Command& command : commands) {
    const std::string top = command.name.substr(0, command.name.find(' '));
    page += "| [tenure " + command.name + "](" + top + ".md) | " + command.about + " |\n";
  }
  return {"commands/README.md", page};
}

Document exitCodesPage() {
  std::string page =
      generated + "\n# Exit codes\n\n| code | name | meaning | start it again? |\n| --- | --- | --- | --- |\n";
  for (const ExitRow& row : exitRows)
    page += "| " + std::to_string(static_cast<int>(row.code)) + " | " + row.name + " | " + row.meaning + " | " +
            row.again + " |\n";
  page +=
      "\n`tenure run --on-exit exit` ends with the command's own code. What the exit codes of a handler mean is told\n"
      "in [failures](messages.md#failures).\n";
  return {"exit-codes.md", page};
}

Document configurationPage(const std::vector<Command>& commands) {
  std::string page = generated + "\n# Configuration\n" + markdownProse(fileHelp) + "\n```toml\n" + fileExample +
                     "\n```\n" + markdownProse(secretHelp) + "\n| key | environment | of |\n| --- | --- | --- |\n";
  for (const Setting& setting : settingsOf(commands)) {
    std::string of;
    for (const std::string& command : setting.commands) of += (of.empty() ? "" : ", ") + command;
    page += "| " + code(setting.key) + " | " + code(setting.variable) + " | " + of + " |\n";
  }
  return {"configuration.md", page};
}

/// What `consume` sets in the library's structs.
Document settingsPage(const std::vector<Command>& commands) {
  std::string page = generated +
                     "\n# Settings\n\nWhat a replica may be told: the option of the library, and that of "
                     "[`tenure consume`](commands/consume.md).\n\n"
                     "| setting | option | what it says | limits | default |\n| --- | --- | --- | --- | --- |\n";
  for (const Command& command : commands) {
    if (command.name != "consume") continue;
    for (const Option& option : command.options())
      if (!option.ties.field.empty())
        page += "| " + code(option.ties.field) + " | " + code(option.name) + " | " + storyOf(option) + " | " +
                boundsOf(option) + " | " + defaultOf(option) + " |\n";
  }
  return {"settings.md", page};
}

/// The series of `/metrics`.
Document metricsPage() {
  std::string page = generated +
                     "\n# Metrics\n\nThe series of `/metrics`, as Prometheus' text format and OpenMetrics, and of "
                     "`--metrics-file`. Each but those\nof the process has the label `election`, of a producer the "
                     "label `producer`, which is its metrics file's name.\nThose marked *term* are there only while "
                     "the replica leads with a valid term: absent, not 0. Where a command is\nnamed, no other command "
                     "has the series.\n\n"
                     "| series | kind | label | what it says |\n| --- | --- | --- | --- |\n";
  for (const telemetry::Series& row : telemetry::series())
    page += "| " + code(std::string(row.name)) + " | " + std::string(telemetry::toString(row.kind)) +
            (row.ofTerm ? ", *term*" : "") + (row.of.empty() ? "" : ", " + code(std::string(row.of))) + " | " +
            code(std::string(row.label)) + " | " + std::string(row.help) + " |\n";
  return {"metrics.md", page};
}

}  // namespace

std::vector<Document> referencePages(const std::vector<Command>& commands) {
  std::vector<Document> pages;
  for (const Command* command : commandsIn("", commands)) pages.push_back(commandPage(*command, commands));
  pages.push_back(indexPage(commands));
  pages.push_back(exitCodesPage());
  pages.push_back(configurationPage(commands));
  pages.push_back(settingsPage(commands));
  pages.push_back(metricsPage());
  return pages;
}

}  // namespace tenure::cli
