/// The statements that keep rows in the tables of a database, in its own spelling. Each is for one row; its parameters
/// are numbered from 1 on: first whose rows they are, where a column tells, then what the row has for the columns that
/// the statement names. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/driver.hpp"
#include "storage/tables.hpp"

namespace tenure::storage {

/// How a database spells what others spell otherwise.
struct Dialect {
  char sigil = '?';                  // before a parameter's number
  std::string_view greater = "max";  // of two values
};

/// A statement and where its parameters are in a row; whose rows they are comes before them.
struct Statement {
  std::string sql{};
  std::vector<std::size_t> places{};
};

class Statements {
 public:
  explicit Statements(const Dialect& dialect);

  /// Puts a row that must not be there.
  const Statement& insert(Table table) const noexcept { return at(table).insert; }
  /// Puts a row over the one that may be there.
  const Statement& upsert(Table table) const noexcept { return at(table).upsert; }
  /// What makes the second of the first: behind an INSERT.
  std::string orReplace(const Schema& schema) const;
  /// By its key.
  const Statement& remove(Table table) const noexcept { return at(table).remove; }
  const Statement& select(Table table) const noexcept { return at(table).select; }
  /// As remove() or select(), of a row that has in this column what the next parameter says.
  std::string andHas(const Statement& statement, Table table, std::size_t place) const;
  /// The parameters are those of the prefix, of what it goes on from, and how many rows at most.
  std::string scan(const Scan& scan) const;

 private:
  struct OfTable {
    Statement insert;
    Statement upsert;
    Statement remove;
    Statement select;
  };
  const OfTable& at(Table table) const noexcept { return tables_[static_cast<std::size_t>(table)]; }
  OfTable make(const Schema& schema) const;
  Statement insertOf(const Schema& schema) const;
  std::string parameter(std::size_t number) const;
  std::string byKey(const Schema& schema) const;

  const Dialect dialect_;
  std::array<OfTable, tableCount> tables_;
};

/// The column that says whose rows they are; empty where they are everybody's, and no parameter says so.
std::string_view scopeColumn(const Schema& schema) noexcept;
/// Of the rows that a scan or a select answers: the columns in their order. `isLight`: Scan::isLight.
std::string columnsOf(const Schema& schema, bool isLight = false);

}  // namespace tenure::storage
