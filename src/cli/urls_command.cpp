#include <iostream>

#include "cli/backends.hpp"
#include "cli/commands.hpp"

namespace tenure::cli {

Command urlsCommand() {
  return {.name = "urls", .about = "How queues and stores are named, and what their URLs may set", .act = [] {
            std::cout << urlsPage() << std::flush;
            return Exit::done;
          }};
}

}  // namespace tenure::cli
