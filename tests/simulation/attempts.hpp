/// Judges how often and when messages are tried again.
///
///   R1 no attempt before its wait is over, whoever keeps the message meanwhile
///   R2 what counts against a message durably counts in every later attempt, also of later terms
///   R3 no attempt more than there may be
///   R4 a wait is no longer than the backoff allows
///   R5 what has taken its process with it is charged, durably, before it starts again; not what waits in a group with
///      a suspect that failed in good order, which is on its way to the lanes; and where each is named alone when it
///      begins, so that its death is counted afterwards, it is enough that the one before is counted, durably
#pragma once

#include <map>
#include <optional>
#include <string>

#include "tenure/consumer.hpp"

namespace tenure::simulation {

/// What was broken; nothing if all was kept.
using Complaint = std::optional<std::string>;

class Attempts {
 public:
  /// `ordered`: what was given and not acknowledged comes again in its order. Only then a message that has taken its
  /// process with it is sure to be found (R3, R5).
  Attempts(const ConsumerOptions& options, bool ordered) : options_(options), ordered_(ordered) {}

  /// `now` is the time of its process, here and below.
  Complaint began(FencingToken term, const MessageId& id, int attempt, BootTime now);
  void ended(FencingToken term, const MessageId& id, const Outcome& outcome, BootTime now);
  /// The term says how long it will wait before the next attempt.
  Complaint failed(FencingToken term, const MessageId& id, int attempt, Duration wait);
  void postponed(FencingToken term, const MessageId& id, Duration wait);
  /// Its process is dead, and nobody has claimed since.
  void died(const MessageId& id, const GroupId& group);
  /// It has come to its end; another copy of it starts anew.
  void settled(const MessageId& id) {
    rests_.erase(id);
    suspects_.erase(id);
  }
  /// Those are not where they were.
  void loseSight() noexcept { suspects_.clear(); }
  /// One of its suspects has to wait, before the lanes.
  void parked(const GroupId& group);
  /// Durable: nothing counts against it any more when `attempts` is 0. One that blocks has no attempts left to charge.
  void recorded(const MessageId& id, int attempts, bool charge, bool blocks);
  /// Durable: who is in work, where that is one message and no other.
  void named(const std::optional<MessageId>& only) { named_ = only; }

 private:
  struct Rest {
    FencingToken term;
    BootTime ended{};
    BootTime until{};
  };
  struct Count {
    int attempts = 0;
    bool charge = false;  // with an attempt that is still to come
  };

  struct Suspect {
    GroupId group;
    int attempts = 0;  // that have to count against it, with the one in which its process died
  };

  bool isCharged(const MessageId& id, const Suspect& suspect, const Count& count, int attempt) const;
  void rest(FencingToken term, const MessageId& id, Duration wait);

  const ConsumerOptions& options_;
  const bool ordered_;
  std::map<MessageId, Rest> rests_;
  std::map<MessageId, Count> counts_;
  std::map<MessageId, Suspect> suspects_;
  std::map<MessageId, int> begun_;  // the attempt that began last
  std::optional<MessageId> named_;
};

}  // namespace tenure::simulation
