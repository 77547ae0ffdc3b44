/// The storage core's rows in the tables of a SQLite file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/sqlite/connection.hpp"
#include "storage/sql/statements.hpp"

namespace tenure::sqlite {

class RowTables {
 public:
  /// The owner of the rows, in tables that hold rows of several queues or elections.
  struct Owner {
    std::int64_t queue = 0;
    std::string election{};
  };

  RowTables() : statements_({.sigil = '?', .greater = "max"}) {}

  Result<std::optional<storage::Row>> read(Connection& connection, const Owner& owner, const storage::RowName& name);
  Result<std::vector<storage::Row>> scan(Connection& connection, const Owner& owner, const storage::Scan& scan);
  /// False where the row's expectation is not met; nothing was changed then. Inside a transaction.
  Result<bool> write(Connection& connection, const Owner& owner, const storage::Write& write);

 private:
  Result<bool> put(Connection& connection, const Owner& owner, const storage::Write& write);
  /// Whether the row is there, with what is expected of it.
  Result<bool> isMet(Connection& connection, const Owner& owner, const storage::Write& write);

  storage::Statements statements_;
};

}  // namespace tenure::sqlite
