/// The engine's work with its spool: the worker sends what is there, the spooler appends; a message that is over is
/// taken out by the thread that sent it.
#include <algorithm>

#include "base/refusal.hpp"
#include "producer/engine.hpp"

namespace tenure::producing {
namespace {

using namespace std::chrono_literals;

// Limits of one append to the spool.
constexpr std::size_t spoolMessages = 2'000;
constexpr std::size_t spoolBytes = 4U << 20U;
constexpr Duration settleAgain = 1s;  // where the disk is too full to take anything out

bool isOpen(const Result<void>& result) { return !result && !isMessageRefused(result.error()); }

}  // namespace

void Engine::sendSpooled(std::unique_lock<std::mutex>& lock) {
  const std::int64_t known = lastSpooled_;
  const std::int64_t from = nextOfSpool_;
  const BootTime beganAt = clock_.now();
  lock.unlock();
  auto read = spool_->read(from, options_.batchMessages, options_.batchBytes);
  lock.lock();
  if (!read) return buffer_.count(std::vector<Result<void>>{read.error()}, beganAt, clock_.now());
  sayOfMissing(lock, read->empty() ? known + 1 : std::min(read->front().position, known + 1));
  const std::int64_t readUpTo = read->empty() ? known : std::min(known, read->back().position);
  std::erase_if(
      *read, [&](const SpooledMessage& each) { return each.position > known || unsettled_.contains(each.position); });
  if (read->empty()) {  // all up to there are over
    nextOfSpool_ = std::max(nextOfSpool_, readUpTo + 1);
    return noteIfEmptied();
  }
  lock.unlock();
  std::vector<NewMessage> batch;
  std::vector<Sent> sent;
  for (SpooledMessage& each : *read) {
    sent.push_back({each.position, sizeOf(each.message)});
    batch.push_back(std::move(each.message));
  }
  std::vector<Result<void>> results = outlet_.append(batch);
  lock.lock();
  buffer_.count(results, beganAt, clock_.now());
  const auto open = std::ranges::find_if(results, isOpen);
  nextOfSpool_ = open == results.end() ? sent.back().position + 1 : sent[open - results.begin()].position;
  settle(lock, sent, results);
  sayOfMissing(lock, nextOfSpool_);
  noteIfEmptied();
}

void Engine::sayOfMissing(std::unique_lock<std::mutex>& lock, std::int64_t before) {
  std::vector<Caller> missing = callers_.takeSpooledBefore(before);
  for (Flush& flush : flushes_) flush.lost += missing.size();
  say(lock, std::move(missing), {Errc::storeFailed, "it was in a part of the spool that cannot be read any more"});
}

void Engine::settle(std::unique_lock<std::mutex>& lock, const std::vector<Sent>& batch,
                    const std::vector<Result<void>>& results) {
  Words words;
  std::size_t bytes = 0;
  std::size_t over = 0;
  const auto saying = saying_.insert(0);  // a flush waits for the callbacks, also while the mutex is free below
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Result<void>& result = results[i];
    const std::int64_t position = batch[i].position;
    if (isOpen(result)) continue;
    bytes += batch[i].bytes;
    ++over;
    unsettled_.emplace(position, result ? std::nullopt : std::optional<Error>(result.error()));
    if (auto caller = callers_.takeSpooled(position)) words.emplace_back(*std::move(caller), result);
  }
  going_.add(bytes, over, clock_.now());
  settleSpool(lock);
  spoolWork_->notifyAll();
  say(lock, std::move(words), 0);
  saying_.erase(saying);
}

