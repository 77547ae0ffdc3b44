/// Every command of the tool. A new one is a file with such a function, and a line in commands.cpp.
#pragma once

#include "cli/options/command.hpp"

namespace tenure::cli {

Command consumeCommand(const ConfigReader& file);
Command relayCommand(const ConfigReader& file);
/// `words` is what stands after "--".
Command runCommand(std::vector<std::string> words, const ConfigReader& file);
Command produceCommand();
Command statusCommand();
Command listAllCommand();
Command handoverCommand();
Command pauseCommand();
Command resumeElectionCommand();
std::vector<Command> queueCommands();
Command statsCommand();
Command moveToCommand();
Command peekCommand();
Command resumeCommand();
std::vector<Command> scheduledCommands();
std::vector<Command> deadLetterCommands();
std::vector<Command> spoolCommands();
std::vector<Command> fenceCommands();
std::vector<Command> workerCommands();
std::vector<Command> webhookCommands();
std::vector<Command> schemaCommands();
Command checkCommand();
Command urlsCommand();

/// All of them, in the order of the help; a group of commands comes before those in it.
std::vector<Command> commands(const std::vector<std::string>& words, const ConfigReader& file);

}  // namespace tenure::cli
