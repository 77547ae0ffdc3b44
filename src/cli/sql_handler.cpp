#include "cli/sql_handler.hpp"

#include <array>
#include <utility>

#include "base/text.hpp"

namespace tenure::cli {
namespace {

SqlValue bodyValue(const std::string& body) {
  if (isText(body)) return body;
  const auto bytes = std::as_bytes(std::span(body));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

Outcome outcomeOf(const Error& error) {
  if (isTermOver(error.code) && !isFatal(error.code)) throw EndTerm(EndReason::fenced, error);
  if (isFatal(error.code)) throw EndTerm(EndReason::failed, error);
  if (error.is(Errc::invalidArgument)) throw EndTerm(EndReason::failed, {Errc::configurationRefused, error.detail});
  if (error.is(Errc::storeFull)) throw EndTerm(EndReason::failed, error);
  const bool storesFault = error.is(Errc::unavailable) || error.is(Errc::storeBusy);
  return storesFault ? Outcome::retryLater(error.message()) : Outcome::failed(error.message());
}

}  // namespace

Handler makeSqlHandler(std::string statement) {
  return [statement = std::move(statement)](const Delivery& delivery) {
    ISqlStatements* sql = delivery.transaction.sql();
    if (sql == nullptr)
      throw EndTerm(EndReason::failed,
                    {Errc::unsupported, "--sql needs a store that speaks SQL; this queue's has none"});
    const std::array<SqlParameter, 5> parameters{
        SqlParameter{":id", delivery.message.id.value}, SqlParameter{":group", delivery.message.group.value},
        SqlParameter{":body", bodyValue(delivery.message.body)}, SqlParameter{":token", delivery.term.token().value},
        SqlParameter{":attempt", std::int64_t{delivery.attempt}}};
    const Result<std::vector<SqlRow>> rows = sql->execute(statement, parameters);
    return rows ? Outcome::done() : outcomeOf(rows.error());
  };
}

}  // namespace tenure::cli
