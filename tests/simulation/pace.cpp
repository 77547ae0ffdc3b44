#include "pace.hpp"

#include <algorithm>

namespace tenure::simulation {
namespace {

constexpr double rounding = 1e-3;  // tokens

std::optional<Rate> rateOf(const RateRules& rules, const GroupId& group) {
  if (group.value.empty()) return rules.queue;
  const auto own = rules.groups.find(group);
  return own == rules.groups.end() ? rules.eachGroup : own->second;
}

/// Nothing: no limit.
std::optional<Rate> mostGenerous(const std::vector<RateRules>& rules, const GroupId& group) {
  std::optional<Rate> most = rateOf(rules.front(), group);
  for (const RateRules& each : rules) {
    const std::optional<Rate> rate = rateOf(each, group);
    if (!most || !rate) return std::nullopt;
    most = Rate{std::max(most->perSecond, rate->perSecond), std::max(most->burst, rate->burst)};
  }
  return most;
}

double secondsOf(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

void Pace::phaseBegan(FencingToken term, const RateRules& rules, BootTime now) {
  const auto [known, isNew] = terms_.try_emplace(term, Term{{}, now, {}});
  known->second.rules = {rules};
}

void Pace::changed(const RateRules& rules) {
  for (auto& [token, term] : terms_) term.rules.push_back(rules);
}

Complaint Pace::began(FencingToken token, const GroupId& group, BootTime now) {
  const auto term = terms_.find(token);
  if (term == terms_.end()) return std::nullopt;
  Complaint complaint = take(term->second, {}, mostGenerous(term->second.rules, {}), now);
  if (complaint || group.value.empty()) return complaint;
  return take(term->second, group, mostGenerous(term->second.rules, group), now);
}

Complaint Pace::take(Term& term, const GroupId& group, const std::optional<Rate>& rate, BootTime now) const {
  if (!rate) {
    term.buckets.erase(group);
    return std::nullopt;
  }
  const auto [place, isNew] = term.buckets.try_emplace(group, Bucket{0, sums_ ? term.since : now});
  Bucket& bucket = place->second;
  bucket.missing -= std::max(rate->perSecond, bucket.perSecond) * secondsOf(now - bucket.asOf);
  if (!sums_) bucket.missing = std::max(bucket.missing, 0.0);
  bucket.missing += 1;
  bucket.asOf = now;
  bucket.perSecond = rate->perSecond;
  if (bucket.missing <= rate->burst + rounding) return std::nullopt;
  return "T1: more begins than its bucket holds, of " + (group.value.empty() ? "the queue" : "group " + group.value);
}

}  // namespace tenure::simulation
