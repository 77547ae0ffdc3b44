/// The messages that a lane has in hand, in order, and how far each part has come. Pure.
///
///   ├─ settled ─┼─ joined ─┼─ head … ─────────────────────┤
///   ├─ apart ──┤   come one by one
///   ├─ suspects ─────┤  an earlier term may have died of them: each is alone in its transaction, or they are
///                       narrowed down first, and share transactions like any others
///   ├─ startable ────────┤  the durable record allows them to begin
///
/// The settled ones are pending writes of the open transaction, the joined ones wait for each other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <unordered_set>
#include <vector>

#include "base/assert.hpp"
#include "consumer/values.hpp"

namespace tenure::consuming {

/// The source delivers it again unless it is acknowledged.
inline bool isOfSource(const MessagePtr& message) noexcept { return !message.standing().isKept; }

class LaneQueue {
 public:
  std::span<const MessagePtr> messages() const noexcept { return std::span{messages_}.subspan(first_); }
  std::span<const MessagePtr> settledOnes() const noexcept { return messages().first(settled_); }
  std::span<const MessagePtr> joinedOnes() const noexcept { return messages().subspan(settled_, joined_); }
  const MessagePtr& head() const noexcept { return messages_[first_ + settled_ + joined_]; }
  std::size_t size() const noexcept { return messages_.size() - first_; }
  std::size_t settled() const noexcept { return settled_; }
  std::size_t joined() const noexcept { return joined_; }
  /// How many settled messages the source knows.
  std::size_t settledOfSource() const noexcept {
    return static_cast<std::size_t>(std::ranges::count_if(settledOnes(), isOfSource));
  }
  std::size_t apart() const noexcept { return apart_; }
  std::size_t suspects() const noexcept { return suspects_; }
  std::size_t startable() const noexcept { return startable_; }
  bool isSuspect() const noexcept { return settled_ < suspects_; }
  bool narrows() const noexcept { return narrows_; }
  bool areAlone() const noexcept { return suspects_ > 0 && !narrows_; }

  // Messages that come.

  void add(std::vector<MessagePtr> messages) {
    if (first_ * 2 >= messages_.size()) compact();  // a long one is not moved for a few
    messages_.insert(messages_.end(), std::move_iterator(messages.begin()), std::move_iterator(messages.end()));
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
    apart_ -= std::min(apart_, settled_);
    for (std::size_t i = 0; i < settled_; ++i) messages_[first_ + i].reset();
    first_ += settled_;
  }

  /// Of those that may begin, these come first; the order of others, and of these, stays. False: they are first.
  bool bringForward(const std::unordered_set<supply::Place>& places) {
    const auto isOne = [&](const MessagePtr& message) { return places.contains(message.place()); };
    const std::size_t begun = settled_ + joined_;
    const auto from = messages_.begin() + static_cast<std::ptrdiff_t>(first_ + begun);
    const auto to = from + static_cast<std::ptrdiff_t>(std::max(std::min(startable_, size()), begun) - begun);
    if (std::is_partitioned(from, to, isOne)) return false;
    std::stable_partition(from, to, isOne);
    return true;
  }

  // Messages that go.

  /// Drops all messages: they will come again.
  void drop() noexcept {
    messages_.clear();
    first_ = 0;
  }
  /// All of one line. They come again in this order, so that all counts go on to stand for the first of them.
  std::vector<MessagePtr> takeAll() {
    TENURE_ASSERT(settled_ == 0);
    std::vector<MessagePtr> all(messages().begin(), messages().end());
    drop();
    return all;
  }
  /// The head and what follows it in its group.
  std::vector<MessagePtr> takeGroup() {
    TENURE_ASSERT(settled_ == 0);
    const MessagePtr first = head();
    std::vector<MessagePtr> group;
    LaneQueue stays;
    stays.narrows_ = narrows_;
    for (std::size_t i = 0; i < size(); ++i) {
      const MessagePtr& message = messages()[i];
      if (first->group.value.empty() ? i == 0 : message->group == first->group) {
        group.push_back(message);
        continue;
      }
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
  std::size_t settled_ = 0;
  std::size_t joined_ = 0;
  std::size_t apart_ = 0;
  std::size_t suspects_ = 0;
  bool narrows_ = false;
  std::size_t startable_ = 0;
};

}  // namespace tenure::consuming
