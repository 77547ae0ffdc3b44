/// What operators ask of a queue and of a store, and do to them; the tool's commands are thin over this. It
/// may change between minor versions.
#pragma once

#include <functional>

#include "tenure/spi/store.hpp"

namespace tenure {

struct QueueStats {
  std::int64_t waiting = 0;
  /// There are so many that they were not counted: `waiting` is how many places of the queue are taken, and some of
  /// these may be done already.
  bool waitingIsAtMost = false;
  /// Nullopt where the backend does not tell; the same for those below.
  std::optional<std::int64_t> waitingBytes;
  std::optional<std::int64_t> deadLetters;
  std::optional<std::int64_t> retrying;
  std::optional<WallTime> oldest;
  std::string election;  // that consumes it; empty before the first, and where the backend does not know
  std::string path{};    // of that election; empty where the backend does not tell
};

/// The fence row of one election, for people and for `tenure fence`.
struct FenceRow {
  ElectionName election;
  EnsembleUuid ensemble;
  std::int64_t generation = 0;
  FencingToken token;
  std::int64_t sequence = 0;
  std::string path;
  CandidateUuid candidate;
  ProcessIdentity holder;
  WallTime claimedAt{};
};

enum class Severity {
  fact,
  warning,  // it works, and may lose or delay something
  refusal,  // a producer or a leader will not work with it
};
std::string_view toString(Severity severity) noexcept;

/// What an inspection found.
struct Finding {
  Severity severity = Severity::fact;
  std::string name;        // of a setting as its server calls it, where there is one: "synchronous_commit"
  std::string value;       // as it is; from a stranger: escape it before it is shown
  std::string expected{};  // and why; for a fact, a remark or nothing
};
using Findings = std::vector<Finding>;

/// A choice of dead letters; without a condition, all of them.
struct DeadLetterFilter {
  std::vector<std::int64_t> numbers{};  // any when empty
  std::optional<GroupId> group{};
  std::optional<WallTime> diedBefore{};
  std::string reasonHas{};  // a part of the reason; any when empty
  std::int64_t after = 0;   // those with a higher number
};

/// A message that failed and comes again, or blocks those behind it.
struct FailingMessage {
  ConsumerName consumer;
  AttemptRecord attempts;
};

/// The dead letters in a row of one consumer.
struct ConsumerStreak {
  ConsumerName consumer;
  DeadLetterStreakRecord streak;
};

struct InWorkRecord {
  ConsumerName consumer;
  std::size_t lane = 0;
  InWork inWork{};
};

struct ConsumersGroup {
  ConsumerName consumer;
  NumberedGroup group{};
};

/// What to read of the consume log: all but for what is asked, the newest `limit` of it.
struct LogChoice {
  std::optional<ConsumerName> consumer{};
  std::optional<MessageId> message{};
  std::optional<AttemptEnd> end{};
  WallTime since{};
  std::size_t limit = 1000;
};
struct LogLine {
  ConsumerName consumer;
  FencingToken token;
  LoggedAttempt attempt;
};
std::string_view toString(AttemptEnd end) noexcept;

/// Threads: one at a time.
class IQueueAdmin {
 public:
  virtual ~IQueueAdmin() = default;
  /// Looks at the place, its server and their settings, and changes nothing: what is absent stays absent. That it is
  /// unfit, or absent, is a finding.
  /// Errors:  unavailable, timedOut, authenticationFailed, permissionDenied and others: there was nothing to look at
  virtual Result<Findings> inspect() = 0;
  /// Errors:  notFound (there is no such queue), storeBusy, storeFailed, unavailable, configurationRefused
  virtual Result<QueueStats> stats() = 0;
  /// The same for a look every few seconds: dead letters and attempts are counted up to ten thousand, of more messages
  /// than that the taken places are told (waitingIsAtMost), and bytes are left out.
  virtual Result<QueueStats> glance() { return stats(); }
  /// As IMessageSource::identity, and makes nothing: empty where the queue is absent.
  virtual Result<QueueIdentity> identity() { return QueueIdentity{}; }
  /// Of a queue that is kept apart from its store: makes it `to`'s, as IStoreAdmin::moveTo does.
  virtual Result<void> moveTo(const FenceRow& from, const FenceRow& to) = 0;
  /// Hands out the first `limit` messages that are not acknowledged, in order, and takes none of them.
  ///
  /// Errors:  those of stats(); unsupported  only who takes a message sees it
  virtual Result<void> peek(std::size_t limit, const std::function<void(const Message&)>& each) = 0;
  /// Takes the messages with this id, which wait in the queue, out of it. One that its leader has read already may be
  /// handled all the same.
  ///
  /// Errors:  those of stats(); notFound  no message waits under it; unsupported
  virtual Result<void> remove(const MessageId& id) {
    static_cast<void>(id);
    return Errc::unsupported;
  }
};

/// The error when no message waits under this id.
Error noneWaits(const MessageId& id);

/// Errors of all:  notFound, storeBusy, storeFailed, unavailable, configurationRefused (unsafe place, other schema).
/// Threads: one at a time.
class IStoreAdmin {
 public:
  virtual ~IStoreAdmin() = default;
  /// As IQueueAdmin::inspect.
  virtual Result<Findings> inspect() = 0;

