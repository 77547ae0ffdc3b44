/// A user's SQL as PostgreSQL wants it: :name becomes $1, $2, …, and what may not run inside the fenced transaction is
/// refused before the server sees it.
///
/// Refused: more or less than one statement; what begins, ends or marks a transaction, changes a setting, changes the
/// protocol (COPY) or the session; and any mention of Tenure's own tables. It is a guard against slips, not against
/// malice: a function or DO block can build SQL that is not seen here. (It cannot end the transaction, and the fence's
/// row is compared again by every commit.)
///
/// Pure. Source: PostgreSQL's lexical structure: quotes, E'' escapes, dollar quotes, nested comments, casts by ::.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/postgresql/session/command.hpp"
#include "backends/postgresql/session/connection.hpp"
#include "tenure/result.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::postgresql {

struct UserStatement {
  std::string sql;
  std::vector<std::string> parameters;  // names with their colon, by place
};

/// Errors:  invalidArgument
Result<UserStatement> translate(std::string_view sql);

/// Translations of the statements that come again and again.
class Translations {
 public:
  struct Translation {
    std::shared_ptr<const std::string> sql;
    std::vector<std::string> parameters;
  };
  /// Valid until the next call. Errors: those of translate()
  Result<const Translation*> of(std::string_view sql);

 private:
  std::map<std::string, Translation, std::less<>> kept_;
};

// A user's own statement, from its text and values to a command, and from the answer to rows.
//
// Pure.

/// Errors:  invalidArgument  as Translations::of(), or a parameter that has no value
Result<Command> userCommand(Translations& translations, std::string_view sql, std::span<const SqlParameter> parameters);

/// Whether one of its strings is no text. Only a bytea parameter may take such a string: in binary form, an integer
/// parameter would read a string of its length as a number.
bool holdsNoText(const Command& command) noexcept;
/// The types of the parameters of what was prepared as tenure_probe, in their order: numbers and names.
Command typesOfProbe();
/// Errors: commitRefused  a value that is no text, in the place of another type than bytea
Result<void> judgeTypes(const Command& command, const Answer& types);

/// Of an answer with text results.
std::vector<SqlRow> rowsOf(const Answer& answer);

// Whether a user's statement could be run at all, found out without running it and without a value: what is right for
// real messages may be wrong for any that we make up.
//
//   PREPARE            syntax, tables, columns, types
//   EXPLAIN EXECUTE    with a generic plan: the rights

/// Inside the connection's transaction where there is one, which it leaves as it was. Of `parameters` only names and
/// kinds count.
/// Errors:  invalidArgument  no values could make it succeed
///          any other        the server did not say
Result<void> checkStatement(Connection& connection, Translations& translations, std::string_view sql,
                            std::span<const SqlParameter> parameters);

}  // namespace tenure::postgresql
