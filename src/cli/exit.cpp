#include "cli/exit.hpp"

#include <cstdio>

#include "base/text.hpp"
#include "cli/options.hpp"
#include "cli/secrets.hpp"

namespace tenure::cli {

Exit exitFor(const Error& error) noexcept {
  if (error.is(Errc::authenticationFailed) || error.is(Errc::permissionDenied)) return Exit::authentication;
  if (error.is(Errc::invalidArgument) || isFatal(error.code)) return Exit::configuration;
  return Exit::unavailable;
}

std::string complaintOf(std::string_view what) { return "tenure: " + printable(withoutSecrets(what)) + "\n"; }

void complain(std::string_view what) {
  const std::string line = complaintOf(what);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

Exit wrongUsage(std::string_view what) {
  complain(what);
  return Exit::usage;
}

Exit refuse(std::string_view option, const Error& error) {
  // That a value was refused is said by what is expected of it.
  const bool saysItself = error.is(Errc::invalidArgument) || error.is(Errc::configurationRefused);
  const std::string text = saysItself && !error.detail.empty() ? error.detail : error.message();
  complain(option.empty() ? text : std::string(option) + ": " + text);
  return exitFor(error);
}

Exit refuse(const std::system_error& error) {
  std::string text = error.what();
  if (const std::string reason = ": " + error.code().message(); text.ends_with(reason))
    text.resize(text.size() - reason.size());
  return refuse("", Error{error.code(), withOptionNames(std::move(text))});
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
