/// The callers that hear what became of a message: those that wait for its future or gave a callback. Pure.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "producer/send_buffer.hpp"
#include "tenure/producer.hpp"

namespace tenure::producing {

/// The queue's end of a producer: a sink that is opened when it is needed, and anew after a failure.
/// Threads: one.
class Outlet {
 public:
  explicit Outlet(Producer::OpenSink open) : open_(std::move(open)) {}

  /// As IMessageSink::appendEach. What `open` or the sink throws is a failure like any other.
  std::vector<Result<void>> append(std::span<const NewMessage> batch);
  void close() noexcept { sink_.reset(); }

 private:
  Result<void> open();

  const Producer::OpenSink open_;
  std::unique_ptr<IMessageSink> sink_;
};

struct Caller {
  /// Nullopt once its durability is reached.
  std::optional<std::promise<Result<void>>> promise{};
  std::function<void(const Result<void>&)> done{};
  std::function<void(const Result<void>&)> reached{};
  Durability durability = Durability::stored;
  BootTime deadline = BootTime::max();

  bool isWaiting() const noexcept { return promise.has_value() || done != nullptr || reached != nullptr; }
  /// With the mutex free.
  void tell(const Result<void>& result) {
    if (reached) reached(result);
    if (done) done(result);
    if (promise) promise->set_value(result);
  }
};

class Callers {
 public:
  void add(SendNumber number, Caller caller) {
    if (caller.isWaiting()) byNumber_.emplace(number, std::move(caller));
  }
  /// The caller of a message whose outcome is known; nullopt where the caller does not wait for it.
  std::optional<Caller> take(SendNumber number);

  /// The messages are in the spool now, the first at position `first`, the others behind it. Returns the callers whose
  /// durability is reached thereby, without what else they wait for.
  std::vector<Caller> spooled(const std::vector<SendNumber>& numbers, std::int64_t first);
  /// From now on expired() knows the callers of these positions, who have been told all that is reached.
  void watchDeadlines(std::int64_t first, std::int64_t last);
  bool hasSpooled() const noexcept { return !byPosition_.empty(); }
  std::optional<Caller> takeSpooled(std::int64_t position);
  std::vector<Caller> takeSpooledBefore(std::int64_t position);
  /// Callers whose deadline has come while their messages are in the spool, where the messages stay.
  std::vector<Caller> expired(BootTime now);
  BootTime earliestDeadline() const noexcept {
    return deadlines_.empty() ? BootTime::max() : deadlines_.begin()->first;
  }
  /// All callers whose messages are in the spool: the producer ends.
  std::vector<Caller> takeAllSpooled();

 private:
  std::unordered_map<SendNumber, Caller> byNumber_;
  std::map<std::int64_t, Caller> byPosition_;  // callers of messages in the spool
  std::set<std::pair<BootTime, std::int64_t>> deadlines_;
};

}  // namespace tenure::producing
