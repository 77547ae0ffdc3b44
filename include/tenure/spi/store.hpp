/// The port to where effects are committed under the fence: what the consumer writes around a handler's transaction.
/// For those who bring a store; it may change between minor versions.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tenure/message.hpp"
#include "tenure/result.hpp"
#include "tenure/term.hpp"
#include "tenure/transaction.hpp"

namespace tenure {

class AnswerTimer;

/// 128 bits of the body, to tell a repeated message from a reused id.
using BodyDigest = std::array<std::byte, 16>;
BodyDigest digestOf(std::string_view body) noexcept;

/// What an idempotency key stands for.
enum class MessageFate { done, dead };

/// The answer to "is this message new here?".
enum class Admission {
  fresh,      // not seen: the key is now part of the transaction
  duplicate,  // done or dead before: acknowledge and drop
  reused,     // same id, another body: dead-letter it and raise an alarm
};

/// Where a message stands that failed.
enum class AttemptState {
  retrying,
  blocked,   // out of attempts, and those behind it wait (OnDead::block)
  released,  // an operator has released it: it becomes a dead letter
};

/// How often the handler of a message has asked to see it again later, and since when.
struct Postponements {
  int times = 0;
  WallTime since{};
  friend bool operator==(const Postponements&, const Postponements&) = default;
};

/// The messages that a lane of a consumer may have begun. Lane 0 is the consumer's one line, or what comes before its
/// lanes.
struct InWork {
  std::vector<MessageId> ids{};
  bool more = false;            // later messages may be in work as well
  FencingToken suspectsOf{};    // `ids` are suspects that this earlier term left; 0: messages of the term that writes
  bool isNarrowedDown = false;  // each suspect is handled alone, however many they are
  FencingToken recordedBy{};    // the term that has written it; 0: there is no record. Known to the store
  friend bool operator==(const InWork&, const InWork&) = default;
};

/// A message that failed and waits for its next attempt, or did not survive its last one.
struct AttemptRecord {
  MessageId id;
  int attempts = 0;       // started so far
  std::string lastError;  // for people: of the last attempt, or why it was postponed
  WallTime firstAt{};
  WallTime lastAt{};
  AttemptState state = AttemptState::retrying;
  FencingToken begunBy{};         // the term that has counted the last attempt beforehand; 0: how it ended is known
  bool processDied = false;       // in the last attempt
  Postponements postponements{};  // of a message that was not tried again since
  WallTime nextAt{};              // for people: when the leader will try again; a successor does so at once
  friend bool operator==(const AttemptRecord&, const AttemptRecord&) = default;
};

/// How many unrecorded messages may be in flight: a successor looks for suspects that far.
struct RecoveryWindow {
  std::size_t unrecordedWindow = 0;  // first messages that may be in work where a record says that there is more
  std::size_t lanes = 0;             // each of which has a record of its own; 0: none
  std::size_t window = 0;            // how many messages from the first one on those records may name
  friend bool operator==(const RecoveryWindow&, const RecoveryWindow&) = default;
};

/// Messages that became dead letters in a row, with none between them that was done (ConsumerOptions::deadLetterLimit).
struct DeadLetterStreakRecord {
  enum class State { counting, stopped, resumed };  // resumed: an operator has resumed the consumer
  int deaths = 0;
  std::string lastReason{};  // for people
  WallTime firstAt{};
  WallTime lastAt{};
  State state = State::counting;
  friend bool operator==(const DeadLetterStreakRecord&, const DeadLetterStreakRecord&) = default;
};

/// The last look at the clock by which idempotency keys are forgotten.
struct ClockLook {
  bool isStores = false;  // else the leader's
  WallTime wall{};
  std::string bootId{};                   // of the host that looked
  std::chrono::milliseconds sinceBoot{};  // there, on CLOCK_BOOTTIME
  WallTime trustedFrom{};                 // before that, nothing is forgotten
  friend bool operator==(const ClockLook&, const ClockLook&) = default;
};

/// The position of a group whose messages are handled in the order of their numbers (ConsumerOptions::followNumbers).
struct GroupTurn {
  std::int64_t position = 0;  // the last number that is past
  WallTime since{};           // from when on the next one is missing, while later ones are there
  friend bool operator==(const GroupTurn&, const GroupTurn&) = default;
};

/// A message that came before its turn, under its number.
struct KeptMessage {
  std::int64_t number = 0;
  Message message{};
  bool isPast = false;  // it has died: only id and group are kept, and its number is not waited for
  friend bool operator==(const KeptMessage&, const KeptMessage&) = default;
};

/// A group of which some messages came before their turn.
struct NumberedGroup {
  /// Enough of a kept message to tell it from another one.
  struct Mark {
    MessageId id{};
    BodyDigest digest{};
    bool isPast = false;
    friend bool operator==(const Mark&, const Mark&) = default;
  };
  GroupId group{};
  GroupTurn turn{};
  std::map<std::int64_t, Mark> kept{};  // by their numbers, all above the position
  friend bool operator==(const NumberedGroup&, const NumberedGroup&) = default;
};

/// A record about a consumer, not about one of its messages.
using ConsumerFact = std::variant<RecoveryWindow, DeadLetterStreakRecord, ClockLook>;
struct ConsumerFacts {
  std::optional<RecoveryWindow> window{};
  std::optional<DeadLetterStreakRecord> streak{};
  std::optional<ClockLook> clock{};
};

struct DeadLetter {
  Message message;
  std::string reason;
  int attempts = 0;
  WallTime firstAt{};
  WallTime diedAt{};
  std::int64_t number = 0;  // given by the store, for requeue and purge
  /// The first and last of numbers that never came (GapPolicy::skip): no message, which a requeue only removes.
  std::int64_t missingFrom = 0;
  std::int64_t missingTo = 0;
};

/// A message that a commit sends. Without a queue it is for the one that the store was opened for.
struct SentMessage {
  NewMessage message;
  std::string queue{};
  bool isWhole = true;  // false: a dead letter that goes back to its row, which has what the letter lacks
};

/// What an attempt came to.
enum class AttemptEnd {
  done,
  skipped,
  postponed,
  failed,
  rejected,
  died,  // its process died in it; the next leader has written this
};

/// A line of the consume log.
struct LoggedAttempt {
  MessageId message;
  int attempt = 0;
  AttemptEnd end = AttemptEnd::done;
  std::string error{};  // or why it was skipped or postponed
  WallTime beganAt{};
  WallTime endedAt{};
};

/// One transaction of one term. The fence is checked by the first thing that reaches the store, at the latest by the
/// commit: nothing before it holds the store's lock. When that fails the transaction is over, and every later call gets
/// the same answer: a handler may swallow it.
/// Marks nest one deep: `mark` before a message, `rollbackToMark` when its handler failed.
///
/// Errors of any write:  isTermOver()     fenced or regressed; roll back and hand over
///                       storeBusy, storeFull, storeFailed, unavailable   nothing was committed
///                       commitRefused   the store is well and rejects this commit for its contents
///                       transactionConflict   what was kept back, or foreseen, did not hold: handle its messages
///                                again, from now on each step is asked for by itself
/// Threads: the career thread.
class IFencedTransaction : public Transaction {
 public:
  virtual Result<Admission> admit(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest,
                                  MessageFate fate) = 0;
  /// The answer to every further call: success, or why the transaction is over. Asks no server.
  virtual Result<void> status() const = 0;
  /// True when the transaction holds as much as it takes well: commit before the next message.
  virtual bool isFull() const noexcept { return false; }
  virtual Result<void> mark() = 0;
  virtual Result<void> rollbackToMark() = 0;
  /// Records what the lane will have in work after this commit: a successor finds them after an unclean end.
  virtual Result<void> recordInWork(const ConsumerName& consumer, std::size_t lane, const InWork& inWork) = 0;
  /// A message that an operator has released stays released, whatever `record` says.
  virtual Result<void> recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) = 0;
  virtual Result<void> clearAttempt(const ConsumerName& consumer, const MessageId& id) = 0;
  /// Replaces the consumer's record of that kind. A streak of 0 deaths removes it. A streak that an operator has
  /// resumed stays resumed, whatever `fact` says.
  virtual Result<void> recordFact(const ConsumerName& consumer, const ConsumerFact& fact) = 0;
  virtual Result<void> deadLetter(const ConsumerName& consumer, const DeadLetter& letter) = 0;
  // No other lane may have the group in hand:
  /// Position 0 for a group without a record.
  virtual Result<GroupTurn> turnOf(const ConsumerName& consumer, const GroupId& group) = 0;
  virtual Result<void> recordTurn(const ConsumerName& consumer, const GroupId& group, const GroupTurn& turn) = 0;
  virtual Result<std::optional<KeptMessage>> kept(const ConsumerName& consumer, const GroupId& group,
                                                  std::int64_t number) = 0;
  virtual Result<void> keep(const ConsumerName& consumer, const KeptMessage& message) = 0;
  virtual Result<void> dropKept(const ConsumerName& consumer, const GroupId& group, std::int64_t number) = 0;
  /// Adds lines to the consume log, of a store that keeps one (IFencedStore::keepsLog): whatever is committed with them
  /// is in the log, and nothing else.
  virtual Result<void> logAttempts(const ConsumerName&, std::span<const LoggedAttempt>) { return Errc::unsupported; }
  /// Takes messages out of the queue with the commit: for the source that shares this store's transactions
  /// (IMessageSource::sharesTransactionsWith), and for no other one.
  virtual Result<void> acknowledge(std::span<const Message>) { return Errc::unsupported; }
  /// Durable when it returns. Errc::outcomeUnknown: ask IFencedStore::resolve before anything else.
  virtual Result<void> commit() = 0;
  virtual void rollback() noexcept = 0;
};

