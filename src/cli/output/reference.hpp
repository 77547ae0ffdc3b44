/// The manual pages and docs/reference, made from the commands and the tables of their options. Pure.
///
///     commands ─┬─▶ manualPages()      tenure.1, tenure-consume.1, …, tenure.5, tenure-urls.7
///               └─▶ referencePages()   commands/consume.md, …, configuration.md, settings.md, exit-codes.md
#pragma once

#include <string>
#include <vector>

#include "cli/options/command.hpp"

namespace tenure::cli {

struct Document {
  std::string path;
  std::string text;
};

std::vector<Document> manualPages(const std::vector<Command>& commands, const std::string& version);
/// Commands, options and known values, completed by bash.
Document bashCompletion(const std::vector<Command>& commands);
std::vector<Document> referencePages(const std::vector<Command>& commands);

/// A piece of a help text: a paragraph, or lines that stay as they stand.
struct Block {
  bool isLiteral = false;
  std::string text;
};
std::vector<Block> blocksOf(const std::string& help);

/// An option of a configuration file, and who takes it.
struct Setting {
  std::string key;
  std::string variable;
  std::vector<std::string> commands;
};
std::vector<Setting> settingsOf(const std::vector<Command>& commands);

/// What a configuration file is, for tenure(5) and configuration.md.
extern const char* const fileHelp;
extern const char* const fileExample;
extern const char* const secretHelp;

}  // namespace tenure::cli
