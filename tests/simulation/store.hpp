/// The store as a process sees it: each request takes its way, time and chances, and the ghost notes what landed.
#pragma once

#include <memory>

#include "ghost.hpp"
#include "mutant.hpp"
#include "plan.hpp"
#include "support/forwarding_transaction.hpp"

namespace tenure::simulation {

class Process;

/// A handler puts this and its message's copy, with id and body: where ids are no keys, that is how its effect is
/// known. Nothing of it reaches the store.
inline constexpr std::string_view ranPrefix = "ran ";
/// What handlers of all groups count in, and the queue to which each sends a message.
inline std::string chainOf(int group) { return "chain " + groupName(group); }
inline constexpr std::string_view sharedCounter = "count";
inline constexpr std::string_view followUps = "next";

/// What the store says where it is down, and where somebody else has locked a row.
inline constexpr std::string_view downText = "the simulated store is down";
inline constexpr std::string_view lockedText = "somebody else has locked the simulated row";

class Store final : public IFencedStore {
 public:
  Store(Process& process, IFencedStore& inner) : process_(process), inner_(inner) {}
  Store(Process& process, std::unique_ptr<IFencedStore> lane)
      : process_(process), lane_(std::move(lane)), inner_(*lane_) {}

  Result<void> prepare(const std::stop_token& stop) override;
  Result<void> claim(const Term& term) override;
  Result<std::unique_ptr<IFencedTransaction>> begin(const Term& term) override;
  Result<CommitFate> resolve(const Term& term) override;
  Result<ConsumerState> consumerState(const ConsumerName& consumer) override;
  Result<InWork> inWorkOf(const ConsumerName& consumer, std::size_t lane) override;
  Result<std::vector<NumberedGroup>> openGroups(const ConsumerName& consumer) override;
  Result<std::vector<Admission>> known(const ConsumerName& consumer, std::span<const Message> messages) override;
  Result<std::optional<WallTime>> clock() override;
  Result<Pruned> prune(const Term& term, const Pruning& step) override;
  bool keepsLog() const noexcept override { return inner_.keepsLog(); }
  Result<std::size_t> pruneLog(const Term& term, const LogPruning& step) override;
  std::unique_ptr<IFencedStore> openLane(std::int64_t number) override;
  void release() noexcept override { inner_.release(); }

  /// The session that prepare() has opened is dead, and does not know it.
  void forgetKept() noexcept;

 private:
  void takeKept();
  Result<void> claimNow(const Term& term, BootTime begun);
  Result<void> join(const Term& term);
  template <class Find>
  auto read(const Find& find) -> decltype(find());
  Result<Pruned> pruneNow(const Term& term, const Pruning& step);

  Process& process_;
  std::unique_ptr<IFencedStore> lane_;  // when it is one
  IFencedStore& inner_;
  std::optional<ConsumerState> readEarly_;  // by a mutant
  bool isKept_ = false;                     // a session is open before the term
  std::optional<BootTime> keptDeadSince_;
};

/// Collects what the transaction would come to, marks and roll-backs included. Each write takes its way to the store.
class StoreTransaction final : public test::ForwardingTransaction {
 public:
  StoreTransaction(Process& process, FencingToken token, std::unique_ptr<IFencedTransaction> inner);

  Result<std::optional<std::string>> get(std::string_view key) override;
  Result<Admission> admit(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest,
                          MessageFate fate) override;
  Result<void> mark() override;
  Result<void> rollbackToMark() override;
  Result<void> put(std::string_view key, std::string_view value) override;
  Result<void> enqueue(const NewMessage& message, std::string_view queue) override;
  Result<ScheduleChange> cancelScheduled(const MessageId& id, std::string_view queue) override;
  Result<ScheduleChange> reschedule(const MessageId& id, WallTime at, std::string_view queue) override;
  Result<void> recordInWork(const ConsumerName& consumer, std::size_t lane, const InWork& inWork) override;
  Result<void> recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) override;
  Result<void> clearAttempt(const ConsumerName& consumer, const MessageId& id) override;
  Result<void> deadLetter(const ConsumerName& consumer, const DeadLetter& letter) override;
  Result<GroupTurn> turnOf(const ConsumerName& consumer, const GroupId& group) override {
    return broken_ ? Result<GroupTurn>(*broken_) : ForwardingTransaction::turnOf(consumer, group);
  }
  Result<void> recordTurn(const ConsumerName& consumer, const GroupId& group, const GroupTurn& turn) override;
  Result<std::optional<KeptMessage>> kept(const ConsumerName& consumer, const GroupId& group,
                                          std::int64_t number) override {
    if (broken_) return *broken_;
    return ForwardingTransaction::kept(consumer, group, number);
  }
  Result<void> keep(const ConsumerName& consumer, const KeptMessage& message) override;
  Result<void> dropKept(const ConsumerName& consumer, const GroupId& group, std::int64_t number) override;
  Result<void> logAttempts(const ConsumerName& consumer, std::span<const LoggedAttempt> attempts) override;
  Result<void> commit() override;
  Result<void> status() const override { return broken_ ? Result<void>{*broken_} : ForwardingTransaction::status(); }

  Result<void> acknowledge(std::span<const Message> messages) override;

 private:
  Result<void> pass(Step step) override;
  Result<void> land();
  bool leavesUnlooked(const MessageId& id);
  void cancelUnlooked();
  Result<void> noteRun(int copy, std::string_view message);
  void note(const Times::Change& change);
  Result<ScheduleChange> changeWaiting(const Times::Change& change,
                                       std::function<Result<ScheduleChange>(IFencedTransaction&)> ask);

  Process& process_;
  FencingToken token_;
  const WallTime begun_;  // by the store's clock
  PendingWrites pending_;
  std::size_t mark_ = 0;
  std::vector<Times::Change> timesAtMark_;
  std::set<std::string> written_;  // of the handlers' state
  std::optional<Error> broken_;
};

}  // namespace tenure::simulation
