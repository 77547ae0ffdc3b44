#include "consumer/ledger.hpp"

#include <algorithm>

namespace tenure::consuming {

void Ledger::restore(const Recollection& left) {
  declared_ = left.reach;
  if (at_.role == Role::lane) {  // its suspects are dealt with; what stays of them is a record to close
    state_ = left.state.inWork.empty() ? State::closed : State::open;
    return;
  }
  if (at_.takesFirst()) return;  // whatever was in work is either taken or was not begun
  expects_ = !left.state.inWork.empty() || left.state.moreInWork;
  suspectsOf_ = left.state.recordedBy;
}

void Ledger::surveyed(Hand& hand, const Survey& survey) {
  if (!at_.takesFirst()) hand.findSuspects(survey);
  if (at_.role == Role::recovery) hand.suspectAll();
  hand.grant(hand.suspects() > 0 ? hand.suspects() : at_.namesEach() ? 0 : limit_);
  state_ = State::open;
  expects_ = false;
}

/// Where each is named when it begins, one that failed in good order has to answer for nothing while it waits.
std::size_t Ledger::suspectsAfter(const Hand& hand, bool cameHome) const noexcept {
  if (at_.namesEach() && hand.suspects() == 1 && cameHome) return 0;
  return hand.suspects() - std::min(hand.suspects(), hand.settled());
}

Ledger::Entry Ledger::next(const Hand& hand, const Ending& ending) const {
  const std::size_t left = hand.size() - hand.settled();
  Entry entry;
  entry.suspectsLeft = suspectsAfter(hand, ending.cameHome);
  // The records of a predecessor's lanes stand until this term has declared how far it goes itself.
  const bool named = at_.role == Role::total && entry.suspectsLeft > theirs().front && theirs().lanes > 0;
  const std::size_t wanted = named                    ? theirs().front
                             : entry.suspectsLeft > 0 ? entry.suspectsLeft
                             : ending.closes          ? 0
                                                      : ending.batch;
  // Who comes next is not in hand, or the lanes have him when what is left here is parked.
  const bool elsewhere = ending.elsewhere || (at_.role == Role::recovery && !ending.closes) || named;
  const bool leavesOpen = at_.role != Role::lane && (!at_.namesEach() || entry.suspectsLeft > 0);
  entry.names = std::min(wanted, left);
  entry.more = leavesOpen && (left < wanted || (elsewhere && wanted > 0));
  const bool areTheirs = entry.suspectsLeft > 0 && !(at_.namesEach() && at_.booking.charges);
  entry.inWork.reserve(entry.names + 1);
  if (areTheirs) entry.inWork.push_back(suspectsOf(suspectsOf_));
  for (const Letter& letter : hand.letters().subspan(hand.settled(), entry.names)) entry.inWork.push_back(letter->id);
  return entry;
}

void Ledger::committed(const Entry& entry, Hand& hand) {
  recorded_ = true;
  hand.setSuspects(entry.suspectsLeft);
  const bool leavesOpen = entry.more || at_.takesFirst();
  hand.grant(entry.suspectsLeft > 0 ? entry.suspectsLeft : leavesOpen ? limit_ : entry.names);
  state_ = entry.names > 0 || entry.more ? State::open : State::closed;
}

}  // namespace tenure::consuming
