/// The contexts of the engine's workers.
#pragma once

#include "consumer/engine.hpp"

namespace tenure::consuming {

inline constexpr std::size_t mainWorker = 0;  // lanes are 1, 2, …

/// Of the worker that reads the source itself. It has the one line; or what a dead predecessor may have had in work,
/// before the lanes begin.
class Engine::MainContext final : public IWorkerContext {
 public:
  MainContext(Engine& engine, const Term& term)
      : engine_(engine), of_(engine.setting_), supply_(*engine.supply_), term_(term) {}

  /// Known once the source was read as far as a predecessor can have had it in its window.
  bool isPastSuspects() const { return filled_ && !supply_.hasSuspects(mainWorker); }

  bool reads() const noexcept override { return true; }
  std::stop_token stopToken() const noexcept override { return term_.stopToken(); }
  void reportProgress() noexcept override { term_.reportProgress(); }
  Result<ConsumerState> recall(const ConsumerName& consumer, WallTime now) override;
  Result<QueueIdentity> identity() override { return of_.identity(stopToken()); }
  Result<void> attach() override;
  Result<Supplied> take(Take take) override;
  bool takeStoresFault() noexcept override { return engine_.reading_->takeStoresFault(); }
  Result<void> tend() override { return of_.source.tend(); }
  Result<Receipt> report(Report report) override;
  void detach() noexcept override { of_.source.detach(); }
  void limitAnswers(AnswerTimer* own) noexcept override { of_.source.limitAnswers(own); }

 private:
  Result<bool> fill(const Take& take);
  void gatherSuspects(Supplied& supplied, std::size_t max);
  Result<Supplied> takeOfOneLine(const Take& take);
  Result<bool> read(const Take& take, BootTime until);

  Engine& engine_;
  const Setting& of_;
  Supply& supply_;
  const Term term_;
  bool filled_ = false;
};

/// A lane's, beside others.
class Engine::LaneContext final : public IWorkerContext, public IAccessWatch {
 public:
  LaneContext(Engine& engine, std::size_t number) : engine_(engine), supply_(*engine.supply_), number_(number) {}
  void useStore(IFencedStore& store) { store_ = &store; }
  void leave() { supply_.leave(number_); }

  bool reads() const noexcept override { return false; }
  std::stop_token stopToken() const noexcept override { return engine_.stop_.get_token(); }
  void reportProgress() noexcept override { supply_.reportProgress(number_); }
  std::size_t lane() const noexcept override { return number_; }
  Result<ConsumerState> recall(const ConsumerName& consumer, WallTime now) override;
  Result<Supplied> take(Take take) override;
  Result<Receipt> report(Report report) override;
  bool prunes() const noexcept override { return number_ == 1; }
  LaneTurns::Hold enter(Company company) override {
    return engine_.isSerialized_ ? LaneTurns::Hold{} : engine_.turns_.enter(company, *this);
  }
  /// A lane that waits for the store is not counted as stuck.
  void waitsForStore(bool waits) noexcept override { supply_.excuse(number_, waits); }

 private:
  Engine& engine_;
  Supply& supply_;
  IFencedStore* store_ = nullptr;
  const std::size_t number_;
};

}  // namespace tenure::consuming
