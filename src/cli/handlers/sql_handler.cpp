#include "cli/handlers/sql_handler.hpp"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "consumer/answer_effects.hpp"

namespace tenure::cli {
namespace {

using Parameters = std::vector<SqlParameter>;

constexpr std::string_view headerPrefix = ":header_";

bool isPlain(char c) noexcept { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// A header's name as a statement has it, in small letters: "trace_id" of "Trace-Id".
std::string plainName(std::string_view header) {
  std::string name;
  for (const char c : header) name += isPlain(c) ? static_cast<char>(std::tolower(static_cast<unsigned char>(c))) : '_';
  return name;
}

/// The headers that a statement asks for, as it writes them, with colon and prefix. One more, from a text or a comment
/// of it, does no harm.
std::vector<std::string> headersIn(std::string_view statement) {
  std::vector<std::string> names;
  for (std::size_t at = statement.find(headerPrefix); at != std::string_view::npos;
       at = statement.find(headerPrefix, at + 1)) {
    std::size_t end = at + 1;
    while (end < statement.size() && isPlain(statement[end])) ++end;
    names.emplace_back(statement.substr(at, end - at));
  }
  return names;
}

/// Of two headers of one name the first counts.
SqlValue headerValue(const Headers& headers, std::string_view parameter) {
  const std::string wanted = plainName(parameter.substr(headerPrefix.size()));
  for (const auto& [name, value] : headers)
    if (plainName(name) == wanted) return value;
  return std::monostate{};
}

SqlValue numberValue(const Headers& headers) {
  for (const auto& [name, value] : headers)
    if (name == numberHeader)
      if (const auto number = parseInteger(value)) return *number;
  return std::monostate{};
}

/// Whether a statement may name it: what it does not, need not be made for each message.
bool mayName(std::string_view statement, std::string_view parameter) noexcept {
  return statement.find(parameter) != std::string_view::npos;
}

Parameters parametersOf(const Delivery& delivery, const std::string& statement,
                        const std::vector<std::string>& headers) {
  const Message& message = delivery.message;
  Parameters parameters{{":id", message.id.value},
                        {":group", message.group.value},
                        {":body", message.body},
                        {":token", delivery.term.token().value},
                        {":attempt", std::int64_t{delivery.attempt}}};
  if (mayName(statement, ":time")) parameters.emplace_back(":time", formatWallTime(message.enqueuedAt));
  if (mayName(statement, ":number")) parameters.emplace_back(":number", numberValue(message.headers));
  for (const std::string& header : headers) parameters.emplace_back(header, headerValue(message.headers, header));
  return parameters;
}

/// Of what kinds they are; their values mean nothing.
Parameters kindsOfParameters(const std::vector<std::string>& headers) {
  Parameters kinds{{":id", ""},
                   {":group", ""},
                   {":body", ""},
                   {":token", std::int64_t{0}},
                   {":attempt", std::int64_t{0}},
                   {":time", ""},
                   {":number", std::int64_t{0}}};
  for (const std::string& header : headers) kinds.emplace_back(header, "");
  return kinds;
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

/// Behind blanks, parentheses and comments.
std::size_t beginOf(std::string_view statement) noexcept {
  std::size_t begin = 0;
  for (;;) {
    begin = std::min(statement.find_first_not_of(" \t\r\n;(", begin), statement.size());
    const std::string_view rest = statement.substr(begin);
    const bool isLine = rest.starts_with("--");
    if (!isLine && !rest.starts_with("/*")) return begin;
    const std::size_t end = rest.find(isLine ? "\n" : "*/", 2);
    if (end == std::string_view::npos) return statement.size();
    begin += end + (isLine ? 1 : 2);
  }
}

/// In capital letters.
std::string firstWordOf(const std::string& statement) {
  const std::size_t begin = beginOf(statement);
  std::string word;
  for (std::size_t i = begin; i < statement.size() && std::isalpha(static_cast<unsigned char>(statement[i])) != 0; ++i)
    word += static_cast<char>(std::toupper(static_cast<unsigned char>(statement[i])));
  return word;
}

/// A server asked to prepare one of these says no more than "syntax error".
bool controlsTransaction(std::string_view firstWord) {
  constexpr std::string_view words[] = {"ABORT", "BEGIN", "COMMIT", "END", "RELEASE", "ROLLBACK", "SAVEPOINT", "START"};
  return std::find(std::begin(words), std::end(words), firstWord) != std::end(words);
}

/// A statement of a right kind has another fault: a table that is not there, say.
EndTerm slip(const std::string& why, std::string_view firstWord) {
  constexpr std::string_view words[] = {"INSERT", "UPDATE", "DELETE", "SELECT", "WITH", "REPLACE", "MERGE"};
  const bool isRightKind = std::find(std::begin(words), std::end(words), firstWord) != std::end(words);
  const std::string hint = isRightKind ? "" : "; expected one INSERT, UPDATE, DELETE or SELECT";
  return refused({Errc::invalidArgument, why + hint});
}

/// Throws what makes the statement useless for every message; what keeps the store from saying so is returned.
template <class Check>
Result<void> refuseUnlessItFits(const std::string& statement, Check check) {
  const std::string firstWord = firstWordOf(statement);
  if (controlsTransaction(firstWord))
    throw slip("\"" + escaped(statement) + "\" would end or divide the fenced transaction", firstWord);
  const std::vector<std::string> headers = headersIn(statement);
  const Parameters kinds = kindsOfParameters(headers);
  Result<void> checked = check(kinds);
  const bool isUseless = !checked && (checked.error().is(Errc::invalidArgument) || checked.error().is(Errc::notFound));
  if (isUseless) throw slip(checked.error().detail, firstWord);
  return checked;
}

/// A statement that is none cannot be run for any message.
Outcome outcomeOfSql(const Error& error) {
  if (error.is(Errc::invalidArgument)) throw refused(error);
  return consuming::outcomeOfWrite(error);
}

}  // namespace

Handler makeSqlHandler(std::string statement) {
  std::vector<std::string> headers = headersIn(statement);
  return [statement = std::move(statement), headers = std::move(headers)](const Delivery& delivery) {
    ISqlStatements& sql = sqlOf(delivery.transaction);
    const Result<void> written = sql.write(statement, parametersOf(delivery, statement, headers));
    if (written) return Outcome::done();
    if (written.error().is(Errc::storeFailed))
      static_cast<void>(refuseUnlessItFits(statement, [&](auto& kinds) { return sql.check(statement, kinds); }));
    return outcomeOfSql(written.error());
  };
}

Result<void> checkStatement(IFencedStore& store, const std::string& statement) {
  Result<void> said;
  try {
    return refuseUnlessItFits(statement, [&](auto& kinds) { return said = store.checkSql(statement, kinds); });
  } catch (const EndTerm& slip) {
    const bool mayCome = !said && said.error().is(Errc::notFound);
    return mayCome ? Error{Errc::notFound, slip.error().detail} : slip.error();
  }
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
