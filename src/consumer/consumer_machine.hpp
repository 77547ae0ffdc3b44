/// Decides what becomes of each message, strictly one after the other. Pure: asked by the shell, it answers with the
/// next thing to do; it never reads a clock, never touches source, store or handler.
///
///   inaugurate   claim → recall what earlier terms left → attach
///
///   execute      fetch ─► head ─► admit ─► run ─► settled ─► head …      (one transaction, a mark before each message)
///                          │        │       │         └─ batch over ─► commit ─► acknowledge ─► fetch
///                          │        │       └─ failed ─► undo, commit what precedes and the attempt ─► wait ─► head
///                          │        │          rejected ─► bury; skipped ─► undo, its key alone ─► settled
///                          │        └─ has a key: drop it, or bury it when the body is another one
///                          └─ unfit, or out of attempts: bury it
///
/// A batch's first message is only looked up before its handler and admitted after it: the store's lock is taken by the
/// handler's own first statement, and a handler that begins with slow work holds nobody up meanwhile. One that is
/// external never runs under the lock.
///
///   handOver     record that nothing is in work, when that is so
///
/// The window holds what was fetched and not yet acknowledged, in source order. Its first `settled_` messages are
/// booked in the open transaction; the next one is the head. A head that has to wait blocks all behind it; one that is
/// out of attempts is buried, or goes on blocking them (blockade.hpp).
///
/// Which message kills its process? Every commit records which messages the next transaction may touch; before the
/// first commit, the claim alone says that up to a batch may be in work. A successor of a process that died treats
/// exactly those as suspects: alone in a transaction, the attempt durable before the handler starts. Nothing that the
/// record does not cover is ever begun, so a killer is always among the suspects, and only a message that was alone in
/// work when its process died is charged with it (charges.hpp). An external handler works on one at a time, and that
/// one is named before it begins; there nobody has to be suspected to be charged.
///
/// That is the way to one effect for each message. Without keys (at least once) nothing is looked up or admitted. At
/// most once is another way, consumer_taking.cpp: a message leaves the window with its key before its handler starts.
///
///   head ─► admit ─► commit ─► acknowledge ─► taken ─► run ─► commit
///                                               └─ failed, or its leader leaves ─► bury ─► commit
///
/// In a lane (consumer_lane.cpp) the window is what the desk gave it. Nothing begins before it is in the desk's front
/// or on the lane's own record, and a head that has to wait goes back to the desk, to wait there with its group.
/// A handler of many at once has a way of its own as well, consumer_together.cpp: the admitted wait for each other.
///
///   head ─► admit ─► joined ─► head … ─► run ─► settled ─► commit
///                                         └─ failed ─► undo, and all of them one by one
///
/// Who follows numbers has one more stage before the key, consumer_numbers.cpp: what comes early is kept in the store
/// and settled; when its turn has come it is loaded, to the front of the window, and is a message like any other.
///
/// With a rate limit the head may have to wait for its turn before it begins. With `collapse` what is fetched passes a
/// sieve: the window holds only those that run, and more is read before each of them.
///
/// Any failure inside a transaction rolls it back; its messages are handled anew. The shell gives one answer to each
/// action, and it is the only caller.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/backoff.hpp"
#include "consumer/actions.hpp"
#include "consumer/attempt_log.hpp"
#include "consumer/batch_sizer.hpp"
#include "consumer/blockade.hpp"
#include "consumer/clock_watch.hpp"
#include "consumer/company.hpp"
#include "consumer/postponements.hpp"
#include "consumer/pruner.hpp"
#include "consumer/streak.hpp"
#include "pipeline/collapser.hpp"
#include "pipeline/throttle.hpp"
#include "tenure/consumer.hpp"

namespace tenure::consuming {

/// What all machines of a term keep together. The clock is looked at by one at a time.
struct Notes {
  explicit Notes(const ConsumerOptions& options) : streak(options), clock(options.keepIdsFor) {}
  Streak streak;
  ClockWatch clock;
  StuckAlarm stuck;
};

class ConsumerMachine {
 public:
  /// One for each term. `shared`: the source acknowledges inside the store's transaction. `together`: the handler takes
  /// many at once.
  ConsumerMachine(const ConsumerOptions& options, bool shared, Random random, Role role = Role::alone,
                  bool together = false, std::shared_ptr<pipeline::OpenGroups> lists = nullptr, FencingToken token = {},
                  std::shared_ptr<Notes> notes = nullptr);

