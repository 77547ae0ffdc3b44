/// The candidates before us: the children of one election, ranked by czxid.
///
/// czxid is the ensemble's own order of creation. A candidate missing in the first list read after our own create came
/// later than we did and stands behind us, whatever its name. Hence one stat for each child of that first list,
/// and none ever after; the set before us can only shrink.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "coordination/coordination.hpp"

namespace tenure {

/// An election with more children than this is polluted: they are not read.
inline constexpr std::size_t mostChildren = 10'000;

class Candidates {
 public:
  struct Ranked {
    std::string name;
    std::int64_t czxid = 0;
    std::int64_t owner = 0;
  };

  explicit Candidates(CandidateUuid self) : self_(std::move(self)) {}

  /// Takes in a list. Afterwards `unanswered()` names the children whose stat has to be asked for.
  ///   own   our own znode; empty while it is looked for, when only children of our uuid are of interest
  void list(const std::vector<std::string>& names, const std::string& own);
  /// The stat of one of them, or null: it has vanished meanwhile.
  void answer(const std::string& name, const NodeStat* stat);
  const std::set<std::string>& unanswered() const noexcept { return unanswered_; }

  /// Children in the latest list that are no candidates.
  const std::vector<std::string>& foreign() const noexcept { return foreign_; }
  /// Children named like candidates, but persistent: no session keeps them, so no candidate waits for them.
  const std::set<std::string>& lookalikes() const noexcept { return lookalikes_; }
  bool ownListed() const noexcept { return ownListed_; }
  /// Whether `candidate` is behind us in the latest list. A former leader that is there has begun anew.
  bool standsBehind(const CandidateUuid& candidate) const { return behind_.contains(candidate); }

  /// Created before `czxid`, in order; the last is the predecessor.
  std::vector<Ranked> before(std::int64_t czxid) const;
  /// Of our uuid, in order; `own` itself excepted. What a lost reply or an interrupted delete left behind.
  std::vector<Ranked> ours(const std::string& own) const;

 private:
  CandidateUuid self_;
  std::map<std::string, Ranked> known_;
  std::set<std::string> unanswered_;
  std::set<std::string> lookalikes_;
  std::vector<std::string> foreign_;
  std::set<CandidateUuid> behind_;
  bool ownListed_ = false;
  bool rankedOnce_ = false;  // a full list after our own create has been taken in
};

}  // namespace tenure
