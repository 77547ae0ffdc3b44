/// A source whose messages are in the group of their endpoint, unless they have one, or a number. So the calls of an
/// endpoint wait for each other, and those of others do not.
#pragma once

#include "tenure/spi/source.hpp"
#include "webhook/setup.hpp"

namespace tenure::webhook {

class GroupedByEndpoint final : public IMessageSource {
 public:
  /// Borrows both.
  GroupedByEndpoint(IMessageSource& inner, const Setup& setup) : inner_(inner), setup_(setup) {}

  Result<void> prepare(const std::stop_token& stop) override { return inner_.prepare(stop); }
  Result<QueueIdentity> identity(const std::stop_token& stop) override { return inner_.identity(stop); }
  Result<void> attach(const Term& term) override { return inner_.attach(term); }
  Result<std::vector<Message>> fetch(std::size_t max, BootTime deadline, std::stop_token stop) override;
  Result<void> tend() override { return inner_.tend(); }
  bool sharesTransactionsWith(const IFencedStore& store) const noexcept override {
    return inner_.sharesTransactionsWith(store);
  }
  Result<void> acknowledge(std::span<const Message> messages) override { return inner_.acknowledge(messages); }
  void limitAnswers(AnswerTimer* timer) noexcept override { inner_.limitAnswers(timer); }
  void detach() noexcept override { inner_.detach(); }

 private:
  IMessageSource& inner_;
  const Setup& setup_;
};

/// The group of an endpoint: its address, or the digest of one that is too long for a group.
GroupId groupOf(const Endpoint& endpoint);

}  // namespace tenure::webhook
