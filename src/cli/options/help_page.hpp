/// The page that `tenure COMMAND --help` prints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/options/command.hpp"

namespace tenure::cli {

/// What every page ends with.
extern const char* const settingHelp;

std::string toolPage(const std::vector<Command>& commands);
/// Whether expert settings are shown, or only named.
enum class HelpScope { common, all };

/// `commands` has those of a group.
std::string helpPage(const Command& command, const std::vector<Command>& commands, HelpScope scope);

/// The commands in a group, or for an empty name those of the tool.
std::vector<const Command*> commandsIn(std::string_view group, const std::vector<Command>& commands);

/// "  --rate RATE                 Maximum …": the text begins at the column, and is wrapped.
std::string helpRow(const std::string& name, const std::string& text, std::size_t column = 30);
/// Each line two further to the right.
std::string indented(const std::string& lines);

/// What the tool is and, with `tenure help`, how to begin: for the page of the tool and its manual.
extern const char* const about;
extern const char* const firstSteps;
extern const char* const urlHelp;
extern const char* const urlsAbout;

}  // namespace tenure::cli
