/// Whether a user's statement could be run at all, found out without running it and without a value: what is right for
/// real messages may be wrong for any that we make up.
///
///   PREPARE            syntax, tables, columns, types
///   EXPLAIN EXECUTE    with a generic plan: the rights
#pragma once

#include <span>
#include <string_view>

#include "backends/postgresql/session/connection.hpp"
#include "backends/postgresql/store/user_statement.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::postgresql {

/// Inside the connection's transaction where there is one, which it leaves as it was. Of `parameters` only names and
/// kinds count.
/// Errors:  invalidArgument  no values could make it succeed
///          any other        the server did not say
Result<void> checkStatement(Connection& connection, Translations& translations, std::string_view sql,
                            std::span<const SqlParameter> parameters);

}  // namespace tenure::postgresql