  /// The fence row of each election that has claimed the store.
  virtual Result<std::vector<FenceRow>> fenceRows() = 0;
  /// Makes the store accept terms of this ensemble, generation and path, whatever it saw before. An operator's act: be
  /// sure that no leader of the old ensemble runs. Compares with `expected` and changes nothing when it differs; a
  /// fence that was lost is expected as a row with nothing but its election.
  /// Errors:  versionMismatch  the row is another one by now
  ///          invalidArgument  `generation` is not above the stored one
  virtual Result<void> rebaseFence(const FenceRow& expected, const EnsembleUuid& ensemble, std::int64_t generation,
                                   const std::string& path) = 0;

  /// Hands the queue's place, and what handlers keep in it, to the election of `to`: one transaction raises the row of
  /// its election, which is expected as `from`, to `to`'s token, so that no term of it commits, and makes `to`'s where
  /// there is none. As careful an act as a rebase, with its errors, but nothing where it is done already.
  virtual Result<void> moveTo(const FenceRow& from, const FenceRow& to) = 0;

  /// The dead letters of the queue that the store was opened for, oldest first.
  virtual Result<std::vector<DeadLetter>> deadLetters(std::size_t limit = 1000,
                                                      const DeadLetterFilter& choice = {}) = 0;
  /// How many of them there are.
  virtual Result<std::int64_t> countDeadLetters(const DeadLetterFilter& choice) = 0;
  /// Puts dead letters back at the end of the queue, the oldest first, when it is kept in this very store, and clears
  /// what would keep them from being handled again. Returns the numbers of those that there were, in this order. None
  /// of them is lost or there twice, whatever fails; a store with SQL moves all of them or none. A letter that was not
  /// kept whole (Message::lacks) stays.
  ///
  /// Errors:  invalidArgument   one that was chosen by its number was not kept whole; nothing was moved
  virtual Result<std::vector<std::int64_t>> requeueDeadLetters(const DeadLetterFilter& choice) = 0;
  /// Only clears what would keep them from being handled again, for a queue that is kept elsewhere: the caller sends
  /// them there, then purges them.
  virtual Result<std::vector<std::int64_t>> resetDeadLetters(const DeadLetterFilter& choice) = 0;
  virtual Result<std::vector<std::int64_t>> purgeDeadLetters(const DeadLetterFilter& choice) = 0;

  /// The failing messages of every consumer of the queue, by consumer and id.
  virtual Result<std::vector<FailingMessage>> failing() = 0;
  /// Releases a message that blocks its queue: the leader makes a dead letter of it, within a second or so when there
  /// is one.
  /// Errors:  notFound  it blocks no consumer (any more)
  virtual Result<void> release(const ConsumerName& consumer, const MessageId& id) = 0;

  /// One for each consumer of the queue that has dead letters in a row, in the order of names.
  virtual Result<std::vector<ConsumerStreak>> streaks() = 0;
  /// Resumes a consumer that stopped at too many dead letters in a row; its leader goes on within a second or so.
  /// Errors:  notFound  it has not stopped (any more)
  virtual Result<void> resume(const ConsumerName& consumer) = 0;

  /// The in-work records of every consumer of the queue.
  virtual Result<std::vector<InWorkRecord>> inWork() = 0;
  /// The groups with kept messages, of every consumer of the queue.
  virtual Result<std::vector<ConsumersGroup>> openGroups() = 0;

  /// The consume log, in the order of commits. Errors: unsupported (this store keeps none)
  virtual Result<std::vector<LogLine>> log(const LogChoice& choice) {
    static_cast<void>(choice);
    return Errc::unsupported;
  }
};

/// Of a backend that keeps queue and effects in one place.
class IDatabaseAdmin : public IQueueAdmin, public IStoreAdmin {
 public:
  Result<Findings> inspect() override = 0;
  Result<void> moveTo(const FenceRow& from, const FenceRow& to) override = 0;
};

}  // namespace tenure
