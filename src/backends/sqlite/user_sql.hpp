/// A user's own statement inside the fenced transaction.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tenure/spi/store.hpp"

namespace tenure::sqlite {

class Connection;

/// Runs exactly one statement to its end, compiled once a text and connection.
/// Errors as ISqlStatements::execute.
Result<std::vector<SqlRow>> executeUserSql(Connection& connection, std::string_view sql,
                                           std::span<const SqlParameter> parameters);

/// Whether it changes nothing; false as well for what cannot be compiled.
bool onlyReads(Connection& connection, std::string_view sql);

/// Compiles it and no more, whatever was compiled before. Errors as ISqlStatements::check.
Result<void> checkUserSql(Connection& connection, std::string_view sql, std::span<const SqlParameter> parameters);

}  // namespace tenure::sqlite
