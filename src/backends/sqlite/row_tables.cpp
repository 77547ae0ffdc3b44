#include "backends/sqlite/row_tables.hpp"

namespace tenure::sqlite {
namespace {

using storage::Kind;
using storage::Row;
using storage::Schema;
using storage::schemaOf;
using storage::Statement;
using storage::Table;
using storage::Value;
using storage::Write;
using Expects = storage::Expectation::Of;

void bind(Query& query, int index, const Value& value, Kind kind) {
  if (const auto* number = std::get_if<std::int64_t>(&value))
    query.borrowAt(index, *number);
  else if (kind == Kind::bytes)
    query.borrowAt(index, Blob{std::get<std::string>(value)});
  else
    query.borrowAt(index, std::string_view(std::get<std::string>(value)));
}

/// Binds the rows' owner. Returns how many parameters that takes.
int bindOwner(Query& query, const Schema& schema, const RowTables::Owner& owner) {
  switch (schema.scope) {
    case storage::Scope::queue: query.borrowAt(1, owner.queue); return 1;
    case storage::Scope::election: query.borrowAt(1, std::string_view(owner.election)); return 1;
    case storage::Scope::place: return 0;
  }
  return 0;
}

int bindAll(Query& query, const Statement& statement, const Schema& schema, const RowTables::Owner& owner,
            const Row& row) {
  int index = bindOwner(query, schema, owner);
  for (const std::size_t place : statement.places) bind(query, ++index, row.at(place), schema.columns[place].kind);
  return index;
}

Row rowFrom(const Query& query, const Schema& schema) {
  Row row;
  row.reserve(schema.columns.size());
  for (std::size_t place = 0; place < schema.columns.size(); ++place) {
    const int column = static_cast<int>(place);
    if (schema.columns[place].kind == Kind::integer)
      row.emplace_back(query.integer(column));
    else
      row.emplace_back(query.text(column));
  }
  return row;
}

}  // namespace

Result<std::optional<Row>> RowTables::read(Connection& connection, const Owner& owner, const storage::RowName& name) {
  const Schema& schema = schemaOf(name.table);
  const Statement& statement = statements_.select(name.table);
  Query query = connection.query(statement.sql);
  bindAll(query, statement, schema, owner, name.key);
  const Result<bool> found = query.next();
  if (!found) return found.error();
  return *found ? std::optional(rowFrom(query, schema)) : std::nullopt;
}

Result<std::vector<Row>> RowTables::scan(Connection& connection, const Owner& owner, const storage::Scan& scan) {
  const Schema& schema = schemaOf(scan.table);
  const std::string sql = statements_.scan(scan);
  const auto atMost = static_cast<std::int64_t>(scan.atMost);
  Query query = connection.query(sql);
  int index = bindOwner(query, schema, owner);
  std::size_t place = 0;
  for (const Row* values : {&scan.prefix, &scan.after})
    for (const Value& value : *values) bind(query, ++index, value, schema.columns[place++].kind);
  query.borrowAt(++index, atMost);
  std::vector<Row> rows;
  for (;;) {
    const Result<bool> found = query.next();
    if (!found) return found.error();
    if (!*found) return rows;
    rows.push_back(rowFrom(query, schema));
  }
}

Result<bool> RowTables::write(Connection& connection, const Owner& owner, const Write& write) {
  if (write.what == Write::What::put) return put(connection, owner, write);
  if (write.what == Write::What::expect || write.expected.of == Expects::absence)
    return isMet(connection, owner, write);
  const Statement& statement = statements_.remove(write.table);
  const bool isOne = write.expected.of == Expects::value;
  const std::string precise = isOne ? statements_.andHas(statement, write.table, write.expected.place) : std::string{};
  Query query = connection.query(isOne ? std::string_view(precise) : std::string_view(statement.sql));
  const Schema& schema = schemaOf(write.table);
  const int index = bindAll(query, statement, schema, owner, write.row);
  if (isOne) bind(query, index + 1, write.expected.value, schema.columns[write.expected.place].kind);
  const Result<bool> done = query.next();
  if (!done) return done.error();
  return write.expected.of == Expects::nothing || sqlite3_changes(connection.handle()) == 1;
}

Result<bool> RowTables::put(Connection& connection, const Owner& owner, const Write& write) {
  const Schema& schema = schemaOf(write.table);
  if (write.expected.of == Expects::presence || write.expected.of == Expects::value)
    if (const Result<bool> met = isMet(connection, owner, write); !met || !*met) return met;
  const bool isNew = write.expected.of == Expects::absence || schema.placeOf(storage::Rule::assigned) < schema.keys;
  const Statement& statement = isNew ? statements_.insert(write.table) : statements_.upsert(write.table);
  Query query = connection.query(statement.sql);
  bindAll(query, statement, schema, owner, write.row);
  const Result<bool> done = query.next();
  if (!done) return done.error();
  return !isNew || sqlite3_changes(connection.handle()) == 1;
}

Result<bool> RowTables::isMet(Connection& connection, const Owner& owner, const Write& write) {
  const std::size_t keys = schemaOf(write.table).keys;
  const auto row = read(connection, owner,
                        {write.table, {write.row.begin(), write.row.begin() + static_cast<std::ptrdiff_t>(keys)}});
  if (!row) return row.error();
  return write.expected.isMetBy(*row ? &**row : nullptr);
}

}  // namespace tenure::sqlite
