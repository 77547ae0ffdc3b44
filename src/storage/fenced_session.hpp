/// What must hold in every store, written once over the verbs of its driver (driver.hpp).
///
///   claim     read the fence · judge (fence.hpp) · compare and set
///   begin     a transaction of values, which holds nothing in the store (fenced_transaction.hpp)
///   commit    everything at once, if the fence is as our last change left it and every expectation is met
///   resolve   after a lost reply: the commit's number is taken by a change of its own. When that succeeds, the commit
///             is not there and never will be; when it does not, the fence says whose change it was
///
/// How a message's key is found out: a look finds which of the expected messages have none, and the absence is
/// remembered; where a look is as dear as a commit, what is expected is taken for absent. Both are hints. The commit
/// makes the keys and finds out: when somebody else was faster, nothing is changed, all hints are forgotten, and the
/// batch is handled again (Errc::transactionConflict).
///
/// A server that was restarted or replaced is claimed anew before anything else is asked of it. It must hold our very
/// last change, or the term is over: nothing of ours is written without one, so who has the last has them all.
///
/// A lane is another of these over a driver of its own, which counts its commits for itself and joins the claim instead
/// of making it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "storage/driver.hpp"
#include "storage/log_bound.hpp"
#include "storage/lookahead.hpp"
#include "tenure/events.hpp"
#include "tenure/values.hpp"

namespace tenure::storage {

class FencedSession final : public IFencedStore {
 public:
  /// Borrows events and clock.
  FencedSession(std::unique_ptr<IStoreDriver> driver, IEventSink& events, const IClock& clock = systemClock())
      : FencedSession(std::move(driver), events, clock, *this) {}
  ~FencedSession() override;

  Result<void> prepare(const std::stop_token& stop) override { return driver_->prepare(stop); }
  Result<void> checkSql(std::string_view sql, std::span<const SqlParameter> parameters) override {
    return driver_->checkSql(sql, parameters);
  }
  void serve(const QueueIdentity& queue) override;
  Result<void> claim(const Term& term) override;
  Result<std::unique_ptr<IFencedTransaction>> begin(const Term& term) override;
  Result<CommitFate> resolve(const Term& term) override;
  Result<ConsumerState> consumerState(const ConsumerName& consumer) override;
  Result<InWork> inWorkOf(const ConsumerName& consumer, std::size_t lane) override;
  Result<std::vector<NumberedGroup>> openGroups(const ConsumerName& consumer) override;
  Result<std::vector<Admission>> known(const ConsumerName& consumer, std::span<const Message> messages) override;
  void expect(std::vector<MessageId> ids) override { lookahead_.expect(std::move(ids)); }
  std::size_t maxBatch() const noexcept override { return driver_->limits().maxBatch; }
  Result<std::optional<WallTime>> clock() override { return driver_->clock(); }
  std::optional<std::chrono::hours> keepsIdsFor() const noexcept override { return driver_->limits().keepsIdsFor; }
  Result<Pruned> prune(const Term& term, const Pruning& step) override;
  bool keepsLog() const noexcept override { return true; }
  Result<std::size_t> pruneLog(const Term& term, const LogPruning& step) override;
  std::unique_ptr<IFencedStore> openLane(std::int64_t number) override;
  void limitAnswers(AnswerTimer* timer) noexcept override { driver_->limitAnswers(timer); }
  void release() noexcept override;

  bool isLane() const noexcept { return &main_ != this; }

  // For its transactions:
  using Look = std::function<Result<Rows>(std::span<const RowName> rows)>;
  /// A message's key, by a hint or by a look at it and at those expected behind it. Errors: isTermOver(), a read's.
  Result<std::optional<Row>> findKey(const ConsumerName& consumer, const MessageId& id, const Look& look);
  /// `looksAtFence`: together with the fence, which must be ours; else its lock is held, or what is read is a hint.
  /// Errors: isTermOver(), a read's.
  Result<Rows> read(std::span<const RowName> rows, bool looksAtFence);
  /// Passes the fence; what the transaction's commit makes of it. Errors: isTermOver(), a begin's.
  Result<Fence> begin(ISqlTransaction& sql);
  /// `begun`: what begin() said, where it was called. Errors: transactionConflict, outcomeUnknown, isTermOver(), a
  /// commit's.
  Result<void> commit(WriteSet& writes, ISqlTransaction* sql = nullptr, const std::optional<Fence>& begun = {});
  /// Why the fence was not found as expected.
  Error fenced();
  /// Empty; of the last transaction, if that gave it back: most are as large as the one before.
  WriteSet takeWriteSet() noexcept { return std::move(spare_); }
  void giveBack(WriteSet writes) noexcept { spare_ = std::move(writes); }
  /// Before the term's first message to that queue. Errors: those of IStoreDriver::tryQueue, unavailable.
  Result<void> tryQueue(const std::string& queue);
  /// What the last transaction assumed to be new comes again: it was undone.
  void expectAssumed() { lookahead_.expectAssumed(); }
  std::string name() const { return driver_->name(); }
  std::string queue() const { return driver_->queue(); }
  const Limits& limits() const noexcept { return driver_->limits(); }
  bool isFull(const WriteSet& writes) const noexcept {
    return writes.bytes(limits().bytesAWrite) > limits().commitBytes / 2;
  }
  WallTime now() const { return clock_.wallNow(); }

 private:
  FencedSession(std::unique_ptr<IStoreDriver> driver, IEventSink& events, const IClock& clock,
                const FencedSession& main);

  struct Claimed {
    Term term;
    FencingToken previous;           // that had claimed before; 0 for none
    Fence fence;                     // as our last known change left it
    std::string server;              // that has it
    std::optional<Fence> inDoubt{};  // what a commit that may have happened made of it
    std::optional<Fence> burning{};  // what takes that commit's number away
    std::vector<Fence> anew{};       // fences written by claims made anew whose replies were lost
    LogBound logBound{};
    std::set<std::string> triedQueues{};
  };

  Result<void> holdsClaim(const Term& term) const;
  Result<void> reach();
  Result<void> claimAnew();
  Result<Fence> judge(const FenceFound& found, const Term& term) const;
  Result<std::int64_t> sequenceIn(const FenceFound& found, const Term& term) const;
  Fence nextFence() const;
  Result<Rows> lookAt(const ConsumerName& consumer, std::span<const MessageId> ids, const Look& look);
  Result<std::optional<std::int64_t>> lastBeyondBound(const LogPruning& step, std::int64_t oldest);
  template <class Body>
  void emit(const Term& term, Body body);

  std::unique_ptr<IStoreDriver> driver_;
  IEventSink& events_;
  const IClock& clock_;
  const FencedSession& main_;
  std::optional<Claimed> claimed_;
  QueueIdentity served_;      // empty: that of the store's own place
  bool everClaimed_ = false;  // by this object: from then on an empty place is one that was emptied
  Lookahead lookahead_;
  WriteSet spare_;
};

}  // namespace tenure::storage
