/// A transaction that remembers what it did, so that it can do it again in one that the fence should have refused.
#pragma once

#include <vector>

#include "mutant.hpp"
#include "support/forwarding_transaction.hpp"

namespace tenure::simulation {

class MutantTransaction final : public test::ForwardingTransaction {
 public:
  MutantTransaction(MutantStore& store, const Term& term, std::unique_ptr<IFencedTransaction> inner)
      : ForwardingTransaction(std::move(inner)), store_(store), term_(term), ofLane_(store.inLane()) {}

  Result<Admission> admit(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest,
                          MessageFate fate) override;
  Result<void> recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) override {
    if (store_.mutant() == Mutant::lostAttempts) return {};
    return ForwardingTransaction::recordAttempt(consumer, record);
  }
  Result<void> deadLetter(const ConsumerName& consumer, const DeadLetter& letter) override {
    if (store_.mutant() == Mutant::noLetter) return {};
    return ForwardingTransaction::deadLetter(consumer, letter);
  }
  Result<void> mark() override;
  Result<void> rollbackToMark() override {
    return pass([](auto& inner) { return inner.rollbackToMark(); });
  }
  Result<void> commit() override {
    return pass([](auto& inner) { return inner.commit(); });
  }
  /// Nothing stands in its way.
  Result<void> status() const override { return {}; }

 private:
  Result<void> pass(Step step) override;

  MutantStore& store_;
  Term term_;
  const bool ofLane_;
  std::vector<Step> steps_;
  bool lookedAtTheFence_ = false;
};

}  // namespace tenure::simulation
