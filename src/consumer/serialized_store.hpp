/// One store for several lanes, where it takes one transaction at a time: a lane's turn begins with the first call
/// that reaches the store, and ends with the end of its transaction.
///
/// The first handler of a batch runs before the turn, and the others within it, where they keep every lane out. So a
/// batch is full when a lane waits and its handlers take longer than a commit: then one commit more is cheaper for
/// all than one message more.
#pragma once

#include <atomic>
#include <mutex>

#include "base/answer_timer.hpp"
#include "base/threads.hpp"
#include "tenure/spi/store.hpp"
#include "tenure/values.hpp"

namespace tenure::consuming {

class IAccessWatch;

class SerialAccess {
 public:
  using Pass = std::unique_lock<ILock>;
  SerialAccess(const IClock& clock, IThreads& threads) : clock_(clock), lock_(threads.makeLock()) {}

  [[nodiscard]] Pass enter() { return Pass{*lock_}; }
  [[nodiscard]] Pass enter(IAccessWatch& watch);
  bool isWaitedFor() const noexcept { return waiting_ > 0; }
  BootTime now() const noexcept { return clock_.now(); }
  /// Of the store, for the timers of all lanes.
  const std::shared_ptr<AnswerTimer::Silence>& silence() const noexcept { return silence_; }

  // During a turn:

  void committed(Duration took) noexcept { commitTook_ = took; }
  /// The last one; zero before the first.
  Duration commitTook() const noexcept { return commitTook_; }

 private:
  const IClock& clock_;
  const std::unique_ptr<ILock> lock_;
  std::atomic<int> waiting_ = 0;
  Duration commitTook_{0};
  const std::shared_ptr<AnswerTimer::Silence> silence_ = std::make_shared<AnswerTimer::Silence>();
};

/// Hears that a lane waits for its turn: it makes no progress then, and is not to blame.
class IAccessWatch {
 public:
  virtual ~IAccessWatch() = default;
  virtual void waitsForStore(bool waits) noexcept = 0;
};

/// A transaction that begins when it is needed.
class SerializedTransaction final : public IFencedTransaction {
 public:
  /// `unresolved` takes the pass when the commit's outcome is unknown.
  SerializedTransaction(SerialAccess& access, IAccessWatch& watch, SerialAccess::Pass& unresolved, IFencedStore& store,
                        AnswerTimer* timer, const Term& term)
      : access_(access), watch_(watch), unresolved_(unresolved), store_(store), timer_(timer), term_(term) {}
  ~SerializedTransaction() override { SerializedTransaction::rollback(); }

  Result<std::optional<std::string>> get(std::string_view key) override;
  Result<void> put(std::string_view key, std::string_view value) override;
  Result<void> erase(std::string_view key) override;
  Result<void> enqueue(const NewMessage& message, std::string_view queue) override;
  Result<ScheduleChange> cancelScheduled(const MessageId& id, std::string_view queue) override;
  Result<ScheduleChange> reschedule(const MessageId& id, WallTime at, std::string_view queue) override;
  ISqlStatements* sql() noexcept override;
  Result<Admission> admit(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest,
                          MessageFate fate) override;
  Result<void> status() const override;
  bool isFull() const noexcept override;
  Result<void> mark() override;
  Result<void> rollbackToMark() override;
  Result<void> recordInWork(const ConsumerName& consumer, std::size_t lane, const InWork& inWork) override;
  Result<void> recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) override;
  Result<void> clearAttempt(const ConsumerName& consumer, const MessageId& id) override;
  Result<void> recordFact(const ConsumerName& consumer, const ConsumerFact& fact) override;
  Result<void> deadLetter(const ConsumerName& consumer, const DeadLetter& letter) override;
  Result<GroupTurn> turnOf(const ConsumerName& consumer, const GroupId& group) override;
  Result<void> recordTurn(const ConsumerName& consumer, const GroupId& group, const GroupTurn& turn) override;
  Result<std::optional<KeptMessage>> kept(const ConsumerName& consumer, const GroupId& group,
                                          std::int64_t number) override;
  Result<void> keep(const ConsumerName& consumer, const KeptMessage& message) override;
  Result<void> dropKept(const ConsumerName& consumer, const GroupId& group, std::int64_t number) override;
  Result<void> logAttempts(const ConsumerName& consumer, std::span<const LoggedAttempt> attempts) override;
  Result<void> acknowledge(std::span<const Message> messages) override;
  Result<void> commit() override;
  void rollback() noexcept override;

 private:
  Result<void> enter();
  bool keepsOthersOut() const noexcept;

  SerialAccess& access_;
  IAccessWatch& watch_;
  SerialAccess::Pass& unresolved_;
  IFencedStore& store_;
  AnswerTimer* const timer_;  // of the lane
  const Term term_;
  SerialAccess::Pass pass_;
  std::unique_ptr<IFencedTransaction> inner_;
  bool marked_ = false;          // before anything reached the store
  BootTime messageBegan_{};      // but for its wait for the turn
  std::optional<Error> broken_;  // it could not begin
};

/// The same store for one lane. The store's owner claims and releases it. After a commit with an unknown outcome no
/// other lane passes until it is resolved, or the lane gives up: the store tells only of its last commit.
class SerializedStore final : public IFencedStore {
 public:
  SerializedStore(SerialAccess& access, IAccessWatch& watch, IFencedStore& store)
      : access_(access), watch_(watch), store_(store) {}

  Result<void> claim(const Term& term) override;
  Result<std::unique_ptr<IFencedTransaction>> begin(const Term& term) override;
  Result<CommitFate> resolve(const Term& term) override;
  Result<ConsumerState> consumerState(const ConsumerName& consumer) override;
  Result<InWork> inWorkOf(const ConsumerName& consumer, std::size_t lane) override;
  Result<std::vector<NumberedGroup>> openGroups(const ConsumerName& consumer) override;
  Result<std::vector<Admission>> known(const ConsumerName& consumer, std::span<const Message> messages) override;
  std::size_t maxBatch() const noexcept override { return store_.maxBatch(); }
  Result<std::optional<WallTime>> clock() override;
  std::optional<std::chrono::hours> keepsIdsFor() const noexcept override { return store_.keepsIdsFor(); }
  Result<Pruned> prune(const Term& term, const Pruning& step) override;
  bool keepsLog() const noexcept override { return store_.keepsLog(); }
  Result<std::size_t> pruneLog(const Term& term, const LogPruning& step) override;
  void limitAnswers(AnswerTimer* timer) noexcept override;
  /// Only of its turn.
  void release() noexcept override;

 private:
  SerialAccess::Pass enter();

  SerialAccess& access_;
  IAccessWatch& watch_;
  IFencedStore& store_;
  AnswerTimer* timer_ = nullptr;
  SerialAccess::Pass unresolved_;
};

}  // namespace tenure::consuming
