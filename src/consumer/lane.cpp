#include "consumer/lane.hpp"

#include <algorithm>

#include "consumer/errors.hpp"

namespace tenure::consuming {
namespace {

using namespace std::chrono_literals;

/// A lease that is late comes back with the next probe, or not at all.
constexpr std::chrono::milliseconds softLimitPause{20};
constexpr std::size_t leastReadAhead = 32;

template <class... Ts>
struct Each : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Each(Ts...) -> Each<Ts...>;

}  // namespace

Lane::Lane(const ConsumerOptions& options, Random random, const Setup& setup)
    : at_(options, setup.role, setup.together, setup.token, setup.notes),
      numbers_(at_, setup.lists),
      outages_(at_, random.fork()),
      sweeper_(at_),
      ledger_(at_),
      delivery_(at_, numbers_, random.fork()),
      committer_(at_) {
  if (at_.role != Role::lane) return;
  office_.attached = true;
  hand_.grant(at_.takesFirst() ? ledger_.limit() : 0);
}

// --- phases

Action Lane::inaugurate(const Moment& moment) {
  phase_ = Phase::inaugurating;
  return proceed(moment);
}

Action Lane::execute(const Moment& moment) {
  phase_ = Phase::executing;
  sliceBegan_ = moment.now;
  return proceed(moment);
}

Action Lane::handOver(const Moment& moment) {
  phase_ = Phase::leaving;
  forgoWhatMayBeTaken("its leader left before that was known");
  forgetTransaction();
  const bool storeIsSound = office_.recalled && !over_ && !outages_.storeIsAway() && committer_.isOutcomeKnown();
  if (delivery_.isTakenDone() && storeIsSound) return settle(true, false, moment);
  if (delivery_.hasTaken() && storeIsSound)
    return decide(delivery_.takenFailed("its leader left while it was in work", moment), moment);
  delivery_.forgo("its leader left while it was in work");
  if (!storeIsSound || outages_.any() || ledger_.state() == Ledger::State::closed) return over(false);
  if (ledger_.isUnread() && ledger_.expects()) return over(false);  // its suspects stay on record as they are
  if (delivery_.hasCharge())                                        // with a start that did not come
    delivery_.takeBackCharge();
  else if (hand_.suspects() > 0 && ledger_.isOwn())
    return over(false);
  return commit(moment);
}

Action Lane::proceed(const Moment& moment) {
  if (phase_ == Phase::inaugurating) return enterOffice(moment);
  if (phase_ == Phase::leaving) return over(false);
  if (!committer_.isOutcomeKnown()) return askAgain(moment);
  if (hand_.joined() > 0) return joinOrRun(moment);
  if (hand_.settled() > 0 && committer_.isOver(hand_, delivery_.lastRun(), moment)) return commit(moment);
  if (delivery_.hasTaken()) return decide(delivery_.goOnWithTaken(headOf(moment), notBefore(), moment), moment);
  if (parkUntil_) return ask(park());
  if (moment.stopAsked) return over(false);
  if (moment.now < notBefore()) return waitFor(notBefore(), moment);
  if (!moment.mayBegin) return waitFor(moment.now + softLimitPause, moment);
  if (!office_.attached) return attach();
  if (auto tending = tendGroups(moment)) return *std::move(tending);
  if (ledger_.isUnread()) return take(onlyLook);  // before the first message of a term begins
  const Duration slice = std::max<Duration>(at_.options.idleWait, 20ms);
  if (hand_.settled() == 0 && moment.now - sliceBegan_ >= slice) return over(true);
  if (auto step = sweepStep(moment)) return *std::move(step);
  if (wantsMessages())
    return take(hand_.size() == 0 && !sweeper_.hasSwept() ? moment.now + at_.options.idleWait : onlyLook);
  const bool isPastSuspects = hand_.settled() == 0 && hand_.suspects() == 0 && !at_.takesFirst();
  if (at_.role == Role::total && isPastSuspects && !ledger_.isDeclared()) return ask(Declare{ledger_.own()});
  return beginHead(moment);
}

Action Lane::ask(Action action) {
  asked_ = action.index();
  return action;
}

Return Lane::over(bool again) const {
  const bool hasAny = hand_.size() > 0 || delivery_.hasTaken() || parkUntil_ || (expects_ && numbers_.hasReady());
  const bool mayGoOn = office_.attached && committer_.isOutcomeKnown() && !ledger_.isUnread() && ledger_.isDeclared();
  return {.again = again, .isIdle = !hasAny && mayGoOn, .isClosed = !ledger_.isOpen()};
}

Action Lane::enterOffice(const Moment& moment) {
  if (moment.stopAsked) return over(false);
  if (moment.now < notBefore()) return ask(Wait{notBefore()});
  if (!office_.claimed) return ask(Claim{});
  if (!office_.recalled) return ask(Recall{});
  if (!numbers_.areOpen()) return ask(Reopen{});
  if (!office_.attached) return attach();
  return over(true);
}

/// What is suspect in hand has to be found again, by its id: what is acknowledged only now may come before it.
Action Lane::attach() {
  Attach attach;
  if (hand_.suspects() > 0 || !ledger_.isUnread()) {
    attach.suspects.emplace();
    for (const Letter& letter : hand_.letters().first(hand_.suspects())) attach.suspects->push_back(letter->id);
  }
  return ask(std::move(attach));
}

/// As long as nobody knows what became of the commit, nothing else may happen; and to leave now is no clean end.
Action Lane::askAgain(const Moment& moment) {
  if (moment.stopAsked) return quit(trouble_);
  if (moment.now < notBefore()) return waitFor(notBefore(), moment);
  return ask(Resolve{});
}

Action Lane::waitFor(BootTime until, const Moment& moment) {
  const BootTime sliceEnd = sliceBegan_ + std::max<Duration>(at_.options.idleWait, 20ms);
  if (moment.now >= sliceEnd) return over(true);
  return ask(Wait{std::min(until, sliceEnd)});
}

/// Suspects are dealt with before: they are the first in hand, and nothing may come to stand before them.
std::optional<Action> Lane::tendGroups(const Moment& moment) {
  if (!numbers_.areFollowed() || hand_.settled() > 0 || hand_.suspects() > 0) return std::nullopt;
  Numbers::Tending tending = numbers_.tend({.atMost = ledger_.limit(),
                                            .isSurveyed = !ledger_.isUnread(),
                                            .mayStillCome = !supply_.dry || hand_.size() > 0,
                                            .expects = expects_},
                                           moment);
  if (auto* load = std::get_if<Load>(&tending)) return ask(std::move(*load));
  if (const auto* error = std::get_if<Error>(&tending)) return quit(*error);
  if (const auto* giveUp = std::get_if<Numbers::GiveUp>(&tending)) {
    numbers_.skip(giveUp->gap, moment);
    return commit(moment);
  }
  return std::nullopt;
}

std::optional<Action> Lane::sweepStep(const Moment& moment) {
  if (hand_.settled() > 0) return std::nullopt;
  auto step = sweeper_.step(supply_.dry && hand_.size() == 0, moment);
  if (!step) return std::nullopt;
  if (auto* prune = std::get_if<Prune>(&*step))
    for (const Letter& letter : hand_.letters()) prune->here.push_back(letter->id);
  return ask(*std::move(step));
}

// --- the term's first steps

Action Lane::recalled(const Recollection& left, const Moment& moment) {
  outages_.wentWell(Side::store, moment);
  office_.recalled = true;
  ledger_.restore(left);
  if (at_.role == Role::lane) return proceed(moment);
  sweeper_.restore(left.clock, moment);
  at_.streak().restore(left.streak);
  if (at_.streak().isStopped()) at_.tell(ConsumerStopped{left.streak->attempts, left.streak->lastError});
  for (const AttemptRecord& attempt : left.state.attempts) at_.histories.put(attempt);
  expects_ = ledger_.expects();
  return proceed(moment);
}

Action Lane::reopened(const std::vector<std::string>& places, const Moment& moment) {
  outages_.wentWell(Side::store, moment);
  if (const Result<void> restored = numbers_.reopened(places); !restored) return quit(restored.error());
  return proceed(moment);
}

Action Lane::consulted(const Consult& asked, const std::optional<std::string>& place, const Moment& moment) {
  outages_.wentWell(Side::store, moment);
  if (const auto known = numbers_.consulted(asked.group, place); !known) return quit(known.error());
  return proceed(moment);
}

// --- what comes

bool Lane::wantsMessages() const noexcept {
  if (hand_.settled() == hand_.size()) return true;
  if (at_.role == Role::lane) return false;
  const bool isNew = hand_.settled() == 0 && !supply_.topped;
  if (at_.collapses() && at_.role == Role::total) return supply_.mayReadOn && (!supply_.dry || isNew);
  return isNew && hand_.size() < 2 * ledger_.limit();
}

Action Lane::take(BootTime until) {
  const std::size_t limit = ledger_.limit();
  std::size_t max = limit - std::min(hand_.settled(), limit);
  if (at_.role != Role::lane) {
    const std::size_t room = hand_.held() + limit + std::max(limit, leastReadAhead);
    max = room - std::min(room - 1, hand_.size());
  }
  Take take{max, until, delivery_.whoseRunIsOver(), std::nullopt};
  if (at_.role != Role::total && mayRelease()) take.released = standings();
  return ask(std::move(take));
}

Action Lane::took(Share share, const Moment& moment) {
  if (share.asked) outages_.wentWell(Side::source, moment);
  at_.histories.know(std::move(share.pasts));
  for (MessageHeldBack& other : share.heldBack) at_.tell(std::move(other));
  numbers_.took(share);
  supply_.areCounted = share.areCounted;
  supply_.mayReadOn = share.mayReadOn;
  if (at_.role == Role::lane && share.areCounted) delivery_.bringTokens(share.messages);
  if (at_.role != Role::total && hand_.granted() >= hand_.size())
    hand_.grant(std::max(hand_.granted(), hand_.size() + share.covered));
  if (share.asked) {
    supply_.topped = true;
    supply_.dry = share.dry;
    sweeper_.mayGoOn();
  }
  hand_.add(std::move(share.messages));
  // Whatever comes before the lanes is suspect; its record leaves open how many are to come.
  if (at_.role == Role::recovery && ledger_.isOpen()) hand_.suspectAll();
  if (share.survey && ledger_.isUnread()) return surveyed(*share.survey, moment);
  if (hand_.size() == 0 && !ledger_.isUnread() && !numbers_.isVisiting()) return emptied(moment);
  if (hand_.settled() > 0 && hand_.settled() == hand_.size()) at_.booking.ends = true;
  return proceed(moment);
}

Action Lane::surveyed(const Survey& survey, const Moment& moment) {
  ledger_.surveyed(hand_, survey);
  if (hand_.suspects() > 0) at_.tell(SuspectsFound{hand_.suspects()});
  if (at_.role == Role::total) sweeper_.start(moment.now);
  return proceed(moment);
}

/// There is nothing left to do.
Action Lane::emptied(const Moment& moment) {
  const bool handsOverToLanes = at_.role == Role::recovery && !moment.stopAsked;
  if (handsOverToLanes && sweeper_.toBook()) return commit(moment);  // before any key of theirs
  if (handsOverToLanes && !ledger_.isDeclared()) return ask(Declare{ledger_.own()});
  return over(at_.options.idleWait > 0ms && !moment.stopAsked);
}

Action Lane::loaded(const pipeline::Ready& ready, std::vector<Message> messages, std::vector<Past> pasts,
                    const Moment& moment) {
  outages_.wentWell(Side::store, moment);
  at_.histories.know(std::move(pasts));
  numbers_.loaded(ready);
  if (at_.role == Role::lane && supply_.areCounted) delivery_.bringTokens(messages);
  hand_.addKept(std::move(messages));
  if (at_.role == Role::lane && !at_.takesFirst()) hand_.grant(0);  // they are on no record
  if (at_.role == Role::recovery && ledger_.isOpen()) hand_.suspectAll();
  return proceed(moment);
}

// --- the head

Head Lane::headOf(const Moment& moment) const {
  Head head{.isFirst = hand_.settled() == 0,
            .isSuspect = hand_.isSuspect(),
            .isNamed = hand_.granted() > 0,
            .mayHaveCome = hand_.held() == 0 && delivery_.remembersAny(),
            .place = hand_.settled(),
            .isCounted = at_.role == Role::total ? moment.isLimited : supply_.areCounted,
            .storeIsAway = outages_.storeIsAway()};
  if (hand_.settled() + hand_.joined() < hand_.size()) head.message = hand_.head();
  return head;
}

Action Lane::beginHead(const Moment& moment) {
  const bool mayBegin = !at_.streak().isStopped() && !at_.streak().isLeftOver();
  // A successor would not find it among its suspects.
  if (mayBegin && at_.role == Role::lane && !ledger_.mayBegin(hand_)) return commit(moment);
  if (hand_.settled() == 0) committer_.begin(moment.now);
  if (mayBegin && joins(moment)) return join(moment);
  if (const Message& head = *hand_.head(); !toldOfHorizon_ && sweeper_.isBeyondHorizon(head, moment.wall)) {
    toldOfHorizon_ = true;
    at_.tell(BeyondHorizon{head.id.value, moment.wall - head.enqueuedAt});
  }
  return decide(delivery_.begin(headOf(moment), moment), moment);
}

Action Lane::decide(Delivery::Decision decision, const Moment& moment) {
  return std::visit(Each{[&](Action& action) { return ask(std::move(action)); },
                         [&](Delivery::Settled& settled) { return settle(settled.ran, false, moment); },
                         [&](Delivery::CommitFirst&) { return commit(moment); },
                         [&](Delivery::Waits& waits) { return waitFor(waits.until, moment); },
                         [&](Delivery::GivesBack& how) { return giveBack(how, moment); },
                         [&](Delivery::GoesOn&) { return proceed(moment); },
                         [&](Delivery::GivesUp& givesUp) {
                           numbers_.skip(givesUp.gap, moment);
                           return commit(moment);
                         },
                         [&](Delivery::Ends& ends) { return quit(ends.why.value_or(trouble_)); }},
                    decision);
}

/// What the transaction says of others, or of this one, is durable first.
Action Lane::giveBack(const Delivery::GivesBack& how, const Moment& moment) {
  parkUntil_ = how.until;
  const Booking& booking = at_.booking;
  if (hand_.settled() > 0 || booking.record || booking.forgiven || (how.ran && !at_.log.lines().empty()))
    return commit(moment);
  return how.ran ? ask(Abandon{}) : proceed(moment);
}

Action Lane::settle(bool ran, bool wasBuried, const Moment& moment) {
  delivery_.settle(ran, wasBuried);
  if (delivery_.hasTaken()) return commit(moment);
  numbers_.settle(*hand_.head(), moment);
  hand_.settle();
  return proceed(moment);
}

Action Lane::turned(BootTime turn, const Moment& moment) { return decide(delivery_.turned(turn, moment), moment); }
Action Lane::begun(std::vector<Message> others, const Moment& moment) {
  return decide(delivery_.begun(std::move(others)), moment);
}
Action Lane::looked(bool known, const Moment& moment) { return decide(delivery_.looked(known), moment); }

Action Lane::admitted(Admission admission, const Moment& moment) {
  if (!std::exchange(joining_, false)) return decide(delivery_.admitted(admission, moment), moment);
  if (admission == Admission::fresh) return joinHead(moment);
  // It is asked about again when those are done that wait for each other.
  if (hand_.joined() > 0) return ask(HandleTogether{{hand_.joinedOnes().begin(), hand_.joinedOnes().end()}});
  return decide(delivery_.known(headOf(moment), admission, moment), moment);
}

Action Lane::ran(const Outcome& outcome, const Moment& moment) {
  return hand_.joined() > 0 ? ranTogether(outcome, moment) : decide(delivery_.ran(outcome, moment), moment);
}

Action Lane::inquired(const ConsumerState& found, const Moment& moment) {
  outages_.wentWell(Side::store, moment);
  delivery_.inquired(found);
  return proceed(moment);
}

// --- what is forgotten

Action Lane::lookedAt(const std::optional<WallTime>& storesClock, const Moment& moment) {
  outages_.wentWell(Side::store, moment);
  sweeper_.lookedAt(storesClock, moment);
  return hand_.settled() == 0 && hand_.size() == 0 ? commit(moment) : proceed(moment);
}

Action Lane::pruned(const Pruned& pruned, const Moment& moment) {
  outages_.wentWell(Side::store, moment);
  sweeper_.pruned(pruned, moment);
  return proceed(moment);
}

Action Lane::logPruned(std::size_t removed, const Moment& moment) {
  outages_.wentWell(Side::store, moment);
  sweeper_.logPruned(removed, moment);
  return proceed(moment);
}

}  // namespace tenure::consuming
