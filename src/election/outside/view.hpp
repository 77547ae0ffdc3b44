/// An election seen from outside: who stands in line, who leads, what the marker says; and the one thing an operator
/// may ask of it. For tools. Reading creates nothing: an election that was never entered is notFound.
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
  std::vector<CandidateView> observers;   // in order of czxid; they do not contend
  std::vector<OffenderView> offenders;    // children that are no candidates
  bool polluted = false;                  // too many children: candidates were not read
  /// What was asked of the term that the marker names, also when its time has passed or it has been heeded.
  std::optional<HandoverRequest> request;
  /// The offer of the term that the marker names, or the baton by which that term has begun.
  std::optional<BatonRecord> baton;
  /// Also when its time has passed.
  std::optional<Pause> pause;

  /// The candidate whose term the marker names; null between terms.
  const CandidateView* leader() const noexcept;
  /// The candidate that waits at the barrier of the term that the marker names, and has said since when; null: none.
  const CandidateView* waiting() const noexcept;
  /// How the candidate's settings differ from the leader's; empty: not at all, or there is no leader.
  std::string differencesOf(const CandidateView& candidate) const;
  /// The pause that holds now; null: the election is not paused.
  const Pause* pauseAt(WallTime now) const noexcept;
  /// The election is paused, and its leader has nothing in hand.
  bool isAtRest() const noexcept;
  /// Whether a candidate or an observer is called so.
  bool knows(std::string_view id) const;
};

/// Errors: notFound (no such election), and whatever the session says.
void readElection(ICoordination& coordination, const ElectionPaths& paths, Callback<ElectionView> done);

/// The candidate that `id` (its name or its uuid) means, when the leader shall hand over to it.
/// Errors: notFound with a detail for people: none is called so, several are, it only observes, it leads already, or
///         it cannot follow. The leader waits for a candidate that is still getting ready.
Result<CandidateUuid> findSuccessor(const ElectionView& view, std::string_view id);
/// Whether a candidate could follow the leader. A leader that is alone counts: it follows itself.
/// Errors: notFound with a detail for people.
Result<void> findAnySuccessor(const ElectionView& view);

/// Puts a request before the leader of the term that it names, in place of what stood there.
/// Errors: notFound (no such election), permissionDenied, and whatever the session says.
void requestHandover(ICoordination& coordination, const ElectionPaths& paths, const HandoverRequest& request,
                     Callback<NodeStat> done);

/// Pauses the election, in place of a pause that stands there; an empty one resumes it.
/// Errors: notFound (no such election), permissionDenied, and whatever the session says.
void writePause(ICoordination& coordination, const ElectionPaths& paths, const std::optional<Pause>& pause,
                Callback<NodeStat> done);

/// Reads at which messages leaders were stuck. Errors: whatever the session says.
void readStuck(ICoordination& coordination, const ElectionPaths& paths, Callback<StuckRecords> done);
/// In place of what stood there. Errors: as writePause's.
void writeStuck(ICoordination& coordination, const ElectionPaths& paths, const StuckRecords& records,
                Callback<NodeStat> done);

}  // namespace tenure
