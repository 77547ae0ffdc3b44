/// The storage core's rows in PostgreSQL's tables, many with each statement. Pure.
///
/// A column that is the same in all rows of a set goes as one value, any other as an array; a set of one row is the
/// plain statement for it. Each text is made once.
///
///   insert   INSERT … SELECT … FROM unnest(…): of a row that is there already the server says so by its SQLSTATE
///   state    where a lane's handlers have read rows, or write several, all of these are locked in the order of their
///            keys, before the lane's first write: FOR UPDATE if they are written, else FOR SHARE; a missing row by an
///            advisory lock on its key. So two lanes cannot deadlock
///   others   where something is expected, 1 / (how many were found = how many there should be) fails
///
/// Both end the transaction, so that what follows in the same journey is not done.
///
/// Arrays and bounds are hidden from the planner by a SELECT: it would think that a plan for the very values is worth
/// making each time.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "backends/postgresql/session/command.hpp"
#include "storage/sql/statements.hpp"

namespace tenure::postgresql {

/// What a statement of a set fails with where a row is not as it is expected to be.
bool isUnexpected(std::string_view sqlState) noexcept;

class RowSets {
 public:
  /// `besideOthers`: other lanes commit at the same time.
  explicit RowSets(bool besideOthers) : besideOthers_(besideOthers) {}

  /// The owner of the rows, in tables that hold rows of several queues or elections.
  struct Owner {
    std::int64_t queue = 0;
    std::string election{};
  };

  /// All of them of one table. The answer's rows begin with a row's place among the names, counted from 1.
  Command select(const Owner& owner, std::span<const storage::RowName* const> names);
  Command scan(const Owner& owner, const storage::Scan& scan) const;
  /// Behind so many columns of the answer.
  static storage::Row rowFrom(const Answer& answer, int row, storage::Table table, int behind = 0);

  /// Statements for all writes of rows, what is in work last: others may wait for that row.
  std::vector<Command> writes(const Owner& owner, const storage::WriteSet& writes);

 private:
  enum class Verb { select, insert, upsert, remove, expect, lock, share, hold };
  /// What one statement says of rows of one table.
  struct Kind {
    storage::Table table = storage::Table::key;
    Verb verb = Verb::select;
    storage::Expectation::Of expects = storage::Expectation::Of::nothing;
    std::size_t place = 0;  // of the column that has an expected value
    bool operator==(const Kind&) const = default;
  };
  struct Set {
    Kind kind;
    std::vector<const storage::Write*> writes{};
  };
  /// Where a statement's values come from, and what its text is made of.
  struct Shape;
  struct Parts;
  using RowPointers = std::vector<const storage::Row*>;
  using ValuePointers = std::vector<const storage::Value*>;

  using WritePointers = std::vector<const storage::Write*>;

  static void add(std::vector<Set>& sets, const Kind& kind, const storage::Write& write);
  void expectState(const Owner& owner, const WritePointers& writes, std::vector<Command>& commands);
  static void addPlain(std::vector<Set>& sets, const storage::Write& write);
  static Shape shapeOf(const Kind& kind, const RowPointers& rows, const ValuePointers& expected);
  Command commandFor(const Owner& owner, Set& set);
  Command commandFor(const Owner& owner, const Kind& kind, const RowPointers& rows, const ValuePointers& expected);
  static Parts partsOf(const Kind& kind, const Shape& shape);
  std::string sqlOf(const Kind& kind, const Shape& shape) const;
  SqlText textFor(const Kind& kind, const Shape& shape);

  const bool besideOthers_;
  storage::Statements statements_{storage::Dialect{.sigil = '$', .greater = "greatest"}};
  std::map<std::string, SqlText> texts_;  // by kind and shape
};

}  // namespace tenure::postgresql
