#include "backends/sqlite/open_transaction.hpp"

#include <sqlite3.h>

#include "backends/sqlite/driver.hpp"
#include "backends/sqlite/user_sql.hpp"
#include "base/assert.hpp"

namespace tenure::sqlite {

Result<storage::Outcome> OpenTransaction::begin(const storage::Fence& expected, const storage::Fence& next) {
  TENURE_ASSERT(state_ == State::idle);
  const Result<storage::Outcome> begun = driver_.begin(expected, next);
  state_ = begun && *begun == storage::Outcome::committed ? State::open : State::over;
  return begun;
}

/// Some failures (a full disk, a user's INSERT OR ROLLBACK) undo the whole transaction; nothing may follow.
Result<void> OpenTransaction::status() const {
  if (broken_) return *broken_;
  if (state_ == State::idle || (state_ == State::open && driver_.connection().inTransaction())) return {};
  return Error{Errc::storeFailed,
               state_ == State::over ? "the transaction is over" : "a statement rolled the whole transaction back"};
}

Error OpenTransaction::heard(Error error) {
  if (error.is(Errc::storeFull) || error.is(Errc::unavailable)) broken_ = error;
  return error;
}

Result<std::vector<SqlRow>> OpenTransaction::execute(std::string_view sql, std::span<const SqlParameter> parameters) {
  if (mark_ == Mark::wanted && !onlyReads(driver_.connection(), sql))
    if (const Result<void> placed = placeMark(); !placed) return placed.error();
  Result<std::vector<SqlRow>> rows = executeUserSql(driver_.connection(), sql, parameters);
  if (!rows) rows = heard(rows.error());
  const Result<void> stillOpen = status();
  if (!rows || stillOpen) return rows;
  return stillOpen.error();
}

Result<void> OpenTransaction::write(std::string_view sql, std::span<const SqlParameter> parameters) {
  const bool isWithoutPoint = mark_ == Mark::wanted && !driver_.isPessimistic();
  if (isWithoutPoint) mark_ = Mark::skipped;
  const Result<std::vector<SqlRow>> rows = execute(sql, parameters);
  // A statement that failed has changed nothing.
  if (!rows && isWithoutPoint) mark_ = Mark::wanted;
  return rows ? Result<void>{} : rows.error();
}

Result<std::int64_t> OpenTransaction::touch(std::string_view sql, std::span<const SqlParameter> parameters) {
  sqlite3* db = driver_.connection().handle();
  const int before = sqlite3_total_changes(db);
  const Result<std::vector<SqlRow>> rows = execute(sql, parameters);
  if (!rows) return rows.error();
  if (onlyReads(driver_.connection(), sql)) return static_cast<std::int64_t>(rows->size());
  // A statement that changes no row leaves the count of the one before it.
  return sqlite3_total_changes(db) == before ? 0 : sqlite3_changes(db);
}

Result<void> OpenTransaction::check(std::string_view sql, std::span<const SqlParameter> parameters) {
  return checkUserSql(driver_.connection(), sql, parameters);
}

Result<void> OpenTransaction::placeMark() {
  Connection& connection = driver_.connection();
  if (hasSavepoint_)
    if (Result<void> released = connection.run("RELEASE tenure_mark"); !released) return released;
  hasSavepoint_ = false;
  if (Result<void> placed = connection.run("SAVEPOINT tenure_mark"); !placed) return placed;
  hasSavepoint_ = true;
  mark_ = Mark::placed;
  return {};
}

Result<void> OpenTransaction::mark() {
  mark_ = Mark::wanted;
  return {};
}

Result<void> OpenTransaction::rollbackToMark() {
  if (state_ == State::idle || mark_ == Mark::wanted) return {};
  if (Result<void> open = status(); !open) return open;
  if (mark_ == Mark::placed) return driver_.connection().run("ROLLBACK TO tenure_mark");
  driver_.goPessimistically();
  return Error{Errc::transactionConflict, "what a handler wrote before it failed has no savepoint"};
}

Result<storage::Committed> OpenTransaction::commit(const storage::Commit& commit) {
  const bool hasBegun = state_ == State::open;
  state_ = State::over;
  return hasBegun ? driver_.finish(commit) : driver_.commit(commit);
}

void OpenTransaction::rollback() noexcept {
  if (state_ == State::open) driver_.connection().rollback();
  state_ = State::over;
}

}  // namespace tenure::sqlite