/// What a term finds out about its consumer, after its claim.
struct ConsumerState {
  /// Of lane 0. There is `more` also where the record is not of the term that claimed before this one: that term ended
  /// before its first commit, and what it had begun is not known.
  InWork inWork{};
  std::vector<AttemptRecord> attempts{};
  ConsumerFacts facts{};
};

/// What became of a commit whose reply was lost.
enum class CommitFate { committed, notCommitted };

/// One step of forgetting idempotency keys, in the order of ids.
struct Pruning {
  ConsumerName consumer;
  WallTime before{};              // keys from then on stay, whatever they stand for
  WallTime now{WallTime::max()};  // where a key is more than a minute younger than this, the step removes nothing
  std::string after{};            // where the last step ended; empty for the first
  std::size_t atMost = 0;         // keys to look at
};
struct Pruned {
  std::size_t looked = 0;
  std::size_t removed = 0;
  std::string last{};                // where the next step goes on; empty when there is no more
  std::optional<WallTime> future{};  // that of a key for whose sake nothing was removed
};

/// One step of shortening the consume log at its old end.
struct LogPruning {
  ConsumerName consumer;
  WallTime before{};         // attempts that ended from then on stay
  std::size_t atMost = 0;    // lines to remove
  std::size_t mostKept = 0;  // what is more than that goes, however young; 0 for no such limit
};

