/// One fenced transaction: what it will write, and what it has read.
///
///   idle ──first read: the fence is looked at by the way──▶ open ──commit / rollback──▶ over
///
/// Writes ask nothing, and hold nothing on the servers; a newer term's claim defeats the transaction instead of waiting
/// for it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/zookeeper/changes.hpp"
#include "backends/zookeeper/store.hpp"

namespace tenure::zookeeper {

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
  bool isFull() const noexcept override;
  Result<void> mark() override;
  Result<void> rollbackToMark() override;
  Result<void> recordInWork(const ConsumerName& consumer, std::span<const MessageId> ids, bool more) override;
  Result<void> recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) override;
  Result<void> clearAttempt(const ConsumerName& consumer, const MessageId& id) override;
  Result<void> deadLetter(const ConsumerName& consumer, const DeadLetter& letter) override;
  Result<void> logAttempts(const ConsumerName& consumer, std::span<const LoggedAttempt> attempts) override;
  Result<void> commit() override;
  void rollback() noexcept override;
  /// Removes what is kept of messages where it was written before that. How many it was.
  Result<Pruned> forget(const std::vector<std::string>& idPaths, const Pruning& step);

 private:
  enum class State { idle, open, over };

  /// Reads what is not known yet, all of it in one journey.
  Result<void> know(const std::vector<std::string>& paths);
  Result<void> knowId(const std::string& path, const ConsumerName& consumer, const MessageId& id);
  Store::FenceCheck fenceCheck() const noexcept;
  Result<void> write(const std::string& path, Changes::Value value);
  /// Of what was written blindly, the commit needs versions.
  Result<void> knowWritten();
  Result<void> breakOff(const Error& error);

  Store& store_;
  Term term_;
  State state_ = State::idle;
  std::optional<Error> broken_;  // a handler may swallow it: whoever asks next must hear the same
  Changes changes_;
  std::vector<MessageId> assumed_;  // to be new
  std::vector<std::string> letters_;
  std::vector<LogEntry> logged_;
  std::size_t mark_ = 0;
  std::size_t lettersAtMark_ = 0;
  std::size_t loggedAtMark_ = 0;
};

}  // namespace tenure::zookeeper
