// Messages with a time: who sends, cancels and moves them, and how the clock that they go by is set.
#include <algorithm>

#include "simulation.hpp"
#include "storage/records.hpp"
#include "testing/memory/memory_state.hpp"

namespace tenure::simulation {

void Simulation::beginSchedules() {
  for (const TimedMessage& one : plan_.timed)
    if (one.sender < 0) loop_.after(one.message.at, [this, &one] { sendTimed(one); });
  for (const TimeChange& one : plan_.changes)
    if (one.sender < 0) loop_.after(one.at, [this, &one] { change(one); });
  for (const StoreStep& step : plan_.storeSteps) loop_.after(step.at, [this, &step] { stepStoresClock(step.by); });
}

WallTime Simulation::wallAt(Duration sinceBegin) const {
  return began_ + std::chrono::floor<std::chrono::milliseconds>(sinceBegin);
}

/// The clock by which a message that waits is due.
WallTime Simulation::storesNow() {
  const Process* leading = plan_.embeddedStore ? leader() : nullptr;
  return leading != nullptr ? leading->loop().wallNow() : serverClock_.wallNow();
}

void Simulation::stepStoresClock(std::chrono::milliseconds by) {
  trace(0, "store's clock set", by.count());
  if (!plan_.embeddedStore) return serverClock_.step(by);
  if (Process* leading = leader()) leading->loop().stepWall(by);
}

/// The same one each time that it is sent.
const NewMessage& Simulation::timed(const TimedMessage& one) {
  const auto [place, isNew] = timed_.try_emplace(one.message.id);
  if (!isNew) return place->second;
  place->second = make(one.message);
  place->second.deliverAt = wallAt(one.due);
  return place->second;
}

NewMessage Simulation::make(const MessagePlan& plan) {
  NewMessage made{MessageId{"m" + std::to_string(plan.id)}, GroupId{groupName(plan.group)}, {}, {}};
  made.body = "body of " + made.id.value;
  ghost_.mark(made);
  parts_.try_emplace({made.id.value, made.body}, Part{.plan = plan, .body = made.body});
  return made;
}

bool Simulation::isOfStranger(const NewMessage& message) { return partOf(message).plan.id > firstOfStrangers; }

void Simulation::callReaders() {
  for (const auto& [slot, number] : slots_)
    if (Process* process = alive(number)) process->source().call();
}

/// What a sender tells may be lost.
void Simulation::wakePromoter() {
  Process* leading = leader();
  if (leading != nullptr && drawOneIn(2)) leading->source().wake();
}

/// One that was sent before is left out, or refused where the clock was set back since.
void Simulation::sendTimed(const TimedMessage& one) {
  const NewMessage& message = timed(one);
  trace(0, "scheduled", one.message.id);
  const std::int64_t leftOut = sink_->leftOut();
  const Result<void> sent = sink_->append({&message, 1});
  const bool isThere = !sent && (sent.error().is(Errc::alreadyScheduled) || sent.error().is(Errc::alreadyDone));
  if (isThere || (sent && sink_->leftOut() > leftOut)) return ghost_.complain(ghost_.times().leftOut(message.id));
  if (!sent) return ghost_.violated("the sink refuses a message: " + sent.error().message());
  wakePromoter();
  const WallTime due = std::max(*message.deliverAt, serverClock_.wallNow());
  ghost_.complain(ghost_.times().changed({Times::Change::Kind::added, message.id, due}));
}

/// An embedded store is one file with one lock: who is outside waits for it.
void Simulation::change(const TimeChange& change) {
  if (plan_.embeddedStore) return operate([this, change] { return tryToChange(change); });
  tryToChange(change);
}

/// Somebody else is faster: between a look at the message and the commit that changes it.
void Simulation::overtake(const TimeChange& change) {
  const TimeChange other{.id = change.id, .isCancel = change.isCancel && change.id % 2 == 0, .due = change.due + 1s};
  memory::StateOf::in(store_).beforeNextCommit = [this, other] { tryToChange(other); };
}

/// True where it was in time.
bool Simulation::tryToChange(const TimeChange& change) {
  const MessageId id{"m" + std::to_string(change.id)};
  if (change.isRaced) overtake(change);
  const Result<ScheduleChange> answer =
      change.isCancel ? scheduled_->cancel(id) : scheduled_->reschedule(id, wallAt(change.due));
  if (change.isRaced) memory::StateOf::in(store_).beforeNextCommit = {};
  if (!answer) {
    ghost_.violated("a change of a message that waits fails: " + answer.error().message());
    return false;
  }
  const bool isDone = *answer == ScheduleChange::done;
  const auto kind = change.isCancel ? Times::Change::Kind::cancelled : Times::Change::Kind::moved;
  const Times::Change made{kind, id, std::max(wallAt(change.due), serverClock_.wallNow())};
  sawChange(made, *answer, false);
  if (isDone) wakePromoter();
  ghost_.complain(isDone ? ghost_.times().changed(made) : ghost_.times().told(id, *answer));
  return isDone;
}

void Simulation::sawChange(const Times::Change& change, ScheduleChange answer, bool inHandler) {
  const bool isCancel = change.kind == Times::Change::Kind::cancelled;
  trace(0, isCancel ? "cancel" : "move", static_cast<std::int64_t>(answer));
  if (answer == ScheduleChange::fired) return report_.coverage.saw("change_too_late");
  if (answer != ScheduleChange::done) return;
  if (inHandler) return report_.coverage.saw(isCancel ? "cancelled_in_handler" : "moved_in_handler");
  report_.coverage.saw(isCancel ? "cancelled" : "moved");
}

/// What the handler of one message does to messages with a time, in its transaction.
Outcome Simulation::leaveSchedules(const Delivery& delivery) {
  const int id = partOf(delivery.message).plan.id;
  for (const TimedMessage& one : plan_.timed) {
    if (one.sender != id) continue;
    const Result<void> sent = delivery.transaction.enqueue(timed(one), "");
    if (!sent) return Outcome::failed(sent.error().message());
  }
  for (const TimeChange& one : plan_.changes) {
    if (one.sender != id) continue;
    const MessageId changed{"m" + std::to_string(one.id)};
    const auto answer = one.isCancel ? delivery.transaction.cancelScheduled(changed, "")
                                     : delivery.transaction.reschedule(changed, wallAt(one.due), "");
    if (!answer) return Outcome::failed(answer.error().message());
    if (one.isRaced && !plan_.embeddedStore) overtake(one);
  }
  return Outcome::done();
}

void Simulation::promoted(FencingToken by, const std::vector<NewMessage>& messages) {
  std::vector<MessageId> ids;
  for (const NewMessage& message : messages)
    if (!isOfStranger(message)) ids.push_back(message.id);
  ghost_.complain(ghost_.times().promoted(by, ghost_.highest(), loop_.now(), ids));
  for (const NewMessage& message : messages) {
    report_.coverage.saw(isOfStranger(message) ? "came_at_once" : "message_promoted");
    ghost_.came(message, partOf(message).plan.verdict == Outcome::Kind::skip);
  }
  checkRoom();
}

void Simulation::checkRoom() {
  Times::Room room;
  memory::StateOf::in(store_).kept.forEach(storage::Table::waiting, {std::string()}, [&](const storage::Row& row) {
    room.emplace(storage::textIn(row, storage::waiting::id),
                 storage::wallTimeOf(storage::integerIn(row, storage::waiting::due)));
  });
  ghost_.complain(ghost_.times().checkRoom(room));
}

}  // namespace tenure::simulation
