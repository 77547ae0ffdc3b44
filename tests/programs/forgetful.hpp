/// A store without idempotency keys, to show that the tests would notice: every message is new to it. The fence, the
/// lock and the atomic commit stay as they are.
#pragma once

#include <memory>

#include "support/forwarding_store.hpp"

namespace tenure::test {

class Forgetful final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Result<std::unique_ptr<IFencedTransaction>> begin(const Term& term) override {
    auto begun = ForwardingStore::begin(term);
    if (!begun) return begun.error();
    return std::unique_ptr<IFencedTransaction>(std::make_unique<Welcoming>(std::move(*begun)));
  }
  Result<std::vector<Admission>> known(const ConsumerName&, std::span<const Message> messages) override {
    return std::vector<Admission>(messages.size(), Admission::fresh);
  }
  void expect(std::vector<MessageId>) override {}  // nobody will ask

 private:
  class Welcoming final : public ForwardingTransaction {
   public:
    using ForwardingTransaction::ForwardingTransaction;
    Result<Admission> admit(const ConsumerName&, const MessageId&, const BodyDigest&, MessageFate) override {
      return Admission::fresh;
    }
  };
};

}  // namespace tenure::test
