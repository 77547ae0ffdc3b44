/// One fenced transaction on one connection.
///
///   idle ──first write──▶ open ──commit / rollback──▶ over
///
/// Idle holds no lock. The first write begins IMMEDIATE and raises the fence row's `seq` under the term's own token:
/// when that row is not there any more, a newer term has claimed and nothing else is written. Marks become savepoints
/// only when something is written after them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/sqlite/connection.hpp"
#include "tenure/store.hpp"

namespace tenure::sqlite {

class Store;

class FencedTransaction final : public IFencedTransaction, private ISqlStatements {
 public:
  FencedTransaction(Store& store, std::shared_ptr<Connection> connection, Term term);
  ~FencedTransaction() override { FencedTransaction::rollback(); }

  Result<std::optional<std::string>> get(std::string_view key) override;
  Result<void> put(std::string_view key, std::string_view value) override;
  Result<void> erase(std::string_view key) override;
  ISqlStatements* sql() noexcept override { return this; }

  Result<Admission> admit(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest,
                          MessageFate fate) override;
  Result<void> standing() const override;
  Result<void> mark() override;
  Result<void> rollbackToMark() override;
  Result<void> recordInWork(const ConsumerName& consumer, std::span<const MessageId> ids, bool more) override;
  Result<void> recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) override;
  Result<void> clearAttempt(const ConsumerName& consumer, const MessageId& id) override;
  Result<void> deadLetter(const ConsumerName& consumer, const DeadLetter& letter) override;
  Result<void> logAttempts(const ConsumerName& consumer, std::span<const LoggedAttempt> attempts) override;
  Result<void> commit() override;
  void rollback() noexcept override;

  /// For the source of the same file: runs of neighbouring messages are deleted as ranges.
  Result<void> deleteMessages(std::span<const Message> messages);
  /// Keys between two ids, the second included, that are older than `before`; how many there were.
  Result<std::size_t> removeKeys(const Pruning& step, const std::string& last);
  Result<std::size_t> removeLog(const LogPruning& step, std::int64_t upTo);
  const Store& store() const noexcept { return store_; }

 private:
  enum class State { idle, open, over };

  Result<std::vector<SqlRow>> execute(std::string_view sql, std::span<const SqlParameter> parameters) override;
  Result<void> check(std::string_view sql, std::span<const SqlParameter> parameters) override;
  /// Before every write: begins, checks the fence, places the mark that is still wanted.
  Result<void> ready();
  Result<void> beginUnderFence();
  Result<void> placeMark();
  /// Some failures (a full disk, a user's INSERT OR ROLLBACK) undo the whole transaction; nothing may follow.
  Result<void> requireOpen() const;
  Result<Admission> admissionOf(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest);
  /// What the file has against a handler's call is no fault of its message, whatever the handler makes of it.
  Error heard(Error error);

  Store& store_;
  std::shared_ptr<Connection> connection_;
  Term term_;
  WallTime at_{};
  State state_ = State::idle;
  std::optional<Error> broken_;  // a handler may swallow it: whoever asks next must hear the same
  bool markWanted_ = false;
  bool markPlaced_ = false;
};

}  // namespace tenure::sqlite
