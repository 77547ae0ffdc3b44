/// When store or source fail, or do not answer: how long that is borne, and what is told of it. Pure.
///
///   well ──an answer is late──▶ late ──it comes──▶ well
///     └──failed──▶ failing ──something goes well there──▶ well
///                     └─ for as long as an outage may last ──▶ long: a standby that is ready relieves us
///                                                          └──▶ the term is over, where it has no such way
#pragma once

#include <optional>
#include <utility>

#include "base/backoff.hpp"
#include "consumer/lane_state.hpp"

namespace tenure::consuming {

enum class Side { store, source };

class Outages {
 public:
  Outages(LaneState& at, Random random);

  /// False: it lasts too long, and the term has to end.
  bool failed(Side side, const Error& error, const Now& now);
  void wentWell(Side side, const Now& now);
  void overdue(Side side, BootTime since, const Now& now);
  void answeredLate(Side side, const Now& now);

  /// After a pause, in which the consumer asked nothing: the outage counts from now on.
  void restart(const Now& now) noexcept {
    if (outage_) outage_->began = now.boot;
  }

  std::optional<BootTime> failingSince(Side side) const noexcept;
  bool storeIsAway() const noexcept { return failingSince(Side::store).has_value(); }
  /// Beyond the limit, and another leader is looked for.
  bool isLong(Side side) const noexcept { return outage_ && outage_->of == side && outage_->isLong; }
  bool takeReliefWish() noexcept { return std::exchange(wantsRelief_, false); }
  bool any() const noexcept { return outage_.has_value(); }
  /// When to try again.
  BootTime notBefore() const noexcept { return notBefore_; }

 private:
  struct Outage {
    Side of;
    BootTime began;  // with the first question that was not answered
    bool failed;     // or an answer is only late
    bool isLong = false;
  };
  LaneState& state_;
  Backoff backoff_;
  std::optional<Outage> outage_;
  bool wantsRelief_ = false;
  BootTime notBefore_ = BootTime::min();
};

}  // namespace tenure::consuming
