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

// --- the one that reads itself

Result<ConsumerState> Engine::MainContext::recall(const ConsumerName& consumer, WallTime now) {
  const RecoveryWindow own = recoveryWindowOf(of_.options);
  Result<ConsumerState> left = recollect(of_.store, consumer, term_.identity(), own, now);
  if (!left) return left;
  supply_.remember(std::exchange(left->attempts, {}));
  // At most once, a message that was in work is either taken or was not begun.
  if (of_.options.delivery == Guarantee::atMostOnce) return left;
  const InWork& inWork = left->inWork;
  const RecoveryWindow theirs = left->facts.window.value_or(own);
  const std::size_t front = inWork.more ? theirs.unrecordedWindow : 0;
  // A record that names few suspects names also such as were found in the front, which may reach beyond the window. In
  // one line they are the first that come, unless lanes have left them.
  const bool areFirst = of_.isOneLine() && (theirs.lanes == 0 || inWork.ids.empty());
  const std::size_t window = areFirst ? inWork.ids.size() : std::max(theirs.unrecordedWindow, theirs.window);
  if (inWork.more || !inWork.ids.empty()) supply_.suspect({inWork.ids.begin(), inWork.ids.end()}, front, window);
  return left;
}

Result<void> Engine::MainContext::attach() {
  filled_ = false;
  supply_.clear();
  return engine_.attach(term_);
}

Result<Assignment> Engine::MainContext::take(Take take) {
  if (take.releases) supply_.release(mainWorker);
  const bool scans = !filled_;
  const Result<bool> hasRead = fill(take);
  if (!hasRead) return hasRead.error();
  Assignment assignment = supply_.takeSuspects(mainWorker, take.max);
  assignment.isScan = scans;
  if (scans) {
    gatherSuspects(assignment, take.max);
    assignment.asked = *hasRead;
    return assignment;
  }
  if (!assignment.messages.empty() || !of_.isOneLine()) return assignment;
  return takeOfOneLine(take);
}

/// Reads as far as a predecessor can have gone. False: there was no need to.
Result<bool> Engine::MainContext::fill(const Take& take) {
  bool hasRead = false;
  while (!filled_ && supply_.mustReadOn()) {
    if (const auto isDry = read(take, onlyLook); !isDry) return isDry.error();
    hasRead = true;
  }
  filled_ = true;
  return hasRead;
}

/// All of them are named as long as one is left, also those that are given one by one, as they may have successors.
void Engine::MainContext::gatherSuspects(Assignment& assignment, std::size_t max) {
  while (assignment.messages.size() < max || of_.isOneLine()) {
    Assignment more = supply_.takeSuspects(mainWorker, max);
    if (more.messages.empty()) break;
    assignment.suspects += more.suspects;
    assignment.messages.insert(assignment.messages.end(), std::move_iterator(more.messages.begin()),
                               std::move_iterator(more.messages.end()));
    assignment.standings.insert(assignment.standings.end(), more.standings.begin(), more.standings.end());
    assignment.histories.insert(assignment.histories.end(), std::move_iterator(more.histories.begin()),
                                std::move_iterator(more.histories.end()));
  }
}

/// Where requests coalesce, the source is read on in any case: the head stands for what comes until it begins.
Result<Assignment> Engine::MainContext::takeOfOneLine(const Take& take) {
  const bool isReady = supply_.isReady();
  Assignment assignment;
  bool isDry = false;
  if (!isReady || (of_.options.coalesce == Coalesce::byKey && supply_.mayReadOn())) {
    const Result<bool> read = this->read(take, isReady ? onlyLook : take.until);
    if (!read) return read.error();
    isDry = *read;
  }
  assignment = supply_.takeNow(mainWorker, take.max);
  assignment.dry = isDry;
  assignment.mayReadOn = supply_.mayReadOn();
  return assignment;
}

/// True: the source had no message.
Result<bool> Engine::MainContext::read(const Take& take, BootTime until) {
  Reading& reading = *engine_.reading_;
  Result<supply::Arrivals> arrivals = reading.fetch(supply_.toRead(take.max), until, stopToken());
  if (!arrivals) return arrivals.error();
  const bool isDry = arrivals->isDry;
  supply_.receive(std::move(*arrivals), take.ran);
  if (isDry && of_.isOneLine() && supply_.isEmpty() && !stopToken().stop_requested())
    if (const Result<void> done = reading.giveUpOldGaps(); !done) return done.error();
  return isDry;
}

Result<Receipt> Engine::MainContext::acknowledge(const Acknowledge& done) {
  engine_.reading_->settled(done.settled);
  const Result<void> acknowledged = done.settled.empty() ? Result<void>{} : of_.acknowledge(done);
  return acknowledged ? Result<Receipt>(supply_.acknowledge(mainWorker, done, false)) : acknowledged.error();
}

// --- a lane's

Result<ConsumerState> Engine::LaneContext::recall(const ConsumerName& consumer, WallTime) {
  Result<InWork> left = store_->inWorkOf(consumer, number_);
  if (!left) return left.error();
  return ConsumerState{.inWork = *std::move(left)};
}

Result<Assignment> Engine::LaneContext::take(Take take) {
  if (take.releases) supply_.release(number_);
  if (take.ahead) return supply_.takeAhead(number_, take.max);
  return supply_.take(number_, take.max, take.until, stopToken());
}

/// The reader tells the source.
Result<Receipt> Engine::LaneContext::acknowledge(const Acknowledge& done) {
  if (engine_.reading_->settled(done.settled)) supply_.callReader();
  return supply_.acknowledge(number_, done, !engine_.setting_.shares);
}

}  // namespace tenure::consuming
