/// Who stands behind the leader, as the leader sees it when it looks back: for the target of a handover, and for
/// candidates that are preferred.
///
/// A candidacy's name is used once and its data never changes, so each is read once, whatever the number of looks.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "coordination/coordination.hpp"
#include "election/records.hpp"

namespace tenure {

class StandbyLine {
 public:
  struct Standing {
    std::string name;
    CandidateUuid uuid;
    std::int64_t czxid = 0;
    Preference preference = Preference::normal;
    std::chrono::milliseconds preferredAfter{0};
    BootTime seen{};  // first
  };

  /// Takes in a list. Afterwards `unanswered()` names the children that have to be read.
  void list(const std::vector<std::string>& names, const std::string& own);
  /// One of them. A record that may not be read is an unknown one.
  void answer(const std::string& name, const NodeStat& stat, const CandidateRecord& record, BootTime now);
  /// It has gone meanwhile.
  void vanished(const std::string& name) { unanswered_.erase(name); }
  const std::set<std::string>& unanswered() const noexcept { return unanswered_; }

  /// Created after `czxid`, in order; the first one is next.
  std::vector<Standing> behind(std::int64_t czxid) const;
  /// The first in line behind `czxid` that is preferred and has stood by for as long as it said.
  std::optional<CandidateUuid> preferred(std::int64_t czxid, BootTime now) const;
  /// When the next of the preferred will have done so; max() without one.
  BootTime preferredAt(std::int64_t czxid) const;

 private:
  std::map<std::string, Standing> known_;
  std::set<std::string> lookalikes_;  // persistent: nobody's
  std::set<std::string> unanswered_;
};

}  // namespace tenure
