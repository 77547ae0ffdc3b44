#include <sys/prctl.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "cli/commands/tool.hpp"
#include "cli/replica/early_signals.hpp"
#include "process/descriptor.hpp"

namespace {

/// A core would hold whatever passwords and messages pass through, those that the libraries copied as well. What is
/// started for a user makes its cores as ever.
void leaveNoCore() {
  const char* wished = std::getenv("TENURE_CORE_DUMPS");
  if (wished == nullptr || std::string_view(wished) != "1") prctl(PR_SET_DUMPABLE, 0);
}

}  // namespace

int main(int argc, char** argv) {
  tenure::openStandardDescriptors();
  leaveNoCore();
  // A replica that is told to leave while it starts leaves in order; whatever else runs dies of it as any tool does.
  const auto contends = [](std::string_view word) { return word == "consume" || word == "relay" || word == "run"; };
  if (std::any_of(argv, argv + argc, contends)) tenure::cli::holdSignals();
  std::signal(SIGPIPE, SIG_IGN);  // a reader that left is an error of one write, not the end of a leader
  return static_cast<int>(tenure::cli::runTool(argc, argv));
}
