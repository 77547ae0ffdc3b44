#include "cli/exit.hpp"

#include <cstdio>

#include "base/text.hpp"
#include "cli/secrets.hpp"

namespace tenure::cli {

Exit exitFor(const Error& error) noexcept {
  if (error.is(Errc::invalidArgument)) return Exit::usage;
  if (error.is(Errc::authenticationFailed) || error.is(Errc::permissionDenied)) return Exit::authentication;
  if (isFatal(error.code)) return Exit::configuration;
  return Exit::unavailable;
}

std::string complaintOf(std::string_view what) { return "tenure: " + printable(withoutSecrets(what)) + "\n"; }

void complain(std::string_view what) {
  const std::string line = complaintOf(what);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

Exit refuse(std::string_view option, const Error& error) {
  complain(option.empty() ? error.message() : std::string(option) + ": " + error.message());
  return exitFor(error);
}

const char* const exitCodesHelp = R"(
Exit codes:
  0 done                           70 hung
  1 no                             75 aborted
  64 usage                         76 leadership lost (run)
  65 some input was bad            77 authentication
  69 server or file unavailable    78 configuration refused

Each option can also stand in a file given with --config (TOML: `zookeeper = "host:2181"`,
sections named after commands) or in the environment; a flag wins over the file, the file over
the environment. Secrets come from files or the environment, never from the command line.
)";

}  // namespace tenure::cli
