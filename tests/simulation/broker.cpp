#include "broker.hpp"

#include <algorithm>

namespace tenure::simulation {
namespace {

Error notAttached() { return {Errc::unavailable, "the connection to the broker has ended"}; }

}  // namespace

void Broker::append(const NewMessage& message, WallTime at) { queue_.push_back(Message{message, at, ++lastPosition_}); }

bool Broker::empty() const noexcept {
  return queue_.empty() && std::ranges::all_of(held_, [](const auto& one) { return one.second.empty(); });
}

Result<void> Broker::attach(Connection consumer) {
  drop(consumer);
  if (exclusive_ && !held_.empty()) return Error{Errc::unavailable, "another consumer is attached"};
  held_[consumer];
  return {};
}

Result<std::vector<Message>> Broker::fetch(Connection consumer, std::size_t max) {
  const auto holder = held_.find(consumer);
  if (holder == held_.end()) return notAttached();
  const auto given = static_cast<std::ptrdiff_t>(std::min(max, queue_.size()));
  std::vector<Message> messages{queue_.begin(), queue_.begin() + given};
  queue_.erase(queue_.begin(), queue_.begin() + given);
  holder->second.insert(holder->second.end(), messages.begin(), messages.end());
  return messages;
}

Result<std::vector<Message>> Broker::acknowledge(Connection consumer, std::span<const Message> messages) {
  const auto holder = held_.find(consumer);
  if (holder == held_.end()) return notAttached();
  std::vector<Message> removed;
  for (const Message& message : messages)
    if (std::erase_if(holder->second, [&](const Message& held) { return held.position == message.position; }) > 0)
      removed.push_back(message);
  return removed;
}

void Broker::drop(Connection consumer) noexcept {
  const auto holder = held_.find(consumer);
  if (holder == held_.end()) return;
  queue_.insert(queue_.end(), holder->second.begin(), holder->second.end());
  std::ranges::sort(queue_, {}, &Message::position);
  held_.erase(holder);
}

}  // namespace tenure::simulation
