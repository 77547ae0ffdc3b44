#include "messages/unpacking_source.hpp"

#include <algorithm>

#include "messages/packs.hpp"

namespace tenure::messages {

Result<void> UnpackingSource::attach(const Term& term) {
  forget();
  return source_->attach(term);
}

void UnpackingSource::detach() noexcept {
  source_->detach();
  forget();
}

void UnpackingSource::forget() noexcept {
  ready_.clear();
  open_.clear();
  over_.clear();
}

Result<std::vector<Message>> UnpackingSource::fetch(std::size_t max, BootTime deadline, std::stop_token stop) {
  if (ready_.empty()) {
    Result<std::vector<Message>> fetched = source_->fetch(max, deadline, std::move(stop));
    if (!fetched) return fetched.error();
    for (Message& each : *fetched) take(std::move(each));
  }
  std::vector<Message> messages;
  while (!ready_.empty() && messages.size() < max) {
    messages.push_back(std::move(ready_.front()));
    ready_.pop_front();
  }
  return messages;
}

void UnpackingSource::take(Message message) {
  Open open;
  open.first = last_ + 1;
  std::vector<NewMessage> packed;
  if (isPack(message)) {
    auto found = messagesIn(message);
    if (found)
      packed = *std::move(found);
    else
      message.headers.emplace_back(leftOutHeader, found.error().detail);
  }
  open.carrier.id = message.id;
  open.carrier.position = message.position;
  const WallTime enqueuedAt = message.enqueuedAt;
  if (packed.empty()) {
    message.position = ++last_;
    ready_.push_back(std::move(message));
  }
  for (NewMessage& each : packed) {
    std::erase_if(each.headers, [](const auto& header) { return header.first == leftOutHeader; });
    ready_.push_back({std::move(each), enqueuedAt, ++last_});
  }
  open.left = static_cast<std::size_t>(last_ - open.first + 1);
  open.acknowledged.resize(open.left);
  open_.emplace(last_, std::move(open));
}

Result<void> UnpackingSource::acknowledge(std::span<const Message> messages) {
  for (const Message& message : messages) {
    const auto found = open_.lower_bound(message.position);
    if (found == open_.end() || message.position < found->second.first) continue;  // it was before
    Open& open = found->second;
    const auto place = static_cast<std::size_t>(message.position - open.first);
    if (open.acknowledged[place]) continue;
    open.acknowledged[place] = true;
    if (--open.left > 0) continue;
    over_.push_back(std::move(open.carrier));
    open_.erase(found);
  }
  if (over_.empty()) return {};
  Result<void> told = source_->acknowledge(over_);
  if (told) over_.clear();
  return told;
}

}  // namespace tenure::messages
