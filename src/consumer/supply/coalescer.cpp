#include "consumer/supply/coalescer.hpp"

#include <algorithm>
#include <utility>

#include "messages/headers.hpp"

namespace tenure::supply {
namespace {

constexpr std::size_t bookkeeping = 256;  // bytes that a message costs beside its contents

std::size_t weightOf(const Message& message) { return bookkeeping + sizeOf(message); }

/// A group's place, or that of a key without a group.
std::string placeIn(const Message& message, const std::string& key) {
  if (!message.group.value.empty()) return "g" + message.group.value;
  return key.empty() ? std::string{} : "k" + key;
}

}  // namespace

std::string Coalescer::keyOf(const Message& message) const {
  if (header_.empty()) return message.group.value;
  const std::string* key = headerOf(message, header_);
  return key == nullptr ? std::string{} : *key;
}

std::string Coalescer::placeOf(const Message& message) const { return placeIn(message, keyOf(message)); }

void Coalescer::sift(std::vector<Message>& messages, const std::unordered_set<MessageId>& named, Named how) {
  std::size_t kept = 0;
  for (Message& message : messages) {
    const bool isNamed = named.contains(message.id);
    const std::string key = isNamed && how == Named::standAlone ? std::string{} : keyOf(message);
    const std::string place = placeIn(message, key);
    const auto open = open_.find(place);
    if (!key.empty() && !isNamed && open != open_.end() && !open->second.closed && open->second.key == key) {
      standFor(runs_.at(open->second.run), std::move(message));
      continue;
    }
    if (key.empty()) {
      open_.erase(place);
    } else {
      open_.insert_or_assign(place, Open{key, message.position});
      runs_.emplace(message.position, Run{.place = place});
    }
    bytes_ += weightOf(message);
    if (&messages[kept] != &message) messages[kept] = std::move(message);
    ++kept;
  }
  messages.resize(kept);
}

void Coalescer::standFor(Run& run, Message message) {
  const std::size_t bytes = weightOf(message);
  const bool isSuccessor = run.successors == run.others.size() && run.successors < mostSuccessors &&
                           successorBytes_ + bytes <= mostSuccessorBytes;
  if (isSuccessor) {
    ++run.successors;
    successorBytes_ += bytes;
  }
  run.others.push_back(isSuccessor ? std::move(message) : stubOf(message));
  ++coalesced_;
}

void Coalescer::close(std::int64_t run, const std::string& place) {
  const auto open = open_.find(place);
  if (open != open_.end() && open->second.run == run) open->second.closed = true;
}

void Coalescer::begins(const Message& message) {
  if (const auto run = runs_.find(message.position); run != runs_.end()) close(message.position, run->second.place);
}

bool Coalescer::standsForOthers(const Message& message) const {
  const auto run = runs_.find(message.position);
  return run != runs_.end() && run->second.first < run->second.others.size();
}

std::vector<Message> Coalescer::others(const Message& message) const {
  std::vector<Message> stubs;
  const auto run = runs_.find(message.position);
  if (run == runs_.end()) return stubs;
  for (const Message& other : std::span{run->second.others}.subspan(run->second.first)) stubs.push_back(stubOf(other));
  return stubs;
}

Coalescer::End Coalescer::finish(const Message& message, bool hadRun) {
  End end;
  bytes_ -= std::min(bytes_, weightOf(message));
  if (hadRun) end.others = others(message);
  auto run = runs_.extract(message.position);
  if (!run) return end;
  const bool leavesOthers = !hadRun && run.mapped().first < run.mapped().others.size();
  if (leavesOthers && run.mapped().hasSuccessor()) {
    end.successor = inherit(message.position, std::move(run.mapped()));
  } else {
    end.leavesStubs = leavesOthers;
    forget(message.position, run.mapped());
  }
  return end;
}

void Coalescer::forget(std::int64_t position, const Run& run) {
  coalesced_ -= run.others.size() - run.first;
  for (std::size_t i = run.first; i < run.successors; ++i) successorBytes_ -= weightOf(run.others[i]);
  const auto open = open_.find(run.place);
  if (open != open_.end() && open->second.run == position) open_.erase(open);
}

/// The successor goes on to stand for new messages, as long as nothing else of its group has come.
Message Coalescer::inherit(std::int64_t dropped, Run run) {
  Message successor = std::move(run.others[run.first++]);
  --coalesced_;
  successorBytes_ -= weightOf(successor);
  bytes_ += weightOf(successor);
  const auto open = open_.find(run.place);
  if (open != open_.end() && open->second.run == dropped) open->second = Open{open->second.key, successor.position};
  runs_.emplace(successor.position, std::move(run));
  return successor;
}

void Coalescer::clear() {
  runs_.clear();
  open_.clear();
  coalesced_ = bytes_ = successorBytes_ = 0;
}

}  // namespace tenure::supply
