/// The candidates behind us. The leader looks for the target of a handover and for preferred candidates; a standby that
/// is not ready looks for one that is.
///
/// A candidacy's name is used once, and only its readiness changes: each is read once, again where that counts.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "coordination/coordination.hpp"
#include "election/records.hpp"

namespace tenure {

class StandbyQueue {
 public:
  struct StandbyEntry {
    std::string name;
    CandidateUuid uuid;
    std::int64_t czxid = 0;
    std::string data{};        // of the candidacy's znode
    std::int32_t version = 0;  // of that znode
    CandidateRecord record{};  // the same, read
    std::string differs{};     // how its settings differ from ours
    BootTime seen{};           // when it was first seen

    /// Empty: the leadership may go there.
    std::string whyNot() const { return whyNotFollow(record.readiness, record.whyNot, differs); }
    std::string called() const;
  };
  /// The candidate to hand over to.
  struct Successor {
    std::string znode{};   // empty: there is none, see `why`
    bool mayCome = false;  // but there may be one soon
    std::string why{};
  };

  /// The leader's own record: the others are compared with it.
  explicit StandbyQueue(CandidateRecord ours = {}) : ours_(std::move(ours)) {}

  /// Takes in a list. Afterwards `unanswered()` names the children that have to be read: those that are new, and those
  /// that were not known to be ready; with `anew` all of them.
  void list(const std::vector<std::string>& names, const std::string& own, bool anew);
  /// Takes in one of those children; `node` has no data where we may not read it. Returns the entry when it is new.
  const StandbyEntry* answer(const std::string& name, const Node& node, BootTime now);
  /// The candidacy has gone meanwhile.
  void vanished(const std::string& name);
  const std::set<std::string>& unanswered() const noexcept { return unanswered_; }

  /// Created after `czxid`, in order; the first one is next.
  std::vector<StandbyEntry> behind(std::int64_t czxid) const;
  /// The candidacy with that znode; null: it is not known.
  const StandbyEntry* find(const std::string& name) const;
  /// `to` if it is given, else the first behind `czxid` that may follow; none of the znodes `without`.
  Successor successor(std::int64_t czxid, const std::optional<CandidateUuid>& to,
                      const std::set<std::string>& without = {}) const;
  /// The same without a target: the first of the newest version, where one of it may follow.
  Successor newestSuccessor(std::int64_t czxid) const;
  /// The first in line behind `czxid` that is preferred, may follow, and has stood by for as long as it said.
  std::optional<CandidateUuid> preferred(std::int64_t czxid, BootTime now) const;
  /// When the next of the preferred will have done so; max() without one.
  BootTime preferredAt(std::int64_t czxid) const;

 private:
  std::string newestVersion() const;

  CandidateRecord ours_;
  std::map<std::string, StandbyEntry> known_;
  std::set<std::string> lookalikes_;  // persistent znodes: no candidates
  std::set<std::string> unanswered_;
};

}  // namespace tenure
