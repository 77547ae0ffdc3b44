/// Stops a consumer whose messages all become dead letters: an operator's mistake is more likely than that each of them
/// is bad, and it would empty the queue.
///
///   counting ──a message dies──▶ counting ──as many in a row as there may be──▶ stopped ──an operator resumes it──▶
///   counting
///      ▲                            │
///      └── one is done or skipped ──┘
///
/// The streak is stored in the transaction that dead-letters: so every leader finds the consumer stopped, until an
/// operator resumes it there (IStoreAdmin::resume). All lanes of a term share one streak. The same message twice counts
/// once.
///
/// Threads: any.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "tenure/consumer.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::consuming {

class DeadLetterStreak {
 public:
  explicit DeadLetterStreak(const ConsumerOptions& options) : limit_(options.deadLetterLimit) {}

  struct Death {
    bool counted = false;
    bool stops = false;  // it is one too many
  };

  /// Restores the streak of earlier terms; nullopt: nothing is on record.
  void restore(const std::optional<DeadLetterStreakRecord>& record);
  /// A message becomes a dead letter in a transaction that has yet to commit.
  Death died(const MessageId& id, const std::string& reason, WallTime now);
  /// The transaction did not commit: takes back its `deaths`.
  void undone(int deaths);
  /// A success is durable: the streak ends.
  void broken();
  /// Takes the record as an operator may have changed it; nullopt: it is gone. Returns whether the consumer goes on.
  bool heard(const std::optional<DeadLetterStreakRecord>& record);

  /// The store's record is now as record() says.
  void kept();

  bool isStopped() const;
  /// The store's record is outdated: its streak is over.
  bool isLeftOver() const;
  bool counts() const;
  /// The record to keep in the store.
  DeadLetterStreakRecord record() const;

 private:
  const std::size_t limit_;
  mutable std::mutex mutex_;
  DeadLetterStreakRecord record_;
  std::optional<MessageId> last_;
  bool leftOver_ = false;
};

}  // namespace tenure::consuming
