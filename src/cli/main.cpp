#include <algorithm>
#include <csignal>
#include <string_view>

#include "cli/early_signals.hpp"
#include "cli/tool.hpp"

int main(int argc, char** argv) {
  // A replica that is told to leave while it starts leaves in order; whatever else runs dies of it as any tool does.
  const auto contends = [](std::string_view word) { return word == "consume" || word == "run"; };
  if (std::any_of(argv, argv + argc, contends)) tenure::cli::holdSignals();
  std::signal(SIGPIPE, SIG_IGN);  // a reader that left is an error of one write, not the end of a leader
  return static_cast<int>(tenure::cli::runTool(argc, argv));
}
