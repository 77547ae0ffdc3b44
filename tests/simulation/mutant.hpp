/// Broken protocols, to see that the simulation would notice. Each wraps a port of the correct one; none is ever
/// shipped.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "coordination/coordination.hpp"
#include "support/forwarding_store.hpp"
#include "tenure/testing/memory.hpp"
#include "testing/world/process_loop.hpp"

namespace tenure::simulation {

using test::ProcessLoop;

enum class Mutant {
  none,
  noFence,              // any transaction commits
  checkThenWrite,       // the fence is looked at by the first write, and not held until the commit
  lazyClaim,            // the fence is raised by a term's first transaction
  readBeforeClaim,      // what earlier terms left is read, then claimed
  ackBeforeCommit,      // acknowledged, then committed
  noDedup,              // every message is fresh
  noSourceExclusivity,  // a broker's queue lets everybody in
  noBarrier,            // the marker always looks idle
  leaseFromReply,       // the lease counts from a probe's reply
  rankBySequence,       // candidates are ranked, and tokens made, by sequence number
  noLetter,             // the dead leave nothing behind
  lostAttempts,         // failed attempts are counted, but not in the store
  uncharged,            // suspects start before they are charged
  noBackoff,            // the next attempt does not wait
  noQueueLimit,         // only groups are held back
  noGroupLimit,         // only the queue is held back
  staleLimits,          // limits that change are not noticed
  numbersIgnored,       // messages are handled in the order they come
  earlyLost,            // what comes early is acknowledged, and not kept
  positionLost,         // where a group stands is known, but not to the store
  gapWithoutNote,       // numbers are given up, and nobody is told
  inWorkForgotten,      // what a predecessor had in work is not asked for
  groupFreedEarly,      // the scheduler gives a group to a lane while another one has it
  parkedOvertaken,      // what comes for a group that waits for an attempt does not wait with it
  laneWithoutFence,     // only the career thread's transactions are fenced
  earlyResign,          // the leadership is given up before what is in hand is finished
  ackOnDelivery,        // at least once acknowledges what it is given
  startsAgain,          // at most once starts a handler before the key of its message is durable
  keysAlike,            // a run stands for what has another key
  failureInBatch,       // of many that are handled at once, those that fail count as done
  unlogged,             // the log of attempts leaves out those that failed
  hostNameIsMachine,    // another boot of a host of the same name ends all that ran there
  unknownIsGone,        // who cannot be looked at is gone
  willUnproven,         // a last will is carried out before all is proven gone that ran for the term
  willOfFrozen,         // a last will is carried out though its process only stands still
  returnedIsKnown,      // what a broker delivers again is done
  forgetsEarly,         // keys are forgotten before their time
  returnsLast,          // what a broker delivers again comes after what it delivers for the first time
  halfApplied,          // a commit is written but for what the queue that it sends to does not take
  readsForgotten,       // what a lane has read is not expected at its commit
  lettersWhole,         // a dead letter that its store does not take is not cut
  refusalEndsTerm,      // a commit that is refused for one message ends the term
  lostClaimForgotten,   // what a claim made anew has written without a reply looks a stranger's
  copiesApart,          // copies of a message are strangers to the scheduler
  narrowedUnrecorded,   // many suspects come few at a time, and the record does not say which
  promotionUnfenced,    // messages with a time are promoted without the reader's token
  twoPromoters,         // whoever stands by promotes as well
  dueByLeader,          // what is due goes by the leader's clock, though the store has one
  firedUnrecorded,      // a promotion leaves no record of what came to the queue
  promotedInTwo,        // a message leaves the room in one transaction and comes to the queue in another
  promotedBackwards,    // what is promoted at once comes in the reverse order
  jumpBelieved,         // after a jump the store's clock is believed at once
  cancelsUnlooked,      // a cancellation does not look whether its message still waits when it is committed
  placesCursor,         // a look begins behind the last place that was seen
  boundTooFar,          // a look begins one place behind the settled bound
  asleepUnlooked,       // a reader says that it sleeps, and sleeps without another look
  wokenByInsert,        // a sender looks whether the reader sleeps when it inserts, and not when it commits
  leaseFromMarker,      // after a baton the lease counts from when the marker was read
  batonUnchecked,       // the baton is passed without a look at the successor's znode
  batonByName,          // the baton is passed to any candidacy of the replica that has accepted
  batonAfterUnknown,    // a term whose end is unknown is handed over as if it had ended in order
  outageEndsTerm,       // a leader whose store is away for too long leaves, whether another one could work or not
  lockEndsWork,         // a row that somebody else has locked counts as an outage of the store
  acceptsUnasked,       // a leadership is accepted without a question to the store
  answerTwice,          // the effects of an answer are applied twice
  givenUnrecorded,      // a message is thought about as soon as it is read, before it is on record
  thrownAwayCommitted,  // a message that is given again is answered as it was before
  count
};
std::string_view toString(Mutant mutant) noexcept;
std::optional<Mutant> parseMutant(std::string_view name) noexcept;
/// What it breaks, in words.
std::string_view describe(Mutant mutant) noexcept;
/// It has to be caught by this promise, or by another one of the few that watch over the same rule.
bool isMeantToBreak(Mutant mutant, std::string_view promise) noexcept;

/// What the mutants of the store share. The real store is claimed under invented tokens, each newer than all before,
/// whenever the broken fence would have let a transaction pass.
struct BrokenFence {
  std::int64_t invented = 0;
  FencingToken highest;  // real
};

class MutantStore final : public test::ForwardingStore {
 public:
  MutantStore(Mutant mutant, IFencedStore& inner, const memory::World& world, BrokenFence& fence,
              const ProcessLoop& loop)
      : ForwardingStore(inner), mutant_(mutant), world_(world), fence_(fence), loop_(loop) {}

