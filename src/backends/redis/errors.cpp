#include "backends/redis/errors.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace tenure::redis {
namespace {

struct Meaning {
  std::string_view prefix;
  Errc code;
  std::string_view hint{};
};

// The first that fits; longer prefixes of the same word before the word itself.
constexpr std::array meanings{
    Meaning{"OOM ", Errc::storeFull},
    Meaning{"MISCONF ", Errc::storeFull, "the server cannot write its files"},
    Meaning{"READONLY ", Errc::unavailable, "it is a replica"},
    Meaning{"NOREPLICAS ", Errc::unavailable},
    Meaning{"LOADING ", Errc::unavailable},
    Meaning{"MASTERDOWN ", Errc::unavailable},
    Meaning{"CLUSTERDOWN ", Errc::unavailable},
    Meaning{"TRYAGAIN ", Errc::unavailable},
    Meaning{"UNBLOCKED ", Errc::unavailable, "it became a replica, or the queue was deleted"},
    Meaning{"ERR max number of clients", Errc::unavailable},
    Meaning{"BUSY ", Errc::storeBusy, "it runs somebody's script"},
    Meaning{"UNKILLABLE ", Errc::storeBusy},
    Meaning{"NOAUTH ", Errc::authenticationFailed, "it wants a password: in TENURE_REDIS_PASSWORD or a password file"},
    Meaning{"WRONGPASS ", Errc::authenticationFailed},
    Meaning{"ERR AUTH ", Errc::authenticationFailed},
    Meaning{"ERR invalid password", Errc::authenticationFailed},
    Meaning{"ERR Client sent AUTH", Errc::authenticationFailed},
    Meaning{"DENIED ", Errc::authenticationFailed, "protected mode"},
    Meaning{"NOPERM ", Errc::permissionDenied, "the ACL of this user"},
    Meaning{"CROSSSLOT ", Errc::configurationRefused},
    Meaning{"MOVED ", Errc::configurationRefused, "name the node of the cluster that holds the queue's slot"},
    Meaning{"ASK ", Errc::unavailable, "the queue's slot is moving to another node"},
    Meaning{"ERR DB index", Errc::configurationRefused},
    Meaning{"ERR SELECT is not allowed", Errc::configurationRefused, "a cluster has database 0 only"},
};

/// A script's error reaches us as "ERR WORD …", too.
std::string_view withoutScript(std::string_view reply) noexcept {
  constexpr std::string_view killed = "ERR Error running script";
  return reply.starts_with(killed) && reply.find("SCRIPT KILL") != std::string_view::npos ? "BUSY script killed"
                                                                                          : reply;
}

}  // namespace

Error errorOf(std::string_view reply) {
  const std::string_view known = withoutScript(reply);
  for (const Meaning& meaning : meanings) {
    if (!known.starts_with(meaning.prefix)) continue;
    std::string detail = escaped(reply);
    if (!meaning.hint.empty()) detail.append(" (").append(meaning.hint).append(")");
    return {meaning.code, std::move(detail)};
  }
  return {Errc::storeFailed, escaped(reply)};
}

bool mayHaveWritten(std::string_view reply) noexcept {
  const std::string_view known = withoutScript(reply);
  // A right that is missing for the script's own commands: Redis says so when it comes to them.
  if (known.starts_with("NOPERM ") && known.find("script:") != std::string_view::npos) return true;
  return std::ranges::none_of(meanings, [&](const Meaning& each) { return known.starts_with(each.prefix); });
}

bool isUnknownScript(std::string_view reply) noexcept { return reply.starts_with("NOSCRIPT"); }

Error damaged(std::string_view key, std::string_view what, bool ofQueue) {
  return {ofQueue ? Errc::commitRefused : Errc::storeFailed, escaped(key) + ": " + escaped(what)};
}

Error denied(std::string_view command, std::string_view key) {
  return {Errc::permissionDenied, "this user may not run " + escaped(command) + " on " + escaped(key) +
                                      ": expected the rights that tenure urls names"};
}

Error noQueue(const std::string& queue) {
  return {Errc::notFound, "there is no queue \"" + queue +
                              "\" with a fence, and none may be made: the server was emptied, or is not the one meant"};
}

Error olderLayout(const std::string& queue) {
  return {Errc::configurationRefused, "queue \"" + queue +
                                          "\" was written by an earlier version of Tenure, in a layout that this one "
                                          "does not read: expected a queue of this version, or none"};
}

Error queueLost() { return {Errc::fenceLost, "the queue is not ours any more: the store was emptied or replaced"}; }

}  // namespace tenure::redis
