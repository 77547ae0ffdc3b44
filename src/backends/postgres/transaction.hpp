/// One fenced transaction.
///
///   idle ──first write──▶ open ──commit / rollback / a failure──▶ over
///
/// The first send begins, and raises the fence row's `seq` under the term's own token: when that row is not there any
/// more, a newer term has claimed, and nothing else in the same send is done. Before it, no lock is held and the server
/// has heard nothing.
///
/// What needs no answer (marks, writes, foreseen keys, bookkeeping, acknowledgements) is kept back and travels with the
/// next question or with the commit, so that a batch whose handlers ask nothing is one round trip. A kept write or key
/// that fails there cannot be told apart from its neighbours any more: the transaction is undone, and for a while the
/// store keeps nothing of the kind back (Store::guessedWrong).
///
/// A mark is a place in what is kept back; it becomes a savepoint when something behind it is sent before the commit.
/// PostgreSQL undoes everything back to a savepoint when a statement fails, so a user's statement that is asked for
/// needs one right before it: the mark itself while nothing but keys came after it (they are written again), else one
/// of its own. Whoever swallows an error finds the transaction as it was before that statement.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/postgres/connection.hpp"
#include "tenure/store.hpp"
#include "tenure/term.hpp"

namespace tenure::postgresql {

class Store;

class FencedTransaction final : public IFencedTransaction, private ISqlStatements {
 public:
  FencedTransaction(Store& store, Term term) : store_(store), term_(std::move(term)) {}
  ~FencedTransaction() override { FencedTransaction::rollback(); }

  Result<std::optional<std::string>> get(std::string_view key) override;
  Result<void> put(std::string_view key, std::string_view value) override;
  Result<void> erase(std::string_view key) override;
  ISqlStatements* sql() noexcept override { return this; }

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

  /// For the source of the same database.
  Result<void> deleteMessages(std::span<const Message> messages);
  /// Keys between two ids, the second included, that are older than `before`; how many there were.
  Result<std::size_t> removeKeys(const Pruning& step, const std::string& last);
  Result<std::size_t> removeLog(const LogPruning& step, std::int64_t upTo);
  const Store& store() const noexcept { return store_; }

 private:
  enum class State { idle, open, over };
  enum class Mark {
    none,
    wanted,  // nothing was written behind it
    held,    // what was is kept back, all of it
    placed,  // it is a savepoint
  };

  Result<std::vector<SqlRow>> execute(std::string_view sql, std::span<const SqlParameter> parameters) override;
  Result<void> write(std::string_view sql, std::span<const SqlParameter> parameters) override;
  Result<void> check(std::string_view sql, std::span<const SqlParameter> parameters) override;

  /// Before every write: what has to precede it is put first.
  Result<void> ready();
  void placeMark();
  bool isRightBehindMark() const noexcept { return mark_ >= Mark::held && onlyKeysSinceMark_; }
  Result<Admission> askForKey(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest, Command key);
  void placeStatementPoint();
  /// Kept back until the next question.
  Result<void> later(Command command);
  /// Sends what was kept back and `question`; its answer.
  Result<Answer> now(Command question);
  Exchange sendWith(Command question, std::size_t alsoRead = 0);
  void forgetKept();
  void rememberKeys();
  Result<void> requireConnection();
  /// The transaction cannot go on: from here on everybody hears `why`.
  Error end(Error why);
  Error endBy(const Failure& failure);
  Error undoStatement(const Failure& failure);
  Result<void> commitAll();

  Store& store_;
  std::shared_ptr<Connection> connection_;
  Term term_;
  State state_ = State::idle;
  bool begun_ = false;  // the server knows of it
  Error why_{Errc::storeFailed, "the transaction is over"};
  std::vector<Command> kept_;
  std::size_t savepoints_ = 0;  // of this transaction, released ones among them
  bool guessed_ = false;        // among them are foreseen keys, or a user's writes
  Mark mark_ = Mark::none;
  std::size_t markAt_ = 0;       // where in kept_ is what lies behind it
  bool savepointThere_ = false;  // of this mark or an earlier one
  bool pointPlaced_ = false;
  bool isWithoutPoint_ = false;  // the last statement
  bool onlyKeysSinceMark_ = false;
  std::vector<Command> keysSinceMark_;  // those that were sent
};

// Shared with the store:

Command selectKey(const ConsumerName& consumer, const MessageId& id);
/// What the row of selectKey says of a body with this digest.
Admission admissionOf(const Answer& key, const BodyDigest& digest);
/// COMMIT as it is meant: durable when it succeeds.
/// Errors:  outcomeUnknown  the reply was lost, or the server did not wait for its standbys
///          any other       not committed
Result<void> commitOf(Connection& connection);

}  // namespace tenure::postgresql
