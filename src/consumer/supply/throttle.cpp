#include "consumer/supply/throttle.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tenure::supply {
namespace {

/// RateLimits has seen to it that the time of a whole burst does not overflow.
Duration timeFor(double tokens, const Rate& rate) {
  return Duration{static_cast<Duration::rep>(tokens / rate.perSecond * 1e9)};
}

}  // namespace

/// Missing tokens flow in at the new rate from now on.
void TokenBucket::follow(const Rate& rate, BootTime now) noexcept {
  constexpr double longest = 4e18;
  const Duration interval = std::max(timeFor(1, rate), Duration{1});
  if (interval != interval_ && full_ > now) {
    const double tokens = static_cast<double>((full_ - now).count()) / static_cast<double>(interval_.count());
    const double missing = std::min(tokens * static_cast<double>(interval.count()), longest);
    full_ = now + Duration{static_cast<Duration::rep>(missing)};
  }
  interval_ = interval;
}

/// One more token fits when the bucket would be full again within the time of a whole burst.
BootTime TokenBucket::mayGo(const Rate& rate, BootTime now) noexcept {
  follow(rate, now);
  const BootTime full = std::max(full_, now);
  return std::max(now, full - timeFor(rate.burst - 1, rate));
}

void TokenBucket::went(const Rate& rate, BootTime now) noexcept {
  follow(rate, now);
  full_ = std::max(full_, now) + interval_;
}

void TokenBucket::returned(const Rate& rate, BootTime now) noexcept {
  follow(rate, now);
  if (full_ > now) full_ -= interval_;
}

void Throttle::apply(RateRules rules) { rules_ = std::move(rules); }

const Rate* Throttle::rateOf(const GroupId& group) const {
  if (group.value.empty()) return nullptr;
  const auto own = rules_.groups.find(group);
  const std::optional<Rate>& rate = own == rules_.groups.end() ? rules_.eachGroup : own->second;
  return rate ? &*rate : nullptr;
}

BootTime Throttle::mayGo(const GroupId& group, BootTime now) {
  const BootTime ofQueue = rules_.queue ? queue_.mayGo(*rules_.queue, now) : now;
  const Rate* rate = rateOf(group);
  const auto known = rate == nullptr ? known_.end() : known_.find(group);
  return known == known_.end() ? ofQueue : std::max(ofQueue, known->second->tokens.mayGo(*rate, now));
}

void Throttle::went(const GroupId& group, BootTime now) {
  if (rules_.queue) queue_.went(*rules_.queue, now);
  if (const Rate* rate = rateOf(group)) bucketOf(group, now).went(*rate, now);
}

void Throttle::returned(const GroupId& group, BootTime now) {
  if (rules_.queue) queue_.returned(*rules_.queue, now);
  const Rate* rate = rateOf(group);
  if (const auto known = known_.find(group); rate != nullptr && known != known_.end())
    known->second->tokens.returned(*rate, now);
}

TokenBucket& Throttle::bucketOf(const GroupId& group, BootTime now) {
  for (int i = 0; i < 2 && !buckets_.empty() && buckets_.front().tokens.isFull(now); ++i) forgetOldest();
  if (const auto known = known_.find(group); known != known_.end()) {
    buckets_.splice(buckets_.end(), buckets_, known->second);
    return buckets_.back().tokens;
  }
  if (known_.size() >= maxGroups_) forgetOldest();
  buckets_.push_back({group, {}});
  known_.emplace(group, std::prev(buckets_.end()));
  return buckets_.back().tokens;
}

void Throttle::forgetOldest() {
  known_.erase(buckets_.front().group);
  buckets_.pop_front();
}

}  // namespace tenure::supply
