#include "backends/postgresql/store/open_transaction.hpp"

#include <iterator>

#include "backends/postgresql/store/driver.hpp"
#include "backends/postgresql/store/user_statement.hpp"
#include "base/assert.hpp"

namespace tenure::postgresql {
namespace {

// What travels together holds the fence's lock all the way: not longer than a claim waits before it ends its holder.
constexpr std::chrono::milliseconds slowExchange{500};
constexpr std::size_t mostKeptBack = 1024;
constexpr std::size_t mostBytesKeptBack = 16U << 20U;

}  // namespace

Result<storage::Outcome> OpenTransaction::begin(const storage::Fence& expected, const storage::Fence& next) {
  expected_ = expected;
  next_ = next;
  return storage::Outcome::committed;
}

Result<void> OpenTransaction::status() const {
  if (!isOver_) return {};
  return why_;
}

Error OpenTransaction::end(Error why) {
  rollback();
  why_ = std::move(why);
  return why_;
}

Result<void> OpenTransaction::requireConnection() {
  if (connection_) return {};
  auto connection = driver_.session();
  if (!connection) return end(connection.error());
  connection_ = std::move(*connection);
  return {};
}

// --- points to go back to

void OpenTransaction::ready() {
  if (mark_ != Mark::wanted) return;
  mark_ = Mark::held;
  markAt_ = kept_.size();
  isNothingBehindMark_ = true;
  hasStatementPoint_ = false;
}

void OpenTransaction::placeMark() {
  if (mark_ != Mark::held) return;
  const auto place = [this](const char* sql) {
    kept_.insert(kept_.begin() + static_cast<std::ptrdiff_t>(markAt_++), command(sql));
  };
  if (hasSavepoint_) place("RELEASE tenure_mark");
  place("SAVEPOINT tenure_mark");
  ++savepoints_;
  mark_ = Mark::placed;
  hasSavepoint_ = true;
}

/// Of one message's many statements only the first have a point to go back to.
void OpenTransaction::placeStatementPoint() {
  isWithoutPoint_ = !isRightBehindMark() && isFull();
  if (isRightBehindMark() || isWithoutPoint_) return;
  if (hasStatementPoint_) kept_.push_back(command("RELEASE tenure_statement"));
  kept_.push_back(command("SAVEPOINT tenure_statement"));
  ++savepoints_;
  hasStatementPoint_ = true;
}

Result<void> OpenTransaction::mark() {
  driver_.countMessage();
  mark_ = Mark::wanted;
  return {};
}

Result<void> OpenTransaction::rollbackToMark() {
  TENURE_ASSERT(mark_ != Mark::none);
  if (mark_ == Mark::wanted) return {};
  if (mark_ == Mark::held) {
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(markAt_), kept_.end());
    mark_ = Mark::wanted;
    return {};
  }
  kept_.clear();  // all of it lies behind the mark
  kept_.push_back(command("ROLLBACK TO tenure_mark"));
  markAt_ = kept_.size();
  hasStatementPoint_ = false;
  isNothingBehindMark_ = true;
  return {};
}

// --- sending

Exchange OpenTransaction::send(std::optional<Command> question) {
  std::vector<Command> all;
  if (!isSent_) all = driver_.passFence(*expected_, *next_);
  fence_ = all.size();
  all.insert(all.end(), std::move_iterator(kept_.begin()), std::move_iterator(kept_.end()));
  if (question) all.push_back(std::move(*question));
  const bool isGuess = std::exchange(isGuess_, false);
  isSent_ = true;
  const BootTime start = BootClock::now();
  Exchange exchange = connection_->exchange(all, all.size() - 1);
  if (isGuess && BootClock::now() - start > slowExchange) driver_.goPessimistic();
  if (exchange) {
    kept_.clear();
    keptBytes_ = 0;
    markAt_ = 0;
  } else {
    isGuess_ = isGuess;
  }
  return exchange;
}

std::int64_t OpenTransaction::placeOf(const Failure& failure) const noexcept {
  return static_cast<std::int64_t>(failure.command) - static_cast<std::int64_t>(fence_);
}

Result<void> OpenTransaction::flush() {
  if (Result<void> connected = requireConnection(); !connected) return connected;
  placeMark();
  const Exchange sent = send({});
  return sent ? Result<void>{} : endBy(*sent.failure);
}

Error OpenTransaction::endBy(const Failure& failure) {
  if (isFenceTableGone(failure)) return end(errorOf(failure));
  if (placeOf(failure) < 0) return end(driver_.refusedAtFence(*connection_, failure, *expected_));
  const bool isLost = connection_->isLost();
  if (isLost && isGuess_) driver_.goPessimistic();  // perhaps it was too much at once
  const bool isStores = endsTransaction(meaningOf(failure.sqlState)) && !isLockTimeout(failure.sqlState);
  if (isLost || !isGuess_ || isStores) return end(failure.error);
  driver_.goPessimistic();
  return end({Errc::transactionConflict, failure.error.detail});
}

// --- a handler's statements

