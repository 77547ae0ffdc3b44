#include "cli/options/environment.hpp"

#include <algorithm>
#include <string_view>

#include "base/nearest.hpp"
#include "base/secret_variables.hpp"
#include "base/text.hpp"
#include "cli/options/mistakes.hpp"

namespace tenure::cli {
namespace {

constexpr std::string_view prefix = "TENURE_";

/// What a command of `tenure run` or `--exec` is told; it may call the tool.
constexpr std::string_view toldToCommands[] = {
    "TENURE_TERM",     "TENURE_TOKEN", "TENURE_GENERATION", "TENURE_ENSEMBLE",   "TENURE_STORE_FILE",
    "TENURE_ELECTION", "TENURE_ID",    "TENURE_STORE",      "TENURE_MESSAGE_ID", "TENURE_GROUP",
    "TENURE_ATTEMPT",  "TENURE_TIME",  "TENURE_NUMBER",     "TENURE_CORE_DUMPS", "TENURE_WORKER_SOCKET"};

/// Kubernetes puts where each service is into every container: TENURE_PORT of a service "tenure".
bool isOfKubernetes(std::string_view name) {
  return name.ends_with("_PORT") || name.find("_PORT_") != std::string_view::npos ||
         name.find("_SERVICE_HOST") != std::string_view::npos || name.find("_SERVICE_PORT") != std::string_view::npos;
}

/// Without the prefix.
std::vector<std::string> variablesOf(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands)
    for (const Option& option : command.options())
      if (const std::string name = option.variable(); !name.empty()) names.push_back(name.substr(prefix.size()));
  return names;
}

}  // namespace

std::vector<std::string> unknownVariables(const char* const* environment, const std::vector<Command>& commands) {
  std::vector<std::string> options = variablesOf(commands);
  for (const std::string_view secret : secretVariables) options.emplace_back(secret.substr(prefix.size()));
  const auto isIn = [](const auto& names, std::string_view name) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  std::vector<std::string> complaints;
  for (; *environment != nullptr; ++environment) {
    const std::string_view variable = *environment;
    const std::string_view name = variable.substr(0, variable.find('='));
    if (!name.starts_with(prefix) || name.starts_with("TENURE_HEADER_") || name.starts_with("TENURE_PROPERTY_") ||
        isOfKubernetes(name))
      continue;
    const std::string_view end = name.substr(prefix.size());
    if (isIn(options, end) || isIn(toldToCommands, name)) continue;
    const auto meant = nearest(end, options);
    complaints.push_back("no command reads the variable " + escaped(name) +
                         (meant ? "; did you mean " + std::string(prefix) + *meant + "?" : ""));
  }
  return complaints;
}

}  // namespace tenure::cli
