#include "cli/sql_handler.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <memory>
#include <utility>

#include "base/text.hpp"

namespace tenure::cli {
namespace {

SqlValue bodyValue(const std::string& body) {
  if (isText(body)) return body;
  const auto bytes = std::as_bytes(std::span(body));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

using Parameters = std::array<SqlParameter, 5>;

Parameters parametersOf(const Delivery& delivery) {
  return {SqlParameter{":id", delivery.message.id.value}, SqlParameter{":group", delivery.message.group.value},
          SqlParameter{":body", bodyValue(delivery.message.body)}, SqlParameter{":token", delivery.term.token().value},
          SqlParameter{":attempt", std::int64_t{delivery.attempt}}};
}

Parameters anyParameters() {
  return {SqlParameter{":id", ""}, SqlParameter{":group", ""}, SqlParameter{":body", ""},
          SqlParameter{":token", std::int64_t{0}}, SqlParameter{":attempt", std::int64_t{0}}};
}

ISqlStatements& sqlOf(Transaction& transaction) {
  if (ISqlStatements* sql = transaction.sql()) return *sql;
  throw EndTerm(EndReason::failed, {Errc::unsupported, "--sql needs a store that speaks SQL; this queue's has none"});
}

EndTerm refused(const Error& error) {
  return {EndReason::failed, {Errc::configurationRefused, "--sql: " + error.detail}};
}

EndTerm slip(const std::string& why) {
  return refused({Errc::invalidArgument, why + "; expected one INSERT, UPDATE, DELETE or SELECT"});
}

std::string without(const std::string& ours, std::string text) {
  for (std::size_t at = text.find(ours); at != std::string::npos; at = text.find(ours, at)) text.erase(at, ours.size());
  return text;
}

/// A server asked to explain one of these says no more than "syntax error".
bool controlsTransaction(const std::string& statement) {
  constexpr std::string_view words[] = {"ABORT", "BEGIN", "COMMIT", "END", "RELEASE", "ROLLBACK", "SAVEPOINT", "START"};
  const std::size_t begin = std::min(statement.find_first_not_of(" \t\r\n"), statement.size());
  std::string word;
  for (std::size_t i = begin; i < statement.size() && std::isalpha(static_cast<unsigned char>(statement[i])) != 0; ++i)
    word += static_cast<char>(std::toupper(static_cast<unsigned char>(statement[i])));
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

std::string wouldDivide(const std::string& statement) {
  return "\"" + escaped(statement) + "\" would end or divide the fenced transaction";
}

/// Throws what makes the statement useless for every message. EXPLAIN compiles it and runs nothing; `occasion` makes
/// its text new each time, because a store may keep what it compiled when the tables were others.
void refuseUnlessItCompiles(ISqlStatements& sql, const std::string& statement, const std::string& occasion) {
  if (controlsTransaction(statement)) throw slip(wouldDivide(statement));
  const std::string explain = "EXPLAIN /* " + occasion + " */ ";
  const auto explained = sql.execute(explain + statement, anyParameters());
  if (explained) return;
  const std::string why = without(explain, explained.error().detail);
  if (explained.error().is(Errc::invalidArgument)) throw slip(why);
  // Were it the store that fails, it would refuse this as well.
  if (explained.error().is(Errc::storeFailed) && sql.execute("SELECT 1")) throw slip(why);
}

Outcome outcomeOf(const Error& error) {
  if (isTermOver(error.code) && !isFatal(error.code)) throw EndTerm(EndReason::fenced, error);
  if (isFatal(error.code)) throw EndTerm(EndReason::failed, error);
  if (error.is(Errc::invalidArgument)) throw refused(error);
  if (error.is(Errc::storeFull)) throw EndTerm(EndReason::failed, error);
  const bool storesFault = error.is(Errc::unavailable) || error.is(Errc::storeBusy);
  return storesFault ? Outcome::retryLater(error.message()) : Outcome::failed(error.message());
}

}  // namespace

Handler makeSqlHandler(std::string statement) {
  // Lanes share the handler.
  return [statement = std::move(statement), failures = std::make_shared<std::atomic<int>>()](const Delivery& delivery) {
    ISqlStatements& sql = sqlOf(delivery.transaction);
    const Result<void> written = sql.write(statement, parametersOf(delivery));
    if (written) return Outcome::done();
    if (written.error().is(Errc::storeFailed))
      refuseUnlessItCompiles(sql, statement, "failure " + std::to_string(++*failures));
    return outcomeOf(written.error());
  };
}

void SqlCareer::check(const std::stop_token& stop) {
  consumer_.check(stop);
  lookAtStatement();
  store_.release();
}

void SqlCareer::prepare(const std::stop_token& stop) {
  consumer_.prepare(stop);
  lookAtStatement();
}

/// Where the store does not say, the term will find out.
void SqlCareer::lookAtStatement() {
  if (controlsTransaction(statement_)) throw slip(wouldDivide(statement_));
  const Result<void> checked = store_.checkSql(statement_, anyParameters());
  if (!checked && checked.error().is(Errc::invalidArgument)) throw slip(without("EXPLAIN ", checked.error().detail));
}

void SqlCareer::inaugurate(const Term& term) {
  consumer_.inaugurate(term);
  const auto transaction = store_.begin(term);
  if (!transaction) return;  // the consumer will meet it, and knows what to do
  refuseUnlessItCompiles(sqlOf(**transaction), statement_, "term " + std::to_string(term.token().value));
  (*transaction)->rollback();
}

}  // namespace tenure::cli