void Engine::settleSpool(std::unique_lock<std::mutex>& lock) {
  if (isSettling_) return;  // a thread is at it, until none is left
  const BootTime now = clock_.now();
  const bool waits = now < settleNotBefore_ && !isEnding_;
  held_ = waits ? unsettled_.size() : 0;  // while they are taken out, the spool's own count changes
  while (!unsettled_.empty() && !waits) {
    std::vector<SpoolSettlement> over;
    for (const auto& [position, refusal] : unsettled_) over.push_back({position, refusal});
    isSettling_ = true;
    lock.unlock();
    const Result<void> settled = spool_->settle(over);
    lock.lock();
    isSettling_ = false;
    if (!settled) {
      settleNotBefore_ = now + settleAgain;
      held_ = unsettled_.size();
      if (settleError_.empty()) emit_(SpoolRefused{settled.error().message(), buffer_.size()});
      settleError_ = settled.error().message();
      break;
    }
    settleError_.clear();
    settleNotBefore_ = BootTime::min();
    for (const SpoolSettlement& each : over) unsettled_.erase(each.position);
  }
  if (workerSleeps_) work_->notifyAll();
}

void Engine::noteIfEmptied() {
  room_->notifyAll();
  if (!spill_.isSpooling() || isAppending_ || !isSpoolOver()) return;
  spill_.emptied();
  if (spill_.isSpooling()) return;
  spoolError_.clear();
  emit_(SpoolEmptied{std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now() - spoolingSince_)});
}

void Engine::spoolWhatIsDue() {
  std::unique_lock lock(mutex_);
  ownThreads_.insert(std::this_thread::get_id());
  for (;;) {
    const BootTime now = clock_.now();
    const BootTime due = spill_.due(buffer_, now, isEnding_);
    if (due <= now) {
      spool(lock);
      continue;
    }
    if (isEnding_ && !buffer_.hasUnderWay()) break;
    spoolerSleeps_ = true;
    spoolWork_->wait(lock, std::min(due - now, longestWait), {}, [this, due, wasEnding = isEnding_] {
      return isEnding_ != wasEnding || (isEnding_ && !buffer_.hasUnderWay()) ||
             spill_.due(buffer_, clock_.now(), isEnding_) < due;
    });
    spoolerSleeps_ = false;
  }
  isSpooled_ = true;
  room_->notifyAll();
}

void Engine::spool(std::unique_lock<std::mutex>& lock) {
  std::optional<SpoolBegan> begins;
  if (!spill_.isSpooling()) begins.emplace(SpoolBegan{spill_.why(buffer_, clock_.now(), isEnding_), buffer_.size()});
  if (begins) spoolingSince_ = clock_.now();
  spill_.begins();
  SendBuffer::Batch* batch = buffer_.notCopied();  // whose copy comes before later messages of its groups
  if (batch != nullptr) batch->isCopying = true;
  isAppending_ = true;
  const std::span<const NewMessage> messages =
      batch != nullptr ? batch->messages : buffer_.beginSpooling(spoolMessages, spoolBytes);
  lock.unlock();
  const Result<std::int64_t> first = spool_->append(messages);
  lock.lock();
  const auto count = static_cast<std::int64_t>(messages.size());
  std::vector<Caller> reached;
  if (first) {
    reached = callers_.spooled(batch != nullptr ? buffer_.isCopied(*batch, *first) : buffer_.isSpooled(), *first);
    lastAppended_ = *first + count - 1;
    spoolError_.clear();
    if (begins) emit_(*begins);
    spill_.took();
  } else {
    if (batch == nullptr) buffer_.isNotSpooled();
    spoolError_ = first.error().message();
    if (spill_.failed(inSpool() == 0, isEnding_, clock_.now())) emit_(SpoolRefused{spoolError_, buffer_.size()});
  }
  room_->notifyAll();
  lock.unlock();
  for (Caller& caller : reached) caller.tell({});
  reached.clear();
  lock.lock();
  if (first) callers_.watchDeadlines(*first, lastAppended_);
  if (batch != nullptr) batch->isCopying = false;
  lastSpooled_ = lastAppended_;
  isAppending_ = false;
  room_->notifyAll();
  work_->notifyAll();
}

}  // namespace tenure::producing
