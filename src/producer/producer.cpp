#include <unistd.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "base/random.hpp"
#include "base/threads.hpp"
#include "base/validation.hpp"
#include "producer/send_buffer.hpp"
#include "storage/message_check.hpp"

namespace tenure {

using producing::Ending;
using producing::SendBuffer;
using producing::SendNumber;

namespace {

using namespace std::chrono_literals;

constexpr Duration longestWait = 1min;

Error forked() {
  return {Errc::unsupported, "this process was forked from the producer's, whose thread is not here: make a new one"};
}

ProducerOptions checked(const Producer::OpenSink& open, const ProducerOptions& options) {
  Complaints complaints;
  complaints.require(static_cast<bool>(open), "producer.open", "nothing", "must be a function that opens a sink");
  const auto count = [&](std::size_t value, std::int64_t least, std::int64_t most, const char* name) {
    complaints.require(static_cast<std::int64_t>(value), Range<std::int64_t>{least, most}, name);
  };
  count(options.maxMessages, 1, 10'000'000, "producer.maxMessages");
  count(options.maxBytes, 1LL << 20U, 16LL << 30U, "producer.maxBytes");
  count(options.batchMessages, 1, 10'000, "producer.batchMessages");
  count(options.batchBytes, 1LL << 10U, 64LL << 20U, "producer.batchBytes");
  const auto time = [&](std::chrono::milliseconds value, std::chrono::milliseconds least, const char* name) {
    complaints.require(value, Range<std::chrono::milliseconds>{least, 1h}, name);
  };
  complaints.require(options.linger, Range<std::chrono::milliseconds>{0ms, 1min}, "producer.linger");
  time(options.sendLimit, 0ms, "producer.sendLimit");
  time(options.retryBase, 1ms, "producer.retryBase");
  time(options.retryMax, options.retryBase, "producer.retryMax");
  complaints.throwIfAny();
  return options;
}

}  // namespace

class Producer::Impl {
 public:
  Impl(OpenSink open, const ProducerOptions& options, const IClock& clock)
      : open_(std::move(open)),
        options_(checked(open_, options)),
        clock_(clock),
        buffer_(options_, Random(freshSeed())),
        thread_(systemThreads().start([this] { work(); })) {}

  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      isClosed_ = isEnding_ = true;
      work_->notifyAll();
    }
    thread_->join();
  }

  bool isForked() const noexcept { return ::getpid() != process_; }

  Result<std::future<Result<void>>> send(NewMessage message, SendOptions how) {
    if (message.id.value.empty()) message.id.value = freshUuid();
    if (const Result<void> fit = storage::checkMessage(message); !fit) return fit.error();
    if (how.limit < 0ms) return Error{Errc::invalidArgument, "limit: expected 0 or more"};
    const Durability durability = how.durability.value_or(options_.durability);
    Caller caller{std::nullopt, std::move(how.done)};
    std::promise<Result<void>> promise;
    std::future<Result<void>> future = promise.get_future();
    if (durability == Durability::memory)
      promise.set_value({});
    else
      caller.promise.emplace(std::move(promise));
    std::unique_lock lock(mutex_);
    const Result<SendNumber> number = accept(lock, message, durability, how.limit);
    if (!number) return number.error();
    callers_.emplace(*number, std::move(caller));
    work_->notifyAll();
    return future;
  }

  Result<void> flush(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    if (isWorker()) return ofCallback();
    return flush(lock, limit);
  }

  Result<void> close(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    if (isWorker()) return ofCallback();
    isClosed_ = true;
    room_->notifyAll();
    const Result<void> flushed = flush(lock, limit);
    isEnding_ = true;
    work_->notifyAll();
    while (!isOver_) wait(lock, BootTime::max(), [this] { return isOver_; });
    if (givenUpAtEnd_ == 0) return {};
    return Error{Errc::timedOut, std::to_string(givenUpAtEnd_) + " messages were given up" +
                                     (flushed ? "" : ": " + flushed.error().detail)};
  }

