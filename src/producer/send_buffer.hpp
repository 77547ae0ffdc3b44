/// What a producer has accepted and its queue has not confirmed yet, and when the next batch begins. Pure.
///
///   offer ──▶ waiting ──begin──▶ under way ──stored──▶ over
///                ▲  │                 ├─refused─────▶ over, alone
///                │  └─beginSpooling─▶ spooled: over here, and the spool's
///                └──── to the front ──┴─not taken
///
/// Each group belongs to one of as many lanes as batches may be under way. A batch is of one lane, one batch a lane is
/// under way at a time, and what comes back goes before all that were sent later: so a group's messages are stored in
/// the order of their sends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/backoff.hpp"
#include "messages/headers.hpp"
#include "tenure/producer.hpp"

namespace tenure::producing {

/// Counts what was accepted.
using SendNumber = std::int64_t;

/// A message's last word.
struct Ending {
  SendNumber number = 0;
  Result<void> result{};
  bool isLost = false;  // it was neither confirmed nor refused
};

/// The failure of a batch for which it is sent again after a wait; nullopt: there is none. A message behind a refused
/// one of its group was not tried, which is no failure.
std::optional<Error> failureOf(std::span<const Result<void>> results);

/// `now` plus `by`; BootTime::max() where no time is so late.
BootTime later(BootTime now, std::chrono::milliseconds by) noexcept;

class SendBuffer {
 public:
  struct Place {
    SendNumber number = 0;
    Durability durability = Durability::stored;
    BootTime deadline{};
    BootTime acceptedAt{};
    std::size_t bytes = 0;
    std::size_t lane = 0;
    bool wasSent = false;  // and not answered for sure
  };
  /// Messages that are sent with one confirm. They do not change until the batch is answered.
  struct Batch {
    std::size_t lane = 0;
    std::vector<NewMessage> messages;
    std::vector<Place> places;  // of its messages; empty once a copy of them is in the spool
    BootTime beganAt{};
    bool isCopying = false;                // it is being written to the spool
    std::optional<std::int64_t> copyAt{};  // of the first message, once it is in the spool
    bool isAnswered = false;               // its callers are being told, and its lane goes on after that
  };

  SendBuffer(const ProducerOptions& options, Random random)
      : options_(options), backoff_(options.retryBase, options.retryMax, random), lanes_(options.batchesUnderWay) {}

  /// Nullopt: there is no room, and the message is as it was. Else it was taken; others may have made room for it.
  std::optional<SendNumber> offer(NewMessage& message, Durability durability, BootTime deadline, BootTime now);
  static std::size_t laneOf(const GroupId& group, std::size_t lanes) noexcept {
    return lanes == 1 ? 0 : std::hash<GroupId>{}(group) % lanes;
  }
  std::size_t bytes() const noexcept { return bytes_; }
  bool hasRoomFor(const NewMessage& message) const noexcept { return hasRoomFor(sizeOf(message)); }
  /// The messages dropped to make room since the last call.
  std::vector<Ending> takeDropped() noexcept { return std::exchange(dropped_, {}); }
  bool hasDropped() const noexcept { return !dropped_.empty(); }
  /// When a batch may begin: now, or later; BootTime::max() where none waits, or as many as may be are under way.
  BootTime next(BootTime now) const noexcept;
  /// Nullptr: all that could begin wait for batches of their lanes.
  Batch* begin(BootTime now);
  /// One result for each message of the batch, in its order, as IMessageSink::appendEach gives them.
  std::vector<Ending> answered(Batch& batch, std::span<const Result<void>> results, BootTime now);
  /// The messages of that batch, to be destroyed where no sender waits for it.
  std::vector<NewMessage> takeSpent() noexcept { return std::exchange(spent_, {}); }
  bool hasUnderWay() const noexcept { return !underWay_.empty(); }
  /// A batch under way of which the spool has no copy yet.
  Batch* notCopied() noexcept;
  /// The copy is in the spool: the batch is the spool's matter from now on, and its answer ends it there.
  std::vector<SendNumber> isCopied(Batch& batch, std::int64_t first);
  void copyIsAnswered(Batch& batch, std::span<const Result<void>> results, BootTime now);
  /// Once the callers of an answered batch have been told.
  void end(Batch& batch);
  /// Takes the oldest waiting messages for the spool: so many, and not much more than so many bytes. They stay as they
  /// are until isSpooled() or isNotSpooled().
  std::span<const NewMessage> beginSpooling(std::size_t messages, std::size_t bytes);
  std::vector<SendNumber> isSpooled();
  void isNotSpooled();
  /// Counts a batch that was answered.
  void count(std::span<const Result<void>> results, BootTime beganAt, BootTime now);
  bool hasToSpool() const noexcept;
  bool isHalfFull() const noexcept { return 2 * count_ >= options_.maxMessages || 2 * bytes_ >= options_.maxBytes; }
  /// When the first that is not over was accepted; BootTime::max(): there is none.
  BootTime waitsSince() const noexcept {
    const Place* first = oldest();
    return first == nullptr ? BootTime::max() : first->acceptedAt;
  }
  /// No batch begins before; after a failure that is later than it.
  BootTime notBefore() const noexcept { return notBefore_; }

