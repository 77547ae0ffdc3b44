#include "backends/redis/server_check.hpp"

#include <charconv>
#include <utility>

#include "base/text.hpp"

namespace tenure::redis {
namespace {

/// "7.0.15" as (7, 0).
std::pair<int, int> versionOf(std::string_view text) {
  std::pair<int, int> version{0, 0};
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.first);
  if (major.ptr != end) std::from_chars(major.ptr + 1, end, version.second);
  return version;
}

Error unsafe(const std::string& what) { return {Errc::configurationRefused, what + " (allow-unsafe takes that risk)"}; }

}  // namespace

std::string valueIn(std::string_view info, std::string_view name) {
  const std::string start = "\n" + std::string(name) + ":";
  const std::size_t at = info.find(start);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = info.substr(at + start.size());
  return std::string(rest.substr(0, rest.find_first_of("\r\n")));
}

void learnFrom(std::string_view info, ServerFacts& facts) {
  facts.version = valueIn(info, "redis_version");
  facts.runId = valueIn(info, "run_id");
  facts.isLoading = valueIn(info, "loading") == "1";
  facts.role = valueIn(info, "role");
  facts.aofEnabled = valueIn(info, "aof_enabled");
  facts.evictionPolicy = valueIn(info, "maxmemory_policy");
  if (facts.role == "slave") facts.primary = valueIn(info, "master_host") + ":" + valueIn(info, "master_port");
}

Result<void> judgeServer(const ServerFacts& facts, bool allowUnsafe) {
  constexpr std::pair oldest{6, 2};
  if (versionOf(facts.version) < oldest)
    return Error{Errc::unsupported, "Redis " + escaped(facts.version) + ", expected 6.2 or newer"};
  if (facts.isLoading) return Error{Errc::unavailable, "it is loading its data"};
  if (facts.role == "slave")
    return Error{Errc::unavailable, "it is a replica of " + escaped(facts.primary) + ": name the primary"};
  if (allowUnsafe) return {};
  if (facts.aofEnabled != "1") return unsafe("appendonly is not yes: a restart loses commits");
  if (facts.appendFsync.empty())
    return unsafe("CONFIG GET is denied to this user (allow it +config|get), so appendfsync is not known");
  if (facts.appendFsync != "always")
    return unsafe("appendfsync is " + escaped(facts.appendFsync) + ", not always: a crash loses commits");
  if (facts.evictionPolicy != "noeviction")
    return unsafe("maxmemory-policy is " + escaped(facts.evictionPolicy) +
                  ", not noeviction: an evicted fence or idempotency key is lost");
  return {};
}

bool travelsInClear(const Options& options) { return options.unixSocket.empty() && !isOnThisMachine(options.host); }

std::string nameOf(const Options& options) {
  if (!options.unixSocket.empty()) return "redis " + options.unixSocket.string();
  return "redis " + options.host + ":" + std::to_string(options.port);
}

}  // namespace tenure::redis
