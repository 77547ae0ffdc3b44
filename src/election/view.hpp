/// An election seen from outside: who stands in line, who leads, what the marker says; and the one thing an operator
/// may ask of it. For tools. Reading creates nothing: an election that nobody has entered is notFound.
///
/// What it shows is a reading, not evidence: by the time somebody acts on it the leader may be another.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "coordination/coordination.hpp"
#include "election/names.hpp"
#include "election/records.hpp"

namespace tenure {

struct CandidateView {
  std::string znode;  // the child's name, as it is: escape it before showing it
  CandidateUuid uuid;
  std::int64_t czxid = 0;
  std::int64_t session = 0;
  CandidateRecord record;
};

struct OffenderView {
  std::string child;  // as it is: escape it before showing it
  std::string reason;
};

struct ElectionView {
  std::optional<MetaRecord> meta;  // null: absent or damaged
  MarkerRecord marker;
  std::vector<CandidateView> candidates;  // in order of czxid; the first one leads or is about to
  std::vector<OffenderView> offenders;    // children that are no candidates
  bool polluted = false;                  // too many children: candidates were not read

  /// The candidate whose term the marker names; null between terms.
  const CandidateView* leader() const noexcept;
};

/// Errors: notFound (no such election), and whatever the session says.
void readElection(ICoordination& coordination, const ElectionPaths& paths, Callback<ElectionView> done);

/// Asks the leader in office now, and no later one, to hand over until `until`. Gives the token of its term.
/// Errors: notFound (no such election, or nobody in office), permissionDenied, and whatever the session says.
void requestHandover(ICoordination& coordination, const ElectionPaths& paths, std::string by, WallTime until,
                     Callback<FencingToken> done);

}  // namespace tenure
