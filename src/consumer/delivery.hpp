/// One message: from its turn to its end, or back to its place. Pure.
///
///   begin ─► beyond a limit, known, early, released … ─► settled, dead-lettered, kept
///     │
///     └─► its key is looked up ─► a token ─► (charged, if it is suspect) ─► its handler
///           ├─ done     ─► its key is admitted ─► settled
///           ├─ failed   ─► undone, and the attempt recorded
///           ├─ rejected ─► dead-lettered
///           └─ skipped  ─► its key alone
///
/// A message that only skips its number (skipHeader) goes the same way without its handler, a token or a charge.
///
/// A transaction's first message is only looked up before its handler and admitted after it: the store's lock is taken
/// by the handler's own first statement, and a handler that begins with slow work holds no other lane up. An external
/// handler never runs under the lock. The transaction's other messages are admitted first.
///
/// That is the way to one effect for each message. Without keys (at least once) nothing is looked up or admitted. At
/// most once goes another way (taken_delivery.hpp).
///
/// A delivery decides what the store, the supply or the handler is asked next, or what becomes of the message. It
/// writes into the lane's pending writes what the transaction is to say of the message.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <variant>

#include "base/random.hpp"
#include "consumer/lane_state.hpp"
#include "tenure/consumer.hpp"

namespace tenure::consuming {

// How long a failed message waits for its next attempt.
//
//   delays of one's own   the n-th after the n-th failure; after the last one, the last one again
//   otherwise             grow with equal jitter: from half to all of min(retryMax, retryBase · 2^(n-1)), n from 1

/// Pure but for its random numbers. Borrows the options.
class RetryDelays {
 public:
  RetryDelays(const ConsumerOptions& options, Random random) noexcept : options_(options), random_(random) {}

  /// After so many failures, 1 at the first.
  std::chrono::milliseconds after(int failures) noexcept;

 private:
  const ConsumerOptions& options_;
  Random random_;
};

/// No message waits longer.
std::chrono::milliseconds longestRetryDelay(const ConsumerOptions& options) noexcept;

/// How the head stands in its transaction, and in hand.
struct Head {
  MessagePtr message{};
  bool isFirst = true;        // of its transaction
  bool isSuspect = false;     // and alone
  bool isFirstOfAll = false;  // no other message may overtake it
  bool isNamed = true;        // where each has to be on record by itself: it is
  bool mayHaveCome = false;   // before, as one that was committed and not acknowledged
  std::size_t place = 0;      // in hand, among those of the source
  bool isCounted = false;     // by a rate limit, when it begins
  bool storeIsAway = false;
};

class TakenDelivery;

class Delivery {
 public:
  // Questions of the delivery about the head.
  struct LooksUpKey {};  // has it one already? → looked
  struct AdmitsKey {     // in the transaction → admitted
    bool mark = false;   // first a mark before it
  };
  struct TakesToken {  // for its start → turned
    bool isFirstOfAll = false;
  };
  struct AsksOperator {};  // whether it, or its consumer, was let go on → inquired
  struct Begins {};        // which others does it stand for? → begun
  struct Gathers {         // its answer, of a handler that answers with values → gathered
    int attempt = 1;
    std::optional<WallTime> putOffSince{};
  };
  struct Runs {  // its handler → ran
    int attempt = 1;
    bool mark = false;  // first a mark before it, which takes no lock
  };
  struct Undoes {};              // takes back what the handler has written since the mark → undone
  using Dies = DeadLetterDraft;  // and the end of its attempts → deadLettered, foundKey
  struct StartsOver {};          // gives the transaction up; then begin() again
  using Question =
      std::variant<LooksUpKey, AdmitsKey, TakesToken, AsksOperator, Begins, Gathers, Runs, Undoes, Dies, StartsOver>;

  // What becomes of the head.
  struct Settled {  // in the open transaction; `ran`: it has had its run, which stands for those that it coalesced
    bool ran = true;
  };
  struct CommitFirst {};  // then it is looked at again
  struct Waits {          // in its place
    BootTime until;
  };
  struct GivesBack {  // it waits elsewhere, once the transaction is over
    BootTime until;
    bool ran = false;
  };
  struct GoesOn {};  // it is looked at again
  struct Ends {      // the term; nullopt: for what troubles it already
    std::optional<Error> why{};
  };
  using Decision = std::variant<Question, Settled, CommitFirst, Waits, GivesBack, GoesOn, Ends>;

  Delivery(LaneState& at, Random random) : state_(at), retryDelays_(at.options, random) {}
  virtual ~Delivery() = default;