  // The phases of a term.
  Action inaugurate(const Moment& moment);
  Action execute(const Moment& moment);
  Action handOver(const Moment& moment);

  // Answers to the last action.
  Action did(const Moment& moment);
  Action failed(const Error& error, const Moment& moment);
  Action recalled(Recollection left, const Moment& moment);
  Action reopened(const std::vector<std::string>& places, const Moment& moment);
  Action consulted(const std::optional<std::string>& place, const Moment& moment);
  Action loaded(const pipeline::Ready& ready, std::vector<Message> messages, const Moment& moment);
  Action fetched(std::vector<Message> messages, const Moment& moment);
  Action assigned(Assignment assignment, const Moment& moment);
  Action checked(bool known, const Moment& moment);
  Action admitted(Admission admission, const Moment& moment);
  Action ran(const Outcome& outcome, const Moment& moment);
  Action resolved(CommitFate fate, const Moment& moment);
  Action lookedAt(const std::optional<WallTime>& storesClock, const Moment& moment);
  Action pruned(const Pruned& pruned, const Moment& moment);
  Action logPruned(std::size_t removed, const Moment& moment);
  Action inquired(const ConsumerState& found, const Moment& moment);
  /// It has its token, or may ask again then.
  Action turned(BootTime turn, const Moment& moment);

  /// While it waits for the answer to its last action: nothing has come from there since then.
  void overdue(bool ofSource, BootTime since, const Moment& moment);
  /// It has come after all.
  void answeredLate(bool ofSource, const Moment& moment);
  /// Since when the source, or the store, has failed and not gone well again.
  std::optional<BootTime> failingSince(bool ofSource) const noexcept;

  /// The term is lost: nothing can be written any more, only told.
  void lose(const std::string& why);

  /// From now on; to be told again in each term.
  void limit(RateRules rules) { throttle_.apply(std::move(rules)); }

  /// Acknowledged together with the settled ones: the open transaction's runs stand for them.
  std::span<const Message> collapsed() const noexcept {
    return collapser_ ? collapser_->toAcknowledge() : company_.toAcknowledge();
  }
  /// Positions of settled ones that had no run.
  std::span<const std::int64_t> dropped() const noexcept { return company_.dropped(); }
  /// With lanes: the head's run, which is about to begin, stands for these.
  void standsFor(std::vector<Message> others) { company_.begins(head(), std::move(others)); }
  /// The source has to deliver what follows once more.
  void attachAgain() noexcept { attached_ = false; }
  std::span<const Message> window() const noexcept { return std::span{window_}.subspan(first_); }
  const Message& head() const noexcept { return taken_ ? taken_->message : window_[first_ + settled_ + joined_]; }
  /// What one call of the handler is to do together.
  std::span<const Message> joined() const noexcept { return window().subspan(settled_, joined_); }
  /// Nullptr: numbers are not followed.
  const pipeline::Sequencer* sequencer() const noexcept { return sequencer_ ? &*sequencer_ : nullptr; }
  /// Of the last Quit.
  const Error& trouble() const noexcept { return trouble_; }

  /// A lane forgets no keys by itself.
  void startPruning(BootTime now) {
    pruner_.start(now);
    log_.start(now);
  }
  /// In a lane, before Acknowledge is done: the groups of what came with a token of the rate limits and needed none.
  std::vector<GroupId> unbegun() const;
  /// After Park: what leaves the window.
  Parked takeParked();
  /// At a post: groups of which nothing is in the window may go to others, with their standings.
  bool mayRelease() const noexcept;
  std::vector<pipeline::Standing> takeStandings();
  /// Before the lanes begin: those of all groups, when it has nothing left to do.
  bool isIdle() const;
  std::vector<pipeline::Standing> takeAllStandings();
  void know(std::vector<Past> pasts);
  bool isOutcomeKnown() const noexcept { return outcomeKnown_; }
  /// Of a lane: on its record nothing of this term is in work.
  bool isClosed() const noexcept { return ledger_ != Ledger::open; }

