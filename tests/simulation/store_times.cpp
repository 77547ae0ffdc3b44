// What a transaction does to messages that wait for their time.
#include <algorithm>

#include "process.hpp"
#include "simulation.hpp"
#include "storage/scheduled/waiting_rows.hpp"
#include "testing/memory/memory_state.hpp"

namespace tenure::simulation {

Result<ScheduleChange> StoreTransaction::cancelScheduled(const MessageId& id, std::string_view queue) {
  if (process_.simulation().mutant() == Mutant::cancelsUnlooked && leavesUnlooked(id)) return ScheduleChange::done;
  return changeWaiting({Times::Change::Kind::cancelled, id},
                       [id, queue = std::string(queue)](auto& inner) { return inner.cancelScheduled(id, queue); });
}

Result<ScheduleChange> StoreTransaction::reschedule(const MessageId& id, WallTime at, std::string_view queue) {
  return changeWaiting({Times::Change::Kind::moved, id, std::max(at, begun_)},
                       [id, at, queue = std::string(queue)](auto& inner) { return inner.reschedule(id, at, queue); });
}

/// By a mutant, which leaves the row where it is until the commit. False: no such message waits.
bool StoreTransaction::leavesUnlooked(const MessageId& id) {
  const memory::Kept& kept = memory::StateOf::in(process_.simulation().store()).kept;
  if (kept.find(storage::Table::waiting, storage::waitingKey("", id)) == nullptr) return false;
  booking_.times.push_back({Times::Change::Kind::cancelled, id});
  return true;
}

void StoreTransaction::cancelUnlooked() {
  memory::Kept& kept = memory::StateOf::in(process_.simulation().store()).kept;
  for (const Times::Change& change : booking_.times) {
    if (change.kind != Times::Change::Kind::cancelled) continue;
    const std::string row = storage::nameOf(storage::Table::waiting, storage::waitingKey("", change.id));
    kept.unscheduled(row);
    kept.rows.erase(row);
  }
}

/// What is added and moved in one transaction is added once, as its last write has it.
void StoreTransaction::note(const Times::Change& change) {
  using Kind = Times::Change::Kind;
  const auto added = std::ranges::find_if(
      booking_.times, [&](const Times::Change& one) { return one.id == change.id && one.kind == Kind::added; });
  if (change.kind != Kind::moved || added == booking_.times.end()) return booking_.times.push_back(change);
  booking_.times.erase(added);
  booking_.times.push_back({Kind::added, change.id, change.due});
}

/// The answer is right when it is given; whether a change was in time shows at the commit.
Result<ScheduleChange> StoreTransaction::changeWaiting(const Times::Change& change,
                                                       std::function<Result<ScheduleChange>(IFencedTransaction&)> ask) {
  const bool isOurs = std::ranges::count(booking_.times, change.id, &Times::Change::id) > 0;
  Ghost& ghost = process_.simulation().ghost();
  const Result<ScheduleChange> answer = answered<ScheduleChange>([=, &ghost](IFencedTransaction& inner) {
    const Result<ScheduleChange> told = ask(inner);
    if (told && *told != ScheduleChange::done && !isOurs) ghost.complain(ghost.times().told(change.id, *told));
    return told;
  });
  if (!answer) return answer;
  if (*answer == ScheduleChange::done) note(change);
  process_.simulation().sawChange(change, *answer);
  return answer;
}

}  // namespace tenure::simulation
