/// Is this server one that keeps what it acknowledges? Pure: what it says of itself in, a verdict out.
///
/// It is, when it is a primary, appends every write to a file that it syncs before it answers, and never evicts: an
/// evicted fence or idempotency key would be a lost one. A replica is refused in any case; it cannot be written to,
/// and may be promoted later, so that asking again is right.
#pragma once

#include <string>
#include <string_view>

#include "tenure/redis.hpp"
#include "tenure/result.hpp"

namespace tenure::redis {

struct ServerFacts {
  std::string version;
  std::string runId;        // another one: another process, maybe on other data
  bool isLoading = false;   // its data: settings are not what they will be
  std::string role;         // "master", "slave"
  std::string primary;      // of a replica
  std::string aofEnabled;   // "1", "0"
  std::string appendFsync;  // "always", "everysec", "no"; empty where CONFIG GET is denied
  std::string evictionPolicy;
};

/// The value of one line of INFO; empty when there is none.
std::string valueIn(std::string_view info, std::string_view name);

/// Reads the text of INFO.
void learnFrom(std::string_view info, ServerFacts& facts);

/// Errors:  configurationRefused  it may lose what it acknowledged, or does not say; not with `allowUnsafe`
///          unsupported           older than Redis 6.2
///          unavailable           a replica, or still loading its data
Result<void> judgeServer(const ServerFacts& facts, bool allowUnsafe);

/// A password sent there could be read on its way.
bool travelsInClear(const Options& options);

/// "redis host:port", for people.
std::string nameOf(const Options& options);

}  // namespace tenure::redis
