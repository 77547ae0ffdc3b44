/// A queue in this process, for a store that keeps none: it costs next to nothing, so that the store's cost shows.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "tenure/spi/source.hpp"

namespace tenure::bench {

class Belt final : public IMessageSource {
 public:
  void append(std::span<const NewMessage> messages) {
    const WallTime now = systemClock().wallNow();
    for (const NewMessage& message : messages) waiting_.push_back(Message{message, now, ++last_});
  }

  Result<void> attach(const Term&) override { return {}; }
  Result<std::vector<Message>> fetch(std::size_t max, BootTime, std::stop_token) override {
    std::vector<Message> messages;
    while (messages.size() < max && !waiting_.empty()) {
      messages.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    return messages;
  }
  Result<void> acknowledge(std::span<const Message>) override { return {}; }
  void detach() noexcept override {}

 private:
  std::deque<Message> waiting_;
  std::int64_t last_ = 0;
};

class BeltEnd final : public IMessageSink {
 public:
  explicit BeltEnd(std::shared_ptr<Belt> belt) : belt_(std::move(belt)) {}
  Result<void> append(std::span<const NewMessage> messages) override {
    belt_->append(messages);
    return {};
  }

 private:
  std::shared_ptr<Belt> belt_;
};

}  // namespace tenure::bench