  /// The messages that wait and whose deadline has come.
  std::vector<Ending> expired(BootTime now);
  /// BootTime::max(): there is none.
  BootTime earliestDeadline() const noexcept {
    return deadlines_.empty() ? BootTime::max() : deadlines_.begin()->first;
  }
  /// All that wait, for which `why` is said, unless their outcome is unknown.
  std::vector<Ending> giveUp(const Error& why);

  /// Does not linger until these are over.
  void hurry(SendNumber upTo) noexcept { hurriedUpTo_ = std::max(hurriedUpTo_, upTo); }
  /// Of messages that are not over.
  std::size_t size() const noexcept { return count_; }
  SendNumber last() const noexcept { return last_; }
  /// Whether all up to this one are over.
  bool areOver(SendNumber upTo) const noexcept;
  ProducerFigures figures(BootTime now) const;

 private:
  struct Waiting {
    Place place;
    NewMessage message;
  };
  struct Lane {
    std::deque<Waiting> waiting;
    std::size_t bytes = 0;  // of what waits
    BootTime lastBegan = BootTime::min();
    bool isUnderWay = false;
  };

  bool hasRoomFor(std::size_t bytes) const noexcept;
  bool canMakeRoomFor(std::size_t bytes) const noexcept;
  void dropOldest();
  void takeFirst(Lane& lane, std::vector<Place>& places, std::vector<NewMessage>& into);
  /// The lane whose first message is the oldest, of those for which `isAsked`; nullptr: there is none.
  template <class Asked>
  Lane* oldestLane(const Asked& isAsked);
  /// When its next batch may begin.
  BootTime next(const Lane& lane, BootTime now) const noexcept;
  void giveBack(Place place, NewMessage message);
  std::vector<SendNumber> leaveAll(std::vector<Place>& places);
  bool isFull(const Lane& lane) const noexcept;
  void startsToWait(const Place& place);
  void stopsToWait(const Place& place);
  void leave(const Place& place);
  Ending endingOf(const Place& place, const Error& why);
  /// The first that is not over.
  const Place* oldest() const noexcept;

  const ProducerOptions options_;
  Backoff backoff_;
  std::vector<Lane> lanes_;
  std::list<Batch> underWay_;
  std::vector<NewMessage> spent_;
  std::vector<Place> toSpool_;
  std::vector<NewMessage> spooling_;  // of toSpool_
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  std::size_t atRisk_ = 0;
  std::set<std::pair<SendNumber, std::size_t>> droppable_;  // of those that wait, with their lanes
  std::size_t droppableBytes_ = 0;
  std::set<std::pair<BootTime, SendNumber>> deadlines_;  // of those that wait
  std::vector<Ending> dropped_;
  SendNumber last_ = 0;
  SendNumber hurriedUpTo_ = 0;
  BootTime notBefore_ = BootTime::min();
  BootTime failedAt_ = BootTime::min();  // the last batch that failed
  ProducerFigures told_;                 // what is counted
};

}  // namespace tenure::producing
