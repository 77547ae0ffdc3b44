/// A store whose fence lets everybody pass, to show that the tests would notice: before each transaction it puts the
/// fence row back to what it was when this term claimed, behind the store's back. Idempotency keys, the lock and the
/// atomic commit stay as they are.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "support/forwarding_store.hpp"

namespace tenure::test {

class Unfenced final : public ForwardingStore {
 public:
  /// `meddle` runs SQL in the store, on a session of its own.
  Unfenced(IFencedStore& inner, std::function<void(const std::string&)> meddle)
      : ForwardingStore(inner), meddle_(std::move(meddle)) {}

  Result<void> claim(const Term& term) override {
    commits_ = 0;
    return ForwardingStore::claim(term);
  }
  Result<std::unique_ptr<IFencedTransaction>> begin(const Term& term) override {
    auto begun = ForwardingStore::begin(term);
    if (!begun) return begun.error();
    return std::unique_ptr<IFencedTransaction>(std::make_unique<Unchecked>(std::move(*begun), *this, term));
  }
  // What is foreseen is not asked for: the fence would be passed long after it was lifted, and perhaps hold after all.
  void expect(std::span<const Message>) override {}

 private:
  class Unchecked final : public ForwardingTransaction {
   public:
    Unchecked(std::unique_ptr<IFencedTransaction> inner, Unfenced& store, Term term)
        : ForwardingTransaction(std::move(inner)), store_(store), term_(std::move(term)) {}
    Result<void> commit() override {
      Result<void> committed = ForwardingTransaction::commit();
      if (committed) ++store_.commits_;
      return committed;
    }

   private:
    void onTouch() noexcept override {
      if (!lifted_) store_.liftFence(term_);
      lifted_ = true;
    }
    Unfenced& store_;
    Term term_;
    bool lifted_ = false;
  };

  void liftFence(const Term& term) const {
    meddle_("UPDATE tenure_fence SET token = " + std::to_string(term.token().value) +
            ", seq = " + std::to_string(commits_) + ", candidate = '" + term.identity().candidate.value +
            "' WHERE election = '" + term.identity().election.value + "' AND candidate || token <> '" +
            term.identity().candidate.value + std::to_string(term.token().value) + "'");
  }

  std::function<void(const std::string&)> meddle_;
  std::int64_t commits_ = 0;  // of this term: the sequence number that its next commit expects
};

}  // namespace tenure::test
