/// The transaction that a handler gets. It refuses keys that belong to the consumer. Where the messages come from
/// another source, it also refuses a send that names no queue: no election consumes the store's own queue there.
#pragma once

#include "pipeline/sequence_text.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::consuming {

class GuardedTransaction final : public Transaction {
 public:
  struct Rules {
    bool reservesKeys = false;
    bool namesQueues = false;
  };
  GuardedTransaction(Transaction& inner, Rules rules) : inner_(inner), rules_(rules) {}

  Result<std::optional<std::string>> get(std::string_view key) override {
    if (isReserved(key)) return refusal();
    return inner_.get(key);
  }
  Result<void> put(std::string_view key, std::string_view value) override {
    return isReserved(key) ? Result<void>{refusal()} : inner_.put(key, value);
  }
  Result<void> erase(std::string_view key) override {
    return isReserved(key) ? Result<void>{refusal()} : inner_.erase(key);
  }
  Result<void> enqueue(const NewMessage& message, std::string_view queue) override {
    if (rules_.namesQueues && queue.empty())
      return Error{Errc::invalidArgument,
                   "name the queue: messages do not come from this store, and the queue that it "
                   "was opened for is consumed by no election"};
    return inner_.enqueue(message, queue);
  }
  ISqlStatements* sql() noexcept override { return inner_.sql(); }

 private:
  bool isReserved(std::string_view key) const noexcept {
    return rules_.reservesKeys && key.starts_with(pipeline::numbersPrefix);
  }
  static Error refusal() {
    return {Errc::invalidArgument, "keys under \"" + std::string(pipeline::numbersPrefix) + "\" are the consumer's"};
  }

  Transaction& inner_;
  const Rules rules_;
};

}  // namespace tenure::consuming
