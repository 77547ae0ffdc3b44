#include "consumer/in_work_record.hpp"

#include <algorithm>

namespace tenure::consuming {

void InWorkRecord::restore(const Recollection& left) {
  declared_ = left.window;
  if (lane_.role == Role::lane) {  // its suspects are dealt with; what stays of them is a record to close
    state_ = left.state.inWork.empty() ? State::closed : State::open;
    return;
  }
  if (lane_.takesFirst()) return;  // whatever was in work is either taken or was not begun
  expects_ = !left.state.inWork.empty() || left.state.moreInWork;
  suspectsOf_ = left.state.recordedBy;
}

void InWorkRecord::surveyed(LaneQueue& queue, const Survey& survey) {
  if (!lane_.takesFirst()) queue.findSuspects(survey);
  if (lane_.role == Role::recovery) queue.suspectAll();
  queue.grant(queue.suspects() > 0 ? queue.suspects() : lane_.namesEach() ? 0 : limit_);
  state_ = State::open;
  expects_ = false;
}

/// Where each is named when it begins, one that failed in good order has to answer for nothing while it waits.
std::size_t InWorkRecord::suspectsAfter(const LaneQueue& queue, bool cameHome) const noexcept {
  if (lane_.namesEach() && queue.suspects() == 1 && cameHome) return 0;
  return queue.suspects() - std::min(queue.suspects(), queue.settled());
}

InWorkRecord::Entry InWorkRecord::next(const LaneQueue& queue, const Ending& ending) const {
  const std::size_t left = queue.size() - queue.settled();
  Entry entry;
  entry.suspectsLeft = suspectsAfter(queue, ending.cameHome);
  // The records of a predecessor's lanes stand until this term has declared how far it goes itself.
  const bool named = lane_.role == Role::total && entry.suspectsLeft > theirs().front && theirs().lanes > 0;
  const std::size_t wanted = named                    ? theirs().front
                             : entry.suspectsLeft > 0 ? entry.suspectsLeft
                             : ending.closes          ? 0
                                                      : ending.batch;
  // Who comes next is not in hand, or the lanes have him when what is left here is parked.
  const bool elsewhere = ending.elsewhere || (lane_.role == Role::recovery && !ending.closes) || named;
  const bool leavesOpen = lane_.role != Role::lane && (!lane_.namesEach() || entry.suspectsLeft > 0);
  entry.names = std::min(wanted, left);
  entry.more = leavesOpen && (left < wanted || (elsewhere && wanted > 0));
  const bool areTheirs = entry.suspectsLeft > 0 && !(lane_.namesEach() && lane_.booking.charges);
  entry.inWork.reserve(entry.names + 1);
  if (areTheirs) entry.inWork.push_back(suspectsOf(suspectsOf_));
  for (const Letter& letter : queue.letters().subspan(queue.settled(), entry.names)) entry.inWork.push_back(letter->id);
  return entry;
}

void InWorkRecord::committed(const Entry& entry, LaneQueue& queue) {
  recorded_ = true;
  queue.setSuspects(entry.suspectsLeft);
  const bool leavesOpen = entry.more || lane_.takesFirst();
  queue.grant(entry.suspectsLeft > 0 ? entry.suspectsLeft : leavesOpen ? limit_ : entry.names);
  state_ = entry.names > 0 || entry.more ? State::open : State::closed;
}

}  // namespace tenure::consuming