  ProducerFigures figures() const {
    const std::lock_guard lock(mutex_);
    return buffer_.figures(clock_.now());
  }

 private:
  /// Who has to be told what became of a message.
  struct Caller {
    std::optional<std::promise<Result<void>>> promise;
    std::function<void(const Result<void>&)> done;
  };
  struct Flush {
    SendNumber last = 0;
    std::size_t lost = 0;  // of those up to `last`
  };

  static Error closed() { return {Errc::cancelled, "the producer is closed"}; }
  static Error ofCallback() { return {Errc::unsupported, "a callback would wait for itself: call it elsewhere"}; }
  bool isWorker() const { return std::this_thread::get_id() == worker_; }

  /// Waits for room where that is asked for. A callback does not: it would keep the only thread from making it.
  Result<SendNumber> accept(std::unique_lock<std::mutex>& lock, NewMessage& message, Durability durability,
                            std::chrono::milliseconds limit) {
    const BootTime giveUpAt = clock_.now() + options_.sendLimit;
    for (;;) {
      if (isClosed_) return closed();
      const BootTime now = clock_.now();
      const BootTime deadline = limit > 0ms ? producing::later(now, limit) : BootTime::max();
      if (const auto number = buffer_.offer(message, durability, deadline, now)) return *number;
      if (options_.onOverload != Overload::block || isWorker() || now >= giveUpAt)
        return Error{Errc::storeFull,
                     "the producer's buffer is full: " + std::to_string(buffer_.size()) + " messages wait"};
      wait(lock, giveUpAt, [&] { return isClosed_ || buffer_.hasRoomFor(message); });
    }
  }

  Result<void> flush(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds limit) {
    const auto own = flushes_.insert(flushes_.end(), Flush{buffer_.last()});
    buffer_.hurry(own->last);
    work_->notifyAll();
    const BootTime deadline = producing::later(clock_.now(), limit);
    const auto isDone = [&] { return buffer_.areOver(own->last) && !isSaying_ && !buffer_.hasDropped(); };
    while (!isDone() && clock_.now() < deadline) wait(lock, deadline, isDone);
    const bool done = isDone();
    const std::size_t lost = own->lost;
    flushes_.erase(own);
    if (!done) {
      const ProducerFigures left = buffer_.figures(clock_.now());
      return Error{Errc::timedOut, std::to_string(left.waiting) + " messages are not confirmed" +
                                       (left.lastError.empty() ? "" : ": " + left.lastError)};
    }
    if (lost == 0) return {};
    return Error{Errc::cancelled, std::to_string(lost) + " messages were dropped, or given up at their limits"};
  }

  /// In pieces: a machine that was suspended has another idea of how long it waited.
  void wait(std::unique_lock<std::mutex>& lock, BootTime until, const std::function<bool()>& isOver) {
    room_->wait(lock, std::min(until - clock_.now(), longestWait), {}, isOver);
  }

  /// With the mutex free. What a callback has captured is destroyed there as well.
  void say(std::unique_lock<std::mutex>& lock, std::vector<Ending> endings) {
    if (endings.empty()) return;
    std::vector<std::pair<Caller, Result<void>>> words;
    for (Ending& ending : endings) {
      for (Flush& flush : flushes_) flush.lost += ending.isLost && ending.number <= flush.last ? 1 : 0;
      auto caller = callers_.extract(ending.number);
      if (!caller.empty()) words.emplace_back(std::move(caller.mapped()), std::move(ending.result));
    }
    isSaying_ = true;
    room_->notifyAll();
    lock.unlock();
    for (auto& [caller, result] : words) {
      if (caller.done) caller.done(result);
      if (caller.promise) caller.promise->set_value(result);
    }
    words.clear();
    lock.lock();
    isSaying_ = false;
    room_->notifyAll();
  }