  /// The head's turn has come.
  Decision begin(const Head& head, const Now& now);
  // Answers about the head.
  Decision looked(bool known);
  Decision admitted(Admission admission, const Now& now);
  /// The head was to become a dead letter, but another copy has stored its key: this one is a repeat.
  Decision foundKey();
  /// Nullopt: the head has its token.
  Decision turned(std::optional<BootTime> heldUntil, const Now& now);
  Decision begun(std::vector<Message> others);
  Decision gathered(const Gathered& gathered, const Now& now);
  Decision ran(const Outcome& outcome, const Now& now);
  Decision undone(const Now& now);
  void deadLettered(const Now& now);
  void inquired(const ConsumerState& found);
  /// The handler asked more of its transaction than the store allows, with this message alone in it.
  Decision overstrained(const Head& head, const std::string& why, const Now& now);
  /// Others have locked what its commit has to write.
  Decision heldUp(const Head& head, const std::string& why, const Now& now);
  /// The message was to join others, but its key is stored already.
  Decision known(const Head& head, Admission admission, const Now& now);
  /// The store refused the message's commit. `counts`: the refusal counts as a failed attempt; if not, the message is
  /// too large and becomes a dead letter. Returns false once its dead letter was refused without a body, too: call
  /// rest().
  bool refusedByStore(const MessageId& id, const std::string& why, bool counts);
  /// The refused message waits, longer each time, and a warning is told.
  void rest(const Now& now);

  /// Settles the message: adds to the transaction what it says of the message.
  void settle(bool hadTurn, bool wasDeadLettered);
  /// The transaction holds nothing of the head, or is over.
  void forgetTransaction() noexcept {
    key_ = {};
    answered_.reset();
  }
  /// Whether the commit has to undo to the mark first.
  bool leavesMark() const noexcept { return key_.marked; }
  const MessagePtr& head() const noexcept { return head_.message; }
  bool isPlain(const Message& message) const;
  /// The first of them, and those behind it that nothing keeps from their turn.
  std::vector<MessagePtr> plainOnes(std::span<const MessagePtr> messages) const;

  // Messages that have a rate-limit token and have not begun.

  void bringTokens(std::span<const MessagePtr> messages);
  /// Settled messages that did not need their token.
  std::vector<supply::Place> unbegun(std::span<const MessagePtr> settled) const;
  std::size_t takeTokens(std::span<const MessageId> of);

  // Between transactions.

  BootTime notBefore() const noexcept { return notBefore_; }
  void chargeIsDurable(const MessageId& id) { charged_ = id; }
  void forgetCharge() noexcept { charged_.reset(); }
  bool hasCharge() const noexcept { return charged_.has_value(); }
  /// Takes back the attempt counted beforehand: the handler did not end by itself, but the term ended cleanly.
  void takeBackCharge();
  void runIsDurable() noexcept {
    ran_.reset();
    refused_.reset();
    isDying_ = false;
  }
  bool hasRun() const noexcept { return ran_.has_value(); }
  const std::optional<MessageId>& whoseRunIsOver() const noexcept { return ran_; }
  Duration lastRun() const noexcept { return lastRun_; }

  // Without keys: messages committed by this term but not acknowledged come again, at the front and in this order.

  void remember(std::span<const MessagePtr> committed);
  void acknowledged(std::size_t count);
  bool remembersAny() const noexcept { return !unacknowledged_.empty(); }

  // At most once.

  /// The message that the commit takes, which is durable now.
  virtual void take(const MessagePtr& message) { static_cast<void>(message); }
  virtual bool hasTaken() const noexcept { return false; }
  /// Nullptr while no message is taken.
  virtual TakenDelivery* taken() noexcept { return nullptr; }

 protected:
  // Steps that at most once takes in a way of its own.

  /// The head may go its way: neither its history, nor its group, nor an operator keeps it.
  virtual Decision atItsTurn(const Now& now);
  virtual Decision heldBack(BootTime until);
  /// The head's key was new. `ranInTransaction`: the handler ran before.
  virtual Decision keyIsNew(bool ranInTransaction, const Now& now);
  virtual void handlerStarts() {}
  virtual Decision handled();
  virtual Decision attemptFailed(const Outcome& outcome, const Now& now);
  virtual Decision rejected(const Outcome& outcome, const Now& now);
  virtual void notePostponed(const std::string& why, const Postponements& so, std::chrono::milliseconds wait,
                             const Now& now);
  /// The head waits for its next attempt at the supply, with its group.
  virtual bool waitsElsewhere() const noexcept { return !state_.isOneLine(); }

