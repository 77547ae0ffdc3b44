/// Decides from when on a message may begin, by the token buckets of its queue and its group. Pure.
///
///   mayGo ──► now, or a later moment: ask again then, or when the rules have changed
///   went  ──► takes a token of each bucket; returned gives it back, for what went and did not begin
///
/// A bucket is a single moment: when it will be full again. Taking a token puts that off by one interval; it may
/// not lie further ahead than the burst allows. So a group whose bucket is full is as good as one that never came, and
/// is forgotten: only groups that are going are held, and at the bound that one whose last message is longest ago. It
/// may then go as if it had a full bucket, which is the price of the bound.
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <unordered_map>

#include "tenure/consumer.hpp"
#include "tenure/values.hpp"

namespace tenure::supply {

/// Until when a request made at `now` has to wait; nullopt: not at all. Compare once, with that `now`: a moment later
/// `due` may have passed, and a refused request would look like an accepted one.
inline std::optional<BootTime> laterThan(BootTime now, BootTime due) noexcept {
  return due <= now ? std::nullopt : std::optional(due);
}

/// One bucket. Its rate is told with each call, so that it may change.
class TokenBucket {
 public:
  BootTime mayGo(const Rate& rate, BootTime now) noexcept;
  void went(const Rate& rate, BootTime now) noexcept;
  void returned(const Rate& rate, BootTime now) noexcept;
  bool isFull(BootTime now) const noexcept { return full_ <= now; }

 private:
  void follow(const Rate& rate, BootTime now) noexcept;

  BootTime full_ = BootTime::min();
  Duration interval_{};  // a token's, as of the last call
};

class Throttle {
 public:
  static constexpr std::size_t defaultGroups = 10'000;
  explicit Throttle(std::size_t maxGroups = defaultGroups) : maxGroups_(maxGroups) {}

  void apply(RateRules rules);
  bool limitsAnything() const noexcept { return rules_.queue || rules_.eachGroup || !rules_.groups.empty(); }

  /// Not after `now`: at once.
  BootTime mayGo(const GroupId& group, BootTime now);
  void went(const GroupId& group, BootTime now);
  void returned(const GroupId& group, BootTime now);
  /// Groups whose buckets are not known to be full.
  std::size_t groups() const noexcept { return known_.size(); }

 private:
  struct Bucket {
    GroupId group;
    TokenBucket tokens;
  };
  using Buckets = std::list<Bucket>;  // the one that went last at the end

  const Rate* rateOf(const GroupId& group) const;
  TokenBucket& bucketOf(const GroupId& group, BootTime now);
  void forgetOldest();

  const std::size_t maxGroups_;
  RateRules rules_;
  TokenBucket queue_;
  Buckets buckets_;
  std::unordered_map<GroupId, Buckets::iterator> known_;
};

}  // namespace tenure::supply
