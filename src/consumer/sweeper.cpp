#include "consumer/sweeper.hpp"

#include "base/process_identity.hpp"
#include "base/text.hpp"

namespace tenure::consuming {

void Sweeper::start(BootTime now) {
  pruner_.start(now);
  at_.log.start(now);
}

std::optional<Action> Sweeper::step(bool idle, const Moment& moment) {
  if (swept_) return std::nullopt;
  const bool ofKeys = pruner_.isDue(idle, moment.now);
  const WallTime wall = moment.wall + clockOffset_;
  const bool isTrusted = at_.notes->clock.isTrusted(wall);
  swept_ = ofKeys || (isTrusted && at_.log.isDue(idle, moment.now));
  if (!swept_) return std::nullopt;
  if (!ofKeys) return PruneLog{at_.log.step(wall)};
  if (!looked_) return LookAtClock{};
  if (isTrusted) return Prune{pruner_.step(wall), {}};
  looked_ = swept_ = false;
  pruner_.rest(moment.now);
  return std::nullopt;
}

void Sweeper::lookedAt(const std::optional<WallTime>& storesClock, const Moment& moment) {
  using Whose = ClockWatch::Whose;
  looked_ = true;
  swept_ = false;
  clockOffset_ = storesClock ? *storesClock - moment.wall : std::chrono::milliseconds{0};
  if (clockOffset_ > ClockWatch::tolerance || clockOffset_ < -ClockWatch::tolerance)
    doubt(Whose::leader, "it says " + formatWallTime(moment.wall) + ", the store's " + formatWallTime(*storesClock));
  look(storesClock ? Whose::store : Whose::leader, moment.wall + clockOffset_, moment);
}

void Sweeper::pruned(const Pruned& pruned, const Moment& moment) {
  if (pruned.future)
    doubt(at_.notes->clock.isLeaders() ? ClockWatch::Whose::leader : ClockWatch::Whose::store,
          at_.notes->clock.doubt(*pruned.future, moment.wall + clockOffset_));
  pruner_.did(pruned, moment.now);
  looked_ = !pruner_.isBetweenPasses() && !pruned.future;
  if (pruned.future) pruner_.rest(moment.now);
  for (EventBody& body : pruner_.takeNews()) at_.tell(std::move(body));
}

void Sweeper::logPruned(std::size_t removed, const Moment& moment) { at_.log.pruned(removed, moment.now); }

void Sweeper::restore(const std::optional<AttemptRecord>& look, const Moment& moment) {
  at_.notes->clock.restore(look);
  if (at_.notes->clock.isLeaders()) this->look(ClockWatch::Whose::leader, moment.wall, moment);
}

void Sweeper::glance(const Moment& moment) {
  ClockWatch& clock = at_.notes->clock;
  if (at_.role == Role::lane || !clock.isLeaders()) return;
  const auto wrong = clock.look(ClockWatch::Whose::leader, moment.wall, moment.now, thisProcess().bootId);
  if (!wrong) return;
  doubt(ClockWatch::Whose::leader, *wrong);
  toBook_ = clock.record();
}

void Sweeper::look(ClockWatch::Whose whose, WallTime wall, const Moment& moment) {
  ClockWatch& clock = at_.notes->clock;
  if (auto wrong = clock.look(whose, wall, moment.now, thisProcess().bootId)) doubt(whose, *std::move(wrong));
  toBook_ = clock.record();
}

void Sweeper::doubt(ClockWatch::Whose whose, std::string what) {
  at_.tell(ClockDistrusted{whose == ClockWatch::Whose::store ? "the store's" : "the leader's", std::move(what)});
}

}  // namespace tenure::consuming
