#include "consumer/supply/dispatcher.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace tenure::supply {

void Dispatcher::receive(Arrivals arrivals, const std::optional<MessageId>&) {
  isDry_ = arrivals.isDry;
  for (Intake::Received& next : intake_.receive(std::move(arrivals))) {
    const Window::Number number = next.entry.number;
    GroupScheduler::Line& line = scheduler_.add(next.place, std::move(next.entry));
    if (next.isSuspect) suspects_.push_back({&line, number});
  }
}

void Dispatcher::clear() {
  isDry_ = false;
  scheduler_.clear();
  intake_.clear();
  suspects_.clear();
}

void Dispatcher::trust() {
  TENURE_ASSERT(suspects_.empty());
  intake_.trust();
}

Dispatcher::Assignment Dispatcher::takeSuspects(std::size_t lane, std::size_t max) {
  std::vector<Entry> entries;
  const auto ends = [this](const Message& message) { return intake_.mayLeaveSuccessor(message); };
  while (entries.size() < max && !suspects_.empty() && !mustBeReadAgain()) {
    const Suspect suspect = suspects_.front();
    // The suspect failed in good order, or waits with one that did: if it is a killer, that costs one more process.
    if (!scheduler_.isNext(*suspect.line, suspect.number, lane)) {
      suspects_.pop_front();
      continue;
    }
    if (intake_.coalesces() && scheduler_.isInHand(*suspect.line)) break;  // it may have a successor
    scheduler_.takeUpTo(*suspect.line, suspect.number, lane, ends, entries);
    // The line may be gone at the next call.
    if (!scheduler_.isNext(*suspect.line, suspect.number, lane)) suspects_.pop_front();
    if (ends(entries.back().message)) break;
  }
  Assignment assignment;
  assignment.areCounted = scheduler_.limitsAnything();
  assignment.suspects = entries.size();
  give(std::move(entries), assignment);
  return assignment;
}

Dispatcher::Assignment Dispatcher::take(std::size_t lane, std::size_t max, BootTime now) {
  Assignment assignment;
  assignment.areCounted = assignment.haveTokens = scheduler_.limitsAnything();
  if (mustBeReadAgain()) return assignment;
  GroupScheduler::Turn turn =
      scheduler_.take(lane, max, now, [this](const Message& message) { return intake_.mayLeaveSuccessor(message); });
  assignment.heldBack = std::move(turn.heldBack);
  give(std::move(turn.entries), assignment);
  return assignment;
}

Dispatcher::Assignment Dispatcher::sweep(std::size_t lane, std::size_t max, BootTime now) {
  Assignment assignment;
  if (!mustBeReadAgain()) give(scheduler_.sweep(lane, max, now), assignment);
  return assignment;
}

void Dispatcher::give(std::vector<Entry> entries, Assignment& assignment) const {
  assignment.messages.reserve(entries.size());
  for (Entry& entry : entries) {
    if (intake_.isInFront(entry) && assignment.startable == assignment.messages.size()) ++assignment.startable;
    assignment.messages.push_back(std::move(entry.message));
    assignment.standings.push_back(entry.standing);
  }
}

void Dispatcher::acknowledge(std::size_t lane, std::span<const Message> messages, bool sourceKnows,
                             std::span<const std::int64_t> dropped) {
  for (const Message& message : messages)
    finish(lane, message, std::ranges::find(dropped, message.position) == dropped.end(), sourceKnows);
}

void Dispatcher::finish(std::size_t lane, const Message& message, bool hadRun, bool sourceKnows) {
  const GroupScheduler::Held done = scheduler_.finish(lane);
  if (done.standing.isKept) return;  // a kept message is not in the window
  std::optional<Message> successor = intake_.leave(done.number, message, hadRun, sourceKnows);
  if (!successor) return;
  // Under its number: the window has one of them at a time. A successor meets it where the source has it.
  if (intake_.suspectsAny()) suspects_.push_front({done.line, done.number});
  scheduler_.addFirst(*done.line, {done.number, *std::move(successor), true});
}

}  // namespace tenure::supply
