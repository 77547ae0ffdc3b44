#include "backends/postgresql/store/statement_check.hpp"

#include <algorithm>
#include <array>

#include "backends/postgresql/rows/fence_rows.hpp"
#include "backends/postgresql/store/user_sql.hpp"

namespace tenure::postgresql {
namespace {

constexpr std::string_view noRight = "42501";

// What the steps below are, by place.
constexpr std::size_t preparing = 2;

/// By its class: syntax and names, a literal's value, what the server cannot do, or cannot hold.
bool isTheStatements(std::string_view sqlState) noexcept {
  constexpr std::array<std::string_view, 4> classes{"42", "22", "0A", "54"};
  return std::any_of(classes.begin(), classes.end(), [&](auto prefix) { return sqlState.starts_with(prefix); });
}

std::string typeName(TypeId type) {
  switch (type) {
    case TypeId::bigint: return "bigint";
    case TypeId::real: return "float8";
    case TypeId::bytes: return "bytea";
    case TypeId::text: return "text";
    default: return "unknown";
  }
}

std::string listOf(const std::vector<Parameter>& parameters, std::string (*name)(TypeId)) {
  std::string list;
  for (const Parameter& parameter : parameters) list += (list.empty() ? "(" : ", ") + name(parameter.type);
  return list.empty() ? "" : list + ")";
}

/// A NULL only fills its place.
std::vector<Command> stepsFor(const Command& statement, bool isInside) {
  const std::string types = listOf(statement.parameters, typeName);
  const std::string places = listOf(statement.parameters, [](TypeId) { return std::string("NULL"); });
  return {isInside ? command("SAVEPOINT tenure_check") : beginTransaction(),
          command("SELECT set_config('plan_cache_mode', 'force_generic_plan', true)"),
          command("PREPARE tenure_check" + types + " AS " + std::string(std::string_view(statement.sql))),
          command("EXPLAIN EXECUTE tenure_check" + places)};
}

/// Nothing of it stays.
Result<void> cleanUp(Connection& connection, bool isInside, bool isPrepared) {
  std::vector<Command> steps{command(isInside ? "ROLLBACK TO tenure_check" : "ROLLBACK")};
  if (isInside) steps.push_back(command("RELEASE tenure_check"));
  if (isPrepared) steps.push_back(command("DEALLOCATE tenure_check"));
  const Exchange cleaned = connection.exchange(steps);
  return cleaned ? Result<void>{} : cleaned.error();
}

}  // namespace

Result<void> checkStatement(Connection& connection, Translations& translations, std::string_view sql,
                            std::span<const SqlParameter> parameters) {
  const Result<Command> statement = userCommand(translations, sql, parameters);
  if (!statement) return Error{Errc::invalidArgument, statement.error().detail};
  const bool isInside = connection.inTransaction();
  const std::vector<Command> steps = stepsFor(*statement, isInside);
  const Exchange tried = connection.exchange(steps);
  if (connection.isLost()) return tried.error();
  const std::size_t failed = tried ? steps.size() : tried.failure->command;
  if (const Result<void> clean = cleanUp(connection, isInside, failed > preparing); !clean) return clean;
  if (tried) return {};
  const std::string& state = tried.failure->sqlState;
  const bool isBad = failed == preparing ? isTheStatements(state) : failed > preparing && state == noRight;
  if (isBad) return Error{Errc::invalidArgument, tried.error().detail};
  // What the plan finds wrong with a NULL says nothing of a message: a type may allow none.
  const bool isOfTheNull = failed > preparing && (isTheStatements(state) || state.starts_with("23"));
  return isOfTheNull ? Result<void>{} : tried.error();
}

}  // namespace tenure::postgresql
