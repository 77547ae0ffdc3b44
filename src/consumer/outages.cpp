#include "consumer/outages.hpp"

#include <algorithm>

#include "consumer/errors.hpp"

namespace tenure::consuming {

using namespace std::chrono_literals;

Outages::Outages(LaneState& at, Random random) : state_(at), backoff_(20ms, 1s, random) {}

bool Outages::failed(Side side, const Error& error, const Now& now) {
  if (!outage_) state_.tell(OutageBegan{error.message()});
  if (!outage_ || !outage_->failed) {
    const auto owedSince = side == Side::source ? now.sourceOwesSince : now.storeOwesSince;
    outage_ = Outage{side, owedSince.value_or(now.boot), true};
  }
  outage_->isLong = now.boot - outage_->began >= state_.options.outageLimit;
  if (outage_->isLong && (!now.hasRelief || now.stopAsked)) return false;
  // What is busy for us is so for others.
  const bool isOutOfReach = error.is(Errc::unavailable) || error.is(Errc::timedOut) || isOutcomeUnknown(error.code);
  wantsRelief_ = outage_->isLong && isOutOfReach;
  notBefore_ = std::max(notBefore_, now.boot + backoff_.next());
  return true;
}

void Outages::wentWell(Side side, const Now& now) {
  if (!outage_ || outage_->of != side) return;
  state_.tell(OutageEnded{std::chrono::duration_cast<std::chrono::milliseconds>(now.boot - outage_->began)});
  outage_.reset();
  wantsRelief_ = false;
  backoff_.reset();
}

void Outages::overdue(Side side, BootTime since, const Now& now) {
  if (outage_) return;
  outage_ = Outage{side, since, false};
  state_.tell(OutageBegan{noAnswer(side == Side::source, now.boot - since)});
}

void Outages::answeredLate(Side side, const Now& now) {
  if (outage_ && !outage_->failed) wentWell(side, now);
}

std::optional<BootTime> Outages::failingSince(Side side) const noexcept {
  const bool failing = outage_ && outage_->failed && outage_->of == side;
  return failing ? std::optional(outage_->began) : std::nullopt;
}

}  // namespace tenure::consuming
