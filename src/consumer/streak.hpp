/// Stops a consumer whose messages all become dead letters: more likely than that each of them is bad is a slip of the
/// operator's that would empty the queue.
///
///   counting ──a message dies──▶ counting ──as many in a row as there may be──▶ stopped ──an operator lets it go──▶
///   counting
///      ▲                            │
///      └── one is done or skipped ──┘
///
/// It is kept in the store as an attempt record that stands for no message (deadInARow()), in the transaction that
/// dead-letters: so every leader finds the consumer stopped, and an operator's release of that record is the word to go
/// on. All lanes of a term share one. The same message twice is one.
///
/// Threads: any.
#pragma once

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "tenure/consumer.hpp"
#include "tenure/spi/admin.hpp"

namespace tenure::consuming {

/// Of an attempt record that stands for no message.
inline AttemptRecord noteCalled(MessageId id) {
  AttemptRecord note;
  note.id = std::move(id);
  return note;
}

class Streak {
 public:
  explicit Streak(const ConsumerOptions& options) : limit_(options.deadLetterLimit) {}

  struct Death {
    bool counted = false;
    bool stops = false;  // it is one too many
  };

  /// As earlier terms left it; nullopt: nothing is on record.
  void restore(const std::optional<AttemptRecord>& record);
  /// A message becomes a dead letter in a transaction that has yet to commit.
  Death died(const MessageId& id, const std::string& reason, WallTime now);
  /// It did not commit, with so many of them.
  void undone(int deaths);
  /// Durable: something was done.
  void broken();
  /// What an operator has said of it by now; nullopt: nothing is on record any more. True: we go on.
  bool heard(const std::optional<AttemptRecord>& record);

  /// What is on record is as record() says.
  void kept();

  bool isStopped() const;
  /// What is on record is over.
  bool isLeftOver() const;
  bool counts() const;
  /// As it is to be kept.
  AttemptRecord record() const;

 private:
  const std::size_t limit_;
  mutable std::mutex mutex_;
  AttemptRecord record_ = noteCalled(deadInARow());
  std::optional<MessageId> last_;
  bool leftOver_ = false;
};

/// The one with this id.
std::optional<AttemptRecord> noteIn(const std::vector<AttemptRecord>& attempts, const MessageId& id);

}  // namespace tenure::consuming
