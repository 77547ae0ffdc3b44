#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/backends.hpp"
#include "cli/tool.hpp"

namespace tenure::cli {

void addUrls(CLI::App& tool, Action& chosen) {
  CLI::App* command = tool.add_subcommand("urls", "How queues and stores are named, and what their URLs may set");
  command->footer(exitCodesHelp);
  command->callback([&chosen] {
    chosen = [] {
      std::cout << urlsPage() << std::flush;
      return Exit::done;
    };
  });
}

}  // namespace tenure::cli
