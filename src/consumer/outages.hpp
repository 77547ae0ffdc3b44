/// When store or source fail, or do not answer: how long that is borne, and what is told of it. Pure.
///
///   well ──an answer is late──▶ late ──it comes──▶ well
///     └──failed──▶ failing ──something goes well there──▶ well
///                     └─ for as long as an outage may last: the term is over
#pragma once

#include <optional>

#include "base/backoff.hpp"
#include "consumer/workplace.hpp"

namespace tenure::consuming {

enum class Side { store, source };

class Outages {
 public:
  Outages(Workplace& at, Random random);

  /// False: it lasts too long.
  bool failed(Side side, const Error& error, const Moment& moment);
  void wentWell(Side side, const Moment& moment);
  void overdue(Side side, BootTime since, const Moment& moment);
  void answeredLate(Side side, const Moment& moment);

  std::optional<BootTime> failingSince(Side side) const noexcept;
  bool storeIsAway() const noexcept { return failingSince(Side::store).has_value(); }
  bool any() const noexcept { return outage_.has_value(); }
  /// When to try again.
  BootTime notBefore() const noexcept { return notBefore_; }

 private:
  struct Outage {
    Side of;
    BootTime began;  // with the first question that was not answered
    bool failed;     // or an answer is only late
  };
  Workplace& at_;
  Backoff backoff_;
  std::optional<Outage> outage_;
  BootTime notBefore_ = BootTime::min();
};

}  // namespace tenure::consuming
