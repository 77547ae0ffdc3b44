#include "cli/output/reference.hpp"

#include <algorithm>
#include <sstream>

namespace tenure::cli {

const char* const fileHelp =
    "A file given with --config holds options, as TOML: a key is an option's name without its dashes.\n"
    "What stands before the first section is for every command that has such an option; a section is\n"
    "named after a command, is for that command alone, and wins. A flag is true or false. A key that no\n"
    "command has is refused.\n"
    "\n"
    "Most options can stand in the environment as well. A flag wins over the file, the file over the\n"
    "environment. SIGHUP has a replica read log-level, and the file of --limits, again.\n";

const char* const fileExample = R"help(zookeeper = "zk1:2181,zk2:2181,zk3:2181"
queue = "sqlite:orders.db?queue=orders"

[consume]
election = "orders"
sql = "INSERT INTO ledger(body) VALUES (:body)"
max-batch = 256)help";

const char* const secretHelp =
    "Secrets come from files or the environment, never from the command line: PGPASSFILE and PGPASSWORD,\n"
    "TENURE_REDIS_PASSWORD, TENURE_RABBITMQ_PASSWORD, TENURE_DIGEST (ZooKeeper's user:password), or the\n"
    "file that password-file= in a URL or --digest-file names. TENURE_CORE_DUMPS=1 lets a crash leave a\n"
    "core file, which would hold them.\n";

std::vector<Block> blocksOf(const std::string& help) {
  std::vector<Block> blocks;
  bool isNew = true;
  std::string line;
  for (std::istringstream lines(help); std::getline(lines, line);) {
    const bool isLiteral = line.starts_with("  ");
    if (line.empty()) {
      isNew = true;
      continue;
    }
    if (isNew || blocks.back().isLiteral != isLiteral) blocks.push_back({isLiteral, {}});
    std::string& text = blocks.back().text;
    text += (text.empty() ? "" : "\n") + (isLiteral ? line.substr(2) : line);
    isNew = false;
  }
  return blocks;
}

std::vector<Setting> settingsOf(const std::vector<Command>& commands) {
  std::vector<Setting> settings;
  for (const Command& command : commands)
    for (const Option& option : command.options()) {
      if (option.isPositional()) continue;
      auto found =
          std::find_if(settings.begin(), settings.end(), [&](const auto& each) { return each.key == option.key(); });
      if (found == settings.end()) found = settings.insert(found, {option.key(), {}, {}});
      if (found->variable.empty()) found->variable = option.variable();
      found->commands.push_back(command.name);
    }
  std::sort(settings.begin(), settings.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  return settings;
}

}  // namespace tenure::cli
