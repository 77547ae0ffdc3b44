/// A user's table as it is found: whether it can be a queue, and of which types its columns are.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "backends/postgresql/session/connection.hpp"
#include "tenure/postgresql.hpp"

namespace tenure::postgresql {

/// A table that can be a queue.
struct OutboxShape {
  using Role = OutboxTable::Role;
  struct Column {
    std::string sql;       // its name in quotes
    std::string type;      // for casts: without a length
    std::string fullType;  // with it
    bool isJson = false;
    bool isBytes = false;
    bool mayUpdate = false;  // this user
    bool isNotNull = false;
  };

  std::string table;             // as SQL names it
  std::map<Role, Column> roles;  // those that are mapped; `order` always is
  std::string waiting;           // literals of the status
  std::string sent;
  std::string dead;
  bool hasUniqueIds = false;              // by an index; a partitioned table cannot have it
  std::chrono::milliseconds keepSent{0};  // 0: sent rows stay for ever

  const Column* find(Role role) const noexcept;
  const Column& at(Role role) const noexcept { return roles.at(role); }
  bool hasStatus() const noexcept { return find(Role::status) != nullptr; }
  /// Errors: configurationRefused   rows cannot be given numbers
  Result<void> takesNumbers() const;
};

/// Looks at the table's columns and at this user's rights on them, and changes nothing.
///
/// Errors:  configurationRefused  the table or a mapped column is not there, or of a type of no use for its role, or
///                                the user lacks a right on it; the detail names it
Result<OutboxShape> shapeOf(Connection& connection, const OutboxTable& table);

}  // namespace tenure::postgresql
