// When store or source fail, or do not answer: how long that is borne, what is told of it, and how a term ends by it.
#include <algorithm>

#include "consumer/consumer_machine.hpp"
#include "consumer/errors.hpp"

namespace tenure::consuming {

Action ConsumerMachine::storeFailed(const Error& error, const Moment& moment) {
  if (taken_) return takenRefused(error, moment);
  const bool ofMessage = step_ == Step::admit || (step_ == Step::commit && settled_ == 1);
  if (ofMessage && isRefusal(error)) {
    refused_ = AttemptRecord{.id = step_ == Step::admit ? head().id : window().front().id,
                             .lastError = "the store refused it: " + error.message()};
    forgetTransaction();
    return proceed(moment);
  }
  forgetTransaction();
  return isTransient(error) ? troubled(false, error, moment) : quit(error);
}

/// Delivery starts again at the next attach, with what was not acknowledged; what is in hand is committed first.
Action ConsumerMachine::sourceFailed(const Error& error, const Moment& moment) {
  attached_ = false;
  if (step_ == Step::acknowledge) {
    if (!dedups()) rememberCommitted();
    first_ += settled_;
    forgetTransaction();
  }
  batchEnds_ = settled_ > 0;
  return isTransient(error) ? troubled(true, error, moment) : quit(error);
}

void ConsumerMachine::rememberCommitted() {
  for (std::size_t i = unacknowledged_.size(); i < settled_; ++i)
    unacknowledged_.emplace_back(window()[i].id, digestOf(window()[i].body));
}

Action ConsumerMachine::troubled(bool ofSource, const Error& error, const Moment& moment) {
  trouble_ = error;
  if (!outage_) news_.push_back(OutageBegan{error.message()});
  if (!outage_ || !outage_->failed) {
    const auto owedSince = ofSource ? moment.sourceOwesSince : moment.storeOwesSince;
    outage_ = Outage{ofSource, owedSince.value_or(moment.now), true};
  }
  if (moment.now - outage_->began >= options_.outageLimit) return quit(error);
  notBefore_ = std::max(notBefore_, moment.now + outageBackoff_.next());
  return proceed(moment);
}

void ConsumerMachine::overdue(bool ofSource, BootTime since, const Moment& moment) {
  if (outage_) return;
  outage_ = Outage{ofSource, since, false};
  news_.push_back(OutageBegan{noAnswer(ofSource, moment.now - since)});
}

void ConsumerMachine::answeredLate(bool ofSource, const Moment& moment) {
  if (outage_ && !outage_->failed) endOutage(ofSource, moment);
}

std::optional<BootTime> ConsumerMachine::failingSince(bool ofSource) const noexcept {
  const bool failing = outage_ && outage_->failed && outage_->ofSource == ofSource;
  return failing ? std::optional(outage_->began) : std::nullopt;
}

void ConsumerMachine::endOutage(bool ofSource, const Moment& moment) {
  if (!outage_ || outage_->ofSource != ofSource) return;
  news_.push_back(OutageEnded{std::chrono::duration_cast<std::chrono::milliseconds>(moment.now - outage_->began)});
  outage_.reset();
  outageBackoff_.reset();
}

Action ConsumerMachine::quit(const Error& error) {
  over_ = true;
  lose(error.message());
  const bool refusedByStore = isTermOver(error.code) && !error.is(Errc::leaseLost);
  if (refusedByStore && phase_ == Phase::executing)
    news_.push_back(CommitFenced{error.message(), std::max<std::size_t>(settled_, 1)});
  trouble_ = outcomeKnown_ || isTermOver(error.code) ? error : Error{Errc::outcomeUnknown, error.message()};
  return Quit{reasonOf(trouble_)};
}

}  // namespace tenure::consuming