/// Where effects are committed under the fence.
class IFencedStore {
 public:
  virtual ~IFencedStore() = default;

  /// What the next in line does so that its claim finds it done, or its operator what is amiss: connect, and look at
  /// credentials, schema and rights. Reads nothing that the fence protects, writes nothing and makes nothing. What it
  /// has opened is closed by release(). Comes back soon after a stop is asked for: its replica is elected then.
  ///
  /// Errors:  those for which a claim would fail; cancelled after a stop
  virtual Result<void> prepare(const std::stop_token& /*stop*/) { return {}; }

  /// ISqlStatements::check without a transaction, before a claim as well. No transaction may be open.
  virtual Result<void> checkSql(std::string_view sql, std::span<const SqlParameter> parameters) {
    static_cast<void>(sql), static_cast<void>(parameters);
    return Error{Errc::unsupported, "the store speaks no SQL"};
  }

  /// From the next claim on, what is kept here is of that queue, which is kept elsewhere. Without it: of the queue of
  /// the store's own place.
  virtual void serve(const QueueIdentity& queue) { static_cast<void>(queue); }

  /// Raises the fence: from here on only `term` can commit here. Call it before anything is read.
  ///
  /// Errors:  staleTerm        a newer term has claimed; nothing was changed
  ///          tokenRegression, foreignEnsemble, foreignPath   refused until `tenure fence rebase`
  ///          fenceLost        the fence row is absent though the store was claimed before
  ///          storeBusy        the lock was not had within the store's limit, and its holder was not evicted
  ///          outcomeUnknown, unavailable   safe to repeat under the same term
  /// Threads: the career thread. Blocks until the claim is durable.
  /// Source:  fencing tokens as in Burrows 2006 (sequencers) and Kleppmann 2016; claim before read by model checking.
  virtual Result<void> claim(const Term& term) = 0;