  const Message& message() const noexcept { return *head_.message; }
  Decision askForTurn() const { return Question{TakesToken{head_.isFirstOfAll}}; }
  Decision admit() const { return Question{AdmitsKey{!key_.marked}}; }
  Decision run(const Now& now);
  Decision deadLetter(std::string_view reason, int attempts, bool withKey, const Now& now);
  bool needsTurn() const;

  LaneState& state_;
  Head head_;
  BootTime notBefore_ = BootTime::min();  // the head does not begin earlier
  std::optional<MessageSkipped> skipped_;
  bool isWithoutEffects_ = false;  // the answer at hand

 private:
  struct Key {  // the head's, in the open transaction
    bool isLookedUp = false;
    bool isKnown = false;  // the key was stored already
    bool marked = false;   // the transaction's mark stands before it
    bool isAdmitted = false;
  };

  void takeUp(const Head& head);
  bool wasCommitted();
  Decision beginWithoutKey(const Now& now);
  Decision refuse(std::string_view why, const Now& now);
  Decision cannotBeStored(const Now& now);
  std::optional<Decision> findTurn(const Now& now);
  Decision dropRepeat();
  Decision tooManyWait();
  Decision deadLetterReleased(const Now& now);
  Decision standStill(const Now& now);
  Decision standDown(const Now& now);
  Decision charge(const Now& now);
  Decision letPass(const std::string& why, const Now& now);
  Decision start();
  Decision skip(const Outcome& outcome, const Now& now);
  Decision postpone(const Outcome& outcome, const Now& now);
  void tellWhoHoldsUp(std::chrono::milliseconds wait, const std::string& why, const Now& now);
  Decision dropKnown(Admission admission, const Now& now);
  Decision startOver();
  bool beginsUnlocked() const noexcept {
    return state_.options.handlerIsExternal || (head_.isFirst && (!head_.storeIsAway || state_.answers));
  }
  /// The supply hears of its start.
  bool isHeard() const noexcept { return state_.coalesces() || (state_.isOneLine() && head_.isCounted); }
  bool needsAnswer() const { return state_.answers && answered_ != message().id && !isSkip(); }
  Decision gather() const { return Question{Gathers{attemptNumber(), state_.histories.putOffSince(message().id)}}; }
  bool isSkip() const { return state_.skipReasonOf(message()) != nullptr; }
  bool needsCharge() const { return head_.isSuspect && !isCharged() && !isSkip(); }
  bool isRefused() const { return refused_ && refused_->id == message().id; }
  bool isCharged() const { return charged_ == message().id; }
  bool hasRunBefore() const { return ran_ == message().id; }
  int attemptNumber() const;
  AttemptRecord& record(int attempts, const std::string& error, const Now& now);
  void recordPostponed(const std::string& why, const Postponements& so, std::chrono::milliseconds wait, const Now& now);
  void logEnd(AttemptEnd end, const std::string& why, const Now& now);

  RetryDelays retryDelays_;

  Key key_;
  std::unordered_set<MessageId> tokens_;  // those that came with one
  std::optional<MessageId> turn_;         // the head, when it has got its token by itself
  std::optional<MessageId> answered_;     // the head, when its answer is at hand
  WallTime answerBegan_{};
  bool hasBegun_ = false;                // it stands for others already, and was to be answered then
  std::optional<MessageId> heldBack_;    // and told of it
  std::optional<MessageId> charged_;     // a suspect whose attempt is durable
  std::optional<MessageId> repeat_;      // its key was there when it was to become a dead letter
  std::optional<AttemptRecord> before_;  // its record before that
  std::optional<MessageId> ran_;         // an external handler is done with it
  struct Death {
    MessageId id{};
    std::string reason{};
    int attempts = 0;
    bool withKey = false;
    std::optional<AttemptEnd> end{};  // how the last attempt ended, if it was logged
  };
  struct Refused {
    MessageId id;
    std::string why;
    bool counts;
    std::optional<Death> death;  // the dead letter, if that was what the store refused
    int times = 0;               // in a row
  };
  std::optional<Refused> refused_;  // by the store
  struct HeldUp {                   // the queue, by the head's failures
    MessageId id{};
    BootTime since{};
    BootTime nextWord{};
  };
  HeldUp heldUp_;
  Death death_;                       // the last one that was written
  bool isDying_ = false;              // death_ is written and not yet durable
  std::optional<AttemptEnd> logged_;  // how the head's attempt ended, if it was logged since begin()
  BootTime runBegan_{};
  Duration lastRun_{};
  BootTime nextWord_{};  // when to ask whether we may go on
  std::deque<std::pair<MessageId, BodyDigest>> unacknowledged_;
};

}  // namespace tenure::consuming
