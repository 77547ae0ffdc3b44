/// What a lane has to do, in order, and how far it is with it. Pure.
///
///   ├─ settled ─┼─ joined ─┼─ head … ─────────────────────┤
///   ├─ held ─────┤ kept in the store: the source knows nothing of them
///   ├─ apart ──┤   come one by one
///   ├─ suspects ─────┤  an earlier term may have died of them: each is alone in its transaction, or they are
///                       narrowed down first, and share transactions like any others
///   ├─ granted ──────────┤  the durable record allows them to begin
///
/// The settled ones are booked in the open transaction, the joined ones wait for each other.
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
  std::span<const Letter> letters() const noexcept { return std::span{letters_}.subspan(first_); }
  std::span<const Letter> settledOnes() const noexcept { return letters().first(settled_); }
  std::span<const Letter> joinedOnes() const noexcept { return letters().subspan(settled_, joined_); }
  const Letter& head() const noexcept { return letters_[first_ + settled_ + joined_]; }
  std::size_t size() const noexcept { return letters_.size() - first_; }
  std::size_t settled() const noexcept { return settled_; }
  std::size_t joined() const noexcept { return joined_; }
  std::size_t held() const noexcept { return held_; }
  std::size_t apart() const noexcept { return apart_; }
  std::size_t suspects() const noexcept { return suspects_; }
  std::size_t granted() const noexcept { return granted_; }
  bool isSuspect() const noexcept { return settled_ < suspects_; }
  bool narrows() const noexcept { return narrows_; }
  bool areAlone() const noexcept { return suspects_ > 0 && !narrows_; }

  // What comes.

  void add(std::vector<Message> messages) {
    if (first_ * 2 >= letters_.size()) compact();  // a long one is not moved for a few
    letters_.reserve(letters_.size() + messages.size());
    for (Message& message : messages) letters_.push_back(sealed(std::move(message)));
  }
  /// Kept ones, behind those that are held already.
  void addKept(std::vector<Message> messages) {
    TENURE_ASSERT(settled_ == 0 && joined_ == 0);
    const auto place = letters_.begin() + static_cast<std::ptrdiff_t>(first_ + held_);
    held_ += messages.size();
    std::vector<Letter> kept;
    for (Message& message : messages) kept.push_back(sealed(std::move(message)));
    letters_.insert(place, kept.begin(), kept.end());
  }
  /// The places of dropped messages are taken by those for which they stood.
  void addSuccessors(std::vector<Message> successors) {
    for (Message& successor : successors) {
      const auto begin = letters_.begin() + static_cast<std::ptrdiff_t>(first_);
      const auto place = std::ranges::upper_bound(begin, letters_.end(), successor.position, {},
                                                  [](const Letter& letter) { return letter->position; });
      letters_.insert(place, sealed(std::move(successor)));
    }
  }
  /// A source delivers again in order, so what was in work is at its front.
  void findSuspects(const Survey& survey) {
    for (std::size_t i = 0; i < size(); ++i)
      if (survey.named.contains(letters()[i]->id)) suspects_ = i + 1;
    if (survey.first > 0) suspects_ = std::max(suspects_, std::min(held_ + survey.first, size()));
  }
  void suspectAll() noexcept {
    suspects_ = size();
    if (!narrows_) granted_ = size();
  }
  void narrow(bool narrows) noexcept { narrows_ = narrows; }
  void setSuspects(std::size_t suspects) noexcept { suspects_ = suspects; }
  void grant(std::size_t messages) noexcept { granted_ = messages; }

  // The open transaction.

  void settle() noexcept { ++settled_; }
  void join() noexcept { ++joined_; }
  void settleJoined() noexcept {
    settled_ += joined_;
    joined_ = 0;
  }
  void undo() noexcept { settled_ = joined_ = 0; }
  /// What it has begun together comes one by one.
  void separate() noexcept { apart_ = settled_ + joined_; }
  /// What is settled is done with; how many suspects are left is for setSuspects().
  void leave() noexcept {
    held_ -= std::min(held_, settled_);
    apart_ -= std::min(apart_, settled_);
    for (std::size_t i = 0; i < settled_; ++i) letters_[first_ + i].reset();
    first_ += settled_;
  }

  // What goes.

  /// What came from the source will come again.
  void drop() {
    compact();
    letters_.resize(held_);
  }
  struct Group {
    std::vector<Letter> fromSource;
    std::vector<MessageId> ids;  // and of those that were kept
  };
  /// The head and what follows it in its group.
  Group takeGroup() {
    TENURE_ASSERT(settled_ == 0);
    const Letter first = head();
    Group group;
    LaneQueue stays;
    stays.narrows_ = narrows_;
    for (std::size_t i = 0; i < size(); ++i) {
      const Letter& letter = letters()[i];
      if (first->group.value.empty() ? i == 0 : letter->group == first->group) {
        group.ids.push_back(letter->id);
        if (i >= held_) group.fromSource.push_back(letter);
        continue;
      }
      if (i < held_) ++stays.held_;
      if (i < granted_) ++stays.granted_;
      if (i < suspects_) ++stays.suspects_;
      if (i < apart_) ++stays.apart_;
      stays.letters_.push_back(letter);
    }
    if (granted_ > size()) stays.granted_ = granted_;
    *this = std::move(stays);
    return group;
  }

 private:
  void compact() {
    letters_.erase(letters_.begin(), letters_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }

  std::vector<Letter> letters_;  // from first_ on
  std::size_t first_ = 0;
  std::size_t held_ = 0;
  std::size_t settled_ = 0;
  std::size_t joined_ = 0;
  std::size_t apart_ = 0;
  std::size_t suspects_ = 0;
  bool narrows_ = false;
  std::size_t granted_ = 0;
};

}  // namespace tenure::consuming
