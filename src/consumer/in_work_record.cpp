#include "consumer/in_work_record.hpp"

#include <algorithm>

namespace tenure::consuming {

void InWorkRecord::restore(const ConsumerState& left) {
  declared_ = left.facts.window;
  if (!lane_.reads) {  // its suspects are dealt with; what stays of them is a record to close
    state_ = left.inWork.ids.empty() ? State::closed : State::open;
    return;
  }
  if (lane_.takesFirst()) return;  // whatever was in work is either taken or was not begun
  const InWork& inWork = left.inWork;
  expects_ = !inWork.ids.empty() || inWork.more;
  left_ = {inWork.recordedBy, inWork.ids.size(), inWork.more, inWork.isNarrowedDown};
}

/// Of all that stand before the last suspect. The others are some that were committed, and not acknowledged.
std::size_t InWorkRecord::mostSuspects() const noexcept {
  const std::size_t stoodFor = lane_.coalesces() ? left_.named : 0;  // by each, one that its leader did not see
  return left_.named + (left_.more ? theirs().unrecordedWindow + stoodFor : 0);
}

/// Once suspects are being narrowed down, that goes on to the last one.
void InWorkRecord::scanned(LaneQueue& queue) {
  const bool areMany = few_ > 1 && !left_.isNarrowedDown && std::min(queue.suspects(), mostSuspects()) > fewSuspects;
  queue.narrow(areMany || (queue.narrows() && queue.suspects() > 0));
  queue.setStartable(queue.narrows() ? 0 : queue.suspects() > 0 ? queue.suspects() : lane_.namesEach() ? 0 : limit_);
  state_ = State::open;
  expects_ = false;
}

/// Suspects come before all other messages. Those that an earlier term left are on record. A lane beside others has no
/// suspect on its record yet: a commit names it first.
void InWorkRecord::onArrived(LaneQueue& queue, std::size_t messages, std::size_t suspects) const noexcept {
  if (suspects == 0) return;
  queue.setSuspects(std::min(queue.suspects(), queue.size() - messages) + suspects);
  if (lane_.reads && isOpen() && !queue.narrows()) queue.setStartable(std::max(queue.startable(), queue.suspects()));
}

/// Where each message is named when it begins, one that failed in good order is no suspect while it waits.
std::size_t InWorkRecord::suspectsAfter(const LaneQueue& queue, bool cameHome) const noexcept {
  if (lane_.namesEach() && queue.suspects() == 1 && cameHome) return 0;
  return queue.suspects() - std::min(queue.suspects(), queue.settled());
}

InWorkRecord::Entry InWorkRecord::nextFew(const LaneQueue& queue, Entry entry) const {
  entry.isNarrow = true;
  entry.names = std::min(few_, entry.suspectsLeft);
  entry.inWork.suspectsOf = left_.by;
  entry.inWork.isNarrowedDown = true;
  name(queue, entry);
  if (!hasVoided_) entry.voids = std::max(own_.lanes, theirs().lanes);
  return entry;
}

/// Before the lanes. Suspects that are not in hand may come next, or the lanes have who comes next, when what is left
/// here is parked.
bool InWorkRecord::isOpenElsewhere(const LaneQueue& queue, const Entry& entry, const Ending& ending) const noexcept {
  if (!lane_.precedesLanes()) return false;
  if (ending.closes) return queue.narrows();  // the lanes' records do not name them any more
  return entry.suspectsLeft == 0 || left_.more || lane_.coalesces();
}

InWorkRecord::Entry InWorkRecord::next(const LaneQueue& queue, const Ending& ending) const {
  const std::size_t left = queue.size() - queue.settled();
  Entry entry;
  entry.suspectsLeft = suspectsAfter(queue, ending.cameHome);
  if (queue.narrows() && entry.suspectsLeft > 0 && !ending.closes) return nextFew(queue, std::move(entry));
  // The records of a predecessor's lanes stand until this term has declared how far it goes itself.
  const bool named = lane_.isOneLine() && entry.suspectsLeft > theirs().unrecordedWindow && theirs().lanes > 0;
  const std::size_t wanted = named                    ? theirs().unrecordedWindow
                             : entry.suspectsLeft > 0 ? entry.suspectsLeft
                             : ending.closes          ? 0
                                                      : ending.batch;
  const bool elsewhere = ending.elsewhere || named || isOpenElsewhere(queue, entry, ending);
  const bool leavesOpen = lane_.reads && (!lane_.namesEach() || entry.suspectsLeft > 0);
  entry.names = std::min(wanted, left);
  // The successor has to look for suspects that this term has not taken from the supply. Before the term closes its
  // record, only coalescing leaves any there: messages of a group that is in hand, and all that stand behind them.
  const bool isToldOn = (ending.closes || lane_.coalesces()) && hasMoreSuspects();
  entry.inWork.more = leavesOpen && (left < wanted || (elsewhere && wanted > 0) || isToldOn);
  const bool areTheirs = (entry.suspectsLeft > 0 || isToldOn) && !(lane_.namesEach() && lane_.pendingWrites.charges);
  if (areTheirs) {
    entry.inWork.suspectsOf = left_.by;
    // Few as they were, they stay alone, and so does what the successor finds beside them.
    entry.inWork.isNarrowedDown = !queue.narrows() && (!entry.inWork.more || ending.closes);
  }
  name(queue, entry);
  return entry;
}

void InWorkRecord::name(const LaneQueue& queue, Entry& entry) {
  entry.inWork.ids.reserve(entry.names);
  for (const MessagePtr& message : queue.messages().subspan(queue.settled(), entry.names))
    entry.inWork.ids.push_back(message->id);
}

void InWorkRecord::committed(const Entry& entry, LaneQueue& queue) {
  recorded_ = Written{entry.isNarrow, entry.inWork.more, entry.inWork.suspectsOf.value != 0};
  hasVoided_ = hasVoided_ || entry.isNarrow;
  queue.setSuspects(entry.suspectsLeft);
  if (entry.suspectsLeft == 0 && lane_.isOneLine()) queue.narrow(false);
  const bool leavesOpen = entry.inWork.more || lane_.takesFirst();
  queue.setStartable(queue.narrows()          ? entry.names
                     : entry.suspectsLeft > 0 ? entry.suspectsLeft
                     : leavesOpen             ? limit_
                                              : entry.names);
  state_ = entry.names > 0 || entry.inWork.more ? State::open : State::closed;
}

}  // namespace tenure::consuming
