/// A store whose fence lets everybody pass, to show that the tests would notice: before each transaction, and again
/// before its commit, it puts the fence row back to what this term's last commit made of it, behind the store's back.
/// Idempotency keys, the lock and the atomic commit stay as they are.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "support/forwarding_store.hpp"

namespace tenure::test {

/// Runs SQL in the store, on a session of its own; where a query is given, if that finds any row.
using Meddle = std::function<void(const std::string& sql, const std::string& onlyIfAny)>;

class Unfenced final : public ForwardingStore {
 public:
  Unfenced(IFencedStore& inner, Meddle meddle) : ForwardingStore(inner), meddle_(std::move(meddle)) {}

  Result<void> claim(const Term& term) override {
    Result<void> claimed = ForwardingStore::claim(term);
    meddle_("CREATE TABLE IF NOT EXISTS unfenced AS SELECT * FROM tenure_fence WHERE 1 = 0", {});
    if (claimed) remember(term);
    return claimed;
  }
  Result<std::unique_ptr<IFencedTransaction>> begin(const Term& term) override {
    auto begun = ForwardingStore::begin(term);
    if (!begun) return begun.error();
    return std::unique_ptr<IFencedTransaction>(std::make_unique<Unchecked>(std::move(*begun), *this, term));
  }
  // What is foreseen is not asked for: the fence would be passed long after it was lifted, and perhaps hold after all.
  void expect(std::vector<MessageId>) override {}

 private:
  class Unchecked final : public ForwardingTransaction {
   public:
    Unchecked(std::unique_ptr<IFencedTransaction> inner, Unfenced& store, Term term)
        : ForwardingTransaction(std::move(inner)), store_(store), term_(std::move(term)) {}
    Result<void> commit() override {
      store_.liftFence(term_);
      Result<void> committed = ForwardingTransaction::commit();
      if (committed) store_.remember(term_);
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

  void remember(const Term& term) const {
    const std::string mine = " WHERE candidate = '" + term.identity().candidate.value + "'";
    meddle_("DELETE FROM unfenced" + mine, {});
    meddle_(
        "INSERT INTO unfenced SELECT * FROM tenure_fence" + mine + " AND token = " + std::to_string(term.token().value),
        {});
  }

  /// Changes nothing, and waits for nobody, while the row is this term's.
  void liftFence(const Term& term) const {
    const std::string isAnothers =
        " unfenced AS mine WHERE tenure_fence.election = mine.election AND tenure_fence.token <> mine.token"
        " AND mine.candidate = '" +
        term.identity().candidate.value + "'";
    meddle_(
        "UPDATE tenure_fence SET token = mine.token, seq = mine.seq, candidate = mine.candidate, change = mine.change"
        " FROM" +
            isAnothers,
        "SELECT 1 FROM tenure_fence," + isAnothers);
  }

  Meddle meddle_;
};

}  // namespace tenure::test
