/// Decides when idempotency keys are forgotten. Pure. Only age removes a key: their number raises an alarm and nothing
/// else.
#pragma once

#include <string>
#include <vector>

#include "consumer/sweep_pace.hpp"
#include "tenure/consumer.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::consuming {

class Pruner {
 public:
  explicit Pruner(const ConsumerOptions& options) : keepFor_(options.keepIdsFor), alarmAt_(options.keyAlarm) {}

  /// From here on time counts: a term has begun its work.
  void start(BootTime now) noexcept { pace_.start(now); }
  bool isDue(bool idle, BootTime now) const noexcept;
  /// The next step, as of `wall`.
  Pruning step(WallTime wall) const;
  void did(const Pruned& pruned, BootTime now);
  /// Not now: with the next pass from the beginning.
  void rest(BootTime now);
  bool isBetweenPasses() const noexcept { return after_.empty(); }

  /// Its key, if it had one, may be forgotten by now.
  bool isBeyondHorizon(const Message& message, WallTime wall) const noexcept;
  std::vector<EventBody> takeNews() { return std::exchange(news_, {}); }

 private:
  bool keepsForEver() const noexcept { return keepFor_.count() == 0; }

  const std::chrono::hours keepFor_;
  const std::size_t alarmAt_;
  SweepPace pace_;
  std::string after_;
  std::size_t kept_ = 0;  // in this pass
  std::size_t removed_ = 0;
  std::vector<EventBody> news_;
};

}  // namespace tenure::consuming
