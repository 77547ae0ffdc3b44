#include "consumer/worker_contexts.hpp"

#include <algorithm>
#include <iterator>

#include "consumer/charges.hpp"

namespace tenure::consuming {

/// Where tending fails, the next fetch does it again and tells the error.
Result<void> Engine::Setting::acknowledge(const Acknowledge& done) const {
  Result<void> acknowledged;
  if (!shares) acknowledged = source.acknowledge(stubsOf(done.settled));
  if (acknowledged && !shares && !done.others.empty()) acknowledged = source.acknowledge(done.others);
  if (acknowledged) static_cast<void>(source.tend());
  return acknowledged;
}

// --- total order

Result<ConsumerState> Engine::TotalContext::recall(const ConsumerName& consumer, WallTime now) {
  const RecoveryWindow own = recoveryWindowOf(of_.options);
  Result<ConsumerState> left = recollect(of_.store, consumer, term_.identity(), own, now);
  if (left) order().recalled(left->inWork, left->facts.window.value_or(own));
  return left;
}

Result<void> Engine::TotalContext::attach(const Attach& attach) {
  Result<void> attached = of_.source.attach(term_);
  if (!attached) return attached;
  engine_.reading_->attached();
  order().attached(attach.suspects);
  return attached;
}

Result<Assignment> Engine::TotalContext::take(Take take) {
  Reading& reading = *engine_.reading_;
  const bool scans = order().mustScan();
  while (!scans || order().mustReadOn()) {
    Result<supply::Arrivals> arrivals = reading.fetch(order().wants(take.max), take.until, stopToken());
    if (!arrivals) return arrivals.error();
    order().receive(std::move(*arrivals), take.ran);
    if (!scans) break;
  }
  if (order().isEmpty())
    if (const Result<void> done = reading.giveUpOldGaps(); !done) return done.error();
  return order().take();
}

Result<Receipt> Engine::TotalContext::acknowledge(const Acknowledge& done) {
  engine_.reading_->settled(done.settled);
  const Result<void> acknowledged = of_.acknowledge(done);
  return acknowledged ? Result<Receipt>(order().done(done)) : acknowledged.error();
}

// --- before the lanes

bool Engine::RecoveryContext::isDone() const { return filled_ && !dispatcher_.hasSuspects(mainWorker); }
void Engine::RecoveryContext::reportProgress() noexcept { dispatcher_.reportProgress(mainWorker); }
void Engine::RecoveryContext::release() { dispatcher_.release(mainWorker); }
void Engine::RecoveryContext::park(Parked parked, BootTime until) {
  dispatcher_.park(mainWorker, std::move(parked), until);
}

Result<ConsumerState> Engine::RecoveryContext::recall(const ConsumerName& consumer, WallTime now) {
  const RecoveryWindow own = recoveryWindowOf(of_.options);
  Result<ConsumerState> left = recollect(of_.store, consumer, term_.identity(), own, now);
  if (!left) return left;
  const InWork& inWork = left->inWork;
  const RecoveryWindow theirs = left->facts.window.value_or(own);
  expects_ = !inWork.ids.empty() || inWork.more;
  // A record that names few suspects names also such as were found in the front, which may reach beyond the window.
  dispatcher_.suspect({inWork.ids.begin(), inWork.ids.end()}, inWork.more ? theirs.unrecordedWindow : 0,
                      std::max(theirs.unrecordedWindow, theirs.window));
  dispatcher_.remember(std::move(left->attempts));
  left->attempts.clear();
  return left;
}

Result<void> Engine::RecoveryContext::attach(const Attach&) {
  filled_ = false;
  dispatcher_.clear();
  Result<void> attached = of_.source.attach(term_);
  if (attached) engine_.reading_->attached();
  return attached;
}

Result<Assignment> Engine::RecoveryContext::take(Take take) {
  if (take.releases) dispatcher_.release(mainWorker);
  const bool scans = !filled_;
  if (const Result<void> filled = fill(); !filled) return filled.error();
  Assignment assignment = dispatcher_.takeSuspects(mainWorker, take.max);
  if (!scans) return assignment;
  // All of them are named as long as one is left, also those that are given one by one, as they may have successors.
  while (assignment.messages.size() < take.max) {
    Assignment more = dispatcher_.takeSuspects(mainWorker, take.max);
    if (more.messages.empty()) break;
    assignment.messages.insert(assignment.messages.end(), std::move_iterator(more.messages.begin()),
                               std::move_iterator(more.messages.end()));
    assignment.standings.insert(assignment.standings.end(), more.standings.begin(), more.standings.end());
    assignment.histories.insert(assignment.histories.end(), std::move_iterator(more.histories.begin()),
                                std::move_iterator(more.histories.end()));
  }
  assignment.scan = SuspectScan{};  // all that it gets is suspect
  return assignment;
}

Result<void> Engine::RecoveryContext::fill() {
  while (expects_ && !filled_ && dispatcher_.room() > 0) {
    Result<supply::Arrivals> arrivals = engine_.reading_->fetch(dispatcher_.room(), onlyLook, stopToken());
    if (!arrivals) return arrivals.error();
    if (arrivals->isDry) break;
    dispatcher_.receive(std::move(*arrivals));
  }
  filled_ = true;
  return {};
}

Result<Receipt> Engine::RecoveryContext::acknowledge(const Acknowledge& done) {
  engine_.reading_->settled(done.settled);
  const Result<void> acknowledged = of_.acknowledge(done);
  return acknowledged ? Result<Receipt>(dispatcher_.acknowledge(mainWorker, done, false)) : acknowledged.error();
}

// --- a lane's

Result<ConsumerState> Engine::LaneContext::recall(const ConsumerName& consumer, WallTime) {
  Result<InWork> left = store_->inWorkOf(consumer, number_);
  if (!left) return left.error();
  return ConsumerState{.inWork = *std::move(left)};
}

Result<Assignment> Engine::LaneContext::take(Take take) {
  if (take.releases) dispatcher_.release(number_);
  if (take.ahead) return dispatcher_.takeAhead(number_, take.max);
  return dispatcher_.take(number_, take.max, take.until, stopToken());
}

/// The reader tells the source.
Result<Receipt> Engine::LaneContext::acknowledge(const Acknowledge& done) {
  if (engine_.reading_->settled(done.settled)) dispatcher_.callReader();
  return dispatcher_.acknowledge(number_, done, !of_.shares);
}

}  // namespace tenure::consuming
