// Messages without a time: how the reader finds what others' transactions have sent, as it does on PostgreSQL.
#include "process.hpp"
#include "simulation.hpp"
#include "storage/scheduled/waiting_rows.hpp"

namespace tenure::simulation {

/// Behind which place a look begins.
std::int64_t WaitingRoom::firstPlace() const {
  if (process_.simulation().mutant() == Mutant::placesCursor) return lastSeen_;
  return once_.begin() + (isTooFar_ ? 1 : 0);
}

void WaitingRoom::lookAtOnce(Front& front) {
  Simulation& simulation = process_.simulation();
  const Strangers& room = simulation.strangers();
  const bool atFront = process_.loop().now() >= nextFrontLook_;
  if (atFront) nextFrontLook_ = process_.loop().now() + frontLooks;
  const auto first = room.firstBehind(atFront ? 0 : firstPlace());
  once_.looked(first, room.oldestRunning());
  // The mutant passes a place at which nothing is seen yet.
  isTooFar_ = simulation.mutant() == Mutant::boundTooFar && once_.begin() > 0 && first != once_.begin() + 1;
  if (once_.begin() > 0) simulation.coverage().saw("bound_moved");
  if (const auto hidden = room.firstBehind(0); hidden && *hidden <= firstPlace())
    simulation.ghost().violated("W5: a message is at place " + std::to_string(*hidden) + ", and looks begin behind " +
                                std::to_string(firstPlace()));
  if (first) front.due = WallTime{};
}

/// Others begin and commit between its number and what it sees.
Result<void> WaitingRoom::beginPromotion() {
  Simulation& simulation = process_.simulation();
  if (simulation.plan().strangers.empty()) return {};
  return process_.remotely<Result<void>>(simulation.plan().networkLatency, false, [&]() -> Result<void> {
    if (simulation.sourceDown()) return Error{Errc::unavailable, "the simulated queue is down"};
    once_.began(simulation.strangers().newTransaction());
    return {};
  });
}

void WaitingRoom::promoteAtOnce(std::size_t atMost, Promoted& promoted) {
  Simulation& simulation = process_.simulation();
  Strangers& room = simulation.strangers();
  const Plan& plan = simulation.plan();
  const Duration limit = std::chrono::milliseconds{1100} + 8 * plan.networkLatency + 4 * plan.commitLatency;
  const BootTime attentive = std::max(attentive_, process_.thawedAt());
  for (const std::int64_t place : room.behind(firstPlace(), std::min(atMost, plan.promotedAtOnce))) {
    NewMessage message = room.take(place);
    simulation.ghost().complain(room.sendings().came(message.id, attentive, simulation.loop().now(), limit));
    state_.kept.enqueue(std::move(message), process_.storeClock().wallNow());
    once_.saw(place);
    lastSeen_ = std::max(lastSeen_, place);
    promoted.hasOnce = true;
    ++promoted.messages;
  }
  isCleared_ = !room.firstBehind(firstPlace());
  if (!isCleared_) promoted.next = WallTime{};
}

/// Senders see it at once.
Result<void> WaitingRoom::fallAsleep(std::chrono::milliseconds forSoLong) {
  Simulation& simulation = process_.simulation();
  return process_.remotely<Result<void>>(simulation.plan().commitLatency, false, [&]() -> Result<void> {
    if (simulation.sourceDown()) return Error{Errc::unavailable, "the simulated queue is down"};
    if (!state_.kept.reader || state_.kept.reader->token != reader_.token) return storage::newerReader("");
    simulation.strangers().fallAsleep(forSoLong);
    process_.trace("falls asleep", forSoLong.count());
    return {};
  });
}

}  // namespace tenure::simulation
