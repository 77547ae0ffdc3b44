/// A store without idempotency keys, to show that the tests would notice: every message is new to it. The fence, the
/// lock and the atomic commit stay as they are.
#pragma once

#include <memory>

#include "support/forwarding_transaction.hpp"

namespace tenure::test {

class Forgetful final : public IFencedStore {
 public:
  explicit Forgetful(IFencedStore& inner) : inner_(inner) {}

  Result<void> claim(const Term& term) override { return inner_.claim(term); }
  Result<std::unique_ptr<IFencedTransaction>> begin(const Term& term) override {
    auto begun = inner_.begin(term);
    if (!begun) return begun.error();
    return std::unique_ptr<IFencedTransaction>(std::make_unique<Welcoming>(std::move(*begun)));
  }
  Result<CommitFate> resolve(const Term& term) override { return inner_.resolve(term); }
  Result<ConsumerState> consumerState(const ConsumerName& consumer) override { return inner_.consumerState(consumer); }
  Result<std::vector<Admission>> known(const ConsumerName&, std::span<const Message> messages) override {
    return std::vector<Admission>(messages.size(), Admission::fresh);
  }
  std::size_t maxBatch() const noexcept override { return inner_.maxBatch(); }
  Result<Pruned> prune(const Term& term, const Pruning& step) override { return inner_.prune(term, step); }
  void release() noexcept override { inner_.release(); }

 private:
  class Welcoming final : public ForwardingTransaction {
   public:
    using ForwardingTransaction::ForwardingTransaction;
    Result<Admission> admit(const ConsumerName&, const MessageId&, const BodyDigest&, MessageFate) override {
      return Admission::fresh;
    }
  };

  IFencedStore& inner_;
};

}  // namespace tenure::test