Result<std::vector<SqlRow>> OpenTransaction::execute(std::string_view sql, std::span<const SqlParameter> parameters) {
  Result<Command> statement = userCommand(driver_.translations(), sql, parameters);
  if (!statement) return statement.error();
  if (const Result<void> connected = requireConnection(); !connected) return connected.error();
  ready();
  placeStatementPoint();
  placeMark();
  if (holdsNoText(*statement))
    if (const Result<void> fit = probe(*statement); !fit) return fit.error();
  Exchange exchange = send(std::move(*statement));
  if (!exchange) return undoStatement(*exchange.failure);
  isNothingBehindMark_ = false;
  if (!connection_->inSoundTransaction()) return end({Errc::storeFailed, "a statement ended the whole transaction"});
  touched_ = exchange.answers.back().changed();
  return rowsOf(exchange.answers.back());
}

Result<std::int64_t> OpenTransaction::touch(std::string_view sql, std::span<const SqlParameter> parameters) {
  const Result<std::vector<SqlRow>> rows = execute(sql, parameters);
  return rows ? Result<std::int64_t>(touched_) : rows.error();
}

Result<void> OpenTransaction::probe(const Command& statement) {
  Command prepare{SqlText("PREPARE tenure_probe AS " + std::string(statement.sql)), {}, true, true};
  const Exchange prepared = send(std::move(prepare));
  if (!prepared) return undoStatement(*prepared.failure);
  const Exchange asked = connection_->exchange(std::vector{typesOfProbe(), command("DEALLOCATE tenure_probe")});
  if (!asked) return end(asked.error());
  return judgeTypes(statement, asked.answers[0]);
}

Result<void> OpenTransaction::write(std::string_view sql, std::span<const SqlParameter> parameters) {
  Result<Command> statement = userCommand(driver_.translations(), sql, parameters);
  if (!statement) return statement.error();
  if (!driver_.mayGuess() || holdsNoText(*statement)) {
    const Result<std::vector<SqlRow>> rows = execute(sql, parameters);
    return rows ? Result<void>{} : rows.error();
  }
  ready();
  for (const Parameter& parameter : statement->parameters) keptBytes_ += parameter.bytes ? parameter.bytes->size() : 0;
  kept_.push_back(std::move(*statement));
  isGuess_ = true;
  isNothingBehindMark_ = false;
  return kept_.size() < mostKeptBack && keptBytes_ < mostBytesKeptBack ? Result<void>{} : flush();
}

Result<void> OpenTransaction::check(std::string_view sql, std::span<const SqlParameter> parameters) {
  if (Result<void> connected = requireConnection(); !connected) return connected;
  Result<void> checked = checkStatement(*connection_, driver_.translations(), sql, parameters);
  if (!checked && connection_->isLost()) return end(checked.error());
  return checked;
}

/// The failed statement is forgotten; the transaction is as it was before it.
Error OpenTransaction::undoStatement(const Failure& failure) {
  const bool wasAsked = placeOf(failure) == static_cast<std::int64_t>(kept_.size());
  const bool isLocked = isLockTimeout(failure.sqlState);
  if (!wasAsked || connection_->isLost()) return endBy(failure);
  if (endsTransaction(meaningOf(failure.sqlState)) && !isLocked) return endBy(failure);
  const auto told = [&] { return isLocked ? driver_.rowLocked(*connection_, failure) : failure.error; };
  if (isWithoutPoint_ && isLocked) return end(told());
  if (isWithoutPoint_)
    return end(
        {Errc::payloadTooLarge, "a statement failed behind " + std::to_string(mostSavepoints) +
                                    " others of its transaction, too many to undo it alone: " + failure.error.detail});
  kept_.clear();
  keptBytes_ = 0;
  markAt_ = 0;
  isGuess_ = false;
  const bool isOfMark = isRightBehindMark() || !hasStatementPoint_;
  const Exchange undone = connection_->exchange(
      std::vector{command(isOfMark ? "ROLLBACK TO tenure_mark" : "ROLLBACK TO tenure_statement")});
  if (!undone) return end(undone.error());
  if (isNoText(failure.sqlState)) return {Errc::commitRefused, failure.error.detail};
  return isLocked ? told() : Error{Errc::storeFailed, failure.error.detail};
}

// --- the end

Result<storage::Committed> OpenTransaction::commit(const storage::Commit& commit) {
  if (const Result<void> connected = requireConnection(); !connected) return connected.error();
  if (isSent_ && !connection_->inSoundTransaction())
    return end({Errc::storeFailed, "a statement ended the whole transaction"});
  std::vector<Command> all;
  if (!isSent_) all = driver_.passFence(*commit.expected, *commit.next);
  const std::size_t fence = all.size();
  all.insert(all.end(), std::move_iterator(kept_.begin()), std::move_iterator(kept_.end()));
  kept_.clear();
  isOver_ = true;
  isSent_ = false;
  return driver_.finish(*connection_, std::move(all), fence, isGuess_, commit);
}

void OpenTransaction::rollback() noexcept {
  if (isSent_ && connection_) connection_->rollback();
  isSent_ = false;
  isOver_ = true;
}

}  // namespace tenure::postgresql
