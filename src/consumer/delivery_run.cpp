// From the start of its handler to its end in the transaction.
#include "consumer/charges.hpp"
#include "consumer/delivery.hpp"
#include "consumer/fitness.hpp"

namespace tenure::consuming {

using namespace std::chrono_literals;
using Decision = Delivery::Decision;

Decision Delivery::run(const Moment& moment) {
  runBegan_ = moment.now;
  at_.log.began(moment.wall);
  turn_.reset();
  if (!tokens_.empty()) tokens_.erase(message().id);
  skipped_.reset();
  if (taken_) taken_->begun = true;
  const bool isHeard = at_.collapses() || (at_.role == Role::total && head_.isCounted);
  return isHeard ? Decision(Action{Begin{head_.message}}) : start();
}

Decision Delivery::begun(std::vector<Message> others) {
  at_.company.begins(message(), std::move(others));
  return start();
}

Decision Delivery::start() {
  const bool marks = !at_.options.handlerIsExternal && !key_.marked;
  key_.marked = key_.marked || marks;
  return Action{Handle{head_.message, attemptNumber(), marks}};
}

Decision Delivery::ran(const Outcome& outcome, const Moment& moment) {
  lastRun_ = moment.now - runBegan_;
  switch (outcome.kind) {
    case Outcome::Kind::done: logEnd(AttemptEnd::done, {}, moment); return handled();
    case Outcome::Kind::skip: return skip(outcome, moment);
    case Outcome::Kind::retryLater: return postpone(outcome, moment);
    case Outcome::Kind::failed: return attemptFailed(outcome, moment);
    case Outcome::Kind::reject: break;
  }
  if (taken_) return takenFailed(outcome.reason, moment);
  logEnd(AttemptEnd::rejected, outcome.reason, moment);
  return bury(outcome.reason, attemptNumber(), true, moment);
}

Decision Delivery::handled() {
  if (taken_) taken_->done = at_.options.handlerIsExternal;
  if (key_.isAdmitted || taken_) return Settled{};
  if (at_.options.handlerIsExternal) ran_ = message().id;
  return at_.dedups() ? admit() : Decision(Settled{});
}

Decision Delivery::skip(const Outcome& outcome, const Moment& moment) {
  skipped_ = MessageSkipped{message().id.value, outcome.reason};
  logEnd(AttemptEnd::skipped, outcome.reason, moment);
  return key_.marked ? Decision(Action{Undo{}}) : handled();
}

Decision Delivery::undone(const Moment&) {
  key_.isAdmitted = false;
  return handled();
}

Decision Delivery::overstrained(const Head& head, const std::string& why, const Moment& moment) {
  head_ = head;
  return attemptFailed(Outcome::failed(why), moment);
}

Decision Delivery::known(const Head& head, Admission admission, const Moment& moment) {
  head_ = head;
  return dropKnown(admission, moment);  // no mark stands before it: what it would undo belongs to those before
}

Decision Delivery::attemptFailed(const Outcome& outcome, const Moment& moment) {
  if (taken_) return takenFailed(outcome.reason, moment);
  const int attempt = attemptNumber();
  const bool last = attempt >= at_.options.maxAttempts;
  logEnd(AttemptEnd::failed, outcome.reason, moment);
  if (last && !at_.blocks()) return bury(outcome.reason, attempt, true, moment);
  record(attempt, outcome.reason, moment);
  const auto wait = last ? at_.options.retryMax : backoff_.draw(attempt);
  at_.booking.news.push_back(AttemptFailed{message().id.value, attempt, outcome.reason, wait});
  if (last) {
    at_.booking.record->standing = Standing::blocked;
    return CommitFirst{};
  }
  if (at_.role != Role::total) return GivesBack{moment.now + wait};
  notBefore_ = moment.now + wait;
  return CommitFirst{};
}

Decision Delivery::postpone(const Outcome& outcome, const Moment& moment) {
  const auto& after = outcome.retryAfter;
  const Postponements& so = at_.histories.postpone(message().id, moment.wall);
  const auto wait = after > 0ms ? after : backoff_.draw(so.times);
  at_.booking.news.push_back(MessagePostponed{message().id.value, outcome.reason, wait});
  if (auto stuck = at_.notes->stuck.postponed(message().id, so, outcome.reason, moment.wall, moment.now))
    at_.booking.news.push_back(*std::move(stuck));
  if (taken_)
    taken_->begun = false;
  else if (!moment.stopAsked)  // else it may be its leader's word
    record(attemptNumber() - 1, postponedText(so, outcome.reason), moment);
  else if (isCharged())
    takeBackCharge();
  logEnd(AttemptEnd::postponed, outcome.reason, moment);
  const bool givesBack = at_.role != Role::total && !taken_;
  if (!givesBack) notBefore_ = moment.now + wait;
  const Booking& booking = at_.booking;
  const bool saysAnything = !head_.isFirst || booking.record || booking.forgiven || !at_.log.lines().empty();
  if (givesBack) return GivesBack{moment.now + wait, true};
  if (saysAnything || at_.namesEach()) return CommitFirst{};
  return Action{Abandon{}};
}

// --- its end

Decision Delivery::bury(std::string_view reason, int attempts, bool withKey, const Moment& moment) {
  burial_ = {std::string(reason), attempts};
  const AttemptRecord* before = at_.histories.attemptsOf(message().id);
  const WallTime firstAt = before != nullptr ? before->firstAt : moment.wall;
  return Action{Bury{head_.message, burial_.first, attempts, firstAt, key_.marked, withKey && at_.dedups()}};
}

/// What an operator has let go is no slip of his.
void Delivery::buried(const Moment& moment) {
  Booking& booking = at_.booking;
  booking.news.push_back(MessageDeadLettered{message().id.value, burial_.first, burial_.second});
  booking.ends = true;
  if (!taken_ && at_.histories.isReleased(message().id)) return;
  if (std::exchange(booking.succeeded, false)) at_.streak().broken();
  const Streak::Death death = at_.streak().died(message().id, burial_.first, moment.wall);
  if (death.counted) ++booking.deaths;
  if (death.stops) booking.news.push_back(ConsumerStopped{at_.streak().record().attempts, burial_.first});
}

void Delivery::settle(bool ran, bool wasBuried) {
  Booking& booking = at_.booking;
  booking.succeeded = booking.succeeded || (ran && !booking.takes);
  if (at_.collapses()) {
    if (!ran) at_.company.dropped(message());
    if (!ran && at_.role == Role::total) booking.ends = booking.leavesHeirs = true;  // they would come next
    if (const std::size_t others = ran ? at_.company.ran(message()) : 0; others > 0)
      booking.news.push_back(RequestsCoalesced{message().id.value, others});
  }
  if (const AttemptRecord* before = at_.histories.attemptsOf(message().id)) {
    if (before->standing != Standing::retrying)
      booking.news.push_back(QueueUnblocked{message().id.value, wasBuried ? "dead_lettered" : "done"});
    booking.forgiven = message().id;
    booking.ends = true;
  }
  if (turn_ == message().id && !booking.takes) {  // it did not need it
    booking.unbegun.push_back(message().group);
    turn_.reset();
  }
  if (at_.histories.settle(message().id)) at_.notes->stuck.over(message().id);
  if (skipped_ && skipped_->message == message().id.value && !wasBuried) booking.news.push_back(*skipped_);
  forgetTransaction();
}

bool Delivery::isPlain(const Message& message) const {
  return unfitness(message).empty() && at_.histories.attemptsOf(message.id) == nullptr &&
         !(refused_ && refused_->id == message.id);
}

int Delivery::attemptNumber() const {
  const AttemptRecord* before = at_.histories.attemptsOf(message().id);
  if (before == nullptr) return 1;
  return isCharged() ? before->attempts : before->attempts + 1;
}

void Delivery::record(int attempts, const std::string& error, const Moment& moment) {
  Booking& booking = at_.booking;
  const AttemptRecord* before = at_.histories.attemptsOf(message().id);
  booking.record = AttemptRecord{message().id, attempts, error, moment.wall, moment.wall};
  if (before == nullptr) return;
  booking.record->firstAt = before->firstAt;
  booking.record->standing = before->standing;
}

void Delivery::logEnd(AttemptEnd end, const std::string& why, const Moment& moment) {
  if (at_.log.isKept()) at_.log.ended(message().id, attemptNumber(), end, why, moment.wall);
}

}  // namespace tenure::consuming
