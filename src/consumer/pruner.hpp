/// Decides when idempotency keys are forgotten. Pure.
///
///   waiting ──pass due──▶ passing ──step by step over all keys of the consumer──▶ waiting
///
/// A pass begins some time after the last one ended, and not right after taking office, when every millisecond counts.
/// Its steps are small; while messages wait they keep a distance, so that a busy leader spends about a hundredth of its
/// time on them. Only age removes a key: their number raises an alarm and nothing else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tenure/consumer.hpp"

namespace tenure::consuming {

class Pruner {
 public:
  explicit Pruner(const ConsumerOptions& options) : keepFor_(options.keepIdsFor), alarmAt_(options.keyAlarm) {}

  /// From here on time counts: a term has begun its work.
  void start(BootTime now);
  bool isDue(bool idle, BootTime now) const noexcept;
  /// The next step, as of `wall`.
  Pruning step(WallTime wall) const;
  void did(const Pruned& pruned, BootTime now);

  /// Its key, if it had one, may be forgotten by now.
  bool isBeyondHorizon(const Message& message, WallTime wall) const noexcept;
  std::vector<EventBody> takeNews() { return std::exchange(news_, {}); }

 private:
  bool keepsForEver() const noexcept { return keepFor_.count() == 0; }

  const std::chrono::hours keepFor_;
  const std::size_t alarmAt_;
  std::optional<BootTime> next_;  // nullopt before start()
  BootTime notBusyBefore_{};
  std::string after_;
  std::size_t kept_ = 0;  // in this pass
  std::size_t removed_ = 0;
  std::vector<EventBody> news_;
};

}  // namespace tenure::consuming
