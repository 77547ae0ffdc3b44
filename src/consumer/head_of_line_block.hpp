/// Messages that are out of attempts, and block those behind them: all, or with lanes their group. Pure.
///
///   none ──its last attempt failed──▶ stands ──fails again, after retryMax──▶ stands
///                                       ├─ its handler is done ──────────────▶ none
///                                       └─ an operator released it ─▶ dead-lettered ─▶ none
///
/// It is a matter of the store's attempt records, so a successor finds it there. What is kept here is the term's:
/// whom it has told, when it tries again, and when it asks again whether the message was released. With lanes it goes
/// to the dispatcher with the message, and comes back with it.
#pragma once

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "tenure/events.hpp"
#include "tenure/message.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::consuming {

class HeadOfLineBlock {
 public:
  struct Stand {
    BootTime retryAt{};
    BootTime nextQuestion{};
  };

  /// What is to be told, once for each message.
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
  /// It is tried again; right before that the question is asked once more.
  bool mayGo(const MessageId& id, BootTime now) const {
    return now >= stands_.at(id).retryAt && !isQuestionDue(id, now);
  }
  bool isQuestionDue(const MessageId& id, BootTime now) const { return now >= stands_.at(id).nextQuestion; }
  void asked(const MessageId& id, BootTime now) { stands_.at(id).nextQuestion = now + betweenQuestions; }
  BootTime nextStep(const MessageId& id) const {
    const Stand& stand = stands_.at(id);
    return std::min(stand.retryAt, stand.nextQuestion);
  }

  /// For the dispatcher, and from it.
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

}  // namespace tenure::consuming
