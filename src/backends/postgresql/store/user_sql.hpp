/// A user's own statement, from its text and values to a command, and from the answer to rows.
///
/// Pure.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "backends/postgresql/session/answer.hpp"
#include "backends/postgresql/session/command.hpp"
#include "backends/postgresql/store/user_statement.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::postgresql {

/// Errors:  invalidArgument  as Translations::of(), or a parameter that has no value
///          storeFailed      a value that PostgreSQL cannot hold: text with a NUL
Result<Command> userCommand(Translations& translations, std::string_view sql, std::span<const SqlParameter> parameters);

/// Of an answer with text results.
std::vector<SqlRow> rowsOf(const Answer& answer);

}  // namespace tenure::postgresql