  /// What is worth telling since the last call; what a transaction did is told when it is durable.
  bool hasNews() const noexcept { return !news_.empty(); }
  std::vector<EventBody> takeNews() { return std::exchange(news_, {}); }

 private:
  /// A lease that is late comes back with the next probe, or not at all.
  static constexpr std::chrono::milliseconds softLimitPause{20};

  enum class Phase { inaugurating, executing, leaving };
  struct Taken {  // acknowledged, and its handler not yet done
    Message message;
    bool begun = false;
    std::string trouble{};  // why it becomes a dead letter
    bool done = false;      // outside the store, which cannot undo it
  };
  enum class Ledger { unread, open, closed };  // may anything be in work, as far as the store knows?

  template <class A>
  Action ask(Step step, A action) {
    step_ = step;
    return action;
  }

  Action proceed(const Moment& moment);
  std::optional<Action> sweep(const Moment& moment);
  void lookAt(ClockWatch::Whose whose, WallTime wall, const Moment& moment);
  void glanceAtClock(const Moment& moment);
  void doubt(ClockWatch::Whose whose, std::string what);
  Action enterOffice(const Moment& moment);
  Action askAgain(const Moment& moment);
  Action survey(const Moment& moment);
  Action waitFor(BootTime until, const Moment& moment);
  Action fetch(BootTime until);
  void sift(std::vector<Message>& messages);
  bool isHeldBack(const Moment& moment);
  void tellHeldBack(BootTime turn, const Moment& moment);
  Action beginHead(const Moment& moment);
  Action beginWithoutKey(const Moment& moment);
  bool wasCommittedBefore();
  Action refuse(std::string_view why, const Moment& moment);
  Action refusedByStore(const Moment& moment);
  Action letGo(const Moment& moment);
  Action charge(const Moment& moment);
  void takeBackCharge();
  Action spareProcess(const Moment& moment);
  Action standStill(const Moment& moment);
  Action standDown(const Moment& moment);
  void noteDeath(const Moment& moment);
  const AttemptRecord* streakToBook();
  Action admit();
  Action run(const Moment& moment);
  Action bury(std::string_view reason, int attempts, bool withKey, const Moment& moment);
  Action startOver();
  Action dropKnown(Admission admission, const Moment& moment);
  Action handled(const Moment& moment);
  Action skip(const Outcome& outcome, const Moment& moment);
  Action settle(const Moment& moment, bool ran = true);
  void settleOthers(bool ran);
  Action attemptFailed(const Outcome& outcome, const Moment& moment);
  Action postpone(const Outcome& outcome, const Moment& moment);
  const Postponements& countPostponement(const Moment& moment);
  Action commit(const Moment& moment);
  Action committed(const Moment& moment);
  Action acknowledged(const Moment& moment);
  Action sideStepFailed(const Error& error, const Moment& moment);
  Action commitFailed(const Error& error, const Moment& moment);
  Action overstrained(const Error& error, const Moment& moment);
  Action storeFailed(const Error& error, const Moment& moment);
  Action sourceFailed(const Error& error, const Moment& moment);
  Action troubled(bool ofSource, const Error& error, const Moment& moment);
  Action quit(const Error& error);

  // In a lane.
  bool mustBeRecorded() const noexcept;
  void bringTokens(std::span<const Message> messages);
  bool needsTurn() const;
  void holdBack(BootTime until);
  Past pastOf(const MessageId& id);

  // At most once.
  Action take(const Moment& moment);
  Action proceedWithTaken(const Moment& moment);
  Action closeTaken(const Moment& moment);
  Action takenFailed(const std::string& why, const Moment& moment);
  Action takenRefused(const Error& error, const Moment& moment);
  void forgo(const std::string& why);
  void forgoWhatMayBeTaken(const std::string& why);

