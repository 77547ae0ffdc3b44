/// One serial line of messages: the parts of a lane, and what comes after what. Pure: asked by the shell, it answers
/// with the next thing to do; it never reads a clock, never touches source, store or handler.
///
///   inaugurate   claim ─► recall what earlier terms left ─► attach
///
///   execute      take ─► head ─► delivery ─► settled ─► head …          (one transaction, a mark before each message)
///                 ▲                │            └─ over ─► committer: commit ─► report ──────────────┐
///                 │                └─ has to wait ─► commit what precedes ─► park, or wait              │
///                 └────────────────────────────────────────────────────────────────────────────────────┘
///
///   handOver     record that nothing is in work, when that is so
///
/// Any failure inside a transaction rolls it back; its messages are handled anew. The shell gives one answer to each
/// action, and it is the only caller.
///
/// A batch handler has a way of its own: admitted messages wait for each other, and a message that is not plain ends
/// the run before it. A run that its handler does not finish charges no message: each comes alone then.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "consumer/actions.hpp"
#include "consumer/committer.hpp"
#include "consumer/delivery.hpp"
#include "consumer/in_work_record.hpp"
#include "consumer/lane_queue.hpp"
#include "consumer/lane_state.hpp"
#include "consumer/outages.hpp"
#include "consumer/sweeper.hpp"
#include "consumer/taken_delivery.hpp"

namespace tenure::consuming {

class Lane {
 public:
  struct Setup {
    bool reads = true;        // its thread reads the source; else it is one of several lanes
    bool together = false;    // the handler takes many at once
    bool answers = false;     // it answers with values
    std::size_t atOnce = 1;   // so many of different groups at a time
    bool takesSkips = false;  // as Handlers::takeSkips
    FencingToken token{};
    std::shared_ptr<Notes> notes{};
  };
  /// One for each term.
  Lane(const ConsumerOptions& options, Random random, const Setup& setup);

  // The phases of a term.
  Action inaugurate(const Now& now);
  Action execute(const Now& now);
  Action handOver(const Now& now);
  /// A pause is over.
  void resumed(const Now& now) noexcept { outages_.restart(now); }
  /// Nothing that has begun is open: no transaction, no outcome that is not known, nothing that was taken.
  bool isAtRest() const noexcept {
    return !hasOpenWork() && !delivery_->hasTaken() && (begunBehind_ == 0 || queue_.size() == 0);
  }

  // Answers to the last action.
  Action on(Done<Claim>, const Now& now) {
    termState_.claimed = true;
    return wentWell(now);
  }
  Action on(Done<Attach> done, const Now& now);
  Action on(Done<Declare>, const Now& now) {
    inWork_.declared();
    return wentWell(now);
  }
  Action on(Done<Wait>, const Now& now) { return proceed(now); }
  void on(Done<Tend>, const Now& now) { outages_.wentWell(Side::source, now); }
  Action on(Done<Undo>, const Now& now) { return decide(delivery_->undone(now), now); }
  Action on(Done<WriteDeadLetter> done, const Now& now);
  Action on(Done<Commit> done, const Now& now);
  Action on(Done<Abandon> done, const Now& now);
  template <class Asked>
  Action on(const Failed<Asked>& failed, const Now& now) {
    const bool mayHaveLanded = isOutcomeUnknown(failed.error.code) || std::is_same_v<Asked, Resolve>;
    if (auto other = beyondOneAction(failed.error, mayHaveLanded, now)) return *std::move(other);
    return goOn(failed, now);
  }
  /// To a Claim: the queue could not be asked which one it is.
  Action onUnidentified(const Error& error, const Now& now) { return sourceFailed(error, now); }
  Action onRecalled(const ConsumerState& left, const Now& now);
  Action onTaken(Supplied supplied, const Now& now);
  Action onTurned(std::optional<BootTime> heldUntil, const Now& now) {
    return decide(delivery_->turned(heldUntil, now), now);
  }
  Action onBegun(std::vector<Message> others, const Now& now) {
    return decide(delivery_->begun(std::move(others)), now);
  }
  Action onReported(const Receipt& receipt, const Now& now);
  Action onLooked(bool known, const Now& now) { return decide(delivery_->looked(known), now); }
  Action onAdmitted(Admission admission, const Now& now);
  /// The store has the key already of the message that was to become a dead letter.
  Action onKeyFound(const Now& now) { return decide(delivery_->foundKey(), now); }
  Action onGathered(const Gathered& gathered, const Now& now);
  Action onRan(const Outcome& outcome, const Now& now) { return decide(delivery_->ran(outcome, now), now); }
  Action onRanTogether(const Outcome& outcome, const Now& now);
  /// Other lanes kept the lane waiting for a transaction. Nullopt: the handler starts nevertheless.
  std::optional<Action> reconsider(const Now& now);
  /// What the head's handler was told of its state holds no more: its transaction is undone.
  Action onStale(const Now& now);
  Action onResolved(CommitFate fate, const Now& now);
  Action onClockRead(const std::optional<WallTime>& storesClock, const Now& now);
  Action onPruned(const Pruned& pruned, const Now& now);
  Action onLogPruned(std::size_t removed, const Now& now);
  Action onInquired(const ConsumerState& found, const Now& now);