  /// The producer's thread.
  void work() {
    std::unique_lock lock(mutex_);
    worker_ = std::this_thread::get_id();
    while (!isEnding_) {
      say(lock, buffer_.takeDropped());
      say(lock, buffer_.expired(clock_.now()));
      if (isEnding_) break;
      const BootTime now = clock_.now();
      const BootTime next = buffer_.next(now);
      if (next <= now) {
        sendBatch(lock);
        continue;
      }
      const BootTime until = std::min(next, buffer_.earliestDeadline());
      work_->wait(lock, std::min(until - now, longestWait), {}, [this, until] {
        return isEnding_ || buffer_.hasDropped() || buffer_.earliestDeadline() < until ||
               buffer_.next(clock_.now()) < until;
      });
    }
    end(lock);
  }

  void end(std::unique_lock<std::mutex>& lock) {
    say(lock, buffer_.takeDropped());
    std::vector<Ending> left = buffer_.giveUp({Errc::cancelled, "the producer was closed before it was confirmed"});
    givenUpAtEnd_ = left.size();
    say(lock, std::move(left));
    lock.unlock();
    sink_.reset();
    lock.lock();
    isOver_ = true;
    room_->notifyAll();
  }

  void sendBatch(std::unique_lock<std::mutex>& lock) {
    const std::span<const NewMessage> batch = buffer_.begin(clock_.now());
    lock.unlock();
    const std::vector<Result<void>> results = append(batch);
    lock.lock();
    say(lock, buffer_.answered(results, clock_.now()));
  }

  /// What `open` or the sink throws is a failure like any other.
  std::vector<Result<void>> append(std::span<const NewMessage> batch) {
    Errc meaning = Errc::unavailable;
    try {
      if (const Result<void> opened = open(); !opened) return {batch.size(), opened};
      meaning = Errc::outcomeUnknown;
      std::vector<Result<void>> results = sink_->appendEach(batch);
      if (producing::failureOf(results)) sink_.reset();
      return results;
    } catch (const std::exception& thrown) {
      sink_.reset();
      return {batch.size(), Error{meaning, thrown.what()}};
    }
  }

  Result<void> open() {
    if (sink_) return {};
    auto opened = open_();
    if (!opened) return Error{Errc::unavailable, opened.error().message()};
    if (!*opened) return Error{Errc::unavailable, "no sink was opened"};
    sink_ = *std::move(opened);
    return {};
  }

  const OpenSink open_;
  const ProducerOptions options_;
  const IClock& clock_;
  const pid_t process_ = ::getpid();
  mutable std::mutex mutex_;
  std::unique_ptr<ISignal> work_ = systemThreads().makeSignal();  // for the thread
  std::unique_ptr<ISignal> room_ = systemThreads().makeSignal();  // for all others
  SendBuffer buffer_;
  std::unordered_map<SendNumber, Caller> callers_;
  std::list<Flush> flushes_;
  bool isSaying_ = false;
  bool isClosed_ = false;
  bool isEnding_ = false;
  bool isOver_ = false;
  std::size_t givenUpAtEnd_ = 0;
  std::thread::id worker_;
  std::unique_ptr<IMessageSink> sink_;  // the thread's
  std::unique_ptr<IThread> thread_;
};

Producer::Producer(OpenSink open, const ProducerOptions& options, const IClock& clock)
    : impl_(std::make_unique<Impl>(std::move(open), options, clock)) {}

/// A child has none of its parent's threads: what would join them is left alone there.
Producer::~Producer() {
  if (impl_->isForked()) static_cast<void>(impl_.release());
}

Result<std::future<Result<void>>> Producer::send(NewMessage message, SendOptions how) {
  if (impl_->isForked()) return forked();
  return impl_->send(std::move(message), std::move(how));
}

Result<void> Producer::flush(std::chrono::milliseconds limit) {
  return impl_->isForked() ? Result<void>(forked()) : impl_->flush(limit);
}

Result<void> Producer::close(std::chrono::milliseconds limit) {
  return impl_->isForked() ? Result<void>(forked()) : impl_->close(limit);
}

ProducerFigures Producer::figures() const { return impl_->isForked() ? ProducerFigures{} : impl_->figures(); }

}  // namespace tenure
