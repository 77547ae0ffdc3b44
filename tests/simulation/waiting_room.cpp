#include "waiting_room.hpp"

#include "process.hpp"
#include "simulation.hpp"
#include "storage/waiting_rows.hpp"

namespace tenure::simulation {

namespace {

Error roomIsDown() { return {Errc::unavailable, "the simulated queue is down"}; }

}  // namespace

WaitingRoom::WaitingRoom(Process& process)
    : process_(process),
      state_(memory::StateOf::in(process.simulation().store())),
      inner_(state_, process.storeClock()) {}

void WaitingRoom::attach(const TermIdentity& term) {
  reader_ = term;
  inner_.attach(term);
  once_ = {};
  lastSeen_ = 0;
  isTooFar_ = false;
  nextFrontLook_ = process_.loop().now() + frontLooks;
  isCleared_ = false;
  process_.simulation().strangers().raised();
  process_.simulation().ghost().times().attached(term.token);
}

Result<scheduled::IWaitingRoom::Front> WaitingRoom::look() {
  const Plan& plan = process_.simulation().plan();
  return process_.remotely<Result<Front>>(plan.networkLatency, plan.embeddedStore, [&]() -> Result<Front> {
    if (process_.simulation().sourceDown()) return roomIsDown();
    Result<Front> front = inner_.look();
    isCleared_ = true;
    if (front) lookAtOnce(*front);
    return front ? Result<Front>(seen(*front)) : front;
  });
}

/// It may be paused with what it has found, and then be overtaken.
scheduled::IWaitingRoom::Front WaitingRoom::seen(Front front) {
  Simulation& simulation = process_.simulation();
  simulation.ghost().times().looked(reader_.token, simulation.loop().now(), front.now);
  if (simulation.mutant() == Mutant::dueByLeader) front.now = process_.loop().wallNow();
  if (front.due && *front.due <= front.now)
    if (const auto lasts = std::exchange(process_.armed.pausePromoter, std::nullopt))
      simulation.pause(process_, *lasts, false);
  return front;
}

Result<scheduled::IWaitingRoom::Promoted> WaitingRoom::promote(WallTime until, std::size_t atMost) {
  Simulation& simulation = process_.simulation();
  const Plan& plan = simulation.plan();
  if (const Result<void> begun = beginPromotion(); !begun) return begun.error();
  return process_.remotely<Result<Promoted>>(plan.commitLatency, plan.embeddedStore, [&]() -> Result<Promoted> {
    if (simulation.sourceDown()) return roomIsDown();
    isCleared_ = false;
    if (!plan.embeddedStore && simulation.drawOneIn(8)) {
      attentive_ = std::max(attentive_, simulation.loop().now());
      return Promoted{.isHeld = true};
    }
    const std::int64_t last = state_.kept.lastPosition;
    const bool isUnheard = std::exchange(process_.armed.failPromotion, false);
    if (simulation.mutant() == Mutant::jumpBelieved) until = std::max(until, process_.storeClock().wallNow());
    Result<Promoted> promoted = promoteNow(until, atMost);
    process_.trace("promote", promoted ? static_cast<std::int64_t>(promoted->messages) : -1);
    if (!promoted && promoted.error().is(Errc::staleTerm)) simulation.coverage().saw("promotion_refused");
    if (promoted) breakResult(last, isUnheard);
    if (promoted) promoteAtOnce(atMost, *promoted);
    if (promoted) tellGhost(last);
    if (!promoted || !isUnheard) return promoted;
    simulation.coverage().saw("promotion_unheard");
    return Error{Errc::unavailable, "the promotion's reply is lost"};
  });
}

Result<scheduled::IWaitingRoom::Promoted> WaitingRoom::promoteNow(WallTime until, std::size_t atMost) {
  const Mutant mutant = process_.simulation().mutant();
  const bool isUnfenced = mutant == Mutant::promotionUnfenced || mutant == Mutant::twoPromoters;
  return isUnfenced ? promoteBroken(until, atMost) : inner_.promote(until, atMost);
}

/// By a mutant: whoever reads the queue, and whatever the fence says.
Result<scheduled::IWaitingRoom::Promoted> WaitingRoom::promoteBroken(WallTime until, std::size_t atMost) {
  const auto reader = std::exchange(state_.kept.reader, reader_);
  const auto fence = std::exchange(state_.kept.fence, std::nullopt);
  Result<Promoted> promoted = inner_.promote(until, atMost);
  state_.kept.reader = reader;
  state_.kept.fence = fence;
  return promoted;
}

void WaitingRoom::promoteUnasked() {
  if (process_.dead() || process_.frozen() || process_.simulation().sourceDown()) return;
  const std::int64_t last = state_.kept.lastPosition;
  const Front front = seen(inner_.look().value());
  if (front.due && *front.due <= front.now && promoteNow(front.now, 1000)) tellGhost(last);
}

/// By mutants.
void WaitingRoom::breakResult(std::int64_t last, bool isUnheard) {
  auto& queue = state_.kept.queue;
  const auto first = queue.upper_bound(last);
  if (first == queue.end()) return;
  switch (process_.simulation().mutant()) {
    case Mutant::firedUnrecorded:
      for (auto came = first; came != queue.end(); ++came)
        state_.kept.rows.erase(storage::nameOf(storage::Table::fired, storage::waitingKey("", came->second.id)));
      return;
    case Mutant::promotedInTwo:  // the second does not land
      if (isUnheard) queue.erase(first, queue.end());
      return;
    case Mutant::promotedBackwards:
      return std::swap(static_cast<NewMessage&>(first->second), static_cast<NewMessage&>(queue.rbegin()->second));
    default: return;
  }
}

void WaitingRoom::tellGhost(std::int64_t last) {
  std::vector<NewMessage> came;
  for (auto next = state_.kept.queue.upper_bound(last); next != state_.kept.queue.end(); ++next)
    came.push_back(next->second);
  process_.simulation().promoted(reader_.token, came);
}

// Messages without a time: how the reader finds what others' transactions have sent, as it does on PostgreSQL.

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
