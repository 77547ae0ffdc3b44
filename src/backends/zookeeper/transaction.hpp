/// One fenced transaction: what it will write, and what it has read.
///
///   idle ──first read or write: the fence is looked at──▶ open ──commit / rollback──▶ over
///
/// Open holds nothing on the servers; a newer term's claim defeats the transaction instead of waiting for it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/zookeeper/changes.hpp"
#include "tenure/store.hpp"

namespace tenure::zookeeper {

class Store;

class FencedTransaction final : public IFencedTransaction {
 public:
  FencedTransaction(Store& store, Term term) : store_(store), term_(std::move(term)) {}
  ~FencedTransaction() override { FencedTransaction::rollback(); }

  Result<std::optional<std::string>> get(std::string_view key) override;
  Result<void> put(std::string_view key, std::string_view value) override;
  Result<void> erase(std::string_view key) override;

  Result<Admission> admit(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest,
                          MessageFate fate) override;
  Result<void> standing() const override;
  Result<void> mark() override;
  Result<void> rollbackToMark() override;
  Result<void> recordInWork(const ConsumerName& consumer, std::span<const MessageId> ids, bool more) override;
  Result<void> recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) override;
  Result<void> clearAttempt(const ConsumerName& consumer, const MessageId& id) override;
  Result<void> deadLetter(const ConsumerName& consumer, const DeadLetter& letter) override;
  Result<void> commit() override;
  void rollback() noexcept override;
  /// Removes what is kept of a message when it was written before that. True when it was.
  Result<bool> forget(const std::string& idPath, WallTime before);

 private:
  enum class State { idle, open, over };

  /// Before everything: has looked at the fence.
  Result<void> ready();
  /// Has read the path.
  Result<void> know(const std::string& path);
  Result<void> write(const std::string& path, Changes::Value value);
  Result<void> breakOff(const Error& error);

  Store& store_;
  Term term_;
  State state_ = State::idle;
  std::optional<Error> broken_;  // a handler may swallow it: whoever asks next must hear the same
  Changes changes_;
  std::vector<std::string> letters_;
  std::size_t mark_ = 0;
  std::size_t lettersAtMark_ = 0;
};

}  // namespace tenure::zookeeper
