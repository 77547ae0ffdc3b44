/// For the tool: what a candidate's own session sees of its election.
#pragma once

#include "coordination/coordination.hpp"
#include "election/view.hpp"
#include "tenure/candidate.hpp"

namespace tenure {

struct CandidateAccess {
  /// Errors: as readElection's; nothing is called where the session has ended. Threads: the control thread.
  static void view(const Candidate& candidate, Callback<ElectionView> done);
};

}  // namespace tenure
