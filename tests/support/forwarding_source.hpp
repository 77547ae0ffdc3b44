/// A source around another one: a decorator overrides the calls it wants to meet; the rest passes through.
#pragma once

#include "tenure/spi/source.hpp"

namespace tenure::test {

class ForwardingSource : public IMessageSource {
 public:
  /// Borrows `inner`.
  explicit ForwardingSource(IMessageSource& inner) : inner_(inner) {}

  Result<void> prepare(const std::stop_token& stop) override { return inner_.prepare(stop); }
  Result<QueueIdentity> identity(const std::stop_token& stop) override { return inner_.identity(stop); }
  Result<void> attach(const Term& term) override { return inner_.attach(term); }
  Result<std::vector<Message>> fetch(std::size_t max, BootTime deadline, std::stop_token stop) override {
    return inner_.fetch(max, deadline, std::move(stop));
  }
  Result<void> tend() override { return inner_.tend(); }
  bool sharesTransactionsWith(const IFencedStore& store) const noexcept override {
    return inner_.sharesTransactionsWith(store);
  }
  Result<void> acknowledge(std::span<const Message> messages) override { return inner_.acknowledge(messages); }
  void limitAnswers(AnswerTimer* timer) noexcept override { inner_.limitAnswers(timer); }
  void detach() noexcept override { inner_.detach(); }

 protected:
  IMessageSource& inner() const noexcept { return inner_; }

 private:
  IMessageSource& inner_;
};

}  // namespace tenure::test
