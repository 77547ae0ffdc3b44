/// What a handler gets where some keys of the store are the consumer's own.
#pragma once

#include "pipeline/sequence_text.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::consuming {

class GuardedTransaction final : public Transaction {
 public:
  explicit GuardedTransaction(Transaction& inner) : inner_(inner) {}

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
    return inner_.enqueue(message, queue);
  }
  ISqlStatements* sql() noexcept override { return inner_.sql(); }

 private:
  static bool isReserved(std::string_view key) noexcept { return key.starts_with(pipeline::numbersPrefix); }
  static Error refusal() {
    return {Errc::invalidArgument, "keys under \"" + std::string(pipeline::numbersPrefix) + "\" are the consumer's"};
  }

  Transaction& inner_;
};

}  // namespace tenure::consuming
