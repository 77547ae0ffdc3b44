/// Behind which message a look at the waiting room may begin, where strangers' transactions add messages. Pure.
///
/// Messages have places that grow as they are added, and become visible when their transactions commit, in any order.
/// So a look that began behind the last message seen would miss those that come late. But a transaction has its number
/// before it draws a place. When a transaction of ours has a number, each place that was seen before was drawn under a
/// lower one; and when the oldest transaction that may still add a message has a higher one than ours, all those
/// transactions are over: at such a place, or before it, no message appears any more.
///
/// The reason for all this: under a snapshot that somebody keeps open, messages that are gone stay in the index, and a
/// look from the front passes each of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace tenure::scheduled {

class SettledBound {
 public:
  /// A transaction of ours has this number. What it reads comes after that.
  void began(std::int64_t transaction) {
    if (!waiting_) waiting_ = Waiting{seen_, transaction};
  }
  /// A message at that place was seen.
  void saw(std::int64_t place) { seen_ = std::max(seen_, place); }
  /// The transaction of ours that the next look's `oldestWriter` is compared with; nullopt where it does not count.
  std::optional<std::int64_t> awaits() const { return waiting_ ? std::optional(waiting_->transaction) : std::nullopt; }
  /// A look: the first place behind begin() that has a message. `oldestWriter`: before it began, no older transaction
  /// was left that may add a message.
  void looked(std::optional<std::int64_t> first, std::int64_t oldestWriter) {
    if (waiting_ && oldestWriter > waiting_->transaction) {
      settled_ = std::max(settled_, waiting_->place);
      waiting_.reset();
    }
    begin_ = std::max(begin_, first ? std::min(settled_, *first - 1) : settled_);
    if (first) saw(*first);
  }
  /// Messages are behind this place, if there are any.
  std::int64_t begin() const noexcept { return begin_; }

 private:
  struct Waiting {
    std::int64_t place;
    std::int64_t transaction;
  };

  std::int64_t seen_ = 0;
  std::optional<Waiting> waiting_;  // until all transactions before that one are over
  std::int64_t settled_ = 0;
  std::int64_t begin_ = 0;
};

}  // namespace tenure::scheduled
