/// How many messages may begin in a second: of the whole queue, of each group, of one group in particular. Each is a
/// token bucket: `perSecond` is what flows in, `burst` what it holds, and it is full at the start of a term.
///
/// What is held back keeps its place. Where messages are handled one after the other, all behind it wait with it; where
/// groups go their own ways, only its group does.
///
/// Limits: what has flown is known of the 10,000 groups that went last and whose buckets are not full again; of more,
/// the one that went longest ago begins with a full bucket when it comes again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "tenure/ids.hpp"
#include "tenure/result.hpp"

namespace tenure {

struct Rate {
  double perSecond = 1;  // above 0, at most 10^9
  double burst = 1;      // messages that may go at once, 1 to 10^9, and full again within thirty years

  friend bool operator==(const Rate&, const Rate&) = default;
};

struct RateRules {
  std::optional<Rate> queue{};      // nothing: no limit
  std::optional<Rate> eachGroup{};  // messages without a group have only the queue's
  /// For a group of its own; nothing as its rate: no limit.
  std::map<GroupId, std::optional<Rate>> groups{};

  friend bool operator==(const RateRules&, const RateRules&) = default;
};

/// The rules that a running consumer keeps to; it takes notice of new ones within `ConsumerOptions::idleWait`.
/// Threads: any, all calls.
class RateLimits {
 public:
  RateLimits() = default;
  /// Throws std::system_error when a rate is out of its range.
  explicit RateLimits(RateRules rules);

  /// From now on. What has gone before still counts.
  ///
  /// Errors:  configurationRefused   a rate is out of its range; the rules stay as they are
  Result<void> set(RateRules rules);
  RateRules rules() const;
  /// Grows with each change. Costs one read.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }

 private:
  mutable std::mutex mutex_;
  RateRules rules_;
  std::atomic<std::uint64_t> version_ = 0;
};

}  // namespace tenure
