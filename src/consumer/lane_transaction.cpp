// The lane's transaction: handlers of many at once, the commit, and what follows from it.
#include <algorithm>

#include "consumer/lane.hpp"

namespace tenure::consuming {

// --- many at once

/// May the head be handled with its neighbours?
bool Lane::joins(const Moment& moment) const {
  const std::size_t taken = hand_.settled() + hand_.joined();
  if (!at_.together || taken < hand_.apart() || hand_.suspects() > 0 || taken >= hand_.size()) return false;
  if (hand_.held() > 0 && taken >= hand_.held()) return false;
  if (numbers_.turnOf(*hand_.head()) > pipeline::Turn::next) return false;
  const std::size_t most = std::min({hand_.granted(), committer_.size(), hand_.size()});
  if (taken >= most || moment.transactionIsFull) return false;
  const bool lonely = hand_.joined() == 0 && most - taken < 2;
  if (lonely || at_.takesFirst() || outages_.storeIsAway() || delivery_.remembersAny() || delivery_.hasRun())
    return false;
  if (at_.collapses() || headOf(moment).isCounted) return false;  // they look at each one
  return delivery_.isPlain(*hand_.head());
}

Action Lane::join(const Moment& moment) {
  if (!at_.dedups()) return joinHead(moment);
  joining_ = true;
  return ask(Admit{hand_.head(), false});
}

/// Its number is past for the one behind it.
Action Lane::joinHead(const Moment& moment) {
  numbers_.settle(*hand_.head(), moment);
  hand_.join();
  at_.log.began(moment.wall);
  return joinOrRun(moment);
}

/// Nothing has happened yet but keys in the transaction: a leader that leaves gives them up.
Action Lane::joinOrRun(const Moment& moment) {
  if (moment.stopAsked || !moment.mayBegin) {
    at_.booking.news.clear();
    return ask(Abandon{});
  }
  if (joins(moment)) return join(moment);
  return ask(HandleTogether{{hand_.joinedOnes().begin(), hand_.joinedOnes().end()}});
}

Action Lane::ranTogether(const Outcome& outcome, const Moment& moment) {
  if (outcome.kind == Outcome::Kind::done) {
    for (const Letter& letter : hand_.joinedOnes()) at_.log.ended(letter->id, 1, AttemptEnd::done, {}, moment.wall);
    hand_.settleJoined();
    at_.booking.succeeded = at_.booking.ends = true;
    return proceed(moment);
  }
  at_.tell(BatchSplit{hand_.joined(), outcome.reason});
  hand_.separate();
  at_.booking.news.clear();
  return ask(Abandon{});
}

// --- the transaction

/// Whoever waits, for whatever, is not in work.
bool Lane::headWaits(const Moment& moment) const {
  if (!at_.namesEach()) return false;
  const bool failed = at_.booking.record && !at_.booking.charges;
  return failed || moment.now < notBefore() || (hand_.settled() > 0 && moment.isLimited);
}

Action Lane::commit(const Moment& moment) {
  sweeper_.glance(moment);
  const Booking& booking = at_.booking;
  const bool cameHome = hand_.settled() == 0 && !booking.charges && (booking.record || booking.forgiven);
  const bool leaves = phase_ == Phase::leaving || moment.stopAsked;
  Commit commit = committer_.close(hand_,
                                   ledger_.next(hand_, {.closes = leaves || at_.takesFirst() || headWaits(moment),
                                                        .cameHome = cameHome,
                                                        .batch = committer_.size(),
                                                        .elsewhere = booking.leavesHeirs || numbers_.readies()}),
                                   sweeper_.toBook(), moment);
  commit.undo = delivery_.leavesMark();
  commit.numbers = numbers_.writes();
  return ask(std::move(commit));
}

Action Lane::committed(const Moment& moment) {
  outages_.wentWell(Side::store, moment);
  const bool acknowledges = hand_.settled() > 0 && hand_.held() == 0;
  committer_.committed(hand_, moment);
  noteRecord(moment);
  sweeper_.booked();
  report(moment);
  numbers_.committed();
  ledger_.committed(committer_.entry(), hand_);
  supply_.topped = false;
  if (!acknowledges) return leaveHand({}, moment);
  Acknowledge acknowledge = committer_.acknowledgement(hand_);
  for (GroupId& group : delivery_.unbegun(hand_.settledOnes())) acknowledge.unbegun.push_back(std::move(group));
  return ask(std::move(acknowledge));
}

void Lane::noteRecord(const Moment& moment) {
  Booking& booking = at_.booking;
  if (booking.charges) return delivery_.chargeIsDurable(booking.record->id);
  if (booking.forgiven || booking.record) delivery_.forgetCharge();
  if (!booking.record || booking.record->standing != Standing::blocked || phase_ == Phase::leaving) return;
  auto news = at_.histories.blockade.raise(*hand_.head(), *booking.record, moment.now, at_.options.retryMax);
  if (news) booking.news.push_back(*std::move(news));
}

void Lane::report(const Moment& moment) {
  std::vector<EventBody>& news = at_.booking.news;
  if (hand_.settled() > 0) delivery_.runIsDurable();
  if (at_.booking.takes) {
    delivery_.take(hand_.letters().front());
  } else if (delivery_.hasTaken()) {
    const Letter done = delivery_.closeTaken();
    delivery_.takeTokens({&done->id, 1});
    news.push_back(committer_.report(1, done->position, 1, moment));
  } else if (hand_.settled() > 0) {
    news.push_back(committer_.report(hand_.settled(), hand_.settledOnes().back()->position, committer_.size(), moment));
  }
  committer_.tellNews();
}

Action Lane::acknowledged(Receipt receipt, const Moment& moment) {
  supply_.mayReadOn = receipt.mayReadOn;
  return leaveHand(std::move(receipt), moment);
}

Action Lane::leaveHand(Receipt receipt, const Moment& moment) {
  if (hand_.held() == 0) delivery_.acknowledged(hand_.settled());
  if (!at_.booking.takes)
    for (const Letter& letter : hand_.settledOnes()) delivery_.takeTokens({&letter->id, 1});
  hand_.leave();
  forgetTransaction();
  // Where each is named when it begins, a record that names nobody does not say that the term is over.
  const bool goesOn = ledger_.isOpen() || at_.namesEach();
  if (receipt.readAgain) office_.attached = at_.role == Role::lane;
  if (goesOn && at_.role == Role::total) {
    // Those that a dropped message stood for are to be found at the source, at their places.
    if (receipt.readAgain || (hand_.suspects() > 0 && !receipt.heirs.empty())) {
      office_.attached = false;
      ledger_.unread();
    } else {
      hand_.addHeirs(std::move(receipt.heirs));
    }
  }
  if (at_.role != Role::total && phase_ == Phase::executing && mayRelease()) return ask(Release{standings()});
  return proceed(moment);
}

/// What is kept and loaded is its group's, whatever the scheduler knows of it.
bool Lane::mayRelease() const noexcept {
  if (delivery_.hasTaken()) return false;  // its group waits until its handler is done
  return !numbers_.areFollowed() || at_.role == Role::recovery ||
         (hand_.settled() == 0 && hand_.held() == 0 && !numbers_.isVisiting());
}

std::vector<pipeline::Standing> Lane::standings() {
  if (at_.role != Role::lane) return {};
  return numbers_.giveUpAll([this](const GroupId& group) {
    return std::ranges::any_of(hand_.letters(), [&](const Letter& letter) { return letter->group == group; });
  });
}

std::vector<pipeline::Standing> Lane::takeStandings() {
  return numbers_.giveUpAll([](const GroupId&) { return false; });
}

Park Lane::park() {
  Park park{.parked = {.messages = {}, .group = hand_.head()->group},
            .until = *std::exchange(parkUntil_, std::nullopt)};
  const Hand::Group group = hand_.takeGroup();
  for (const Letter& letter : group.fromSource) park.parked.messages.push_back(*letter);
  for (const MessageId& id : group.ids) park.parked.pasts.push_back(at_.histories.take(id));
  park.parked.unbegun = delivery_.takeTokens(group.ids);
  park.parked.standing = numbers_.giveUp(park.parked.group);
  delivery_.forgetCharge();
  return park;
}

/// What the open transaction knew. Its messages are the first in hand again.
void Lane::forgetTransaction() noexcept {
  hand_.undo();
  joining_ = false;
  delivery_.forgetTransaction();
  committer_.forget();
  numbers_.undone();
}

Action Lane::resolved(CommitFate fate, const Moment& moment) {
  if (std::exchange(repeats_, false)) {  // either way
    committer_.outcomeIsKnown();
    outages_.wentWell(Side::store, moment);
    return proceed(moment);
  }
  if (fate == CommitFate::committed) return committed(moment);
  committer_.outcomeIsKnown();
  parkUntil_.reset();
  if (delivery_.hasTaken()) return takenRefused(trouble_, moment);
  forgetTransaction();
  return troubled(Side::store, trouble_, moment);
}

}  // namespace tenure::consuming
