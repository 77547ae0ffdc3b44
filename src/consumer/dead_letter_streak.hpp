/// Stops a consumer whose messages all become dead letters: more likely than that each of them is bad is a slip of the
/// operator's that would empty the queue.
///
///   counting ──a message dies──▶ counting ──as many in a row as there may be──▶ stopped ──an operator lets it go──▶
///   counting
///      ▲                            │
///      └── one is done or skipped ──┘
///
/// It is kept in the store, in the transaction that dead-letters: so every leader finds the consumer stopped, and an
/// operator's word there (IStoreAdmin::resume) lets it go on. All lanes of a term share one. The same message twice is
/// one.
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

  /// As earlier terms left it; nullopt: nothing is on record.
  void restore(const std::optional<DeadLetterStreakRecord>& record);
  /// A message becomes a dead letter in a transaction that has yet to commit.
  Death died(const MessageId& id, const std::string& reason, WallTime now);
  /// It did not commit, with so many of them.
  void undone(int deaths);
  /// Durable: something was done.
  void broken();
  /// What an operator has said of it by now; nullopt: nothing is on record any more. True: we go on.
  bool heard(const std::optional<DeadLetterStreakRecord>& record);

  /// What is on record is as record() says.
  void kept();

  bool isStopped() const;
  /// What is on record is over.
  bool isLeftOver() const;
  bool counts() const;
  /// As it is to be kept.
  DeadLetterStreakRecord record() const;

 private:
  const std::size_t limit_;
  mutable std::mutex mutex_;
  DeadLetterStreakRecord record_;
  std::optional<MessageId> last_;
  bool leftOver_ = false;
};

}  // namespace tenure::consuming
