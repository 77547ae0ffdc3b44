/// Judges how fast messages begin: of the queue and of each group no more than fit its bucket, which is full at the
/// start of a term (T1). A consumer may keep to new rules at once, and has to from its next phase on.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attempts.hpp"
#include "tenure/consumer.hpp"

namespace tenure::simulation {

class Pace {
 public:
  /// `sums`: a message may begin later than its token was taken, so only the sum of a whole term counts.
  explicit Pace(bool sums) : sums_(sums) {}

  void phaseBegan(FencingToken term, const RateRules& rules, BootTime now);
  void changed(const RateRules& rules);
  Complaint began(FencingToken term, const GroupId& group, BootTime now);

 private:
  struct Bucket {
    double missing = 0;  // of its tokens; below 0 only where sums count
    BootTime asOf{};
    double perSecond = 0;  // at most, since then
  };
  struct Term {
    std::vector<RateRules> rules;  // that it may keep to
    BootTime since{};
    std::map<GroupId, Bucket> buckets;  // the queue's without a group
  };

  Complaint take(Term& term, const GroupId& group, const std::optional<Rate>& rate, BootTime now) const;

  bool sums_;
  std::map<FencingToken, Term> terms_;
};

}  // namespace tenure::simulation
