// From the start of its handler to its end in the transaction.
#include "base/text.hpp"
#include "consumer/charges.hpp"
#include "consumer/delivery.hpp"
#include "consumer/message_limits.hpp"

namespace tenure::consuming {

using namespace std::chrono_literals;
using Decision = Delivery::Decision;

Decision Delivery::run(const Now& now) {
  if (const std::string* why = state_.skipReasonOf(message())) return letPass(*why, now);
  runBegan_ = now.boot;
  state_.log.began(now.wall);
  turn_.reset();
  if (!tokens_.empty()) tokens_.erase(message().id);
  skipped_.reset();
  if (taken_) taken_->begun = true;
  const bool isHeard = state_.coalesces() || (state_.role == Role::total && head_.isCounted);
  return isHeard ? Decision(Action{Begin{head_.message}}) : start();
}

/// Nothing of it is to be undone, and whatever token it came with goes back.
Decision Delivery::letPass(const std::string& why, const Now& now) {
  skipped_ = MessageSkipped{message().id.value, shortened(why, longestReason)};
  state_.log.began(now.wall);
  logEnd(AttemptEnd::skipped, skipped_->reason, now);
  return handled();
}

Decision Delivery::begun(std::vector<Message> others) {
  state_.coalesced.begins(message(), std::move(others));
  return start();
}

Decision Delivery::start() {
  const bool marks = !state_.options.handlerIsExternal && !key_.marked;
  key_.marked = key_.marked || marks;
  return Action{Handle{head_.message, attemptNumber(), marks}};
}

Decision Delivery::ran(const Outcome& outcome, const Now& now) {
  lastRun_ = now.boot - runBegan_;
  switch (outcome.kind) {
    case Outcome::Kind::done: logEnd(AttemptEnd::done, {}, now); return handled();
    case Outcome::Kind::skip: return skip(outcome, now);
    case Outcome::Kind::retryLater: return postpone(outcome, now);
    case Outcome::Kind::failed: return attemptFailed(outcome, now);
    case Outcome::Kind::reject: break;
  }
  if (taken_) return takenFailed(outcome.reason, now);
  logEnd(AttemptEnd::rejected, outcome.reason, now);
  return deadLetter(outcome.reason, attemptNumber(), true, now);
}

Decision Delivery::handled() {
  // No effect of it is left that the store may refuse.
  if (taken_) taken_->done = state_.options.handlerIsExternal || skipped_.has_value();
  if (key_.isAdmitted || taken_) return Settled{};
  if (state_.options.handlerIsExternal) ran_ = message().id;
  return state_.dedups() ? admit() : Decision(Settled{});
}

Decision Delivery::skip(const Outcome& outcome, const Now& now) {
  skipped_ = MessageSkipped{message().id.value, outcome.reason};
  logEnd(AttemptEnd::skipped, outcome.reason, now);
  return key_.marked ? Decision(Action{Undo{}}) : handled();
}

Decision Delivery::undone(const Now&) {
  key_.isAdmitted = false;
  return handled();
}

Decision Delivery::overstrained(const Head& head, const std::string& why, const Now& now) {
  takeUp(head);
  return attemptFailed(Outcome::failed(shortened(why, longestReason)), now);
}

Decision Delivery::known(const Head& head, Admission admission, const Now& now) {
  takeUp(head);
  return dropKnown(admission, now);  // no mark stands before it: what it would undo belongs to those before
}

Decision Delivery::attemptFailed(const Outcome& outcome, const Now& now) {
  if (taken_) return takenFailed(outcome.reason, now);
  const int attempt = attemptNumber();
  const bool last = attempt >= state_.options.attempts();
  logEnd(AttemptEnd::failed, outcome.reason, now);
  if (last && !state_.blocks()) return deadLetter(outcome.reason, attempt, true, now);
  const auto wait = last ? longestRetryDelay(state_.options) : retryDelays_.after(attempt);
  AttemptRecord& failed = record(attempt, outcome.reason, now);
  failed.nextAt = now.wall + wait;
  state_.booking.news.push_back(AttemptFailed{message().id.value, attempt, outcome.reason, wait});
  if (last) {
    failed.state = AttemptState::blocked;
    return CommitFirst{};
  }
  tellWhoHoldsUp(wait, outcome.reason, now);
  if (state_.role != Role::total) return GivesBack{now.boot + wait};
  notBefore_ = now.boot + wait;
  return CommitFirst{};
}

/// As soon as it is certain, before its next attempt begins.
void Delivery::tellWhoHoldsUp(std::chrono::milliseconds wait, const std::string& why, const Now& now) {
  if (state_.role != Role::total) return;
  if (heldUp_.id != message().id) heldUp_ = {message().id, now.boot, BootTime::min()};
  const Duration held = now.boot - heldUp_.since;
  if (held + wait < 10s || now.boot < heldUp_.nextWord) return;
  heldUp_.nextWord = now.boot + 1min;
  state_.booking.news.push_back(
      QueueHeldUp{message().id.value, std::chrono::floor<std::chrono::milliseconds>(held), wait, why});
}

Decision Delivery::postpone(const Outcome& outcome, const Now& now) {
  const auto& after = outcome.retryAfter;
  const Postponements& so = state_.histories.postpone(message().id, now.wall);
  const auto wait = after > 0ms ? after : retryDelays_.after(so.times);
  state_.booking.news.push_back(MessagePostponed{message().id.value, outcome.reason, wait});
  tellWhoHoldsUp(wait, outcome.reason, now);
  if (auto stuck = state_.notes->stuck.postponed(message().id, so, outcome.reason, now.wall, now.boot))
    state_.booking.news.push_back(*std::move(stuck));
  if (taken_)
    taken_->begun = false;
  else if (!now.stopAsked)  // else it may be its leader's word
    recordPostponed(outcome.reason, so, wait, now);
  else if (isCharged())
    takeBackCharge();
  logEnd(AttemptEnd::postponed, outcome.reason, now);
  const bool givesBack = state_.role != Role::total && !taken_;
  if (!givesBack) notBefore_ = now.boot + wait;
  const Booking& booking = state_.booking;
  const bool saysAnything = !head_.isFirst || booking.record || booking.cleared || !state_.log.lines().empty();
  if (givesBack) return GivesBack{now.boot + wait, true};
  if (saysAnything || state_.namesEach()) return CommitFirst{};
  return Action{Abandon{}};
}

// --- its end

Decision Delivery::deadLetter(std::string_view reason, int attempts, bool withKey, const Now& now) {
  death_ = {message().id, std::string(reason), attempts, withKey, logged_};
  isDying_ = true;
  const AttemptRecord* before = state_.histories.attemptsOf(message().id);
  return Action{WriteDeadLetter{.message = head_.message,
                                .reason = death_.reason,
                                .attempts = attempts,
                                .firstAt = before != nullptr ? before->firstAt : now.wall,
                                .undo = key_.marked,
                                .withKey = withKey && state_.dedups(),
                                .withoutBody = isRefused() && refused_->death && refused_->times > 1}};
}

/// What an operator has let go is no slip of his.
void Delivery::deadLettered(const Now& now) {
  Booking& booking = state_.booking;
  booking.news.push_back(MessageDeadLettered{message().id.value, death_.reason, death_.attempts});
  booking.ends = true;
  if (!taken_ && state_.histories.isReleased(message().id)) return;
  if (std::exchange(booking.succeeded, false)) state_.streak().broken();
  const Streak::Death death = state_.streak().died(message().id, death_.reason, now.wall);
  if (death.counted) ++booking.deaths;
  if (death.stops) booking.news.push_back(ConsumerStopped{state_.streak().record().deaths, death_.reason});
}

void Delivery::settle(bool hadTurn, bool wasDeadLettered) {
  Booking& booking = state_.booking;
  const bool ran = hadTurn && !isSkip();
  booking.succeeded = booking.succeeded || (ran && !booking.takes);
  if (state_.coalesces()) {
    if (!ran) state_.coalesced.dropped(message());
    if (!ran && state_.role == Role::total) booking.ends = booking.leavesSuccessors = true;  // they would come next
    if (const std::size_t others = ran ? state_.coalesced.ran(message()) : 0; others > 0)
      booking.news.push_back(RequestsCoalesced{message().id.value, others});
  }
  if (const AttemptRecord* before = state_.histories.attemptsOf(message().id)) {
    if (before->state != AttemptState::retrying)
      booking.news.push_back(QueueUnblocked{message().id.value, wasDeadLettered ? "dead_lettered" : "done"});
    booking.cleared = message().id;
    booking.ends = true;
  }
  if (turn_ == message().id && !booking.takes) {  // it did not need it
    booking.unbegun.push_back(message().group);
    turn_.reset();
  }
  if (state_.histories.settle(message().id)) state_.notes->stuck.over(message().id);
  if (skipped_ && skipped_->message == message().id.value && !wasDeadLettered) booking.news.push_back(*skipped_);
  forgetTransaction();
}

bool Delivery::isPlain(const Message& message) const {
  return brokenLimit(message).empty() && state_.histories.attemptsOf(message.id) == nullptr &&
         !(refused_ && refused_->id == message.id) && state_.skipReasonOf(message) == nullptr;
}

int Delivery::attemptNumber() const {
  const AttemptRecord* before = state_.histories.attemptsOf(message().id);
  if (before == nullptr) return 1;
  return isCharged() ? before->attempts : before->attempts + 1;
}

AttemptRecord& Delivery::record(int attempts, const std::string& error, const Now& now) {
  const AttemptRecord* before = state_.histories.attemptsOf(message().id);
  AttemptRecord& made = state_.booking.record.emplace(AttemptRecord{message().id, attempts, error, now.wall, now.wall});
  if (before != nullptr) {
    made.firstAt = before->firstAt;
    made.state = before->state;
  }
  return made;
}

void Delivery::recordPostponed(const std::string& why, const Postponements& so, std::chrono::milliseconds wait,
                               const Now& now) {
  AttemptRecord& postponed = record(attemptNumber() - 1, why, now);
  postponed.postponements = so;
  postponed.nextAt = now.wall + wait;
}

void Delivery::logEnd(AttemptEnd end, const std::string& why, const Now& now) {
  logged_ = end;
  if (state_.log.isKept()) state_.log.ended(message().id, attemptNumber(), end, why, now.wall);
}

}  // namespace tenure::consuming
