#include "cli/commands/commands.hpp"

#include <iostream>

#include "cli/options/backends.hpp"

namespace tenure::cli {

std::vector<Command> commands(const std::vector<std::string>& words, const ConfigReader& file) {
  std::vector<Command> all{consumeCommand(file), relayCommand(file), runCommand(words, file),
                           produceCommand(),     statusCommand(),    listAllCommand(),
                           handoverCommand(),    pauseCommand(),     resumeElectionCommand()};
  for (const auto& group : {queueCommands(), scheduledCommands(), deadLetterCommands(), spoolCommands(),
                            fenceCommands(), workerCommands(), webhookCommands(), schemaCommands()})
    all.insert(all.end(), group.begin(), group.end());
  all.push_back(checkCommand());
  all.push_back(urlsCommand());
  return all;
}

Command urlsCommand() {
  return {.name = "urls", .about = "How queues and stores are named, and what their URLs may set", .act = [] {
            std::cout << urlsPage() << std::flush;
            return Exit::done;
          }};
}

}  // namespace tenure::cli