  /// Starts a transaction of the claiming term; takes no lock and speaks to no server yet. One at a time.
  virtual Result<std::unique_ptr<IFencedTransaction>> begin(const Term& term) = 0;

  /// After a commit's Errc::outcomeUnknown: what became of it, asked through the same lock.
  virtual Result<CommitFate> resolve(const Term& term) = 0;

  virtual Result<ConsumerState> consumerState(const ConsumerName& consumer) = 0;
  /// The record that an earlier term left for a lane. Lanes count from 1.
  virtual Result<InWork> inWorkOf(const ConsumerName& consumer, std::size_t lane) = 0;
  /// The consumer's groups with kept messages, which a term reads when it begins.
  virtual Result<std::vector<NumberedGroup>> openGroups(const ConsumerName& consumer) = 0;
  /// What admit() would say of each, without a lock: a hint for dropping early; admit() decides.
  virtual Result<std::vector<Admission>> known(const ConsumerName& consumer, std::span<const Message> messages) = 0;

  /// Announces the next messages, in their order: a store for which each question is a round trip may look all of them
  /// up at once, or take them for new until the commit, which finds out (Errc::transactionConflict).
  virtual void expect(std::vector<MessageId> ids) { static_cast<void>(ids); }

  /// How many messages, each with a mark before it, one transaction takes well; a consumer makes no larger batches.
  virtual std::size_t maxBatch() const noexcept { return 4096; }
  /// What the store's own clock says, where it has one: it has written down when each key was made, and by it their
  /// ages are reckoned. Nullopt: the leader's wall clock does, and is.
  virtual Result<std::optional<WallTime>> clock() { return std::optional<WallTime>{}; }
  /// How long keys are kept, where they expire by themselves; a consumer goes by that, whatever its own options say.
  virtual std::optional<std::chrono::hours> keepsIdsFor() const noexcept { return std::nullopt; }
  /// Removes keys under the fence, in a transaction of its own; takes no lock where nothing is to be removed. A store
  /// whose keys expire by themselves has nothing to do. No transaction may be open.
  ///
  /// Errors:  those of a commit; outcomeUnknown asks for resolve(), whatever was removed
  virtual Result<Pruned> prune(const Term& /*term*/, const Pruning& /*step*/) { return Pruned{}; }

  /// Whether it takes IFencedTransaction::logAttempts.
  virtual bool keepsLog() const noexcept { return false; }
  /// As prune(). Returns how many lines were removed; `atMost` says that there is more to do, if only to count.
  virtual Result<std::size_t> pruneLog(const Term& term, const LogPruning& step) {
    static_cast<void>(term), static_cast<void>(step);
    return std::size_t{0};
  }

  /// A second hand of the same claim, to commit beside this one from a thread of its own: commits of lanes are fenced
  /// and do not wait for each other. `number` tells a term's lanes apart. A store like this one, except that its
  /// claim() only joins the claim that this one has made for the term. This one must outlive it. Nullptr: the store
  /// commits one transaction after the other.
  virtual std::unique_ptr<IFencedStore> openLane(std::int64_t /*number*/) { return nullptr; }

  /// From now on each exchange with a server goes by this timer, which is borrowed; nullptr: by the store's own limits.
  /// For the library's own: one of yours comes back in less than ConsumerOptions::outageLimit by itself.
  virtual void limitAnswers(AnswerTimer* timer) noexcept { static_cast<void>(timer); }

  /// Gives back what the term holds (locks, connections). The claim stays: only a newer term replaces it.
  virtual void release() noexcept = 0;
};

}  // namespace tenure
