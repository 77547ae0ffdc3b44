// The lane's answers without a value, and its failures: what is tried again, what a message has to answer for, and what
// ends the term.
#include <algorithm>

#include "consumer/errors.hpp"
#include "consumer/lane.hpp"

namespace tenure::consuming {

Action Lane::did(const Now& now) {
  if (asked<Commit>()) return committed(now);
  if (asked<Undo>()) return decide(delivery_.undone(now), now);
  if (asked<WriteDeadLetter>()) {
    delivery_.deadLettered(now);
    return settle(false, true, now);
  }
  if (asked<Claim>()) {
    termState_.claimed = true;
    outages_.wentWell(Side::store, now);
  } else if (asked<Declare>()) {
    inWork_.declared();
    outages_.wentWell(Side::store, now);
  } else if (asked<Attach>()) {  // an outage of the source is over when it delivers
    termState_.attached = true;
    if (queue_.suspects() > 0) {
      inWork_.unread();
      inWork_.expectAgain();
      queue_.setSuspects(0);
    }
    queue_.drop();
    supply_ = {.areCounted = supply_.areCounted};
  } else if (asked<Abandon>()) {
    committer_.tellNews();
    forgetTransaction();
  }
  return proceed(now);
}

Action Lane::foundKey(const Now& now) { return decide(delivery_.foundKey(), now); }

Action Lane::failed(const Error& error, const Now& now) {
  const bool mayHaveLanded = isOutcomeUnknown(error.code) || asked<Resolve>();
  if (!mayHaveLanded) parkUntil_.reset();
  if (phase_ == Phase::leaving) {
    delivery_.forgo(error.message());
    state_.tell(Warned{"what is in work could not be cleared: " + error.message()});
    return over(false);
  }
  if (isTermOver(error.code)) return quit(error);
  if (error.is(Errc::transactionConflict) && !delivery_.hasTaken()) return undoneByOthers(error, now);
  const bool ran = asked<Handle>() || asked<HandleTogether>();
  const bool heardOfHandler = ran || asked<Admit>() || (asked<Commit>() && queue_.settled() > 0);
  const bool ofTransaction = error.is(Errc::heldTooLong) || (ran && isRefusal(error));
  if (ofTransaction && heardOfHandler && !delivery_.hasTaken()) return overstrained(error, now);
  if (asked<Attach>() || asked<Take>() || asked<Acknowledge>()) return sourceFailed(error, now);
  if (asked<Commit>()) return commitFailed(error, now);
  if (asked<Declare>() || asked<Prune>() || asked<PruneLog>()) return sideStepFailed(error, now);
  if (asked<Resolve>()) return isTransient(error) ? troubled(Side::store, error, now) : quit(error);
  return storeFailed(error, now);
}

Action Lane::unidentified(const Error& error, const Now& now) { return sourceFailed(error, now); }

Action Lane::commitFailed(const Error& error, const Now& now) {
  if (isOutcomeUnknown(error.code)) {
    trouble_ = error;
    committer_.outcomeIsUnknown();
    return ask(Resolve{});
  }
  // Too much for one transaction, or against a rule that is checked at its end: its messages one at a time, and the one
  // whose fault it is, aside.
  if (isRefusal(error) && queue_.settled() > 1) {
    queue_.separate();
    forgetTransaction();
    queue_.grant(1);
    return proceed(now);
  }
  return storeFailed(error, now);
}

Action Lane::sideStepFailed(const Error& error, const Now& now) {
  if (!isOutcomeUnknown(error.code)) return storeFailed(error, now);
  trouble_ = error;
  committer_.outcomeIsUnknown();
  repeats_ = true;
  return ask(Resolve{});
}

/// A conflict. The batch is handled again; after a second one its first message alone, while all other lanes wait. A
/// third conflict cannot come from a lane: it counts as an outage.
Action Lane::undoneByOthers(const Error& error, const Now& now) {
  const int times = committer_.undo();
  if (times > 1) queue_.separate();
  forgetTransaction();
  if (times > 2) return troubled(Side::store, error, now);
  if (times == 1) state_.tell(Warned{"a batch is handled again: " + error.message()});
  if (times > 1) queue_.grant(std::min<std::size_t>(queue_.granted(), 1));
  return proceed(now);
}

/// A handler asked more of its transaction, in time or in size, than the store allows. Alone in it, it has only itself
/// to blame. Else it comes alone next time, when it may compute before it holds anything.
Action Lane::overstrained(const Error& error, const Now& now) {
  const bool alone = queue_.joined() == 0 && queue_.settled() == (asked<Commit>() ? 1U : 0U);
  queue_.separate();
  forgetTransaction();
  if (alone) return decide(delivery_.overstrained(headOf(now), error.message(), now), now);
  queue_.grant(1);
  return proceed(now);
}

Action Lane::storeFailed(const Error& error, const Now& now) {
  if (delivery_.hasTaken()) return takenRefused(error, now);
  const bool ofMessage = asked<Admit>() || (asked<Commit>() && queue_.settled() == 1);
  if (ofMessage && isRefusal(error)) {
    const MessageId& id = asked<Admit>() ? queue_.head()->id : queue_.letters().front()->id;
    return refusedByStore(id, error, error.is(Errc::commitRefused), now);
  }
  forgetTransaction();
  return isTransient(error) ? troubled(Side::store, error, now) : quit(error);
}

Action Lane::refusedByStore(const MessageId& id, const Error& error, bool counts, const Now& now) {
  const bool goesOn = delivery_.refusedByStore(id, error.message(), counts);
  forgetTransaction();
  if (!goesOn) delivery_.rest(now);
  return proceed(now);
}

/// Delivery starts again at the next attach, with what was not acknowledged; what is in hand is committed first.
Action Lane::sourceFailed(const Error& error, const Now& now) {
  termState_.attached = state_.role == Role::lane;
  if (asked<Acknowledge>()) {
    if (!state_.dedups()) delivery_.remember(queue_.settledOnes());
    queue_.leave();
    forgetTransaction();
  }
  state_.booking.ends = queue_.settled() > 0;
  return isTransient(error) ? troubled(Side::source, error, now) : quit(error);
}

/// The handler has had its one start: what the store did not take becomes a dead letter, where the store is away as
/// soon as it is back. What an external handler has done is done. After a conflict the lane keeps other lanes out.
Action Lane::takenRefused(const Error& error, const Now& now) {
  delivery_.takenRefused(error);
  forgetTransaction();
  if (error.is(Errc::transactionConflict)) {
    if (!delivery_.isTakenDone()) committer_.keepOut();
    return proceed(now);
  }
  if (isRefusal(error) || error.is(Errc::heldTooLong)) return refusedByStore(delivery_.taken().id, error, true, now);
  return isTransient(error) ? troubled(Side::store, error, now) : quit(error);
}

Action Lane::troubled(Side side, const Error& error, const Now& now) {
  trouble_ = error;
  return outages_.failed(side, error, now) ? proceed(now) : quit(error);
}

/// The commit that takes it may or may not have happened. If it has, nobody will see the message again.
void Lane::forgoWhatMayBeTaken(const std::string& why) {
  if (!state_.booking.takes || committer_.isOutcomeKnown()) return;
  state_.booking.takes = false;
  state_.tell(MessageForgone{queue_.letters().front()->id.value, "it may have been taken: " + why});
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
    state_.tell(CommitFenced{error.message(), std::max<std::size_t>(queue_.settled(), 1)});
  trouble_ =
      committer_.isOutcomeKnown() || isTermOver(error.code) ? error : Error{Errc::outcomeUnknown, error.message()};
  return ask(Quit{reasonOf(trouble_), trouble_});
}

}  // namespace tenure::consuming
