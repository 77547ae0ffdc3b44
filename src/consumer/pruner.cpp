#include "consumer/pruner.hpp"

namespace tenure::consuming {
namespace {

using namespace std::chrono_literals;

constexpr auto firstPass = 1min;  // after taking office
constexpr auto betweenPasses = 10min;
constexpr auto busyDistance = 250ms;  // between steps while messages wait
constexpr std::size_t keysAStep = 2'000;

}  // namespace

void Pruner::start(BootTime now) {
  if (!next_) next_ = now + firstPass;
}

bool Pruner::isDue(bool idle, BootTime now) const noexcept {
  if ((keepsForEver() && alarmAt_ == 0) || !next_ || now < *next_) return false;
  return idle || now >= notBusyBefore_;
}

Pruning Pruner::step(WallTime wall) const {
  const WallTime before = keepsForEver() ? WallTime{} : wall - keepFor_;  // then they are only counted
  return {.consumer = {}, .before = before, .after = after_, .atMost = keysAStep};
}

void Pruner::did(const Pruned& pruned, BootTime now) {
  kept_ += pruned.looked - pruned.removed;
  removed_ += pruned.removed;
  after_ = pruned.last;
  notBusyBefore_ = now + busyDistance;
  if (!after_.empty()) return;

  if (removed_ > 0) news_.push_back(KeysPruned{removed_, kept_});
  if (alarmAt_ > 0 && kept_ > alarmAt_) news_.push_back(KeyAlarmRaised{kept_, alarmAt_});
  kept_ = removed_ = 0;
  next_ = now + betweenPasses;
}

bool Pruner::isBeyondHorizon(const Message& message, WallTime wall) const noexcept {
  return !keepsForEver() && message.enqueuedAt < wall - keepFor_;
}

}  // namespace tenure::consuming