  /// While it waits for the answer to its last action: nothing has come from there since then; it has come after all.
  void overdue(Side side, BootTime since, const Now& now) { outages_.overdue(side, since, now); }
  void answeredLate(Side side, const Now& now) { outages_.answeredLate(side, now); }
  /// Since when that side has failed and not gone well again.
  std::optional<BootTime> failingSince(Side side) const noexcept { return outages_.failingSince(side); }
  bool isLongAway(Side side) const noexcept { return outages_.isLong(side); }
  /// True once after each failure in a long outage that another leader might not have.
  bool takeReliefWish() noexcept { return outages_.takeReliefWish(); }
  Company company() const noexcept { return committer_.company(); }
  /// The term is lost: nothing can be written any more, only told.
  void lose(const std::string& why);
  /// Starts a pass that forgets old keys.
  void sweep(BootTime now) { sweeper_.start(now); }
  /// Messages behind the head that may be answered before it is committed; the first is the head.
  std::vector<MessagePtr> startable(const Now& now) const;
  /// All messages that are on record to begin, with those that begin only as the head: they have failed before.
  std::span<const MessagePtr> mayBegin(const Now& now) const;
  /// Messages of other groups may be taken while the head is answered.
  bool mayTakeMore(const Now& now) const noexcept { return spreads() && queue_.settled() == 0 && wantsAhead(now) > 0; }
  /// All that it has in hand.
  std::span<const MessagePtr> inHand() const noexcept { return queue_.messages(); }
  /// How many messages its next commit should carry.
  std::size_t batch() const noexcept { return committer_.size(); }
  /// Messages have begun that a leader finishes before it leaves.
  bool hasBegun() const noexcept { return begunBehind_ > 0; }
  /// At most once: a message is acknowledged, and its handler has not ended.
  bool hasTaken() const noexcept { return delivery_->hasTaken(); }
  /// Histories of suspects that the source has not delivered again since it was attached anew.
  std::vector<MessageHistory> takeHistories() { return state_.histories.takeAll(); }
  /// Events since the last call; a transaction's events are told when it is durable.
  bool hasNews() const noexcept { return !state_.news.empty(); }
  std::vector<EventBody> takeNews() { return std::exchange(state_.news, {}); }

 private:
  enum class Phase { inaugurating, executing, leaving };
  struct TermState {  // how far the term has come
    bool claimed = false;
    bool recalled = false;
    bool attached = false;
  };
  struct Supply {         // of messages
    bool topped = false;  // looked for more since the last commit
    bool dry = false;     // and found none
    BootTime dryUntil{};  // where groups are taken beside each other: looks again then
    bool mayReadOn = true;
    bool areCounted = false;        // by a rate limit
    std::uint64_t attachment = 0;   // the last assignment's,
    std::uint64_t assignments = 0;  // and its number
  };

