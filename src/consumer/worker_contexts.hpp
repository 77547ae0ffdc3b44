/// The contexts of the engine's workers.
#pragma once

#include "consumer/engine.hpp"

namespace tenure::consuming {

inline constexpr std::size_t mainWorker = 0;  // lanes are 1, 2, …

/// In total order: to the source itself, as it comes.
class Engine::TotalContext final : public IWorkerContext {
 public:
  TotalContext(Engine& engine, const Term& term) : engine_(engine), of_(engine.setting_), term_(term) {}

  Role role() const noexcept override { return Role::total; }
  std::stop_token stopToken() const noexcept override { return term_.stopToken(); }
  void reportProgress() noexcept override { term_.reportProgress(); }
  Result<ConsumerState> recall(const ConsumerName& consumer, WallTime now) override;
  Result<QueueIdentity> identity() override { return of_.identity(stopToken()); }
  Result<void> attach(const Attach& attach) override;
  Result<Assignment> take(Take take) override;
  bool takeStoresFault() noexcept override { return engine_.reading_->takeStoresFault(); }
  void release() override {}
  void park(Parked, BootTime) override {}
  Result<void> tend() override { return of_.source.tend(); }
  std::optional<BootTime> takeTurn(const GroupId& group) override {
    const BootTime now = of_.clock.now();
    return supply::laterThan(now, order().mayBegin(group, now));
  }
  bool isLimited() const override { return engine_.order_->limitsAnything(); }
  std::vector<Message> begin(const Message& message) override { return order().begin(message, of_.clock.now()); }
  Result<Receipt> acknowledge(const Acknowledge& done) override;
  void detach() noexcept override { of_.source.detach(); }
  bool prunes() const noexcept override { return false; }  // it says itself from when on
  std::shared_ptr<Notes> notes() const override { return engine_.notes_; }
  void limitAnswers(AnswerTimer* own) noexcept override { of_.source.limitAnswers(own); }
  const AnswerTimer& sourceTimer(const AnswerTimer& own) const noexcept override { return own; }

 private:
  TotalOrder& order() noexcept { return *engine_.order_; }

  Engine& engine_;
  const Setting& of_;
  const Term term_;
};

/// Before the lanes begin: to what a dead predecessor may have had in work.
class Engine::RecoveryContext final : public IWorkerContext {
 public:
  RecoveryContext(Engine& engine, const Term& term)
      : engine_(engine), of_(engine.setting_), dispatcher_(*engine.dispatcher_), term_(term) {}

  /// Known once the source was read as far as a predecessor can have had it in its window.
  bool isDone() const;

  Role role() const noexcept override { return Role::recovery; }
  std::stop_token stopToken() const noexcept override { return term_.stopToken(); }
  void reportProgress() noexcept override;
  Result<ConsumerState> recall(const ConsumerName& consumer, WallTime now) override;
  Result<QueueIdentity> identity() override { return of_.identity(stopToken()); }
  Result<void> attach(const Attach& attach) override;
  Result<Assignment> take(Take take) override;
  bool takeStoresFault() noexcept override { return engine_.reading_->takeStoresFault(); }
  void release() override;
  void park(Parked parked, BootTime until) override;
  Result<void> tend() override { return of_.source.tend(); }
  std::optional<BootTime> takeTurn(const GroupId& group) override { return dispatcher_.takeSuspectsTurn(group); }
  bool isLimited() const override { return false; }
  std::vector<Message> begin(const Message& message) override { return dispatcher_.begin(message); }
  Result<Receipt> acknowledge(const Acknowledge& done) override;
  void detach() noexcept override { of_.source.detach(); }
  bool prunes() const noexcept override { return false; }
  std::shared_ptr<Notes> notes() const override { return engine_.notes_; }
  void limitAnswers(AnswerTimer*) noexcept override {}
  const AnswerTimer& sourceTimer(const AnswerTimer&) const noexcept override { return engine_.sourceTimer_; }

 private:
  Result<void> fill();

  Engine& engine_;
  const Setting& of_;
  SharedDispatcher& dispatcher_;
  const Term term_;
  bool expects_ = false;
  bool filled_ = false;
};

/// A lane's, beside others.
class Engine::LaneContext final : public IWorkerContext, public IAccessWatch {
 public:
  LaneContext(Engine& engine, std::size_t number)
      : engine_(engine), of_(engine.setting_), dispatcher_(*engine.dispatcher_), number_(number) {}
  void useStore(IFencedStore& store) { store_ = &store; }
  void leave() { dispatcher_.leave(number_); }

  Role role() const noexcept override { return Role::lane; }
  std::stop_token stopToken() const noexcept override { return engine_.stop_.get_token(); }
  void reportProgress() noexcept override { dispatcher_.reportProgress(number_); }
  void rests(bool atRest) noexcept override { dispatcher_.rests(number_, atRest); }
  std::size_t lane() const noexcept override { return number_; }
  Result<ConsumerState> recall(const ConsumerName& consumer, WallTime now) override;
  Result<void> attach(const Attach&) override { return {}; }
  Result<Assignment> take(Take take) override;
  void release() override { dispatcher_.release(number_); }
  void park(Parked parked, BootTime until) override { dispatcher_.park(number_, std::move(parked), until); }
  std::optional<BootTime> takeTurn(const GroupId& group) override { return dispatcher_.takeTurn(group); }
  bool isLimited() const override { return false; }
  std::vector<Message> begin(const Message& message) override { return dispatcher_.begin(message); }
  Result<Receipt> acknowledge(const Acknowledge& done) override;
  void detach() noexcept override {}
  bool prunes() const noexcept override { return number_ == 1; }
  std::shared_ptr<Notes> notes() const override { return engine_.notes_; }
  LaneTurns::Hold enter(Company company) override {
    return engine_.isSerialized_ ? LaneTurns::Hold{} : engine_.turns_.enter(company, *this);
  }
  /// A lane that waits for the store is not counted as stuck.
  void waitsForStore(bool waits) noexcept override { dispatcher_.excuse(number_, waits); }
  void limitAnswers(AnswerTimer*) noexcept override {}
  const AnswerTimer& sourceTimer(const AnswerTimer& own) const noexcept override { return own; }

 private:
  Engine& engine_;
  const Setting& of_;
  SharedDispatcher& dispatcher_;
  IFencedStore* store_ = nullptr;
  const std::size_t number_;
};

}  // namespace tenure::consuming