  // Many at once.
  bool joins(const Moment& moment) const;
  Action join(const Moment& moment);
  Action joinHead(const Moment& moment);
  Action joinOrRun(const Moment& moment);
  Action admittedToJoin(Admission admission, const Moment& moment);
  Action ranTogether(const Outcome& outcome, const Moment& moment);
  void separate() noexcept { apart_ = settled_ + joined_; }

  // Numbered messages.
  bool hasUnknownTurn() const;
  std::optional<Action> findTurn(const Moment& moment);
  Action keep(const Moment& moment);
  Action dropRepeat(const Moment& moment);
  Action tooManyWait(const Moment& moment);
  std::optional<Action> tendGroups(const Moment& moment);
  std::optional<Action> tendKeptSuspects();
  std::optional<Action> tendVisited(const Moment& moment);
  void tellOfGaps(const Moment& moment);
  void tellOf(const pipeline::Gap& gap);
  std::optional<Action> tend(const pipeline::Gap& gap, const Moment& moment);
  Action giveUp(const pipeline::Gap& gap, const Moment& moment);

  void findSuspects(const Moment& moment);
  void succeed(std::vector<Message> heirs);
  void readAgain();
  void loseSightOfSuspects();
  void forgetTransaction() noexcept;
  void rememberCommitted();
  void endOutage(bool ofSource, const Moment& moment);
  void noteAttempt(const Moment& moment);
  void logEnd(AttemptEnd end, const std::string& why, const Moment& moment);
  void tellCommitted(const Moment& moment);
  void tellPending();
  void noticeHorizon(const Moment& moment);
  void record(const MessageId& id, int attempts, const std::string& error, const Moment& moment);
  void checkInvariants() const;

  bool parks() const noexcept { return role_ != Role::alone; }
  bool collapses() const noexcept { return options_.collapse == Collapse::byKey; }
  bool storeIsAway() const noexcept { return failingSince(false).has_value(); }
  bool dedups() const noexcept { return options_.delivery != Guarantee::atLeastOnce; }
  bool blocks() const noexcept { return options_.onDead == OnDead::block; }
  bool takesFirst() const noexcept { return options_.delivery == Guarantee::atMostOnce; }
  std::size_t remaining() const noexcept { return window_.size() - first_; }
  std::size_t horizon() const noexcept;
  /// Of those that an earlier term may have died of.
  Reach theirs() const noexcept { return declared_.value_or(own_); }
  bool beginsUnlocked() const noexcept;
  bool suspect() const noexcept { return settled_ < suspects_; }
  /// One at a time, and each on record by itself when it begins: a successor knows what was in work.
  bool namesEach() const noexcept { return role_ == Role::alone && options_.handlerIsExternal && !takesFirst(); }
  std::size_t suspectsAfterCommit() const noexcept;
  bool headWaits(const Moment& moment) const;
  bool charged() const { return charged_ == head().id; }
  bool batchIsOver(const Moment& moment) const noexcept;
  bool wantsMessages() const noexcept;
  const AttemptRecord* attemptsOf(const MessageId& id) const;
  bool isReleased() const;
  int attemptNumber() const;

  const ConsumerOptions options_;
  const bool shared_;
  const Role role_;
  const bool together_;
  const FencingToken token_;
  const Reach own_;
  const std::size_t limit_;      // messages in a transaction
  const std::size_t readAhead_;  // what is fetched beyond the batch at hand
  const Duration slice_;         // how long one execute goes on
  Backoff retryBackoff_;
  Backoff outageBackoff_;
  BatchSizer sizer_;

  Phase phase_ = Phase::inaugurating;
  Step step_ = Step::claim;
  bool claimed_ = false;
  bool recalled_ = false;
  bool attached_ = false;
  bool over_ = false;
  bool outcomeKnown_ = true;
  Ledger ledger_ = Ledger::unread;
  bool recorded_ = false;  // the record is this term's own
  std::optional<Reach> declared_;
  BootTime sliceBegan_{};
  BootTime notBefore_ = BootTime::min();  // backoff: of the head, or of an outage

  std::optional<pipeline::Sequencer> sequencer_;
  bool reopened_ = false;
  std::optional<Visit> visit_;
  bool expects_ = false;  // suspects
  BootTime nextGapCheck_ = BootTime::min();

