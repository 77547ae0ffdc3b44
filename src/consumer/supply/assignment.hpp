/// The two values that pass between the supply and a lane, and the messages that they name by their places. Pure.
///
///     supply ── Assignment: these messages are the lane's, in this order ──────────────────► lane
///     supply ◄── Report: these are done; these are given back, and wait until then ──────── lane
///
/// A lane of this process gets the messages beside its assignment, from the same call (Handout).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "consumer/supply/resequencer.hpp"
#include "messages/headers.hpp"
#include "tenure/consumer_events.hpp"
#include "tenure/message.hpp"
#include "tenure/values.hpp"

namespace tenure::supply {

/// Names a message that is with the supply. No other message of the term gets the same place; 0: the message never was
/// with the supply.
///
/// Places and times are those of this process: values that go to another machine have the message's position at the
/// source, and the store's time, in their stead.
using Place = std::uint64_t;

/// A message as all parts of the consumer hand it on: it never changes, and lives as long as a part holds it.
class MessagePtr {
 public:
  MessagePtr() = default;
  MessagePtr(Message message, const Standing& standing, Place place)
      : held_(std::make_shared<const Held>(Held{std::move(message), standing, place})) {}

  const Message& operator*() const noexcept { return held_->message; }
  const Message* operator->() const noexcept { return &held_->message; }
  const Standing& standing() const noexcept { return held_->standing; }
  Place place() const noexcept { return held_->place; }
  explicit operator bool() const noexcept { return held_ != nullptr; }
  std::shared_ptr<const Message> shared() const noexcept { return {held_, &held_->message}; }
  void reset() noexcept { held_.reset(); }
  /// The same one.
  friend bool operator==(const MessagePtr&, const MessagePtr&) = default;

 private:
  struct Held {
    Message message;
    Standing standing;
    Place place;
  };

  std::shared_ptr<const Held> held_;
};
inline MessagePtr sealed(Message message, const Standing& standing = {}, Place place = 0) {
  return {std::move(message), standing, place};
}

/// Stubs of those messages that the source knows.
inline std::vector<Message> stubsOf(std::span<const MessagePtr> all) {
  std::vector<Message> stubs;
  stubs.reserve(all.size());
  for (const MessagePtr& message : all)
    if (!message.standing().isKept) stubs.push_back(stubOf(*message));
  return stubs;
}

struct Item {
  Place place = 0;
  bool isSuspect = false;  // a process may have died of it: its lane narrows suspects down, or charges them

  friend bool operator==(const Item&, const Item&) = default;
};

/// Messages for a lane.
struct Assignment {
  std::uint64_t attachment = 0;  // counts how often the source was attached in this term
  std::uint64_t number = 0;      // counts the lane's assignments
  std::vector<Item> items{};

  friend bool operator==(const Assignment&, const Assignment&) = default;
};

/// The ends of messages that a lane has had, in the order in which they were committed.
struct Report {
  struct Done {
    Place place = 0;
    bool hadRun = true;  // false only where requests coalesce: the next of those that it stood for takes its place

    friend bool operator==(const Done&, const Done&) = default;
  };
  std::uint64_t attachment = 0;  // the lane's; a report of another attachment is dropped
  std::uint64_t number = 0;      // the last assignment that the lane has got
  std::vector<Done> done{};      // committed, in the lane's order
  std::vector<Item> parked{};    // all that the lane has of their line; `isSuspect`: still, or from now on
  BootTime until{};              // when the parked ones may be handed out again
  std::vector<Place> unbegun{};  // messages of those above that have a rate limit's token and did not use it
  bool releases = false;         // lines of which the lane has nothing any more may go to other lanes

  friend bool operator==(const Report&, const Report&) = default;
};

/// An assignment, its messages, and facts about them for a lane of this process.
struct Handout {
  Assignment assignment{};
  std::vector<MessagePtr> messages{};       // a message for each item
  std::size_t startable = 0;                // the first of them that may begin without being on the lane's record
  bool areCounted = false;                  // each start, by a rate limit
  bool haveTokens = false;                  // for that
  std::vector<MessageHeldBack> heldBack{};  // messages that a rate limit holds back, each once

  void add(const MessagePtr& message, bool isSuspect) {
    assignment.items.push_back({message.place(), isSuspect});
    messages.push_back(message);
  }
};

}  // namespace tenure::supply
