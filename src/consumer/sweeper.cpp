#include "consumer/sweeper.hpp"

#include "base/text.hpp"
#include "process/process_identity.hpp"

namespace tenure::consuming {

void Sweeper::start(BootTime now) {
  pruner_.start(now);
  state_.log.start(now);
}

std::optional<SweepStep> Sweeper::step(bool idle, const Now& now) {
  if (swept_) return std::nullopt;
  const bool ofKeys = pruner_.isDue(idle, now.boot);
  const WallTime wall = now.wall + clockOffset_;
  const bool isTrusted = this->isTrusted(wall);
  swept_ = ofKeys || (isTrusted && state_.log.isDue(idle, now.boot));
  if (!swept_) return std::nullopt;
  if (!ofKeys) return PruneLog{state_.log.step(wall)};
  if (!looked_) return LookAtClock{};
  if (isTrusted) return Prune{pruner_.step(wall), {}};
  looked_ = swept_ = false;
  pruner_.rest(now.boot);
  return std::nullopt;
}

void Sweeper::lookedAt(const std::optional<WallTime>& storesClock, const Now& now) {
  using Whose = ClockWatch::Whose;
  looked_ = true;
  swept_ = false;
  clockOffset_ = storesClock ? *storesClock - now.wall : std::chrono::milliseconds{0};
  if (clockOffset_ > ClockWatch::tolerance || clockOffset_ < -ClockWatch::tolerance)
    distrust(Whose::leader, "it says " + formatWallTime(now.wall) + ", the store's " + formatWallTime(*storesClock));
  look(storesClock ? Whose::store : Whose::leader, now.wall + clockOffset_, now);
}

void Sweeper::pruned(const Pruned& pruned, const Now& now) {
  if (pruned.future) {
    const std::lock_guard lock(state_.notes->clockMutex);
    ClockWatch& clock = state_.notes->clock;
    distrust(clock.isLeaders() ? ClockWatch::Whose::leader : ClockWatch::Whose::store,
             clock.distrust(*pruned.future, now.wall + clockOffset_));
  }
  pruner_.onPruned(pruned, now.boot);
  looked_ = !pruner_.isBetweenPasses() && !pruned.future;
  if (pruned.future) pruner_.rest(now.boot);
  for (EventBody& body : pruner_.takeNews()) state_.tell(std::move(body));
}

void Sweeper::logPruned(std::size_t removed, const Now& now) { state_.log.pruned(removed, now.boot); }

void Sweeper::restore(const std::optional<ClockLook>& look, const Now& now) {
  bool isLeaders = false;
  {
    const std::lock_guard lock(state_.notes->clockMutex);
    state_.notes->clock.restore(look);
    isLeaders = state_.notes->clock.isLeaders();
  }
  if (isLeaders) this->look(ClockWatch::Whose::leader, now.wall, now);
}

bool Sweeper::isTrusted(WallTime wall) const {
  const std::lock_guard lock(state_.notes->clockMutex);
  return state_.notes->clock.isTrusted(wall);
}

void Sweeper::glance(const Now& now) {
  const std::lock_guard lock(state_.notes->clockMutex);
  ClockWatch& clock = state_.notes->clock;
  if (!clock.isLeaders()) return;
  const auto wrong = clock.look(ClockWatch::Whose::leader, now.wall, now.boot, thisProcess().bootId);
  if (!wrong) return;
  distrust(ClockWatch::Whose::leader, *wrong);
  toWrite_ = clock.record();
}

void Sweeper::look(ClockWatch::Whose whose, WallTime wall, const Now& now) {
  const std::lock_guard lock(state_.notes->clockMutex);
  ClockWatch& clock = state_.notes->clock;
  if (auto wrong = clock.look(whose, wall, now.boot, thisProcess().bootId)) distrust(whose, *std::move(wrong));
  toWrite_ = clock.record();
}

void Sweeper::distrust(ClockWatch::Whose whose, std::string what) {
  state_.tell(ClockDistrusted{whose == ClockWatch::Whose::store ? "the store's" : "the leader's", std::move(what)});
}

bool Pruner::isDue(bool idle, BootTime now) const noexcept {
  return (!keepsForEver() || alarmAt_ > 0) && pace_.isDue(idle, now);
}

Pruning Pruner::step(WallTime wall) const {
  const WallTime before = keepsForEver() ? WallTime{} : wall - keepFor_;  // then they are only counted
  return {.consumer = {}, .before = before, .now = wall, .after = after_, .atMost = SweepPace::step};
}

void Pruner::onPruned(const Pruned& pruned, BootTime now) {
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
