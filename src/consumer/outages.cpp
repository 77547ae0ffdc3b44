#include "consumer/outages.hpp"

#include <algorithm>

#include "consumer/errors.hpp"

namespace tenure::consuming {

using namespace std::chrono_literals;

Outages::Outages(Workplace& at, Random random) : at_(at), backoff_(20ms, 1s, random) {}

bool Outages::failed(Side side, const Error& error, const Moment& moment) {
  if (!outage_) at_.tell(OutageBegan{error.message()});
  if (!outage_ || !outage_->failed) {
    const auto owedSince = side == Side::source ? moment.sourceOwesSince : moment.storeOwesSince;
    outage_ = Outage{side, owedSince.value_or(moment.now), true};
  }
  if (moment.now - outage_->began >= at_.options.outageLimit) return false;
  notBefore_ = std::max(notBefore_, moment.now + backoff_.next());
  return true;
}

void Outages::wentWell(Side side, const Moment& moment) {
  if (!outage_ || outage_->of != side) return;
  at_.tell(OutageEnded{std::chrono::duration_cast<std::chrono::milliseconds>(moment.now - outage_->began)});
  outage_.reset();
  backoff_.reset();
}

void Outages::overdue(Side side, BootTime since, const Moment& moment) {
  if (outage_) return;
  outage_ = Outage{side, since, false};
  at_.tell(OutageBegan{noAnswer(side == Side::source, moment.now - since)});
}

void Outages::answeredLate(Side side, const Moment& moment) {
  if (outage_ && !outage_->failed) wentWell(side, moment);
}

std::optional<BootTime> Outages::failingSince(Side side) const noexcept {
  const bool failing = outage_ && outage_->failed && outage_->of == side;
  return failing ? std::optional(outage_->began) : std::nullopt;
}

}  // namespace tenure::consuming
