#include <utility>

#include "base/text.hpp"
#include "base/validation.hpp"
#include "tenure/consumer.hpp"

namespace tenure {
namespace {

constexpr double most = 1e9;
constexpr double longestToFill = 1e9;  // seconds

void check(Complaints& complaints, const std::string& key, const std::optional<Rate>& rate) {
  if (!rate) return;
  complaints.require(rate->perSecond > 0 && rate->perSecond <= most, key, std::to_string(rate->perSecond),
                     "must be above 0 and at most 10^9 a second");
  complaints.require(rate->burst >= 1 && rate->burst <= most, key + ".burst", std::to_string(rate->burst),
                     "must be 1 to 10^9");
  complaints.require(rate->burst <= rate->perSecond * longestToFill, key, std::to_string(rate->perSecond),
                     "must fill its burst within thirty years");
}

Complaints complaintsOf(const RateRules& rules) {
  Complaints complaints;
  check(complaints, "rate.queue", rules.queue);
  check(complaints, "rate.eachGroup", rules.eachGroup);
  for (const auto& [group, rate] : rules.groups) check(complaints, "rate.group " + escaped(group.value), rate);
  return complaints;
}

}  // namespace

RateLimits::RateLimits(RateRules rules) : rules_(std::move(rules)) { complaintsOf(rules_).throwIfAny(); }

Result<void> RateLimits::set(RateRules rules) {
  if (const Complaints complaints = complaintsOf(rules); !complaints.empty())
    return Error{Errc::configurationRefused, complaints.message()};
  const std::lock_guard lock(mutex_);
  rules_ = std::move(rules);
  version_.fetch_add(1, std::memory_order_release);
  return {};
}

RateRules RateLimits::rules() const {
  const std::lock_guard lock(mutex_);
  return rules_;
}

}  // namespace tenure
