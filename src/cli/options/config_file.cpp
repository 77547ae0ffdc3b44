#include "cli/options/config_file.hpp"

#include <algorithm>
#include <fstream>

namespace tenure::cli {
namespace {

bool hasOption(const CLI::App& app, const std::string& name) { return app.get_option_no_throw("--" + name) != nullptr; }

/// `item` once for each command below `app` that has such an option.
void addForCommands(const CLI::App& app, const std::vector<std::string>& path, const CLI::ConfigItem& item,
                    std::vector<CLI::ConfigItem>& out) {
  for (const CLI::App* command : app.get_subcommands({})) {
    std::vector<std::string> below = path;
    below.push_back(command->get_name());
    if (hasOption(*command, item.name)) {
      out.push_back(item);
      out.back().parents = below;
    }
    addForCommands(*command, below, item, out);
  }
}

}  // namespace

std::vector<CLI::ConfigItem> ConfigFile::from_config(std::istream& input) const {
  std::vector<CLI::ConfigItem> ordered;
  std::vector<CLI::ConfigItem> general;
  for (CLI::ConfigItem& item : CLI::ConfigTOML::from_config(input)) {
    if (item.parents.empty() && item.name != "++" && item.name != "--" && !hasOption(tool_, item.name))
      general.push_back(std::move(item));
    else
      ordered.push_back(std::move(item));
  }
  // The first value of an option stays: those of sections come first.
  for (const CLI::ConfigItem& item : general) {
    const std::size_t before = ordered.size();
    addForCommands(tool_, {}, item, ordered);
    if (ordered.size() == before) ordered.push_back(item);  // known to no command: let the parser say so
  }
  return ordered;
}

bool ConfigFile::names(const std::string& file, const std::string& command, const std::string& option) const {
  std::ifstream input(file);
  const std::vector<CLI::ConfigItem> found = from_config(input);
  return std::any_of(found.begin(), found.end(), [&](const CLI::ConfigItem& item) {
    std::string of = "tenure";
    for (const std::string& parent : item.parents) of += " " + parent;
    return item.name == option && of == command;
  });
}

std::optional<std::string> ConfigFile::valueOf(const std::string& file, const std::string& command,
                                               const std::string& option) const {
  std::ifstream input(file);
  if (!input) throw CLI::FileError::Missing(file);
  for (const CLI::ConfigItem& item : from_config(input))
    if (item.name == option && item.inputs.size() == 1 && item.parents == std::vector{command})
      return item.inputs.front();
  return std::nullopt;
}

}  // namespace tenure::cli
