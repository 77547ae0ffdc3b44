/// The posts of the engine's lanes.
#pragma once

#include "consumer/engine.hpp"

namespace tenure::consuming {

inline constexpr std::size_t mainPost = 0;  // lanes are 1, 2, …

/// In total order: to the source itself, in single file.
class Engine::TotalPost final : public IPost {
 public:
  TotalPost(Engine& engine, const Term& term) : engine_(engine), of_(engine.setting_), term_(term) {}

  Role role() const noexcept override { return Role::total; }
  std::stop_token stopToken() const noexcept override { return term_.stopToken(); }
  void reportProgress() noexcept override { term_.reportProgress(); }
  ConsumerName recordName(const ConsumerName& consumer) const override { return consumer; }
  Result<Recollection> recall(const ConsumerName& consumer, WallTime now) override;
  Result<void> attach(const Attach& attach) override;
  Result<Share> take(Take take) override;
  void release(std::vector<pipeline::Standing>) override {}
  void park(Parked, BootTime) override {}
  BootTime takeTurn(const GroupId& group) override { return file().mayBegin(group, of_.clock.now()); }
  bool isLimited() const override { return engine_.file_->limitsAnything(); }
  std::vector<Message> begin(const Message& message) override { return file().begin(message, of_.clock.now()); }
  Result<Receipt> acknowledge(const Acknowledge& done) override;
  Result<void> acknowledge(IFencedTransaction& transaction, std::span<const Message> messages) override {
    return of_.source.acknowledge(transaction, messages);
  }
  std::vector<Past> pastsOf(std::span<const Message>) override { return {}; }
  void detach() noexcept override { of_.source.detach(); }
  bool prunes() const noexcept override { return false; }  // it says itself from when on
  NumberLists& lists() noexcept override { return *engine_.lists_; }
  std::shared_ptr<Notes> notes() const override { return engine_.notes_; }
  void excuse(bool) noexcept override {}
  void limitAnswers(AnswerTimer* own) noexcept override { of_.source.limitAnswers(own); }
  const AnswerTimer& sourceTimer(const AnswerTimer& own) const noexcept override { return own; }

 private:
  SingleFile& file() noexcept { return *engine_.file_; }

  Engine& engine_;
  const Setting& of_;
  const Term term_;
};

/// Before the lanes begin: to what a dead predecessor may have had in work.
class Engine::RecoveryPost final : public IPost {
 public:
  RecoveryPost(Engine& engine, const Term& term)
      : engine_(engine), of_(engine.setting_), desk_(*engine.exchange_), term_(term) {}

  /// Known once the source was read as far as a predecessor can have had it in its window.
  bool isDone() const;

  Role role() const noexcept override { return Role::recovery; }
  std::stop_token stopToken() const noexcept override { return term_.stopToken(); }
  void reportProgress() noexcept override;
  ConsumerName recordName(const ConsumerName& consumer) const override { return consumer; }
  Result<Recollection> recall(const ConsumerName& consumer, WallTime now) override;
  Result<void> attach(const Attach& attach) override;
  Result<Share> take(Take take) override;
  void release(std::vector<pipeline::Standing> standings) override;
  void park(Parked parked, BootTime until) override;
  BootTime takeTurn(const GroupId& group) override { return desk_.takeSuspectsTurn(group); }
  bool isLimited() const override { return false; }
  std::vector<Message> begin(const Message& message) override { return desk_.begin(message); }
  Result<Receipt> acknowledge(const Acknowledge& done) override;
  Result<void> acknowledge(IFencedTransaction& transaction, std::span<const Message> messages) override {
    return of_.source.acknowledge(transaction, messages);
  }
  std::vector<Past> pastsOf(std::span<const Message> messages) override { return desk_.pastsOf(messages); }
  void detach() noexcept override { of_.source.detach(); }
  bool prunes() const noexcept override { return false; }
  NumberLists& lists() noexcept override { return *engine_.lists_; }
  std::shared_ptr<Notes> notes() const override { return engine_.notes_; }
  void excuse(bool) noexcept override {}
  void limitAnswers(AnswerTimer*) noexcept override {}
  const AnswerTimer& sourceTimer(const AnswerTimer&) const noexcept override { return engine_.sourceTimer_; }

 private:
  Result<void> fill();

  Engine& engine_;
  const Setting& of_;
  Exchange& desk_;
  const Term term_;
  bool expects_ = false;
  bool filled_ = false;
};

/// A lane's, beside others.
class Engine::LanePost final : public IPost, public IGateWatch {
 public:
  LanePost(Engine& engine, std::size_t number)
      : engine_(engine), of_(engine.setting_), desk_(*engine.exchange_), number_(number) {}
  void useStore(IFencedStore& store) { store_ = &store; }
  void leave() { desk_.leave(number_); }

  Role role() const noexcept override { return Role::lane; }
  std::stop_token stopToken() const noexcept override { return engine_.stop_.get_token(); }
  void reportProgress() noexcept override { desk_.reportProgress(number_); }
  ConsumerName recordName(const ConsumerName& consumer) const override { return recordOf(consumer, number_); }
  Result<Recollection> recall(const ConsumerName& consumer, WallTime now) override;
  Result<void> attach(const Attach&) override { return {}; }
  Result<Share> take(Take take) override;
  void release(std::vector<pipeline::Standing> standings) override { desk_.release(number_, std::move(standings)); }
  void park(Parked parked, BootTime until) override { desk_.park(number_, std::move(parked), until); }
  BootTime takeTurn(const GroupId& group) override { return desk_.takeTurn(group); }
  bool isLimited() const override { return false; }
  std::vector<Message> begin(const Message& message) override { return desk_.begin(message); }
  /// The reader tells the source.
  Result<Receipt> acknowledge(const Acknowledge& done) override {
    return desk_.acknowledge(number_, done, !of_.shares);
  }
  Result<void> acknowledge(IFencedTransaction& transaction, std::span<const Message> messages) override;
  std::vector<Past> pastsOf(std::span<const Message> messages) override { return desk_.pastsOf(messages); }
  void detach() noexcept override {}
  bool prunes() const noexcept override { return number_ == 1; }
  NumberLists& lists() noexcept override { return *engine_.lists_; }
  std::shared_ptr<Notes> notes() const override { return engine_.notes_; }
  void excuse(bool excused) noexcept override { desk_.excuse(number_, excused); }
  void waitsAtGate(bool waits) noexcept override { excuse(waits); }
  void limitAnswers(AnswerTimer*) noexcept override {}
  const AnswerTimer& sourceTimer(const AnswerTimer& own) const noexcept override { return own; }

 private:
  Engine& engine_;
  const Setting& of_;
  Exchange& desk_;
  IFencedStore* store_ = nullptr;
  const std::size_t number_;
};

}  // namespace tenure::consuming
