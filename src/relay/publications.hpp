/// Remembers which messages this term has published, for those that are handled again. Pure.
///
///   batch ──every message stored──▶ done ──its commit fails──▶ the batch comes again, and is not published again
///     └─some refused, or the target is away──▶ split: each message comes alone
///                                                ├─ stored before: done, and not published again
///                                                ├─ refused before: that is its attempt
///                                                └─ else: published now
///
/// Of messages that were stored, the last 32,768 are remembered: more than lanes have in hand as a rule.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenure/consumer.hpp"

namespace tenure::relaying {

/// The meaning of the target's answer for its message.
enum class Answer {
  stored,
  refused,   // another attempt may find what was missing: a queue, a binding
  hopeless,  // no attempt can help
  untried,   // its turn comes when the one before it in its group has had its own
  away,      // not the message's fault: the target is down, full or slow, or its reply was lost
};
Answer answerOf(const Result<void>& result) noexcept;

/// The outcome of a message that was refused, or whose target is away.
Outcome outcomeOf(const Result<void>& result);

/// Threads: any.
class Publications {
 public:
  /// Returns the known result of each message. A refusal is forgotten once returned.
  std::vector<std::optional<Result<void>>> take(std::span<const Message> messages);
  void remember(std::span<const Message> messages, std::span<const Result<void>> results);
  void clear();

 private:
  /// A source may deliver two messages of one id, and count anew when it is attached again.
  using Key = std::pair<std::int64_t, std::string>;

  std::mutex mutex_;
  std::map<Key, Result<void>> results_;
  std::deque<Key> stored_;  // the oldest first
};

}  // namespace tenure::relaying
