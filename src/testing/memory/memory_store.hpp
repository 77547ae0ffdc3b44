/// The store of one Database: the storage core on a Driver, and in front of it the faults that a test asks of a World.
#pragma once

#include "storage/fenced_session.hpp"
#include "storage/fenced_transaction.hpp"
#include "storage/scheduled/promoter.hpp"
#include "testing/memory/memory_driver.hpp"
#include "testing/memory/memory_state.hpp"

namespace tenure::memory {

/// The waiting room of a World's own queue, as one process reaches it.
class WaitingRoom final : public scheduled::IWaitingRoom {
 public:
  /// Borrows both. `clock`: the store's.
  WaitingRoom(State& state, const IClock& clock) : state_(state), clock_(clock) {}

  /// Promotes for this term from now on.
  void attach(const TermIdentity& term) { term_ = term; }
  Result<Front> look() override;
  Result<Promoted> promote(WallTime until, std::size_t atMost) override;

 private:
  bool mayPromote() const;
  std::optional<WallTime> firstDue() const;

  State& state_;
  const IClock& clock_;
  TermIdentity term_;
};

class FaultyTransaction final : public IFencedTransaction {
 public:
  FaultyTransaction(State& state, std::unique_ptr<IFencedTransaction> inner)
      : state_(state), inner_(std::move(inner)) {}
  ~FaultyTransaction() override { FaultyTransaction::rollback(); }

  Result<std::optional<std::string>> get(std::string_view key) override;
  Result<void> put(std::string_view key, std::string_view value) override;
  Result<void> erase(std::string_view key) override;
  Result<void> enqueue(const NewMessage& message, std::string_view queue) override;
  Result<ScheduleChange> cancelScheduled(const MessageId& id, std::string_view queue) override;
  Result<ScheduleChange> reschedule(const MessageId& id, WallTime at, std::string_view queue) override;
  Result<Admission> admit(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest,
                          MessageFate fate) override;
  Result<void> status() const override { return broken_ ? Result<void>{*broken_} : inner_->status(); }
  bool isFull() const noexcept override { return inner_->isFull(); }
  Result<void> mark() override { return inner_->mark(); }
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
  /// Before each write.
  Result<void> entered();
  void ended() noexcept;

  State& state_;
  const std::unique_ptr<IFencedTransaction> inner_;
  std::optional<Error> broken_;  // by its first failure, as on a server
  bool hasWritten_ = false;
};

class FaultyStore final : public IFencedStore {
 public:
  FaultyStore(State& state, std::unique_ptr<IFencedStore> inner) : state_(state), inner_(std::move(inner)) {}

  Result<void> claim(const Term& term) override { return inner_->claim(term); }
  Result<std::unique_ptr<IFencedTransaction>> begin(const Term& term) override;
  Result<CommitFate> resolve(const Term& term) override { return inner_->resolve(term); }
  Result<ConsumerState> consumerState(const ConsumerName& consumer) override;
  Result<InWork> inWorkOf(const ConsumerName& consumer, std::size_t lane) override;
  Result<std::vector<NumberedGroup>> openGroups(const ConsumerName& consumer) override;
  Result<std::vector<Admission>> known(const ConsumerName& consumer, std::span<const Message> messages) override;
  void expect(std::vector<MessageId> ids) override { inner_->expect(std::move(ids)); }
  std::size_t maxBatch() const noexcept override { return inner_->maxBatch(); }
  Result<Pruned> prune(const Term& term, const Pruning& step) override;
  bool keepsLog() const noexcept override { return inner_->keepsLog(); }
  Result<std::size_t> pruneLog(const Term& term, const LogPruning& step) override {
    return inner_->pruneLog(term, step);
  }
  std::unique_ptr<IFencedStore> openLane(std::int64_t number) override;
  void release() noexcept override { inner_->release(); }

 private:
  Result<void> strike(Operation operation) {
    const std::lock_guard lock(state_.mutex);
    return state_.strike(operation);
  }

  State& state_;
  const std::unique_ptr<IFencedStore> inner_;
};

}  // namespace tenure::memory
