#include "cli/backend_options.hpp"

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;
using postgresql::Options;
using Value = const std::string&;

constexpr auto longestWait = 10min;

constexpr Parameter<Options> parameters[] = {
    {"queue", [](Options& options, Value value) { return assign(options.queue, queueName(value)); }},
    {"socket",
     [](Options& options, Value value) -> Result<void> {
       const auto folder = pathNamed("socket", value);
       if (!folder) return folder.error();
       options.host = folder->string();
       return {};
     }},
    {"password-file",
     [](Options& options, Value value) { return assign(options.passwordFile, pathNamed("password-file", value)); }},
    {"tls", [](Options& options, Value value) { return assign(options.tls, yesOrNo("tls", value)); }},
    {"tls-authority",
     [](Options& options, Value value) { return assign(options.tlsAuthority, pathNamed("tls-authority", value)); }},
    {"lock-limit",
     [](Options& options, Value value) {
       return assign(options.lockLimit, durationBetween("lock-limit", value, 1ms, longestWait));
     }},
    {"statement-limit",
     [](Options& options, Value value) {
       return assign(options.statementLimit, durationBetween("statement-limit", value, 1ms, longestWait));
     }},
    {"connect-limit",
     [](Options& options, Value value) {
       return assign(options.connectLimit, durationBetween("connect-limit", value, 2s, longestWait));
     }},
    {"idle-limit",
     [](Options& options, Value value) {
       return assign(options.idleInTransactionLimit, durationBetween("idle-limit", value, 100ms, longestWait));
     }},
    {"network-limit",
     [](Options& options, Value value) {
       return assign(options.networkLimit, durationBetween("network-limit", value, 1s, longestWait));
     }},
    {"evict", [](Options& options, Value value) { return assign(options.evictFrozenHolder, yesOrNo("evict", value)); }},
    {"allow-unsafe",
     [](Options& options, Value value) { return assign(options.allowUnsafeCommits, yesOrNo("allow-unsafe", value)); }},
};

}  // namespace

Result<Options> postgresqlOptions(const Url& url) {
  const std::string example = "expected one such as postgresql://host/database?queue=orders";
  Options options;
  if (const auto set = setParameters<Options>(options, url, parameters); !set) return set.error();
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

}  // namespace tenure::cli
