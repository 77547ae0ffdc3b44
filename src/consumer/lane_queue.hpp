/// The messages that a lane has in hand, in order, and how far each part has come. Pure.
///
///   ├─ settled ─┼─ joined ─┼─ head … ─────────────────────┤
///   ├─ held ─────┤ kept in the store: the source knows nothing of them
///   ├─ apart ──┤   come one by one
///   ├─ suspects ─────┤  an earlier term may have died of them: each is alone in its transaction, or they are
///                       narrowed down first, and share transactions like any others
///   ├─ startable ────────┤  the durable record allows them to begin
///
/// The settled ones are pending writes of the open transaction, the joined ones wait for each other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <unordered_set>
#include <vector>

#include "base/assert.hpp"
#include "consumer/values.hpp"

namespace tenure::consuming {

class LaneQueue {
 public:
  std::span<const MessagePtr> messages() const noexcept { return std::span{messages_}.subspan(first_); }
  std::span<const MessagePtr> settledOnes() const noexcept { return messages().first(settled_); }
  std::span<const MessagePtr> joinedOnes() const noexcept { return messages().subspan(settled_, joined_); }
  const MessagePtr& head() const noexcept { return messages_[first_ + settled_ + joined_]; }
  std::size_t size() const noexcept { return messages_.size() - first_; }
  std::size_t settled() const noexcept { return settled_; }
  std::size_t joined() const noexcept { return joined_; }
  std::size_t held() const noexcept { return held_; }
  std::size_t apart() const noexcept { return apart_; }
  std::size_t suspects() const noexcept { return suspects_; }
  std::size_t startable() const noexcept { return startable_; }
  bool isSuspect() const noexcept { return settled_ < suspects_; }
  bool narrows() const noexcept { return narrows_; }
  bool areAlone() const noexcept { return suspects_ > 0 && !narrows_; }

  // Messages that come.

  void add(std::vector<Message> messages) {
    if (first_ * 2 >= messages_.size()) compact();  // a long one is not moved for a few
    messages_.reserve(messages_.size() + messages.size());
    for (Message& message : messages) messages_.push_back(sealed(std::move(message)));
  }
  /// Kept ones, behind those that are held already.
  void addKept(std::vector<Message> messages) {
    TENURE_ASSERT(settled_ == 0 && joined_ == 0);
    const auto place = messages_.begin() + static_cast<std::ptrdiff_t>(first_ + held_);
    held_ += messages.size();
    std::vector<MessagePtr> kept;
    for (Message& message : messages) kept.push_back(sealed(std::move(message)));
    messages_.insert(place, kept.begin(), kept.end());
  }
  /// The places of dropped messages are taken by those for which they stood.
  void addSuccessors(std::vector<Message> successors) {
    for (Message& successor : successors) {
      const auto begin = messages_.begin() + static_cast<std::ptrdiff_t>(first_);
      const auto place = std::ranges::upper_bound(begin, messages_.end(), successor.position, {},
                                                  [](const MessagePtr& message) { return message->position; });
      messages_.insert(place, sealed(std::move(successor)));
    }
  }
  /// A source delivers again in order, so what was in work is at its front.
  void findSuspects(const SuspectScan& scan) {
    for (std::size_t i = 0; i < size(); ++i)
      if (scan.named.contains(messages()[i]->id)) suspects_ = i + 1;
    if (scan.first > 0) suspects_ = std::max(suspects_, std::min(held_ + scan.first, size()));
  }
  void suspectAll() noexcept {
    suspects_ = size();
    if (!narrows_) startable_ = size();
  }
  void narrow(bool narrows) noexcept { narrows_ = narrows; }
  void setSuspects(std::size_t suspects) noexcept { suspects_ = suspects; }
  void setStartable(std::size_t messages) noexcept { startable_ = messages; }

  // The open transaction.

  void settle() noexcept { ++settled_; }
  void join() noexcept { ++joined_; }
  void settleJoined() noexcept {
    settled_ += joined_;
    joined_ = 0;
  }
  void undo() noexcept { settled_ = joined_ = 0; }
  /// Messages that the transaction began together come one by one.
  void separate() noexcept { apart_ = settled_ + joined_; }
  /// The settled messages leave; how many suspects are left is for setSuspects().
  void leave() noexcept {
    held_ -= std::min(held_, settled_);
    apart_ -= std::min(apart_, settled_);
    for (std::size_t i = 0; i < settled_; ++i) messages_[first_ + i].reset();
    first_ += settled_;
  }

  // Messages that go.

  /// Drops the messages that came from the source: they will come again.
  void drop() {
    compact();
    messages_.resize(held_);
  }
  struct Group {
    std::vector<MessagePtr> fromSource;
    std::vector<MessageId> ids;  // and of those that were kept
  };
  /// The head and what follows it in its group.
  Group takeGroup() {
    TENURE_ASSERT(settled_ == 0);
    const MessagePtr first = head();
    Group group;
    LaneQueue stays;
    stays.narrows_ = narrows_;
    for (std::size_t i = 0; i < size(); ++i) {
      const MessagePtr& message = messages()[i];
      if (first->group.value.empty() ? i == 0 : message->group == first->group) {
        group.ids.push_back(message->id);
        if (i >= held_) group.fromSource.push_back(message);
        continue;
      }
      if (i < held_) ++stays.held_;
      if (i < startable_) ++stays.startable_;
      if (i < suspects_) ++stays.suspects_;
      if (i < apart_) ++stays.apart_;
      stays.messages_.push_back(message);
    }
    if (startable_ > size()) stays.startable_ = startable_;
    *this = std::move(stays);
    return group;
  }

 private:
  void compact() {
    messages_.erase(messages_.begin(), messages_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }

  std::vector<MessagePtr> messages_;  // from first_ on
  std::size_t first_ = 0;
  std::size_t held_ = 0;
  std::size_t settled_ = 0;
  std::size_t joined_ = 0;
  std::size_t apart_ = 0;
  std::size_t suspects_ = 0;
  bool narrows_ = false;
  std::size_t startable_ = 0;
};

}  // namespace tenure::consuming
