#include <csignal>

#include "cli/tool.hpp"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that left is an error of one write, not the end of a leader
  return static_cast<int>(tenure::cli::runTool(argc, argv));
}
