#include "producer/engine.hpp"

#include <pthread.h>

#include <algorithm>

#include "base/refusal.hpp"
#include "messages/message_check.hpp"

namespace tenure::producing {

namespace {

using namespace std::chrono_literals;

Error closed() { return {Errc::cancelled, "the producer is closed"}; }
Error ofCallback() { return {Errc::unsupported, "a callback would wait for itself: call it elsewhere"}; }

}  // namespace

Engine::Engine(Producer::OpenSink open, std::unique_ptr<ISpool> spool, const ProducerOptions& options,
               IEventSink& events, Machine machine)
    : options_(options),
      clock_(machine.clock),
      emit_(events, clock_, ElectionName{}),
      idPrefix_(freshUuid() + "-"),
      work_(machine.threads.makeSignal()),
      helpersWork_(machine.threads.makeSignal()),
      spoolWork_(machine.threads.makeSignal()),
      room_(machine.threads.makeSignal()),
      open_(std::move(open)),
      outlet_(open_),
      spool_(std::move(spool)),
      buffer_(options_, machine.random.fork()),
      spill_(options_, spool_ && spool_->figures().messages > 0, machine.random.fork()) {
  if (spill_.isSpooling()) {
    spoolingSince_ = clock_.now();
    lastAppended_ = lastSpooled_ = spool_->figures().last;
  }
  try {
    start(machine.threads);
  } catch (...) {
    stop();
    throw;
  }
}

Engine::~Engine() { stop(); }

void Engine::start(IThreads& threads) {
  if (spool_) spooler_ = threads.start([this] { spoolWhatIsDue(); });
  for (std::size_t i = 1; i < options_.batchesUnderWay; ++i) {
    helpers_.push_back(threads.start([this] { help(); }));
    const std::lock_guard lock(mutex_);
    ++helpersAtWork_;
  }
  worker_ = threads.start([this] { work(); });
}

void Engine::stop() {
  {
    const std::lock_guard lock(mutex_);
    isClosed_ = true;
    end();
  }
  if (worker_) worker_->join();
  for (const auto& helper : helpers_) helper->join();
  if (spooler_) spooler_->join();
}

int Engine::forks() noexcept {
  static std::atomic<int> count = 0;
  static const int registered = ::pthread_atfork(nullptr, nullptr, [] { ++count; });
  static_cast<void>(registered);
  return count.load(std::memory_order_relaxed);
}

Result<std::future<Result<void>>> Engine::send(NewMessage message, SendOptions how) {
  std::promise<Result<void>> promise;
  std::future<Result<void>> future = promise.get_future();
  const bool isReached = how.durability.value_or(options_.durability) == Durability::memory;
  Caller caller;
  if (!isReached) caller.promise.emplace(std::move(promise));
  if (const Result<void> taken = take(message, how, std::move(caller)); !taken) return taken.error();
  if (isReached) promise.set_value({});
  return future;
}

Result<void> Engine::post(NewMessage message, SendOptions how) { return take(message, how, {}); }

Result<void> Engine::take(NewMessage& message, SendOptions& how, Caller caller) {
  if (message.id.value.empty()) message.id.value = idPrefix_ + std::to_string(++ids_);
  if (const Result<void> fit = messages::checkMessage(message); !fit) return fit;
  if (spool_ && !message.headers.empty())  // or it would hold up all that is spooled with it
    if (const auto text = messages::headersTextOf(message); !text) return text.error();
  if (how.limit < 0ms) return Error{Errc::invalidArgument, "limit: expected 0 or more"};
  caller.durability = how.durability.value_or(options_.durability);
  if (caller.durability == Durability::spooled && !spool_)
    return Error{Errc::invalidArgument, "durability: spooled needs a producer with a spool"};
  const bool isReached = caller.durability == Durability::memory;
  caller.done = std::move(how.done);
  if (!isReached) caller.reached = std::move(how.reached);
  std::unique_lock lock(mutex_);
  if (how.limit > 0ms) caller.deadline = later(clock_.now(), how.limit);
  const Result<SendNumber> number = accept(lock, message, caller.durability, caller.deadline);
  if (!number) return number.error();
  callers_.add(*number, std::move(caller));
  ISignal* const idle = idleThread();
  const bool spooler = spoolerSleeps_;
  lock.unlock();
  if (idle != nullptr) idle->notifyOne();
  if (spooler) spoolWork_->notifyAll();
  if (isReached && how.reached) how.reached({});
  return {};
}

Result<void> Engine::flush(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  if (isOwnThread()) return ofCallback();
  return flush(lock, limit);
}

Result<void> Engine::close(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  if (isOwnThread()) return ofCallback();
  isClosed_ = true;
  room_->notifyAll();
  const Result<void> flushed = flush(lock, limit);
  end();
  while (!isOver_) wait(lock, BootTime::max(), [this] { return isOver_; });
  if (givenUpAtEnd_ == 0) return {};
  return Error{Errc::timedOut, std::to_string(givenUpAtEnd_) + " messages were given up" +
                                   (flushed ? "" : ": " + flushed.error().detail)};
}

ProducerFigures Engine::figures() {
  const std::lock_guard lock(mutex_);
  const BootTime now = clock_.now();
  ProducerFigures figures = buffer_.figures(now);
  figures.spoolError = spoolError_.empty() ? settleError_ : spoolError_;
  double room = static_cast<double>(options_.maxBytes) - static_cast<double>(figures.bytes);
  if (spool_) {
    const SpoolFigures spooled = spool_->figures();
    figures.spooled = inSpool();
    figures.spooledBytes = spooled.bytes;
    figures.spoolRefused = spooled.refused;
    if (figures.spooled > 0 && spooled.oldest)
      figures.oldestAge = std::max(figures.oldestAge, clock_.wallNow() - *spooled.oldest);
    room += static_cast<double>(spooled.maxBytes) - static_cast<double>(spooled.bytes + spooled.refusedBytes);
  }
  figures.timeToOverflow = timeToFill(room, coming_.bytes(now), going_.bytes(now));
  if (spool_) return figures;
  const auto places = static_cast<double>(options_.maxMessages) - static_cast<double>(figures.waiting);
  const auto inMessages = timeToFill(places, coming_.messages(now), going_.messages(now));
  if (inMessages) figures.timeToOverflow = std::min(*inMessages, figures.timeToOverflow.value_or(*inMessages));
  return figures;
}

Result<SendNumber> Engine::accept(std::unique_lock<std::mutex>& lock, NewMessage& message, Durability durability,
                                  BootTime deadline) {
  const BootTime giveUpAt = std::min(clock_.now() + options_.sendLimit, deadline);
  const std::size_t bytes = sizeOf(message);
  for (;;) {
    if (isClosed_) return closed();
    const BootTime now = clock_.now();
    if (const auto number = buffer_.offer(message, durability, deadline, now)) {
      coming_.add(bytes, 1, now);
      return *number;
    }
    const bool waits = options_.onOverload == Overload::block || options_.onOverload == Overload::spill;
    if (now >= deadline) return Error{Errc::timedOut, "there was no room within its limit"};
    if (!waits || isOwnThread() || now >= giveUpAt)
      return Error{Errc::storeFull, "the producer's buffer is full: " + std::to_string(buffer_.size()) +
                                        " messages wait" + (spoolError_.empty() ? "" : ", " + spoolError_)};
    wait(lock, giveUpAt, [&] { return isClosed_ || buffer_.hasRoomFor(message); });
  }
}

Result<void> Engine::flush(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds limit) {
  const auto own = flushes_.insert(flushes_.end(), Flush{buffer_.last()});
  buffer_.hurry(own->last);
  work_->notifyAll();
  helpersWork_->notifyAll();
  const BootTime deadline = later(clock_.now(), limit);
  const auto isDone = [&] { return isFlushed(*own) || isOver_; };
  while (!isDone() && clock_.now() < deadline) wait(lock, deadline, isDone);
  const bool done = isFlushed(*own);
  const std::size_t lost = own->lost;
  flushes_.erase(own);
  if (!done) {
    const ProducerFigures left = buffer_.figures(clock_.now());
    return Error{Errc::timedOut, std::to_string(left.waiting + inSpool()) + " messages are not confirmed" +
                                     (left.lastError.empty() ? "" : ": " + left.lastError)};
  }
  if (lost == 0) return {};
  return Error{Errc::cancelled, std::to_string(lost) + " messages were dropped, or given up at their limits"};
}

bool Engine::isFlushed(Flush& flush) const {
  const bool isSaying = !saying_.empty() && *saying_.begin() <= flush.last;
  if (!buffer_.areOver(flush.last) || isSaying || buffer_.hasDropped()) return false;
  if (!flush.spooledUpTo) flush.spooledUpTo = lastAppended_;
  return isSpoolOver() || nextOfSpool_ > *flush.spooledUpTo;
}

void Engine::wait(std::unique_lock<std::mutex>& lock, BootTime until, const std::function<bool()>& isOver) {
  room_->wait(lock, std::min(until - clock_.now(), longestWait), {}, isOver);
}

void Engine::say(std::unique_lock<std::mutex>& lock, std::vector<Ending> endings) {
  Words words;
  SendNumber first = buffer_.last();
  for (Ending& ending : endings) {
    first = std::min(first, ending.number);
    for (Flush& flush : flushes_) flush.lost += ending.isLost && ending.number <= flush.last ? 1 : 0;
    if (auto caller = callers_.take(ending.number)) words.emplace_back(*std::move(caller), std::move(ending.result));
  }
  if (!endings.empty()) say(lock, std::move(words), first);
}

void Engine::say(std::unique_lock<std::mutex>& lock, Words words, SendNumber first) {
  const auto saying = saying_.insert(first);
  room_->notifyAll();
  lock.unlock();
  for (auto& [caller, result] : words) {
    caller.tell(result);
  }
  words.clear();
  lock.lock();
  saying_.erase(saying);
  room_->notifyAll();
}

void Engine::say(std::unique_lock<std::mutex>& lock, std::vector<Caller> callers, const Error& why) {
  if (callers.empty()) return;
  Words words;
  for (Caller& caller : callers) words.emplace_back(std::move(caller), why);
  say(lock, std::move(words), 0);
}

void Engine::sayOfEnded(std::unique_lock<std::mutex>& lock) {
  say(lock, buffer_.takeDropped());
  say(lock, buffer_.expired(clock_.now()));
  say(lock, callers_.expired(clock_.now()),
      {Errc::outcomeUnknown, "not confirmed within its limit; it is in the spool, and will be sent"});
}

void Engine::work() {
  std::unique_lock lock(mutex_);
  ownThreads_.insert(std::this_thread::get_id());
  while (!isEnding_) {
    sayOfEnded(lock);
    if (isEnding_) break;
    const BootTime now = clock_.now();
    if (nextSettling() <= now) {
      settleSpool(lock);
      noteIfEmptied();
      continue;
    }
    const BootTime next = nextBatch(now);
    if (next <= now) {
      if (spill_.isSpooling())
        sendSpooled(lock);
      else
        sendBatch(lock, outlet_);
      continue;
    }
    const BootTime until = std::min({next, buffer_.earliestDeadline(), callers_.earliestDeadline(), nextSettling()});
    workerSleeps_ = true;
    work_->wait(lock, std::min(until - now, longestWait), {}, [this, until] {
      return isEnding_ || buffer_.hasDropped() || buffer_.earliestDeadline() < until ||
             callers_.earliestDeadline() < until || nextSettling() < until || nextBatch(clock_.now()) < until;
    });
    workerSleeps_ = false;
  }
  finish(lock);
}

BootTime Engine::nextBatch(BootTime now) const {
  if (!spill_.isSpooling()) return buffer_.next(now);
  // A batch that is under way may have a copy in the spool: only its answer says whether the copy is to be sent.
  const bool hasSpooled = !isSpoolOver() && nextOfSpool_ <= lastSpooled_ && !buffer_.hasUnderWay() && !isSettling_;
  return hasSpooled ? std::max(now, buffer_.notBefore()) : BootTime::max();
}

void Engine::help() {
  std::unique_lock lock(mutex_);
  ownThreads_.insert(std::this_thread::get_id());
  Outlet outlet(open_);
  while (!isEnding_) {
    sayOfEnded(lock);
    if (isEnding_) break;
    const BootTime now = clock_.now();
    const BootTime next = nextToHelp(now);
    if (next <= now) {
      sendBatch(lock, outlet);
      continue;
    }
    const BootTime until = std::min(next, buffer_.earliestDeadline());
    ++helpersThatSleep_;
    helpersWork_->wait(lock, std::min(until - now, longestWait), {}, [this, until] {
      return isEnding_ || buffer_.hasDropped() || buffer_.earliestDeadline() < until ||
             nextToHelp(clock_.now()) < until;
    });
    --helpersThatSleep_;
  }
  lock.unlock();
  outlet.close();
  lock.lock();
  --helpersAtWork_;
  room_->notifyAll();
}

ISignal* Engine::idleThread() const {
  if (workerSleeps_) return work_.get();
  const bool hasWork = helpersThatSleep_ > 0 && nextToHelp(clock_.now()) != BootTime::max();
  return hasWork ? helpersWork_.get() : nullptr;
}

void Engine::end() {
  isEnding_ = true;
  work_->notifyAll();
  helpersWork_->notifyAll();
  if (spool_) spoolWork_->notifyAll();
}

void Engine::finish(std::unique_lock<std::mutex>& lock) {
  const auto areOthersOver = [this] { return helpersAtWork_ == 0 && (!spool_ || isSpooled_); };
  while (!areOthersOver()) wait(lock, BootTime::max(), areOthersOver);
  say(lock, buffer_.takeDropped());
  settleSpool(lock);
  say(lock, callers_.takeAllSpooled(),
      {Errc::outcomeUnknown, "the producer was closed before it was confirmed; it is in the spool"});
  std::vector<Ending> left = buffer_.giveUp({Errc::cancelled, "the producer was closed before it was confirmed"});
  givenUpAtEnd_ = left.size();
  if (!left.empty()) emit_(MessagesGivenUp{left.size()});
  say(lock, std::move(left));
  lock.unlock();
  outlet_.close();
  lock.lock();
  isOver_ = true;
  room_->notifyAll();
}

void Engine::sendBatch(std::unique_lock<std::mutex>& lock, Outlet& outlet) {
  SendBuffer::Batch* batch = buffer_.begin(clock_.now());
  if (batch == nullptr) return;
  const BootTime now = clock_.now();
  ISignal* const idle = nextToHelp(now) <= now ? idleThread() : nullptr;
  lock.unlock();
  if (idle != nullptr) idle->notifyOne();
  const std::vector<Result<void>> results = outlet.append(batch->messages);
  lock.lock();
  while (batch->isCopying) wait(lock, BootTime::max(), [batch] { return !batch->isCopying; });
  if (!batch->copyAt) {
    const std::size_t before = buffer_.bytes();
    std::vector<Ending> endings = buffer_.answered(*batch, results, clock_.now());
    going_.add(before - buffer_.bytes(), endings.size(), clock_.now());
    std::vector<NewMessage> spent = buffer_.takeSpent();
    say(lock, std::move(endings));
    endBatch(*batch);
    lock.unlock();
    spent.clear();
    return lock.lock();
  }
  std::vector<Sent> copies;
  for (const NewMessage& message : batch->messages)
    copies.push_back({*batch->copyAt + static_cast<std::int64_t>(copies.size()), sizeOf(message)});
  buffer_.copyIsAnswered(*batch, results, clock_.now());
  settle(lock, copies, results);
  endBatch(*batch);
}

void Engine::endBatch(SendBuffer::Batch& batch) {
  buffer_.end(batch);
  if (spool_) spoolWork_->notifyAll();    // at the end the spooler waits for this batch
  if (workerSleeps_) work_->notifyAll();  // and what is in the spool waits for all batches
  noteIfEmptied();
}

// The engine's work with its spool: the worker sends what is there, the spooler appends; a message that is over is
// taken out by the thread that sent it.

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
    if (each.lacks.empty()) batch.push_back(std::move(each.message));
  }
  std::vector<Result<void>> results;
  if (!batch.empty()) results = outlet_.append(batch);
  for (std::size_t i = 0; i < read->size(); ++i)
    if (const std::string& lacks = (*read)[i].lacks; !lacks.empty())
      results.insert(results.begin() + static_cast<std::ptrdiff_t>(i), Error{Errc::invalidArgument, lacks});
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
    spill_.onTaken();
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
