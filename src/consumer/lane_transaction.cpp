// The lane's transaction: handlers of many at once, the commit, and what follows from it.
#include <algorithm>

#include "consumer/lane.hpp"

namespace tenure::consuming {

// --- many at once

/// May the head be handled with its neighbours?
bool Lane::joins(const Now& now) const {
  const std::size_t taken = queue_.settled() + queue_.joined();
  if (!state_.together || taken < queue_.apart() || queue_.areAlone() || taken >= queue_.size()) return false;
  if (queue_.held() > 0 && taken >= queue_.held()) return false;
  if (numbers_.turnOf(*queue_.head()) > supply::Turn::next) return false;
  const std::size_t most = std::min({queue_.granted(), committer_.size(), queue_.size()});
  if (taken >= most || now.transactionIsFull) return false;
  const bool lonely = queue_.joined() == 0 && most - taken < 2;
  if (lonely || state_.takesFirst() || outages_.storeIsAway() || delivery_.remembersAny() || delivery_.hasRun())
    return false;
  if (state_.role == Role::recovery) return false;  // they are of any group, and whoever is guilty is looked for
  if (state_.coalesces() || headOf(now).isCounted) return false;  // they look at each one
  return delivery_.isPlain(*queue_.head());
}

Action Lane::join(const Now& now) {
  if (!state_.dedups()) return joinHead(now);
  joining_ = true;
  return ask(Admit{queue_.head(), false});
}

/// Its number is past for the one behind it.
Action Lane::joinHead(const Now& now) {
  numbers_.settle(*queue_.head(), now);
  queue_.join();
  state_.log.began(now.wall);
  return joinOrRun(now);
}

/// Nothing has happened yet but keys in the transaction: a leader that leaves gives them up.
Action Lane::joinOrRun(const Now& now) {
  if (now.stopAsked || !now.mayBegin) {
    state_.booking.news.clear();
    return ask(Abandon{});
  }
  if (joins(now)) return join(now);
  return ask(HandleTogether{{queue_.joinedOnes().begin(), queue_.joinedOnes().end()}});
}

Action Lane::ranTogether(const Outcome& outcome, const Now& now) {
  if (outcome.kind == Outcome::Kind::done) {
    for (const Letter& letter : queue_.joinedOnes()) state_.log.ended(letter->id, 1, AttemptEnd::done, {}, now.wall);
    queue_.settleJoined();
    state_.booking.succeeded = state_.booking.ends = true;
    return proceed(now);
  }
  if (!now.stopAsked) state_.tell(BatchSplit{queue_.joined(), outcome.reason});
  queue_.separate();
  state_.booking.news.clear();
  return ask(Abandon{});
}

// --- the transaction

/// Whoever waits, for whatever, is not in work.
bool Lane::headWaits(const Now& now) const {
  if (!state_.namesEach()) return false;
  const bool failed = state_.booking.record && !state_.booking.charges;
  return failed || now.boot < notBefore() || (queue_.settled() > 0 && now.isLimited);
}

bool Lane::isAtRest() const noexcept {
  const bool hasBegunAny = queue_.settled() > 0 || queue_.joined() > 0 || delivery_.hasTaken();
  return !hasBegunAny && committer_.isOutcomeKnown();
}

Action Lane::commit(const Now& now) {
  sweeper_.glance(now);
  const Booking& booking = state_.booking;
  const bool cameHome = queue_.settled() == 0 && !booking.charges && (booking.record || booking.cleared);
  const bool leaves = phase_ == Phase::leaving || now.stopAsked;
  Commit commit = committer_.close(queue_,
                                   inWork_.next(queue_, {.closes = leaves || state_.takesFirst() || headWaits(now),
                                                         .cameHome = cameHome,
                                                         .batch = committer_.size(),
                                                         .elsewhere = booking.leavesSuccessors || numbers_.readies()}),
                                   sweeper_.toBook(), now);
  commit.undo = delivery_.leavesMark();
  commit.numbers = numbers_.writes();
  return ask(std::move(commit));
}

Action Lane::committed(const Now& now) {
  outages_.wentWell(Side::store, now);
  const bool acknowledges = queue_.settled() > 0 && queue_.held() == 0;
  committer_.committed(queue_, now);
  noteRecord(now);
  sweeper_.booked();
  report(now);
  numbers_.committed();
  inWork_.committed(committer_.entry(), queue_);
  supply_.topped = false;
  if (!acknowledges) return leaveQueue({}, now);
  Acknowledge acknowledge = committer_.acknowledgement(queue_);
  for (GroupId& group : delivery_.unbegun(queue_.settledOnes())) acknowledge.unbegun.push_back(std::move(group));
  return ask(std::move(acknowledge));
}

void Lane::noteRecord(const Now& now) {
  Booking& booking = state_.booking;
  if (booking.charges) return delivery_.chargeIsDurable(booking.record->id);
  if (booking.cleared || booking.record) delivery_.forgetCharge();
  if (!booking.record || booking.record->state != AttemptState::blocked || phase_ == Phase::leaving) return;
  auto news =
      state_.histories.block.raise(*queue_.head(), *booking.record, now.boot, longestRetryDelay(state_.options));
  if (news) booking.news.push_back(*std::move(news));
}

void Lane::report(const Now& now) {
  if (queue_.settled() > 0) delivery_.runIsDurable();
  if (state_.booking.takes) {
    delivery_.take(queue_.letters().front());
  } else if (delivery_.hasTaken()) {
    const Letter done = delivery_.closeTaken();
    delivery_.takeTokens({&done->id, 1});
    committer_.report(1, done->position, 1, now);
  } else if (queue_.settled() > 0) {
    committer_.report(queue_.settled(), queue_.settledOnes().back()->position, committer_.size(), now);
  }
  committer_.tellNews();
}

Action Lane::acknowledged(Receipt receipt, const Now& now) {
  supply_.mayReadOn = receipt.mayReadOn;
  return leaveQueue(std::move(receipt), now);
}

Action Lane::leaveQueue(Receipt receipt, const Now& now) {
  if (queue_.held() == 0) delivery_.acknowledged(queue_.settled());
  if (!state_.booking.takes)
    for (const Letter& letter : queue_.settledOnes()) delivery_.takeTokens({&letter->id, 1});
  queue_.leave();
  forgetTransaction();
  // Where each is named when it begins, a record that names nobody does not say that the term is over.
  const bool goesOn = inWork_.isOpen() || state_.namesEach();
  if (receipt.readAgain) termState_.attached = state_.role == Role::lane;
  if (goesOn && state_.role == Role::total) {
    // Those that a dropped message stood for are to be found at the source, at their places.
    if (receipt.readAgain || (queue_.suspects() > 0 && !receipt.successors.empty())) {
      termState_.attached = false;
      inWork_.unread();
    } else {
      queue_.addSuccessors(std::move(receipt.successors));
    }
  }
  if (state_.role != Role::total && phase_ == Phase::executing && mayRelease()) return ask(Release{groupStates()});
  return proceed(now);
}

/// What is kept and loaded is its group's, whatever the scheduler knows of it.
bool Lane::mayRelease() const noexcept {
  if (delivery_.hasTaken()) return false;  // its group waits until its handler is done
  return !numbers_.areFollowed() || state_.role == Role::recovery ||
         (queue_.settled() == 0 && queue_.held() == 0 && !numbers_.isVisiting());
}

std::vector<supply::SequenceState> Lane::groupStates() {
  if (state_.role != Role::lane) return {};
  return numbers_.giveUpAll([this](const GroupId& group) {
    return std::ranges::any_of(queue_.letters(), [&](const Letter& letter) { return letter->group == group; });
  });
}

std::vector<supply::SequenceState> Lane::takeSequenceStates() {
  return numbers_.giveUpAll([](const GroupId&) { return false; });
}

Park Lane::park() {
  Park park{.parked = {.messages = {}, .group = queue_.head()->group},
            .until = *std::exchange(parkUntil_, std::nullopt)};
  const LaneQueue::Group group = queue_.takeGroup();
  for (const Letter& letter : group.fromSource) park.parked.messages.push_back(*letter);
  for (const MessageId& id : group.ids) park.parked.histories.push_back(state_.histories.take(id));
  park.parked.unbegun = delivery_.takeTokens(group.ids);
  park.parked.sequence = numbers_.giveUp(park.parked.group);
  delivery_.forgetCharge();
  return park;
}

/// What the open transaction knew. Its messages are the first in hand again.
void Lane::forgetTransaction() noexcept {
  queue_.undo();
  joining_ = false;
  delivery_.forgetTransaction();
  committer_.forget();
  numbers_.undone();
}

Action Lane::resolved(CommitFate fate, const Now& now) {
  if (std::exchange(repeats_, false)) {  // either way
    committer_.outcomeIsKnown();
    outages_.wentWell(Side::store, now);
    return proceed(now);
  }
  if (fate == CommitFate::committed) return committed(now);
  committer_.outcomeIsKnown();
  parkUntil_.reset();
  if (delivery_.hasTaken()) return takenRefused(trouble_, now);
  forgetTransaction();
  return troubled(Side::store, trouble_, now);
}

}  // namespace tenure::consuming
