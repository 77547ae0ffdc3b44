#include "backends/postgresql/url.hpp"

namespace tenure::urls {

using namespace std::chrono_literals;

Options parametersOf(postgresql::Options& options) {
  const auto takeSocket = [&options](const std::string& folder) {
    options.host = folder;
    return !folder.empty();
  };
  return {
      queueParameter(options.queue),
      {"socket", parsed("FOLDER", "the name of a folder", takeSocket), "The folder of a Unix socket, instead of HOST"},
      {"password-file", file(options.passwordFile),
       "Its first line is the password; without it PGPASSFILE or PGPASSWORD"},
      {"tls", yesOrNo(options.tls),
       "Connect only to a server whose certificate tls-authority vouches for under HOST's name"},
      {"tls-authority", file(options.tlsAuthority), "A file of certificates"},
      {"lock-limit", duration(options.lockLimit, waits),
       "Maximum time of a claim until it ends older terms' sessions, with a second more for them to go; and maximum "
       "wait of a statement for a lock"},
      {"statement-limit", duration(options.statementLimit, waits), "Maximum time of one statement"},
      {"idle-limit", duration(options.idleInTransactionLimit, {100ms, waits.most}),
       "Maximum silence of a leader within a transaction; then the server ends it, so that a frozen one holds nobody "
       "up"},
      {"connect-limit", duration(options.connectLimit, {2s, waits.most}), "Maximum wait for a server"},
      {"network-limit", duration(options.networkLimit, {1s, waits.most}),
       "Time until a cut connection is noticed at the latest"},
      {"evict", yesOrNo(options.evictFrozenHolder),
       "Whether a claim ends the sessions of older terms after lock-limit"},
      {"allow-unsafe", yesOrNo(options.allowUnsafeCommits),
       "Accept a server that reports commits before they are durable"},
  };
}

Result<postgresql::Options> postgresqlOptions(const Url& url) {
  const std::string example = "expected one such as postgresql://host/database?queue=orders";
  postgresql::Options options;
  if (const auto set = setParameters(url, parametersOf(options)); !set) return set.error();
  if (!url.hasAuthority || url.path.size() < 2)
    return Error{Errc::invalidArgument, "a PostgreSQL URL names a database: " + example};
  if (!url.host.empty() && !options.host.empty())
    return Error{Errc::invalidArgument, "a PostgreSQL URL names a host or a socket, not both: " + example};
  if (!options.tlsAuthority.empty() && !options.tls)
    return Error{Errc::invalidArgument, "tls-authority does nothing without TLS: write tls=yes as well"};
  if (!url.host.empty()) options.host = url.host;
  options.port = url.port.value_or(0);
  options.user = url.user;
  options.database = url.path.substr(1);
  return options;
}

}  // namespace tenure::urls
