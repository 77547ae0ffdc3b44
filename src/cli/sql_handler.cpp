#include "cli/sql_handler.hpp"

#include <algorithm>
#include <array>
#include <cctype>
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

/// Of what kinds they are; their values mean nothing.
Parameters kindsOfParameters() {
  return {SqlParameter{":id", ""}, SqlParameter{":group", ""}, SqlParameter{":body", ""},
          SqlParameter{":token", std::int64_t{0}}, SqlParameter{":attempt", std::int64_t{0}}};
}

EndTerm withoutSql() {
  return {EndReason::failed, {Errc::unsupported, "--sql needs a store that speaks SQL; this queue's has none"}};
}

ISqlStatements& sqlOf(Transaction& transaction) {
  if (ISqlStatements* sql = transaction.sql()) return *sql;
  throw withoutSql();
}

EndTerm refused(const Error& error) {
  return {EndReason::failed, {Errc::configurationRefused, "--sql: " + error.detail}};
}

EndTerm slip(const std::string& why) {
  return refused({Errc::invalidArgument, why + "; expected one INSERT, UPDATE, DELETE or SELECT"});
}

/// A server asked to prepare one of these says no more than "syntax error".
bool controlsTransaction(const std::string& statement) {
  constexpr std::string_view words[] = {"ABORT", "BEGIN", "COMMIT", "END", "RELEASE", "ROLLBACK", "SAVEPOINT", "START"};
  const std::size_t begin = std::min(statement.find_first_not_of(" \t\r\n"), statement.size());
  std::string word;
  for (std::size_t i = begin; i < statement.size() && std::isalpha(static_cast<unsigned char>(statement[i])) != 0; ++i)
    word += static_cast<char>(std::toupper(static_cast<unsigned char>(statement[i])));
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

/// Throws what makes the statement useless for every message; what keeps the store from saying so is returned.
template <class Check>
Result<void> refuseUnlessItFits(const std::string& statement, Check check) {
  if (controlsTransaction(statement))
    throw slip("\"" + escaped(statement) + "\" would end or divide the fenced transaction");
  const Parameters kinds = kindsOfParameters();
  Result<void> checked = check(kinds);
  if (!checked && checked.error().is(Errc::invalidArgument)) throw slip(checked.error().detail);
  return checked;
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
  return [statement = std::move(statement)](const Delivery& delivery) {
    ISqlStatements& sql = sqlOf(delivery.transaction);
    const Result<void> written = sql.write(statement, parametersOf(delivery));
    if (written) return Outcome::done();
    if (written.error().is(Errc::storeFailed))
      static_cast<void>(refuseUnlessItFits(statement, [&](auto& kinds) { return sql.check(statement, kinds); }));
    return outcomeOf(written.error());
  };
}

void SqlCareer::check(const std::stop_token& stop) {
  consumer_.check(stop);
  static_cast<void>(lookAtStatement());
  store_.release();
}

void SqlCareer::prepare(const std::stop_token& stop) {
  consumer_.prepare(stop);
  if (!stop.stop_requested()) static_cast<void>(lookAtStatement());
}

/// Where the store does not say, the term will find out.
Result<void> SqlCareer::lookAtStatement() {
  return refuseUnlessItFits(statement_, [&](auto& kinds) { return store_.checkSql(statement_, kinds); });
}

/// A store that does not say is no reason to take messages: they would find out one by one.
void SqlCareer::inaugurate(const Term& term) {
  consumer_.inaugurate(term);
  if (term.stopToken().stop_requested()) return;
  const Result<void> checked = lookAtStatement();
  if (!checked && checked.error().is(Errc::unsupported)) throw withoutSql();
  if (!checked) throw EndTerm(EndReason::failed, checked.error());
}

}  // namespace tenure::cli
