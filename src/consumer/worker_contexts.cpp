#include "consumer/worker_contexts.hpp"

#include <algorithm>
#include <iterator>

#include "consumer/charges.hpp"

namespace tenure::consuming {

/// Where tending fails, the next fetch does it again and tells the error.
Result<void> Engine::Setting::acknowledge(const Reported& reported) const {
  Result<void> acknowledged;
  if (!shares) acknowledged = source.acknowledge(stubsOf(reported.done));
  if (acknowledged && !shares && !reported.others.empty()) acknowledged = source.acknowledge(reported.others);
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

Result<Supplied> Engine::MainContext::take(Take take) {
  const bool scans = !filled_;
  const Result<bool> hasRead = fill(take);
  if (!hasRead) return hasRead.error();
  Supplied supplied = supply_.takeSuspects(mainWorker, take.max);
  supplied.isScan = scans;
  if (scans) {
    gatherSuspects(supplied, take.max);
    supplied.asked = *hasRead;
    return supplied;
  }
  if (!supplied.messages.empty() || !of_.isOneLine()) return supplied;
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
void Engine::MainContext::gatherSuspects(Supplied& supplied, std::size_t max) {
  while (supplied.messages.size() < max || of_.isOneLine()) {
    Supplied more = supply_.takeSuspects(mainWorker, max);
    if (more.messages.empty()) break;
    for (const MessagePtr& message : more.messages) supplied.add(message, true);
    supplied.assignment.number = more.assignment.number;
    supplied.histories.insert(supplied.histories.end(), std::move_iterator(more.histories.begin()),
                              std::move_iterator(more.histories.end()));
  }
}

/// Where requests coalesce, the source is read on in any case: the head stands for what comes until it begins.
Result<Supplied> Engine::MainContext::takeOfOneLine(const Take& take) {
  const bool isReady = supply_.isReady();
  bool isDry = false;
  if (!isReady || (of_.options.coalesce == Coalesce::byKey && supply_.mayReadOn())) {
    const Result<bool> read = this->read(take, isReady ? onlyLook : take.until);
    if (!read) return read.error();
    isDry = *read;
  }
  Supplied supplied = supply_.takeNow(mainWorker, take.max);
  supplied.dry = isDry;
  supplied.mayReadOn = supply_.mayReadOn();
  return supplied;
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

/// Messages of which the source could not be told come again, when it is attached anew.
Result<Receipt> Engine::MainContext::report(Report report) {
  const Reported reported = supply_.report(mainWorker, std::move(report), false);
  const Result<void> acknowledged = reported.done.empty() ? Result<void>{} : of_.acknowledge(reported);
  return acknowledged ? Result<Receipt>(reported.receipt) : acknowledged.error();
}

// --- a lane's

Result<ConsumerState> Engine::LaneContext::recall(const ConsumerName& consumer, WallTime) {
  Result<InWork> left = store_->inWorkOf(consumer, number_);
  if (!left) return left.error();
  return ConsumerState{.inWork = *std::move(left)};
}

Result<Supplied> Engine::LaneContext::take(Take take) {
  if (take.ahead) return take.spreads ? supply_.takeBeside(number_, take.max) : supply_.takeAhead(number_, take.max);
  return supply_.take(number_, take.max, take.until, stopToken(), take.spreads);
}

Result<Receipt> Engine::LaneContext::report(Report report) {
  return supply_.report(number_, std::move(report), !engine_.setting_.shares).receipt;
}

}  // namespace tenure::consuming
