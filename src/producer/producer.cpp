#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "base/random.hpp"
#include "base/refusal.hpp"
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

constexpr Duration forever = 1h;  // and then again

Error forked() {
  return {Errc::unsupported, "this process was forked from the producer's, whose thread is not here: make a new one"};
}

/// The sink may not be of use any more.
bool hasFailed(const Result<void>& result) noexcept {
  return !result && !isMessageRefused(result.error()) && !result.error().is(Errc::cancelled);
}

ProducerOptions checked(const ProducerOptions& options) {
  Complaints complaints;
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
        options_(checked(options)),
        clock_(clock),
        buffer_(options_, Random(freshSeed())),
        thread_(systemThreads().start([this] { work(); })) {}

  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      isClosed_ = isEnding_ = true;
      changed_->notifyAll();
    }
    thread_->join();
  }

  bool isForked() const noexcept { return ::getpid() != process_; }

  Result<std::future<Result<void>>> send(NewMessage message, SendOptions how) {
    if (message.id.value.empty()) message.id.value = freshUuid();
    if (const Result<void> fit = storage::checkMessage(message); !fit) return fit.error();
    const Durability durability = how.durability.value_or(options_.durability);
    std::promise<Result<void>> promise;
    std::future<Result<void>> future = promise.get_future();
    std::vector<Ending> dropped;
    std::unique_lock lock(mutex_);
    const Result<SendNumber> number = accept(lock, std::move(message), durability, how.limit, dropped);
    std::vector<std::function<void()>> words = settle(dropped);
    if (number && durability == Durability::memory) promise.set_value({});
    if (number) {
      Caller& caller = callers_[*number];
      caller.done = std::move(how.done);
      if (durability == Durability::stored) caller.promise.emplace(std::move(promise));
      changed_->notifyAll();
    }
    lock.unlock();
    for (const auto& word : words) word();
    return number ? Result<std::future<Result<void>>>(std::move(future)) : number.error();
  }

  Result<void> flush(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    return flush(lock, limit);
  }

  Result<void> close(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    isClosed_ = true;
    changed_->notifyAll();
    const Result<void> flushed = flush(lock, limit);
    isEnding_ = true;
    changed_->notifyAll();
    while (!isOver_) wait(lock, forever, [this] { return isOver_; });
    if (givenUpAtEnd_ == 0) return {};
    return Error{Errc::timedOut, std::to_string(givenUpAtEnd_) + " messages were given up: " + flushed.error().detail};
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

  static Error closed() { return {Errc::cancelled, "the producer is closed"}; }

  /// Waits for room where that is asked for.
  Result<SendNumber> accept(std::unique_lock<std::mutex>& lock, NewMessage message, Durability durability,
                            std::chrono::milliseconds limit, std::vector<Ending>& dropped) {
    const BootTime giveUpAt = clock_.now() + options_.sendLimit;
    for (;;) {
      if (isClosed_) return closed();
      const BootTime now = clock_.now();
      const BootTime deadline = limit > 0ms ? now + limit : BootTime::max();
      if (const auto number = buffer_.offer(message, durability, deadline, now, dropped)) return *number;
      const std::size_t there = buffer_.size();
      // A callback that waited for room would keep the only thread from making it.
      const bool mayWait = options_.onOverload == Overload::block && std::this_thread::get_id() != worker_;
      if (!mayWait || now >= giveUpAt)
        return Error{Errc::storeFull, "the producer's buffer is full: " + std::to_string(there) + " messages wait"};
      wait(lock, giveUpAt - now, [this, there] { return isClosed_ || buffer_.size() < there; });
    }
  }

  Result<void> flush(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds limit) {
    const SendNumber last = buffer_.last();
    buffer_.hurry(last);
    changed_->notifyAll();
    const BootTime deadline = clock_.now() + limit;
    while (!buffer_.areOver(last) && clock_.now() < deadline)
      wait(lock, deadline - clock_.now(), [this, last] { return buffer_.areOver(last); });
    if (buffer_.areOver(last)) return {};
    const ProducerFigures left = buffer_.figures(clock_.now());
    return Error{Errc::timedOut, std::to_string(left.waiting) + " messages are not confirmed" +
                                     (left.lastError.empty() ? "" : ": " + left.lastError)};
  }

  void wait(std::unique_lock<std::mutex>& lock, Duration atMost, const std::function<bool()>& isOver) {
    changed_->wait(lock, atMost, {}, isOver);
  }

  /// What is to be said of them when the mutex is free.
  std::vector<std::function<void()>> settle(std::vector<Ending>& endings) {
    std::vector<std::function<void()>> words;
    for (Ending& ending : endings) {
      const auto found = callers_.find(ending.number);
      auto caller = std::make_shared<Caller>(std::move(found->second));
      callers_.erase(found);
      if (!caller->promise && !caller->done) continue;
      words.emplace_back([caller, result = std::move(ending.result)] {
        if (caller->done) caller->done(result);
        if (caller->promise) caller->promise->set_value(result);
      });
    }
    return words;
  }

  void say(std::unique_lock<std::mutex>& lock, std::vector<Ending> endings) {
    if (endings.empty()) return;
    const std::vector<std::function<void()>> words = settle(endings);
    changed_->notifyAll();
    lock.unlock();
    for (const auto& word : words) word();
    lock.lock();
  }

  /// The producer's thread.
  void work() {
    std::unique_lock lock(mutex_);
    worker_ = std::this_thread::get_id();
    while (!isEnding_) {
      const BootTime now = clock_.now();
      say(lock, buffer_.expired(now));
      if (isEnding_) break;
      const BootTime next = buffer_.next(now);
      if (next <= now) {
        sendBatch(lock);
        continue;
      }
      const BootTime until = std::min({next, buffer_.earliestDeadline(), now + forever});
      const SendNumber seen = buffer_.last();
      wait(lock, until - now,
           [this, seen, next] { return isEnding_ || buffer_.last() != seen || buffer_.next(clock_.now()) < next; });
    }
    std::vector<Ending> left = buffer_.giveUp({Errc::cancelled, "the producer was closed before it was confirmed"});
    givenUpAtEnd_ = left.size();
    say(lock, std::move(left));
    sink_.reset();
    isOver_ = true;
    changed_->notifyAll();
  }

  void sendBatch(std::unique_lock<std::mutex>& lock) {
    const std::span<const NewMessage> batch = buffer_.begin(clock_.now());
    lock.unlock();
    const std::vector<Result<void>> results = append(batch);
    lock.lock();
    say(lock, buffer_.answered(results, clock_.now()));
  }

  std::vector<Result<void>> append(std::span<const NewMessage> batch) {
    if (!sink_) {
      auto opened = open_();
      if (!opened) return {batch.size(), Error{Errc::unavailable, opened.error().message()}};
      sink_ = *std::move(opened);
    }
    std::vector<Result<void>> results = sink_->appendEach(batch);
    if (std::ranges::any_of(results, hasFailed)) sink_.reset();
    return results;
  }

  const OpenSink open_;
  const ProducerOptions options_;
  const IClock& clock_;
  const pid_t process_ = ::getpid();
  mutable std::mutex mutex_;
  std::unique_ptr<ISignal> changed_ = systemThreads().makeSignal();
  SendBuffer buffer_;
  std::unordered_map<SendNumber, Caller> callers_;
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
