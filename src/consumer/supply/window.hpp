/// Tracks which received messages are not done, in source order; the first few of them are the front. Pure.
///
///     done ── ● ── done ── ● ── ●      each message has a number; what is done at the old end is forgotten
///             └ front ─────┘
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace tenure::supply {

class Window {
 public:
  using Number = std::uint64_t;  // counts what was received

  explicit Window(std::size_t unrecordedWindow) : unrecordedWindow_(unrecordedWindow) {}

  Number add() {
    done_.push_back(false);
    ++size_;
    growFront();
    return end() - 1;
  }
  void done(Number number) {
    done_[number - begin_] = true;
    --size_;
    if (isInFront(number)) --frontSize_;
    growFront();
    while (!done_.empty() && done_.front()) {
      done_.pop_front();
      ++begin_;
    }
  }
  /// All are forgotten; their numbers do not come again.
  void clear() {
    frontEnd_ = begin_ = end();
    done_.clear();
    size_ = frontSize_ = 0;
  }

  std::size_t size() const noexcept { return size_; }
  Number last() const noexcept { return end() - 1; }
  bool isInFront(Number number) const noexcept { return number < frontEnd_; }
  /// Among the first `count`, of which some may be done.
  bool isAmongFirst(std::size_t count, Number number) const noexcept { return number - begin_ < count; }

 private:
  Number end() const noexcept { return begin_ + done_.size(); }
  void growFront() {
    for (; frontSize_ < unrecordedWindow_ && frontEnd_ < end(); ++frontEnd_)
      if (!done_[frontEnd_ - begin_]) ++frontSize_;
  }

  const std::size_t unrecordedWindow_;
  std::deque<bool> done_;
  Number begin_ = 1;
  std::size_t size_ = 0;
  Number frontEnd_ = 1;
  std::size_t frontSize_ = 0;
};

}  // namespace tenure::supply
