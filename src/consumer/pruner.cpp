#include "consumer/pruner.hpp"

namespace tenure::consuming {

bool Pruner::isDue(bool idle, BootTime now) const noexcept {
  return (!keepsForEver() || alarmAt_ > 0) && pace_.isDue(idle, now);
}

Pruning Pruner::step(WallTime wall) const {
  const WallTime before = keepsForEver() ? WallTime{} : wall - keepFor_;  // then they are only counted
  return {.consumer = {}, .before = before, .now = wall, .after = after_, .atMost = SweepPace::step};
}

void Pruner::did(const Pruned& pruned, BootTime now) {
  kept_ += pruned.looked - pruned.removed;
  removed_ += pruned.removed;
  after_ = pruned.last;
  pace_.stepped(after_.empty(), now);
  if (!after_.empty()) return;

  if (removed_ > 0) news_.push_back(KeysPruned{removed_, kept_});
  if (alarmAt_ > 0 && kept_ > alarmAt_) news_.push_back(KeyAlarmRaised{kept_, alarmAt_});
  kept_ = removed_ = 0;
}

void Pruner::rest(BootTime now) {
  after_.clear();
  kept_ = removed_ = 0;
  pace_.stepped(true, now);
}

bool Pruner::isBeyondHorizon(const Message& message, WallTime wall) const noexcept {
  return !keepsForEver() && message.enqueuedAt < wall - keepFor_;
}

}  // namespace tenure::consuming
