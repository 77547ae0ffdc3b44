/// One serial line of messages: the parts of a lane, and what comes after what. Pure: asked by the shell, it answers
/// with the next thing to do; it never reads a clock, never touches source, store or handler.
///
///   inaugurate   claim ─► recall what earlier terms left ─► attach
///
///   execute      take ─► head ─► delivery ─► settled ─► head …          (one transaction, a mark before each message)
///                 ▲                │            └─ over ─► committer: commit ─► acknowledge ─► release ─┐
///                 │                └─ has to wait ─► commit what precedes ─► park, or wait              │
///                 └────────────────────────────────────────────────────────────────────────────────────┘
///
///   handOver     record that nothing is in work, when that is so
///
/// Any failure inside a transaction rolls it back; its messages are handled anew. The shell gives one answer to each
/// action, and it is the only caller.
///
/// A handler of many at once has a way of its own: the admitted wait for each other, what is not plain about a message
/// ends the run before it, and a run whose handler is not done with it charges nobody: each message comes alone then.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "consumer/actions.hpp"
#include "consumer/committer.hpp"
#include "consumer/delivery.hpp"
#include "consumer/hand.hpp"
#include "consumer/ledger.hpp"
#include "consumer/numbers.hpp"
#include "consumer/outages.hpp"
#include "consumer/sweeper.hpp"
#include "consumer/workplace.hpp"

namespace tenure::consuming {

class Lane {
 public:
  struct Setup {
    Role role = Role::total;
    bool together = false;  // the handler takes many at once
    FencingToken token{};
    std::shared_ptr<pipeline::OpenGroups> lists{};  // of all lanes
    std::shared_ptr<Notes> notes{};
  };
  /// One for each term.
  Lane(const ConsumerOptions& options, Random random, const Setup& setup);

  // The phases of a term.
  Action inaugurate(const Moment& moment);
  Action execute(const Moment& moment);
  Action handOver(const Moment& moment);

  // Answers to the last action.
  Action did(const Moment& moment);
  Action failed(const Error& error, const Moment& moment);
  Action recalled(const Recollection& left, const Moment& moment);
  Action reopened(const std::vector<std::string>& places, const Moment& moment);
  Action consulted(const Consult& asked, const std::optional<std::string>& place, const Moment& moment);
  Action loaded(const pipeline::Ready& ready, std::vector<Message> messages, std::vector<Past> pasts,
                const Moment& moment);
  Action took(Share share, const Moment& moment);
  Action turned(BootTime turn, const Moment& moment);
  Action begun(std::vector<Message> others, const Moment& moment);
  Action acknowledged(Receipt receipt, const Moment& moment);
  Action looked(bool known, const Moment& moment);
  Action admitted(Admission admission, const Moment& moment);
  Action ran(const Outcome& outcome, const Moment& moment);
  Action resolved(CommitFate fate, const Moment& moment);
  Action lookedAt(const std::optional<WallTime>& storesClock, const Moment& moment);
  Action pruned(const Pruned& pruned, const Moment& moment);
  Action logPruned(std::size_t removed, const Moment& moment);
  Action inquired(const ConsumerState& found, const Moment& moment);

  /// While it waits for the answer to its last action: nothing has come from there since then; it has come after all.
  void overdue(Side side, BootTime since, const Moment& moment) { outages_.overdue(side, since, moment); }
  void answeredLate(Side side, const Moment& moment) { outages_.answeredLate(side, moment); }
  /// Since when that side has failed and not gone well again.
  std::optional<BootTime> failingSince(Side side) const noexcept { return outages_.failingSince(side); }
  /// The term is lost: nothing can be written any more, only told.
  void lose(const std::string& why);
  /// Which forgets keys.
  void sweep(BootTime now) { sweeper_.start(now); }
  /// Before the lanes begin: where all groups stand.
  std::vector<pipeline::Standing> takeStandings();
  /// What is worth telling since the last call; what a transaction did is told when it is durable.
  bool hasNews() const noexcept { return !at_.news.empty(); }
  std::vector<EventBody> takeNews() { return std::exchange(at_.news, {}); }

 private:
  enum class Phase { inaugurating, executing, leaving };
  struct Office {  // how far the term has come
    bool claimed = false;
    bool recalled = false;
    bool attached = false;
  };
  struct Supply {         // of messages
    bool topped = false;  // looked for more since the last commit
    bool dry = false;     // and found none
    bool mayReadOn = true;
    bool areCounted = false;  // by a rate limit
  };

  Action ask(Action action);
  template <class A>
  bool asked() const noexcept {
    return asked_ == indexOf<A>();
  }
  Action proceed(const Moment& moment);
  Action enterOffice(const Moment& moment);
  Action attach();
  Action askAgain(const Moment& moment);
  Action waitFor(BootTime until, const Moment& moment);
  std::optional<Action> tendGroups(const Moment& moment);
  std::optional<Action> sweepStep(const Moment& moment);
  bool wantsMessages() const noexcept;
  Action take(BootTime until);
  Action surveyed(const Survey& survey, const Moment& moment);
  Action emptied(const Moment& moment);
  Action beginHead(const Moment& moment);
  Head headOf(const Moment& moment) const;
  Action decide(Delivery::Decision decision, const Moment& moment);
  Action giveBack(const Delivery::GivesBack& how, const Moment& moment);
  Action settle(bool ran, bool wasBuried, const Moment& moment);
  Action commit(const Moment& moment);
  Action committed(const Moment& moment);
  void noteRecord(const Moment& moment);
  void report(const Moment& moment);
  Action leaveHand(Receipt receipt, const Moment& moment);
  std::vector<pipeline::Standing> standings();
  bool mayRelease() const noexcept;
  Park park();
  void forgetTransaction() noexcept;
  bool headWaits(const Moment& moment) const;
  BootTime notBefore() const noexcept { return std::max(delivery_.notBefore(), outages_.notBefore()); }

  // Many at once.
  bool joins(const Moment& moment) const;
  Action join(const Moment& moment);
  Action joinHead(const Moment& moment);
  Action joinOrRun(const Moment& moment);
  Action ranTogether(const Outcome& outcome, const Moment& moment);

  // Failures.
  Action commitFailed(const Error& error, const Moment& moment);
  Action sideStepFailed(const Error& error, const Moment& moment);
  Action overstrained(const Error& error, const Moment& moment);
  Action storeFailed(const Error& error, const Moment& moment);
  Action sourceFailed(const Error& error, const Moment& moment);
  Action takenRefused(const Error& error, const Moment& moment);
  Action troubled(Side side, const Error& error, const Moment& moment);
  void forgoWhatMayBeTaken(const std::string& why);
  Action quit(const Error& error);
  Return over(bool again) const;

  Workplace at_;
  Hand hand_;
  Numbers numbers_;
  Outages outages_;
  Sweeper sweeper_;
  Ledger ledger_;
  Delivery delivery_;
  Committer committer_;

  Phase phase_ = Phase::inaugurating;
  std::size_t asked_ = 0;  // the last action's index
  Office office_;
  Supply supply_;
  bool over_ = false;
  bool joining_ = false;  // the head is admitted to be handled with others
  bool repeats_ = false;  // whatever became of it: a pruning goes on in its next pass, a declaration is made again
  bool toldOfHorizon_ = false;  // once a term is enough
  bool expects_ = false;        // an earlier term may have died of something
  BootTime sliceBegan_{};
  std::optional<BootTime> parkUntil_;  // the head, when the transaction is over
  Error trouble_;
};

}  // namespace tenure::consuming