  Result<void> claim(const Term& term) override;
  Result<std::unique_ptr<IFencedTransaction>> begin(const Term& term) override;
  Result<CommitFate> resolve(const Term& term) override { return inner().resolve(claimed(term)); }
  Result<ConsumerState> consumerState(const ConsumerName& consumer) override;
  Result<InWork> inWorkOf(const ConsumerName& consumer, std::size_t lane) override {
    return isUnclaimed() ? Result<InWork>(InWork{}) : ForwardingStore::inWorkOf(consumer, lane);
  }
  Result<std::vector<NumberedGroup>> openGroups(const ConsumerName& consumer) override {
    return isUnclaimed() ? Result<std::vector<NumberedGroup>>({}) : ForwardingStore::openGroups(consumer);
  }
  Result<std::vector<Admission>> known(const ConsumerName& consumer, std::span<const Message> messages) override;
  // To the real store, the terms are invented ones.
  Result<Pruned> prune(const Term&, const Pruning&) override { return Pruned{}; }
  Result<std::size_t> pruneLog(const Term&, const LogPruning&) override { return std::size_t{0}; }
  void release() noexcept override;

  Mutant mutant() const noexcept { return mutant_; }
  /// Whoever asks works in a lane.
  bool inLane() const noexcept { return loop_.inLane(); }
  std::int64_t nextKey() noexcept { return ++fence_.invented; }
  /// Takes the store whatever its fence says, and begins anew.
  Result<std::unique_ptr<IFencedTransaction>> beginAnyway(const Term& term);

 private:
  Result<void> reallyClaim(const Term& term);
  /// As the real store knows it.
  const Term& claimed(const Term& term) const noexcept { return invented_ ? *invented_ : term; }
  /// The real store has heard of no term yet.
  bool isUnclaimed() const noexcept { return mutant_ == Mutant::lazyClaim && !invented_; }

  Mutant mutant_;
  const memory::World& world_;
  BrokenFence& fence_;
  const ProcessLoop& loop_;
  FencingToken raised_;
  std::optional<Term> invented_;
};

}  // namespace tenure::simulation
