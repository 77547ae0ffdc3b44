/// Where an election's znodes are, and which children are candidates.
///
///     <root>/meta                                        the ensemble's identity
///     <root>/elections/<election>/candidates/<uuid>-<n>  one candidacy each, ephemeral
///     <root>/elections/<election>/observers/<uuid>-<n>   one each who looks on and does not contend, ephemeral
///     <root>/elections/<election>/marker                 the last term, busy or idle
///     <root>/elections/<election>/handover               a request to the leader
///     <root>/elections/<election>/baton                  the leader's offer to one candidacy, and its answer
///     <root>/elections/<election>/pause                  the election is paused, or was
///     <root>/elections/<election>/stuck                  at which message a leader has stopped
///
/// The uuid makes a candidacy's own znode recognisable after a lost reply, and keeps its name from ever being used by
/// another replica. The number that ZooKeeper appends orders nothing (it restarts with its parent and wraps), so it is
/// never parsed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenure/values.hpp"

namespace tenure {

struct ElectionPaths {
  std::string root;
  std::string meta;
  std::string elections;
  std::string election;
  std::string candidates;
  std::string observers;
  std::string marker;
  std::string handover;
  std::string baton;
  std::string pause;
  std::string stuck;

  ElectionPaths(std::string_view rootPath, const ElectionName& name);

  std::string candidate(std::string_view childName) const { return candidates + '/' + std::string(childName); }
};

/// The paths from below `/` down to `path` itself: "/a/b" gives "/a", "/a/b".
std::vector<std::string> withAncestors(std::string_view path);

std::string_view lastPart(std::string_view path) noexcept;

/// The candidate of a child, whose name begins with 32 lower-case hexadecimal digits and a dash. Nullopt: a foreigner.
std::optional<CandidateUuid> candidateOf(std::string_view childName);

}  // namespace tenure
