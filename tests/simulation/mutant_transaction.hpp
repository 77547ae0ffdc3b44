/// A transaction that remembers what it did, so that it can do it again in one that the fence should have refused.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "mutant.hpp"
#include "tenure/source.hpp"

namespace tenure::simulation {

class MutantTransaction final : public IFencedTransaction {
 public:
  MutantTransaction(MutantStore& store, const Term& term, std::unique_ptr<IFencedTransaction> inner)
      : store_(store), term_(term), inner_(std::move(inner)) {}

  Result<std::optional<std::string>> get(std::string_view key) override;
  Result<void> put(std::string_view key, std::string_view value) override;
  Result<void> erase(std::string_view key) override;
  Result<Admission> admit(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest,
                          MessageFate fate) override;
  Result<void> mark() override;
  Result<void> rollbackToMark() override;
  Result<void> recordInWork(const ConsumerName& consumer, std::span<const MessageId> ids, bool more) override;
  Result<void> recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) override;
  Result<void> clearAttempt(const ConsumerName& consumer, const MessageId& id) override;
  Result<void> deadLetter(const ConsumerName& consumer, const DeadLetter& letter) override;
  Result<void> commit() override;
  void rollback() noexcept override { inner_->rollback(); }
  /// Nothing stands in its way.
  Result<void> standing() const override { return {}; }
  Result<void> acknowledge(IMessageSource& source, std::span<const Message> messages);

 private:
  using Step = std::function<Result<void>(IFencedTransaction&)>;
  Result<void> run(Step step);

  MutantStore& store_;
  Term term_;
  std::unique_ptr<IFencedTransaction> inner_;
  std::vector<Step> steps_;
  bool lookedAtTheFence_ = false;
};

}  // namespace tenure::simulation
