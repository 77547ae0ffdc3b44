/// Judges handovers by baton, on the data that the ensemble has committed; and passes the baton wrongly, for mutants.
///
///   O1 the baton is passed to a candidacy that stands, and is the first in line then
///   O2 it is passed only by a term that has ended in order
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "attempts.hpp"
#include "coordination/coordination.hpp"
#include "election/names.hpp"
#include "mutant.hpp"
#include "testing/ensemble/ensemble.hpp"

namespace tenure::simulation {

class Batons {
 public:
  explicit Batons(ElectionPaths paths) : paths_(std::move(paths)) {}

  /// A process says how its term has ended.
  void ended(FencingToken term, bool inOrder) { inOrder ? void(inOrder_.insert(term)) : void(inOrder_.erase(term)); }
  /// After each event. Where a candidacy came or went after the baton in the same event, nothing is said.
  Complaint look(const ensemble::DataTree& tree);
  /// Writes of a process that runs this mutant.
  std::vector<MultiOp> broken(Mutant mutant, std::vector<MultiOp> write, const ensemble::DataTree& tree) const;

 private:
  std::vector<MultiOp> byName(std::vector<MultiOp> write, const ensemble::DataTree& tree) const;

  const ElectionPaths paths_;
  std::set<FencingToken> inOrder_;
  std::int64_t lookedAt_ = 0;  // zxid
};

}  // namespace tenure::simulation
