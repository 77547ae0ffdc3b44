/// For the tool: what a candidate's own session sees of its election.
#pragma once

#include "coordination/coordination.hpp"
#include "election/outside/view.hpp"
#include "tenure/candidate.hpp"

namespace tenure {

struct CandidateAccess {
  /// Errors: as readElection's; nothing is called where the session has ended. Threads: the control thread.
  static void view(const Candidate& candidate, Callback<ElectionView> done);
  /// As readStuck and writeStuck, in the same way.
  static void readStuck(const Candidate& candidate, Callback<StuckRecords> done);
  static void writeStuck(const Candidate& candidate, const StuckRecords& records, Callback<NodeStat> done);
};

}  // namespace tenure
