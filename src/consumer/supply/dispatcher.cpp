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

Handout Dispatcher::takeSuspects(std::size_t lane, std::size_t max) {
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
    if (ends(*entries.back().message)) break;
  }
  Handout handout{.areCounted = scheduler_.limitsAnything()};
  give(std::move(entries), handout, true);
  return handout;
}

Handout Dispatcher::take(std::size_t lane, std::size_t max, BootTime now) {
  Handout handout;
  handout.areCounted = handout.haveTokens = scheduler_.limitsAnything();
  if (mustBeReadAgain()) return handout;
  GroupScheduler::Turn turn =
      scheduler_.take(lane, max, now, [this](const Message& message) { return intake_.mayLeaveSuccessor(message); });
  handout.heldBack = std::move(turn.heldBack);
  give(std::move(turn.entries), handout);
  return handout;
}

Handout Dispatcher::sweep(std::size_t lane, std::size_t max, BootTime now) {
  Handout handout;
  if (!mustBeReadAgain()) give(scheduler_.sweep(lane, max, now), handout);
  return handout;
}

Handout Dispatcher::spread(std::size_t lane, std::size_t max, BootTime now) {
  Handout handout;
  if (!mustBeReadAgain()) give(scheduler_.spread(lane, max, now), handout);
  return handout;
}

void Dispatcher::give(std::vector<Entry> entries, Handout& to, bool areSuspects) const {
  to.messages.reserve(entries.size());
  for (const Entry& entry : entries) {
    if (intake_.isInFront(entry) && to.startable == to.messages.size()) ++to.startable;
    to.add(entry.message, areSuspects || entry.isAlone);
  }
}

Finished Dispatcher::finish(std::size_t lane, const Report::Done& done, bool sourceKnows) {
  GroupScheduler::Held held = scheduler_.finish(lane, done.place);
  MessagePtr& message = held.entry.message;
  if (held.entry.isKept()) return {std::move(message)};  // it is not in the window
  const Window::Number number = held.entry.number;
  Intake::Left left = intake_.leave(number, *message, done.hadRun, sourceKnows);
  if (left.successor) {
    // Under its number: the window has one of them at a time. A successor meets it where the source has it.
    if (intake_.suspectsAny()) suspects_.push_front({held.line, number});
    scheduler_.addFirst(*held.line, {number, *std::move(left.successor), true});
  }
  return {std::move(message), std::move(left.others)};
}

}  // namespace tenure::supply
