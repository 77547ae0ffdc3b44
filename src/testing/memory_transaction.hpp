/// One transaction on a World: writes in place and remembers how to take each write back.
#pragma once

#include "testing/memory_state.hpp"

namespace tenure::memory {

/// What a connection knows of its own term's fence; outlives each of its transactions.
struct Claimed {
  TermIdentity term;
  FencingToken previous;      // that had claimed before
  std::int64_t sequence = 0;  // commits that we know have landed
  Lane lane = 0;
};

/// Of this backend.
class WorldTransaction : public IFencedTransaction {
 public:
  /// Takes messages out of the queue; they are back if the transaction is rolled back.
  virtual Result<void> acknowledge(std::span<const Message> messages) = 0;
};

class MemoryTransaction final : public WorldTransaction {
 public:
  MemoryTransaction(State& state, Claimed& claimed, WallTime at) : state_(state), claimed_(claimed), at_(at) {}
  ~MemoryTransaction() override { rollback(); }

  Result<std::optional<std::string>> get(std::string_view key) override;
  Result<void> put(std::string_view key, std::string_view value) override;
  Result<void> erase(std::string_view key) override;
  Result<void> enqueue(const NewMessage& message, std::string_view queue) override;

  Result<Admission> admit(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest,
                          MessageFate fate) override;
  Result<void> status() const override;
  Result<void> mark() override;
  Result<void> rollbackToMark() override;
  Result<void> recordInWork(const ConsumerName& consumer, std::span<const MessageId> ids, bool more) override;
  Result<void> recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) override;
  Result<void> clearAttempt(const ConsumerName& consumer, const MessageId& id) override;
  Result<void> deadLetter(const ConsumerName& consumer, const DeadLetter& letter) override;
  Result<void> logAttempts(const ConsumerName& consumer, std::span<const LoggedAttempt> attempts) override;
  Result<void> commit() override;
  void rollback() noexcept override;

  Result<void> acknowledge(std::span<const Message> messages) override;
  /// A newer term claims: everything is undone, and every further call is refused. The state's mutex is held.
  void evict() noexcept;

 private:
  using Undo = std::function<void(State&)>;

  Result<void> enterWriting();
  Result<void> takeLock();
  bool isReleased(const ConsumerName& consumer, const MessageId& id) const;
  void undoTo(std::size_t size) noexcept;

  State& state_;
  Claimed& claimed_;
  const WallTime at_;
  std::vector<Undo> undo_;
  std::vector<NewMessage> sent_;
  std::size_t mark_ = 0;
  std::size_t sentBeforeMark_ = 0;
  std::optional<Error> broken_;  // by its first failure, as on a server
};

/// Of what a handler writes.
Result<void> checkEntry(std::string_view key, std::string_view value);

/// Of what a handler sends.
Result<void> checkSent(const NewMessage& message, std::string_view queue);

/// Is the fence still ours? The state's mutex is held.
Result<void> checkFence(const State& state, const Claimed& claimed);

}  // namespace tenure::memory
