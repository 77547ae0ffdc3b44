/// Values that travel between the parts of the consumer: only their holder can change them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "consumer/supply/assignment.hpp"
#include "messages/headers.hpp"
#include "tenure/consumer.hpp"
#include "tenure/events.hpp"
#include "tenure/message.hpp"
#include "tenure/spi/store.hpp"
#include "tenure/values.hpp"

namespace tenure::consuming {

// How many unrecorded messages may be in flight. The successor of a dead leader has to look as far as that leader went,
// whatever its own limits are. So a term with other limits writes them down before it begins a message under them, once
// all messages that an earlier term may have died of are done.

/// How often the source is tended while messages wait: it brings to the queue what is due.
inline constexpr std::chrono::seconds tendingPace{1};

/// More suspects than that are narrowed down, so many at a time: of 512, a killer is found by 16 commits and 32
/// messages that come alone.
inline constexpr std::size_t fewSuspects = 32;

/// How many messages share a transaction at most.
std::size_t batchLimitOf(const ConsumerOptions& options) noexcept;
RecoveryWindow recoveryWindowOf(const ConsumerOptions& options) noexcept;

// Messages that their handlers have asked to see again later. A postponement is no failed attempt, but kept in the same
// record (AttemptRecord::postponements): operators see it in every store, and a successor goes on counting. At most
// once keeps no such record: a taken message belongs to its leader alone.
//
// A message that is postponed without end waits for something that does not come: it raises an alarm.

/// Of all lanes of a term. Threads: any.
class StuckAlarm {
 public:
  static constexpr int mostTimes = 30;
  static constexpr std::chrono::minutes longest{10};
  static constexpr std::chrono::minutes betweenAlarms{1};

  /// The alarm to raise: once for each message, and one a minute; other messages may raise theirs when postponed again.
  std::optional<MessageStuck> postponed(const MessageId& id, const Postponements& so, const std::string& reason,
                                        WallTime wall, BootTime now);
  /// The message is done, or dead.
  void over(const MessageId& id);

 private:
  std::mutex mutex_;
  std::unordered_set<MessageId> told_;
  BootTime next_ = BootTime::min();
};

/// Messages that are out of attempts, and block those behind them: all, or with lanes their group. Pure.
///
///   none ──its last attempt failed──▶ stands ──fails again, after retryMax──▶ stands
///                                       ├─ its handler is done ──────────────▶ none
///                                       └─ an operator released it ─▶ dead-lettered ─▶ none
///
/// A block is part of the store's attempt records, so a successor finds it there. Only the term's part is kept here:
/// which messages were reported, when each is tried again, and when to ask again whether it was released. With lanes
/// this part goes to the supply with the message, and comes back with it.
class HeadOfLineBlock {
 public:
  struct Stand {
    BootTime retryAt{};
    BootTime nextQuestion{};
  };

  /// The event to tell, once for each message.
  std::optional<QueueBlocked> raise(const Message& message, const AttemptRecord& record, BootTime now,
                                    Duration retryAfter) {
    const auto [stand, isNew] = stands_.try_emplace(message.id, Stand{now + retryAfter, now + betweenQuestions});
    stand->second.retryAt = now + retryAfter;
    if (!isNew) return std::nullopt;
    return QueueBlocked{message.id.value, message.group.value, record.attempts, record.lastError};
  }
  void lift(const MessageId& id) { stands_.erase(id); }

  bool any() const noexcept { return !stands_.empty(); }
  bool holds(const MessageId& id) const { return stands_.contains(id); }
  /// Whether the message is tried again now; right before that an operator's release is checked once more.
  bool mayGo(const MessageId& id, BootTime now) const {
    return now >= stands_.at(id).retryAt && !isQuestionDue(id, now);
  }
  bool isQuestionDue(const MessageId& id, BootTime now) const { return now >= stands_.at(id).nextQuestion; }
  void asked(const MessageId& id, BootTime now) { stands_.at(id).nextQuestion = now + betweenQuestions; }
  BootTime nextStep(const MessageId& id) const {
    const Stand& stand = stands_.at(id);
    return std::min(stand.retryAt, stand.nextQuestion);
  }

  /// For the supply, and from it.
  std::optional<Stand> take(const MessageId& id) {
    auto known = stands_.extract(id);
    return known ? std::optional(known.mapped()) : std::nullopt;
  }
  void put(const MessageId& id, const Stand& stand) { stands_.insert_or_assign(id, stand); }

 private:
  /// An operator who releases a message watches what comes of it.
  static constexpr std::chrono::seconds betweenQuestions{1};

  std::unordered_map<MessageId, Stand> stands_;
};

using supply::MessagePtr;
using supply::sealed;
using supply::stubsOf;

inline std::vector<Message> stubsOf(std::span<const KeptMessage> all) {
  std::vector<Message> stubs;
  for (const KeptMessage& kept : all) stubs.push_back(stubOf(kept.message));
  return stubs;
}

/// How a lane's transaction runs beside those of other lanes (LaneTurns).
enum class Company { beside, inTurn, alone };

/// The state that the shell saw right before it asked.
struct Now {
  BootTime boot{};
  WallTime wall{};
  bool mayBegin = true;
  bool mayFinish = true;  // a message that was taken may start: a pause does not forbid it
  bool stopAsked = false;
  bool transactionIsFull = false;
  bool isLimited = false;  // the one line, by a rate
  bool hasRelief = false;  // in an outage the term goes on until a standby takes over
  // Since when an answer is missing; nullopt: none is.
  std::optional<BootTime> storeOwesSince{};
  std::optional<BootTime> sourceOwesSince{};
};

/// A message's answer, of a handler that answers with values.
struct Gathered {
  bool isHere = false;   // false: it is not, and cannot be waited for now
  bool wasLost = false;  // the message was begun in vain: it begins anew
  WallTime began{};      // when the message was given out
  bool hasEffects = false;
  std::size_t ahead = 1;
  // Of handlers that handle messages of other groups at the same time:
  std::size_t behind = 0;              // other messages that are given out, or answered
  bool takesMore = false;              // other groups could be given out as well
  std::vector<supply::Place> first{};  // the lane handles these next: they are answered, or can be given out
};

/// A deadline in the past. (0 = boot; `BootTime::min()` would overflow.)
inline constexpr BootTime onlyLook{};

/// The history of a message that a lane had before.
struct MessageHistory {
  MessageId id;
  std::optional<AttemptRecord> attempt{};
  Postponements postponements{};
  std::optional<HeadOfLineBlock::Stand> block{};
};

/// A dead letter that is to be written in the transaction, without its message.
struct DeadLetterDraft {
  std::string reason{};
  int attempts = 0;
  WallTime firstAt{};
  bool undo = false;         // first back to the mark: the handler's writes must not stay
  bool withKey = false;      // and its key with the fate `dead`; not when the key belongs to another body
  bool withoutBody = false;  // the store has refused to take it whole
};

/// What a lane gets of the supply.
struct Supplied : supply::Handout {
  std::vector<MessageHistory> histories{};
  bool isScan = false;    // the source was read as far as a predecessor can have gone
  bool asked = true;      // the source, or the scheduler, for more
  bool dry = false;       // and had none in the end
  bool mayReadOn = true;  // before the next one begins, for those that it may stand for
};

/// The answer to a report.
struct Receipt {
  bool hasSuccessors = false;  // in one line: they come at their places, so that what is in hand is to be given back
  bool readAgain = false;      // only the source has some of the next messages in full
  bool mayReadOn = true;
};

}  // namespace tenure::consuming
