#include "cli/commands/commands.hpp"

namespace tenure::cli {

std::vector<Command> commands(const std::vector<std::string>& words, const ConfigReader& file) {
  std::vector<Command> all{consumeCommand(file), relayCommand(file), runCommand(words, file),
                           produceCommand(),     statusCommand(),    listAllCommand(),
                           handoverCommand(),    pauseCommand(),     resumeElectionCommand()};
  for (const auto& group : {queueCommands(), scheduledCommands(), deadLetterCommands(), spoolCommands(),
                            fenceCommands(), tokenCommands(), schemaCommands()})
    all.insert(all.end(), group.begin(), group.end());
  all.push_back(checkCommand());
  all.push_back(urlsCommand());
  return all;
}

}  // namespace tenure::cli
