/// A queue that a test answers for.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenure/producer.hpp"

namespace tenure::test {

/// What a queue has stored, and how it answers.
class FakeQueue {
 public:
  /// Each batch is asked what becomes of it; without an answer it is stored.
  using Fate = std::function<std::optional<std::vector<Result<void>>>(std::span<const NewMessage>)>;

  Producer::OpenSink opener() {
    return [this]() -> Result<std::unique_ptr<IMessageSink>> {
      ++opened;
      return std::unique_ptr<IMessageSink>(std::make_unique<Sink>(*this));
    };
  }
  void setFate(Fate fate) {
    const std::lock_guard lock(mutex_);
    fate_ = std::move(fate);
  }
  void store(std::span<const NewMessage> messages) {
    const std::lock_guard lock(mutex_);
    for (const NewMessage& message : messages) stored_.push_back(message);
  }
  std::vector<std::string> ids() {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> ids;
    for (const NewMessage& message : stored_) ids.push_back(message.id.value);
    return ids;
  }
  std::vector<NewMessage> stored() {
    const std::lock_guard lock(mutex_);
    return stored_;
  }

  std::atomic<int> opened = 0;

 private:
  class Sink final : public IMessageSink {
   public:
    explicit Sink(FakeQueue& queue) : queue_(queue) {}
    Result<void> append(std::span<const NewMessage>) override { return Errc::unsupported; }
    std::vector<Result<void>> appendEach(std::span<const NewMessage> messages) override {
      Fate fate;
      {
        const std::lock_guard lock(queue_.mutex_);
        fate = queue_.fate_;
      }
      if (fate)
        if (auto results = fate(messages)) return *std::move(results);
      queue_.store(messages);
      return std::vector<Result<void>>(messages.size());
    }

   private:
    FakeQueue& queue_;
  };

  std::mutex mutex_;
  std::vector<NewMessage> stored_;
  Fate fate_;
};

inline NewMessage message(const std::string& id, const std::string& group = "") {
  return {MessageId{id}, GroupId{group}, "body", {}};
}

inline std::vector<Result<void>> away(std::span<const NewMessage> messages) {
  return std::vector<Result<void>>(messages.size(), Error{Errc::unavailable, "the broker is away"});
}

}  // namespace tenure::test
