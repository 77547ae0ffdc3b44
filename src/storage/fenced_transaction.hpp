/// One fenced transaction: what it will write, and what it has read.
///
///   open ──commit / rollback / a failure──▶ over
///
/// An open transaction locks nothing in the store: a slow handler blocks no commit, and a newer term's claim defeats it
/// instead of waiting for it. What was read stays true until the commit: only the term's own commits write its state,
/// and what others may write (idempotency keys, attempts) the commit expects as it was read.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/fenced_session.hpp"
#include "storage/write_set.hpp"

namespace tenure::storage {

class FencedTransaction final : public IFencedTransaction, private ISqlStatements {
 public:
  FencedTransaction(FencedSession& session, Term term, std::unique_ptr<ISqlTransaction> sql)
      : session_(session),
        term_(std::move(term)),
        sql_(std::move(sql)),
        at_(session.now()),
        writes_(session.takeWriteSet()) {}
  ~FencedTransaction() override { FencedTransaction::rollback(); }

  Result<std::optional<std::string>> get(std::string_view key) override;
  Result<void> put(std::string_view key, std::string_view value) override;
  Result<void> erase(std::string_view key) override;
  Result<void> enqueue(const NewMessage& message, std::string_view queue) override;
  Result<ScheduleChange> cancelScheduled(const MessageId& id, std::string_view queue) override;
  Result<ScheduleChange> reschedule(const MessageId& id, WallTime at, std::string_view queue) override;
  ISqlStatements* sql() noexcept override { return sql_ ? this : nullptr; }

  Result<Admission> admit(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest,
                          MessageFate fate) override;
  Result<void> status() const override;
  bool isFull() const noexcept override { return session_.isFull(writes_) || (sql_ && sql_->isFull()); }
  Result<void> mark() override;
  Result<void> rollbackToMark() override;
  Result<void> recordInWork(const ConsumerName& consumer, std::size_t lane, const InWork& inWork) override;
  Result<void> recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) override;
  Result<void> clearAttempt(const ConsumerName& consumer, const MessageId& id) override;
  Result<void> recordFact(const ConsumerName& consumer, const ConsumerFact& fact) override;
  Result<void> deadLetter(const ConsumerName& consumer, const DeadLetter& letter) override;
  Result<GroupTurn> turnOf(const ConsumerName& consumer, const GroupId& group) override;
  Result<void> recordTurn(const ConsumerName& consumer, const GroupId& group, const GroupTurn& turn) override;
  Result<std::optional<KeptMessage>> kept(const ConsumerName& consumer, const GroupId& group,
                                          std::int64_t number) override;
  Result<void> keep(const ConsumerName& consumer, const KeptMessage& message) override;
  Result<void> dropKept(const ConsumerName& consumer, const GroupId& group, std::int64_t number) override;
  Result<void> logAttempts(const ConsumerName& consumer, std::span<const LoggedAttempt> attempts) override;
  Result<void> acknowledge(std::span<const Message> messages) override;
  Result<void> commit() override;
  void rollback() noexcept override;

 private:
  Result<std::vector<SqlRow>> execute(std::string_view sql, std::span<const SqlParameter> parameters) override;
  Result<std::int64_t> touch(std::string_view sql, std::span<const SqlParameter> parameters) override;
  Result<void> write(std::string_view sql, std::span<const SqlParameter> parameters) override;
  Result<void> check(std::string_view sql, std::span<const SqlParameter> parameters) override;

  /// Call before anything that asks the store; where it speaks SQL, the fence's lock is held afterwards.
  Result<void> begun();
  Result<Rows> read(std::span<const RowName> rows);
  /// Keeps an error that ends the transaction, as the answer to every later call.
  Error heard(Error error);
  /// As it is in the store; asked for once. A failure is the transaction's end.
  Result<std::optional<Row>> stored(Table table, Row key);
  /// The row as the transaction's own writes have left it.
  Result<std::optional<Row>> current(Table table, Row key);
  /// The name of the queue that is meant. Errors: invalidArgument, unsupported, those of status().
  Result<std::string> waitingRoom(std::string_view queue) const;
  Result<void> schedule(const NewMessage& message, std::string_view queue);
  /// Calls `change` with the row, where the message waits.
  Result<ScheduleChange> changeWaiting(const MessageId& id, std::string_view queue,
                                       const std::function<void(const Row& waiting)>& change);
  void expectStill(std::string_view key, const std::optional<Row>& row);
  Error breakOff(Error why);

  FencedSession& session_;
  Term term_;
  std::unique_ptr<ISqlTransaction> sql_;
  std::optional<Fence> begun_;  // once a statement has passed the fence: what the commit makes of it
  WallTime at_;                 // of the keys that it makes
  bool over_ = false;
  std::optional<Error> broken_;  // a handler may swallow it: every later call must return it
  WriteSet writes_;
  std::map<std::string, std::optional<Row>> stored_;  // by name
};

}  // namespace tenure::storage
