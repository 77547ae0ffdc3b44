#include <cctype>
#include <sstream>

#include "cli/options/backends.hpp"
#include "cli/options/help_page.hpp"
#include "cli/output/reference.hpp"

namespace tenure::cli {
namespace {

/// Nothing in it commands the formatter.
std::string plain(const std::string& text) {
  std::string all;
  bool isAtStart = true;
  for (const char c : text) {
    if (isAtStart && (c == '.' || c == '\'')) all += "\\&";
    all += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
    isAtStart = c == '\n';
  }
  return all;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string section(const std::string& title) { return ".SH \"" + plain(upper(title)) + "\"\n"; }
std::string literal(const std::string& text) { return ".PP\n.RS 4\n.nf\n" + plain(text) + "\n.fi\n.RE\n"; }

std::string prose(const std::string& text) {
  std::string all;
  for (const Block& block : blocksOf(text))
    all += block.isLiteral ? literal(block.text) : ".PP\n" + plain(block.text) + "\n";
  return all;
}

/// "tenure-queue-stats"
std::string nameOf(const Command& command) {
  std::string name = "tenure-" + command.name;
  for (char& c : name) c = c == ' ' ? '-' : c;
  return name;
}

std::string lowerFirst(std::string text) {
  text.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
  return text;
}

std::string heading(const std::string& name, int part, const std::string& version, const std::string& about) {
  return ".\\\" Made by tenure_reference from the tables in src/cli.\n.TH \"" + plain(upper(name)) + "\" " +
         std::to_string(part) + " \"\" \"tenure " + version + "\" \"Tenure\"\n" + section("name") + plain(name) +
         " \\- " + plain(lowerFirst(about)) + "\n";
}

std::string tagged(const std::string& tag, const std::string& text) {
  return ".TP\n.B " + plain(tag) + "\n" + plain(text) + "\n";
}

std::string optionItem(const Option& option) {
  std::string item = tagged(option.usage(), option.sentence() + ".");
  if (const std::string remarks = option.remarks(); !remarks.empty()) item += plain(remarks) + "\n";
  if (!option.variable().empty()) item += plain("Environment: " + option.variable() + ".") + "\n";
  if (option.value.meanings.empty()) return item;
  item += ".RS\n";
  for (const auto& [name, meaning] : option.value.meanings) item += tagged(name, meaning + ".");
  return item + ".RE\n";
}

std::string commandList(const std::string& group, const std::vector<Command>& commands) {
  std::string list = section("commands");
  for (const Command* each : commandsIn(group, commands))
    list += ".TP\n.BR " + plain(nameOf(*each)) + " (1)\n" + plain(each->about) + ".\n";
  return list;
}

std::string exitStatus() {
  std::string list = section("exit status");
  for (const ExitRow& row : exitRows) {
    const std::string meaning = *row.meaning == '\0' ? row.name : std::string(row.name) + ": " + row.meaning;
    list += tagged(std::to_string(static_cast<int>(row.code)), meaning + ".");
  }
  return list;
}

std::string seeAlso(const std::string& self) {
  std::string also = section("see also");
  for (const auto& [name, part] : {std::pair("tenure", "1"), std::pair("tenure", "5"), std::pair("tenure-urls", "7")})
    if (self != std::string(name) + part)
      also += ".BR " + plain(name) + " (" + part + ")" + (std::string_view(part) == "7" ? "" : ",") + "\n";
  return also;
}

Document commandPage(const Command& command, const std::vector<Command>& commands, const std::string& version) {
  std::string synopsis = ".B " + plain("tenure " + command.name) + "\n";
  for (const Option& option : command.options())
    if (option.isPositional()) synopsis += ".I " + plain(option.usage()) + "\n";
  synopsis += command.act ? ".I OPTIONS" + plain(command.usageEnd) + "\n" : ".I COMMAND OPTIONS\n";
  std::string page = heading(nameOf(command), 1, version, command.about) + section("synopsis") + synopsis;
  if (!command.help.empty()) page += section("description") + prose(command.help);
  if (!command.act) page += commandList(command.name, commands);
  if (!command.groups.empty()) page += section("options");
  for (const Group& group : command.groups) {
    if (command.groups.size() > 1) page += ".SS \"" + plain(group.title) + "\"\n";
    for (const Option& option : group.options) page += optionItem(option);
  }
  if (!command.groups.empty()) page += ".PP\nAn option can also stand in a file, see\n.BR tenure (5).\n";
  page += exitStatus();
  if (!command.examples.empty()) page += section("examples") + literal(command.examples);
  return {nameOf(command) + ".1", page + seeAlso("")};
}

Document toolPage(const std::vector<Command>& commands, const std::string& version) {
  return {"tenure.1", heading("tenure", 1, version, "leader-elected, single-active consumers") + section("synopsis") +
                          ".B tenure\n.I COMMAND OPTIONS\n" + section("description") + ".PP\n" + plain(about) + "\n" +
                          commandList("", commands) + section("options") +
                          tagged("--config FILE", "Read options from this file.") +
                          tagged("--version", "Print the version.") +
                          tagged("-h, --help", "Print the page of the tool, or of a command.") + exitStatus() +
                          section("examples") + literal(firstSteps) + seeAlso("tenure1")};
}

Document filePage(const std::vector<Command>& commands, const std::string& version) {
  std::string page = heading("tenure", 5, version, "configuration of the tenure tool: file and environment") +
                     section("description") + prose(fileHelp) + section("secrets") + prose(secretHelp) +
                     section("example") + literal(fileExample) + section("keys");
  for (const Setting& setting : settingsOf(commands)) {
    std::string of = setting.variable.empty() ? "Not in the environment. Of " : setting.variable + ". Of ";
    for (const std::string& command : setting.commands) of += (of.ends_with("Of ") ? "" : ", ") + command;
    page += tagged(setting.key, of + ".");
  }
  return {"tenure.5", page + seeAlso("tenure5")};
}

Document urlsManual(const std::string& version) {
  std::string page = heading("tenure-urls", 7, version, "how queues and stores are named") + section("description") +
                     ".PP\n" + plain(urlsAbout) + "\n";
  for (const Scheme* scheme : toldSchemes()) {
    page += section(std::string(scheme->name)) + literal(scheme->form) + ".PP\n" + plain(scheme->about) + "\n";
    for (const Option& row : scheme->parameters()) page += tagged(row.name, row.sentence() + ".");
    page += prose(scheme->remarks);
  }
  return {"tenure-urls.7", page + seeAlso("tenure-urls7")};
}

}  // namespace

std::vector<Document> manualPages(const std::vector<Command>& commands, const std::string& version) {
  std::vector<Document> pages{toolPage(commands, version), filePage(commands, version)};
  for (const Command& command : commands)
    if (command.name != "urls") pages.push_back(commandPage(command, commands, version));
  pages.push_back(urlsManual(version));
  return pages;
}

}  // namespace tenure::cli
