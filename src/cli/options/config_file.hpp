/// The tool's configuration file: TOML whose sections are commands.
///
///     zookeeper = "127.0.0.1:2181"        # before the first section: for every command that has such an option
///     queue = "sqlite:orders.db?queue=orders"
///     [consume]
///     election = "orders"                 # in a section: for that command alone, and it wins
///
/// Included where CLI11 is known: commands/tool.cpp and mistakes.cpp.
#pragma once

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace tenure::cli {

class ConfigFile final : public CLI::ConfigTOML {
 public:
  explicit ConfigFile(const CLI::App& tool) : tool_(tool) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;

  /// Whether `file` has the option for `command` ("tenure queue stats"), or for all. Throws what the parser throws.
  bool names(const std::string& file, const std::string& command, const std::string& option) const;
  /// What `file` says now of an option of `command`; nothing when it does not name it. Throws what the parser throws.
  std::optional<std::string> valueOf(const std::string& file, const std::string& command,
                                     const std::string& option) const;

 private:
  const CLI::App& tool_;
};

}  // namespace tenure::cli
