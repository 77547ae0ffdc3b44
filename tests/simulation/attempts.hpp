/// Judges how often and when messages are tried again.
///
///   R1 no attempt before its wait is over, whoever keeps the message meanwhile
///   R2 what counts against a message durably counts in every later attempt, also of later terms
///   R3 no attempt more than there may be
///   R4 a wait is no longer than the backoff allows
///   R5 what has taken its process with it is charged, durably, before it starts again; not what waits in a group with
///      a suspect that failed in good order, which is on its way to the lanes; and where each is named alone when it
///      begins, so that its death is counted afterwards, it is enough that the one before is counted, durably. What
///      died among many is not charged yet: it starts once more when only few are on record, and it is one of them, or
///      like any other when few were on record without it
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "consumer/values.hpp"
#include "tenure/consumer.hpp"

namespace tenure::simulation {

/// What was broken; nothing if all was kept.
using Complaint = std::optional<std::string>;

class Attempts {
 public:
  /// As it is on record.
  struct InWork {
    std::vector<MessageId> ids;
    bool more = false;
    bool areTheirs = false;  // suspects of an earlier term
  };

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
  /// Durable: who is in work.
  void named(InWork inWork);
  /// A term begins: until it has named somebody, anybody may be in work.
  void claimed();

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
    int attempts = 0;       // that have to count against it, with the one in which its process died
    bool wasAlone = false;  // it was charged before
    bool amongMany = false;
    bool leftOut = false;  // when few of them were on record
  };

  bool isCharged(const MessageId& id, const Suspect& suspect, const Count& count, int attempt) const;
  bool areFew() const noexcept { return !isClaimed_ && !inWork_.more && inWork_.ids.size() <= consuming::fewSuspects; }
  bool isNamed(const MessageId& id) const { return std::ranges::find(inWork_.ids, id) != inWork_.ids.end(); }
  bool mayBeMany() const noexcept;
  bool isNarrowedDown(const MessageId& id, const Suspect& suspect) const;
  void rest(FencingToken term, const MessageId& id, Duration wait);

  const ConsumerOptions& options_;
  const bool ordered_;
  std::map<MessageId, Rest> rests_;
  std::map<MessageId, Count> counts_;
  std::map<MessageId, Suspect> suspects_;
  std::map<MessageId, int> begun_;  // the attempt that began last
  InWork inWork_;
  bool isClaimed_ = false;
};

}  // namespace tenure::simulation