  Action proceed(const Now& now);
  Action wentWell(const Now& now) {
    outages_.wentWell(Side::store, now);
    return proceed(now);
  }
  Action becomeLeader(const Now& now);
  Action askAgain(const Now& now);
  Action waitFor(BootTime until, const Now& now);
  bool tendsMeanwhile(const Now& now) const noexcept;
  /// A transaction has messages in it, or its outcome is not known.
  bool hasOpenWork() const noexcept;
  std::optional<Action> sweepStep(const Now& now);
  bool wantsMessages() const noexcept;
  std::size_t wantsAhead(const Now& now) const noexcept;
  bool isDry(const Now& now) const noexcept { return supply_.dry && (!spreads() || now.boot < supply_.dryUntil); }
  bool isPlain() const noexcept;
  bool spreads() const noexcept;
  Action takeAheadOrCommit(const Now& now);
  std::size_t room() const noexcept;
  Action take(std::size_t max, BootTime until);
  Action takeAhead(std::size_t max);
  Action scanned(const Now& now);
  Action emptied(const Now& now);
  Action beginHead(const Now& now);
  Head headOf(const Now& now) const;
  Action decide(Delivery::Decision decision, const Now& now);
  Action giveBack(const Delivery::GivesBack& how, const Now& now);
  Action settle(bool ran, bool wasDeadLettered, const Now& now);
  Action commit(const Now& now);
  void noteRecord(const Now& now);
  void report(const Now& now);
  Action leaveQueue(const Receipt& receipt, const Now& now);
  Report stamped(supply::Report of) const;
  bool mayRelease() const noexcept;
  Report park();
  void forgetTransaction() noexcept;
  bool headWaits(const Now& now) const;
  bool isAlone(const Now& now) const;
  bool areUnnamed() const noexcept;
  bool finishesBegun(const Now& now) noexcept;
  BootTime notBefore() const noexcept { return std::max(delivery_->notBefore(), outages_.notBefore()); }

  // Many at once.
  bool joins(const Now& now) const;
  Action join(const Now& now);
  Action joinHead(const Now& now);
  Action joinOrRun(const Now& now);

  // Failures.
  std::optional<Action> beyondOneAction(const Error& error, bool mayHaveLanded, const Now& now);
  Action goOn(const Failed<Attach>& failed, const Now& now) { return sourceFailed(failed.error, now); }
  Action goOn(const Failed<Take>& failed, const Now& now) { return sourceFailed(failed.error, now); }
  Action goOn(const Failed<Tend>& failed, const Now& now) { return sourceFailed(failed.error, now); }
  Action goOn(const Failed<Report>& failed, const Now& now);
  Action goOn(const Failed<Admit>& failed, const Now& now);
  Action goOn(const Failed<Handle>& failed, const Now& now) { return handlerFailed(failed.error, now); }
  Action goOn(const Failed<HandleTogether>& failed, const Now& now) { return handlerFailed(failed.error, now); }
  Action goOn(const Failed<Commit>& failed, const Now& now);
  Action goOn(const Failed<Resolve>& failed, const Now& now);
  Action goOn(const Failed<Sort>& failed, const Now& now) { return sideStepFailed(failed.error, now); }
  Action goOn(const Failed<Declare>& failed, const Now& now) { return sideStepFailed(failed.error, now); }
  Action goOn(const Failed<Prune>& failed, const Now& now) { return sideStepFailed(failed.error, now); }
  Action goOn(const Failed<PruneLog>& failed, const Now& now) { return sideStepFailed(failed.error, now); }
  template <class Asked>
  Action goOn(const Failed<Asked>& failed, const Now& now) {
    return storeFailed(failed.error, now);
  }
  Action handlerFailed(const Error& error, const Now& now);
  Action sideStepFailed(const Error& error, const Now& now);
  Action undoneByOthers(const Error& error, const Now& now);
  /// `settledAlone`: how many messages are settled where the one at fault is alone.
  Action overstrained(const Error& error, std::size_t settledAlone, const Now& now);
  Action storeFailed(const Error& error, const Now& now);
  Action sourceFailed(const Error& error, const Now& now);
  Action takenRefused(const Error& error, const Now& now);
  Action refusedByStore(const MessageId& id, const Error& error, bool counts, const Now& now);
  Action troubled(Side side, const Error& error, const Now& now);
  void forgoWhatMayBeTaken(const std::string& why);
  Action quit(const Error& error);
  Return over(bool again) const;

  const std::size_t atOnce_;  // messages of different groups that its handler handles at a time
  LaneState state_;
  LaneQueue queue_;
  Outages outages_;
  Sweeper sweeper_;
  InWorkRecord inWork_;
  const std::unique_ptr<Delivery> delivery_;
  Committer committer_;

  Phase phase_ = Phase::inaugurating;
  TermState termState_;
  Supply supply_;
  std::size_t ahead_ = atOnce_;  // messages that its handler has in hand at a time
  std::size_t begunBehind_ = 0;  // messages behind the head that it has in hand, or has answered
  bool over_ = false;
  bool joining_ = false;  // the head is admitted to be handled with others
  bool repeats_ = false;  // whatever became of it: a pruning goes on in its next pass, a declaration is made again
  bool toldOfHorizon_ = false;  // once a term is enough
  BootTime sliceBegan_{};
  BootTime nextTend_{};
  std::optional<BootTime> parkUntil_;  // the head, when the transaction is over
  Error trouble_;
};

}  // namespace tenure::consuming
