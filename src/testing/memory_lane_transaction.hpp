/// The transaction of one of several lanes: it keeps what it is to write until its commit, and is the World's writer
/// only there. So lanes have transactions open beside each other.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "testing/memory_transaction.hpp"

namespace tenure::memory {

class LaneTransaction final : public WorldTransaction {
 public:
  LaneTransaction(State& state, Claimed& claimed, WallTime at) : state_(state), claimed_(claimed), at_(at) {}

  Result<std::optional<std::string>> get(std::string_view key) override;
  Result<void> put(std::string_view key, std::string_view value) override;
  Result<void> erase(std::string_view key) override;
  Result<void> enqueue(const NewMessage& message, std::string_view queue) override;
  Result<Admission> admit(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest,
                          MessageFate fate) override;
  /// What breaks it is found by its commit.
  Result<void> status() const override { return {}; }
  Result<void> mark() override;
  Result<void> rollbackToMark() override;
  Result<void> recordInWork(const ConsumerName& consumer, std::span<const MessageId> ids, bool more) override;
  Result<void> recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) override;
  Result<void> clearAttempt(const ConsumerName& consumer, const MessageId& id) override;
  Result<void> deadLetter(const ConsumerName& consumer, const DeadLetter& letter) override;
  Result<void> logAttempts(const ConsumerName& consumer, std::span<const LoggedAttempt> attempts) override;
  Result<void> acknowledge(std::span<const Message> messages) override;
  Result<void> commit() override;
  void rollback() noexcept override { steps_.clear(); }

 private:
  using Write = std::function<Result<void>(MemoryTransaction&)>;
  struct Step {
    Write write;
    std::string key{};  // of the value that is written
    std::optional<std::string> value{};
    MessageId admitted{};
    BodyDigest digest{};
  };

  Result<void> keep(Write write);

  State& state_;
  Claimed& claimed_;
  const WallTime at_;
  std::vector<Step> steps_;
  std::size_t mark_ = 0;
};

}  // namespace tenure::memory
