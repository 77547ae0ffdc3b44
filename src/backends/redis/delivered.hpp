/// The ids that the source of a Database handed out, in order. Its store guesses from them what will be admitted next.
/// Nothing depends on the guess being right. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "tenure/message.hpp"

namespace tenure::redis {

class Delivered {
 public:
  void add(std::span<const Message> messages) {
    // What lies before the last id asked for is through, or comes again after the next attach.
    ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(next_));
    next_ = 0;
    for (const Message& message : messages) ids_.push_back(message.id);
  }
  /// How many the last transaction admitted: so many will be wanted next time.
  void admitted(std::size_t count) noexcept { usual_ = std::max<std::size_t>(count, 1); }
  std::size_t usual() const noexcept { return usual_; }
  void clear() noexcept {
    ids_.clear();
    next_ = 0;
  }

  /// `id` and at most `count` - 1 of those that were delivered right after it.
  std::vector<MessageId> from(const MessageId& id, std::size_t count) {
    auto found = std::find(ids_.begin() + static_cast<std::ptrdiff_t>(next_), ids_.end(), id);
    if (found == ids_.end()) found = std::find(ids_.begin(), ids_.end(), id);
    if (found == ids_.end()) return {id};
    next_ = static_cast<std::size_t>(found - ids_.begin());
    return {found, found + std::min<std::ptrdiff_t>(ids_.end() - found, static_cast<std::ptrdiff_t>(count))};
  }

 private:
  std::vector<MessageId> ids_;
  std::size_t usual_ = 1;
  std::size_t next_ = 0;  // of the last that was asked for
};

}  // namespace tenure::redis
