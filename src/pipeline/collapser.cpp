#include "pipeline/collapser.hpp"

#include <algorithm>
#include <utility>

namespace tenure::pipeline {
namespace {

constexpr std::size_t bookkeeping = 256;  // bytes that a message costs beside its contents

std::size_t weightOf(const Message& message) {
  std::size_t bytes = bookkeeping + message.body.size();
  for (const auto& [name, value] : message.headers) bytes += name.size() + value.size();
  return bytes;
}

/// A group's place, or that of a key without a group.
std::string placeOf(const Message& message, const std::string& key) {
  return message.group.value.empty() ? "k" + key : "g" + message.group.value;
}

/// What its acknowledgement needs.
Message stubOf(Message message) {
  Message stub;
  stub.id = std::move(message.id);
  stub.enqueuedAt = message.enqueuedAt;
  stub.position = message.position;
  return stub;
}

}  // namespace

std::string Collapser::keyOf(const Message& message) const {
  if (header_.empty()) return message.group.value;
  const auto found = std::ranges::find(message.headers, header_, &Headers::value_type::first);
  return found == message.headers.end() ? std::string{} : found->second;
}

void Collapser::sift(std::vector<Message>& messages, const std::unordered_set<MessageId>& alone) {
  std::size_t kept = 0;
  for (Message& message : messages) {
    const bool apart = alone.contains(message.id);
    const std::string key = apart ? std::string{} : keyOf(message);
    const std::string place = placeOf(message, key);
    const auto open = open_.find(place);
    if (!key.empty() && open != open_.end() && open->second.key == key) {
      runs_.at(open->second.run).others.push_back(stubOf(std::move(message)));
      ++collapsed_;
      continue;
    }
    if (key.empty()) {
      open_.erase(place);
    } else {
      open_.insert_or_assign(place, Open{key, message.position});
      runs_.emplace(message.position, Run{place, {}});
    }
    bytes_ += weightOf(message);
    if (&messages[kept] != &message) messages[kept] = std::move(message);
    ++kept;
  }
  messages.resize(kept);
}

void Collapser::close(std::int64_t run, const std::string& place) {
  const auto open = open_.find(place);
  if (open != open_.end() && open->second.run == run) open_.erase(open);
}

void Collapser::begins(const Message& message) {
  if (const auto run = runs_.find(message.position); run != runs_.end()) close(message.position, run->second.place);
}

std::size_t Collapser::ran(const Message& message) {
  const auto run = runs_.find(message.position);
  if (run == runs_.end()) return 0;
  close(message.position, run->second.place);
  const std::vector<Message>& others = run->second.others;
  settled_.insert(settled_.end(), others.begin(), others.end());
  return others.size();
}

void Collapser::dropped(const Message& message) {
  const auto run = runs_.find(message.position);
  if (run == runs_.end()) return;
  close(message.position, run->second.place);
  orphans_ = orphans_ || !run->second.others.empty();
}

void Collapser::undone() noexcept {
  settled_.clear();
  orphans_ = false;
}

void Collapser::left(std::span<const Message> messages) {
  for (const Message& message : messages) {
    bytes_ -= std::min(bytes_, weightOf(message));
    const auto run = runs_.find(message.position);
    if (run == runs_.end()) continue;
    collapsed_ -= run->second.others.size();
    runs_.erase(run);
  }
  undone();
}

void Collapser::clear() {
  runs_.clear();
  open_.clear();
  collapsed_ = bytes_ = 0;
  undone();
}

}  // namespace tenure::pipeline