  std::vector<Message> window_;  // from first_ on; what is before it is acknowledged
  std::size_t first_ = 0;
  std::size_t held_ = 0;                        // leading messages that were kept: the source knows nothing of them
  std::size_t settled_ = 0;                     // booked in the open transaction
  std::size_t joined_ = 0;                      // after those: admitted, and waiting for each other
  bool areCounted_ = false;                     // by a rate limit of the desk
  std::unordered_set<MessageId> unusedTokens_;  // of the window: those that came with one, and have not begun
  std::optional<MessageId> turn_;               // the head, when it has got one by itself
  std::size_t apart_ = 0;                       // leading messages of the window that come one by one
  std::size_t granted_ = 0;                     // how many messages the durable record allows to begin
  std::size_t suspects_ = 0;                    // leading messages of the window that an earlier term may have died of
  bool topped_ = false;                         // looked for more since the last commit
  bool dry_ = false;                            // and found none
  bool swept_ = false;                          // a step of forgetting since then

  // Committed by this term, without a key, and not acknowledged: they come again, at the front and in this order.
  std::deque<std::pair<MessageId, BodyDigest>> unacknowledged_;
  std::optional<Taken> taken_;
  bool undoneBefore_ = false;  // since the last commit
  bool taking_ = false;        // the open transaction acknowledges what its handler has not seen

  // The open transaction.
  BootTime batchBegan_{};
  BootTime commitBegan_{};
  Commit booking_{};        // the commit that is under way
  bool batchEnds_ = false;  // commit before anything else begins
  bool charging_ = false;   // the commit charges a suspect with the attempt that follows
  std::optional<AttemptRecord> toRecord_;
  std::optional<MessageId> toForgive_;
  std::optional<BootTime> parkUntil_;  // the head, when the transaction is over
  std::vector<EventBody> pending_;     // told when the transaction is durable

  // The head.
  bool joining_ = false;  // it is admitted to be handled with others
  bool checked_ = false;  // known_ says whether it has a key
  bool known_ = false;
  bool marked_ = false;                   // the transaction's mark stands before it
  bool admitted_ = false;                 // its key is part of the transaction
  std::optional<MessageId> charged_;      // a suspect whose attempt is durable
  std::optional<AttemptRecord> before_;   // its record before that
  std::optional<MessageId> ran_;          // an external handler is done with it
  std::optional<AttemptRecord> refused_;  // the store cannot take it
  std::optional<MessageSkipped> skipped_;
  BootTime runBegan_{};
  Duration lastRun_{};
  std::string reason_;  // of its burial
  int buriedAfter_ = 0;

  // What earlier terms left.
  std::unordered_set<MessageId> inWork_;
  bool moreInWork_ = false;
  FencingToken suspectsOf_;
  std::unordered_map<MessageId, AttemptRecord> attempts_;
  std::unordered_map<MessageId, Postponements> postponements_;  // by their handlers, in this term and before

  struct Outage {
    bool ofSource;
    BootTime began;  // with the first question that was not answered
    bool failed;     // or an answer is only late
  };
  std::optional<Outage> outage_;
  std::optional<pipeline::Collapser> collapser_;  // where it is alone
  Company company_;                               // where the desk collapses
  pipeline::Throttle throttle_;
  std::optional<MessageId> heldBack_;  // and told of it
  Blockade blockade_;
  std::shared_ptr<Notes> notes_;
  Streak& streak_;
  int deaths_ = 0;          // that the open transaction adds to it
  bool succeeded_ = false;  // and something was done in it since
  AttemptRecord streakRecord_;
  BootTime nextWord_{};  // when to ask whether we may go on
  Pruner pruner_;
  bool looked_ = false;                      // at the clock, for the pass that is due
  std::chrono::milliseconds clockOffset_{};  // of the store's from ours
  std::optional<AttemptRecord> lookToBook_;
  AttemptLog log_;
  bool repeats_ = false;  // whatever became of it: a pruning goes on in its next pass, a declaration is made again
  bool toldOfHorizon_ = false;  // once a term is enough

  Error trouble_;
  std::vector<EventBody> news_;
};

}  // namespace tenure::consuming
