/// Forgets, step by step, what is old: idempotency keys, and lines of the log; by a clock that is watched. Pure.
///
///   a pass is due ─► look at the clock ─► trusted: prune, step by step, until it is through
///                                      └► distrusted: rest until the next pass
///
/// A pass may be long: messages that come meanwhile wait for one step at most.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "consumer/actions.hpp"
#include "consumer/lane_state.hpp"
#include "consumer/sweep_pace.hpp"
#include "tenure/consumer.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::consuming {

/// Decides when idempotency keys are forgotten. Pure. Only age removes a key: their number raises an alarm and nothing
/// else.
class Pruner {
 public:
  explicit Pruner(const ConsumerOptions& options) : keepFor_(options.keepIdsFor), alarmAt_(options.keyAlarm) {}

  /// From here on time counts: a term has begun its work.
  void start(BootTime now) noexcept { pace_.start(now); }
  bool isDue(bool idle, BootTime now) const noexcept;
  /// The next step, as of `wall`.
  Pruning step(WallTime wall) const;
  void onPruned(const Pruned& pruned, BootTime now);
  /// Stops the pass; the next one starts from the beginning.
  void rest(BootTime now);
  bool isBetweenPasses() const noexcept { return after_.empty(); }

  /// The message's key, if it had one, may be forgotten by now.
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

class Sweeper {
 public:
  explicit Sweeper(LaneState& at) : state_(at), pruner_(at.options) {}

  void start(BootTime now);
  /// The action to do before anything else begins; `idle`: no message waits.
  std::optional<SweepStep> step(bool idle, const Now& now);
  void lookedAt(const std::optional<WallTime>& storesClock, const Now& now);
  void pruned(const Pruned& pruned, const Now& now);
  void logPruned(std::size_t removed, const Now& now);
  /// More was asked for: a step may come before what it brings.
  void mayGoOn() noexcept { swept_ = false; }
  bool hasSwept() const noexcept { return swept_; }

  /// As earlier terms left it.
  void restore(const std::optional<ClockLook>& look, const Now& now);
  /// With every commit: a clock that is set within a term dates keys wrongly, and the next leader's may be right.
  void glance(const Now& now);
  /// The last look, until it is durable.
  const std::optional<ClockLook>& toWrite() const noexcept { return toWrite_; }
  void written() noexcept { toWrite_.reset(); }

  bool isBeyondHorizon(const Message& message, WallTime wall) const noexcept {
    return pruner_.isBeyondHorizon(message, wall);
  }

 private:
  bool isTrusted(WallTime wall) const;
  void look(ClockWatch::Whose whose, WallTime wall, const Now& now);
  void distrust(ClockWatch::Whose whose, std::string what);

  LaneState& state_;
  Pruner pruner_;
  bool swept_ = false;                       // since more was asked for
  bool looked_ = false;                      // at the clock, for the pass that is due
  std::chrono::milliseconds clockOffset_{};  // of the store's from ours
  std::optional<ClockLook> toWrite_;
};

}  // namespace tenure::consuming
