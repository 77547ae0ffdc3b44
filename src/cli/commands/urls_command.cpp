#include <iostream>

#include "cli/commands/commands.hpp"
#include "cli/options/backends.hpp"

namespace tenure::cli {

Command urlsCommand() {
  return {.name = "urls", .about = "How queues and stores are named, and what their URLs may set", .act = [] {
            std::cout << urlsPage() << std::flush;
            return Exit::done;
          }};
}

}  // namespace tenure::cli
