// The lane's answers without a value, and its failures: what is tried again, what a message has to answer for, and what
// ends the term.
#include "consumer/errors.hpp"
#include "consumer/lane.hpp"

namespace tenure::consuming {

Action Lane::did(const Moment& moment) {
  if (asked<Commit>()) return committed(moment);
  if (asked<Undo>()) return decide(delivery_.undone(moment), moment);
  if (asked<Bury>()) {
    delivery_.buried(moment);
    return settle(false, true, moment);
  }
  if (asked<Claim>()) {
    office_.claimed = true;
    outages_.wentWell(Side::store, moment);
  } else if (asked<Declare>()) {
    ledger_.declared();
    outages_.wentWell(Side::store, moment);
  } else if (asked<Attach>()) {  // an outage of the source is over when it delivers
    office_.attached = true;
    if (hand_.suspects() > 0) {
      ledger_.unread();
      ledger_.expectAgain();
      hand_.setSuspects(0);
    }
    hand_.drop();
    supply_ = {.areCounted = supply_.areCounted};
  } else if (asked<Abandon>()) {
    committer_.tellNews();
    forgetTransaction();
  }
  return proceed(moment);
}

Action Lane::failed(const Error& error, const Moment& moment) {
  const bool mayHaveLanded = isOutcomeUnknown(error.code) || asked<Resolve>();
  if (!mayHaveLanded) parkUntil_.reset();
  if (phase_ == Phase::leaving) {
    delivery_.forgo(error.message());
    at_.tell(Warned{"what is in work could not be cleared: " + error.message()});
    return over(false);
  }
  if (isTermOver(error.code)) return quit(error);
  if (error.is(Errc::undone) && !delivery_.hasTaken()) {
    forgetTransaction();
    if (!committer_.mayUndo()) return troubled(Side::store, error, moment);
    at_.tell(Warned{"a batch is handled again: " + error.message()});
    return proceed(moment);
  }
  const bool ran = asked<Handle>() || asked<HandleTogether>();
  const bool heardOfHandler = ran || asked<Admit>() || (asked<Commit>() && hand_.settled() > 0);
  const bool ofTransaction = error.is(Errc::heldTooLong) || (ran && isRefusal(error));
  if (ofTransaction && heardOfHandler && !delivery_.hasTaken()) return overstrained(error, moment);
  if (asked<Attach>() || asked<Take>() || asked<Acknowledge>()) return sourceFailed(error, moment);
  if (asked<Commit>()) return commitFailed(error, moment);
  if (asked<Declare>() || asked<Prune>() || asked<PruneLog>()) return sideStepFailed(error, moment);
  if (asked<Resolve>()) return isTransient(error) ? troubled(Side::store, error, moment) : quit(error);
  return storeFailed(error, moment);
}

Action Lane::commitFailed(const Error& error, const Moment& moment) {
  if (isOutcomeUnknown(error.code)) {
    trouble_ = error;
    committer_.outcomeIsUnknown();
    return ask(Resolve{});
  }
  // Too much for one transaction, or against a rule that is checked at its end: its messages one at a time, and the one
  // whose fault it is, aside.
  if (isRefusal(error) && hand_.settled() > 1) {
    hand_.separate();
    forgetTransaction();
    hand_.grant(1);
    return proceed(moment);
  }
  return storeFailed(error, moment);
}

Action Lane::sideStepFailed(const Error& error, const Moment& moment) {
  if (!isOutcomeUnknown(error.code)) return storeFailed(error, moment);
  trouble_ = error;
  committer_.outcomeIsUnknown();
  repeats_ = true;
  return ask(Resolve{});
}

/// A handler asked more of its transaction, in time or in size, than the store allows. Alone in it, it has only itself
/// to blame. Else it comes alone next time, when it may compute before it holds anything.
Action Lane::overstrained(const Error& error, const Moment& moment) {
  const bool alone = hand_.joined() == 0 && hand_.settled() == (asked<Commit>() ? 1U : 0U);
  hand_.separate();
  forgetTransaction();
  if (alone) return decide(delivery_.overstrained(headOf(moment), error.message(), moment), moment);
  hand_.grant(1);
  return proceed(moment);
}

Action Lane::storeFailed(const Error& error, const Moment& moment) {
  if (delivery_.hasTaken()) return takenRefused(error, moment);
  const bool ofMessage = asked<Admit>() || (asked<Commit>() && hand_.settled() == 1);
  if (ofMessage && isRefusal(error)) {
    delivery_.refusedByStore(asked<Admit>() ? hand_.head()->id : hand_.letters().front()->id, error.message());
    forgetTransaction();
    return proceed(moment);
  }
  forgetTransaction();
  return isTransient(error) ? troubled(Side::store, error, moment) : quit(error);
}

/// Delivery starts again at the next attach, with what was not acknowledged; what is in hand is committed first.
Action Lane::sourceFailed(const Error& error, const Moment& moment) {
  office_.attached = at_.role == Role::lane;
  if (asked<Acknowledge>()) {
    if (!at_.dedups()) delivery_.remember(hand_.settledOnes());
    hand_.leave();
    forgetTransaction();
  }
  at_.booking.ends = hand_.settled() > 0;
  return isTransient(error) ? troubled(Side::source, error, moment) : quit(error);
}

/// The handler has had its one start: what the store did not take becomes a dead letter when the store is back. What an
/// external handler has done is done.
Action Lane::takenRefused(const Error& error, const Moment& moment) {
  delivery_.takenRefused(error);
  forgetTransaction();
  const bool mayPass = isTransient(error) || isRefusal(error) || error.is(Errc::undone);
  return mayPass ? troubled(Side::store, error, moment) : quit(error);
}

Action Lane::troubled(Side side, const Error& error, const Moment& moment) {
  trouble_ = error;
  return outages_.failed(side, error, moment) ? proceed(moment) : quit(error);
}

/// The commit that takes it may or may not have happened. If it has, nobody will see the message again.
void Lane::forgoWhatMayBeTaken(const std::string& why) {
  if (!at_.booking.takes || committer_.isOutcomeKnown()) return;
  at_.booking.takes = false;
  at_.tell(MessageForgone{hand_.letters().front()->id.value, "it may have been taken: " + why});
}

void Lane::lose(const std::string& why) {
  forgoWhatMayBeTaken(why);
  delivery_.forgo(why);
}

Action Lane::quit(const Error& error) {
  over_ = true;
  lose(error.message());
  const bool refusedByStore = isTermOver(error.code) && !error.is(Errc::leaseLost);
  if (refusedByStore && phase_ == Phase::executing)
    at_.tell(CommitFenced{error.message(), std::max<std::size_t>(hand_.settled(), 1)});
  trouble_ =
      committer_.isOutcomeKnown() || isTermOver(error.code) ? error : Error{Errc::outcomeUnknown, error.message()};
  return ask(Quit{reasonOf(trouble_), trouble_});
}

}  // namespace tenure::consuming
