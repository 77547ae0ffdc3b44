#include "broker.hpp"

#include <algorithm>

namespace tenure::simulation {
namespace {

constexpr std::size_t mostLost = 4;  // acknowledgements that were on their way

Error notAttached() { return {Errc::unavailable, "the connection to the broker has ended"}; }

}  // namespace

void Broker::append(const NewMessage& message, WallTime at) {
  queue_.push_back({Message{message, at, 0}, ++lastPlace_});
}

bool Broker::empty() const noexcept {
  return queue_.empty() &&
         std::ranges::all_of(held_, [](const auto& one) { return one.second.unacknowledged.empty(); });
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
  std::vector<Message> messages;
  for (; messages.size() < max && !queue_.empty(); queue_.pop_front()) {
    Entry entry = std::move(queue_.front());
    entry.message.position = ++lastDelivery_;
    ++entry.deliveries;
    messages.push_back(entry.message);
    holder->second.unacknowledged.push_back(std::move(entry));
  }
  return messages;
}

Result<std::vector<Message>> Broker::acknowledge(Connection consumer, std::span<const Message> messages) {
  const auto holder = held_.find(consumer);
  if (holder == held_.end()) return notAttached();
  auto& [unacknowledged, acknowledged] = holder->second;
  std::vector<Message> removed;
  for (const Message& message : messages) {
    const auto held = std::ranges::find_if(unacknowledged,
                                           [&](const Entry& one) { return one.message.position == message.position; });
    if (held == unacknowledged.end()) continue;
    removed.push_back(message);
    acknowledged.push_back(std::move(*held));
    unacknowledged.erase(held);
  }
  while (acknowledged.size() > mostLost) acknowledged.pop_front();
  return removed;
}

void Broker::drop(Connection consumer) noexcept {
  const auto holder = held_.find(consumer);
  if (holder == held_.end()) return;
  auto& back = holder->second.unacknowledged;
  if (plan_.returns == Returns::inAnyOrder)
    for (std::size_t i = back.size(); i > 1; --i) std::swap(back[i - 1], back[random_.below(i)]);
  queue_.insert(queue_.begin(), back.begin(), back.end());
  if (plan_.returns == Returns::inPlace) std::ranges::sort(queue_, {}, &Entry::place);
  held_.erase(holder);
}

std::vector<Message> Broker::lose(Connection consumer) {
  std::vector<Message> again;
  const auto holder = held_.find(consumer);
  if (holder != held_.end() && plan_.losesAcknowledgements) {
    auto& [unacknowledged, acknowledged] = holder->second;
    for (std::size_t lost = random_.below(acknowledged.size() + 1); lost > 0; --lost, acknowledged.pop_back()) {
      again.push_back(acknowledged.back().message);
      unacknowledged.insert(unacknowledged.begin(), acknowledged.back());
    }
  }
  drop(consumer);
  return again;
}

bool Broker::isRedelivered(const Message& message) const {
  return std::ranges::any_of(held_, [&](const auto& one) {
    return std::ranges::any_of(one.second.unacknowledged, [&](const Entry& entry) {
      return entry.message.position == message.position && entry.deliveries > 1;
    });
  });
}

}  // namespace tenure::simulation
