#include "storage/sql/statements.hpp"

namespace tenure::storage {
namespace {

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string all;
  for (const std::string& part : parts) all.append(all.empty() ? "" : between).append(part);
  return all;
}

/// Parameters that say whose rows they are.
std::size_t ownersOf(const Schema& schema) noexcept { return scopeColumn(schema).empty() ? 0 : 1; }

/// None for an empty name.
std::vector<std::string> named(std::string_view column) {
  return column.empty() ? std::vector<std::string>{} : std::vector{std::string(column)};
}

}  // namespace

std::string_view scopeColumn(const Schema& schema) noexcept {
  switch (schema.scope) {
    case Scope::queue: return "queue";
    case Scope::election: return "election";
    case Scope::place: return {};
  }
  return {};
}

std::string columnsOf(const Schema& schema, bool isLight) {
  std::vector<std::string> names;
  for (const Column& column : schema.columns) {
    const std::string name(column.name);
    names.push_back(isLight && column.isLarge ? "substr(" + name + ", 1, 0)" : name);
  }
  return joined(names, ", ");
}

Statements::Statements(const Dialect& dialect) : dialect_(dialect) {
  for (std::size_t i = 0; i < tableCount; ++i) tables_[i] = make(schemaOf(static_cast<Table>(i)));
}

std::string Statements::parameter(std::size_t number) const { return dialect_.sigil + std::to_string(number); }

Statements::OfTable Statements::make(const Schema& schema) const {
  std::vector<std::size_t> keys;
  for (std::size_t place = 0; place < schema.keys; ++place) keys.push_back(place);
  OfTable made;
  made.insert = insertOf(schema);
  made.upsert = made.insert;
  made.insert.sql += " ON CONFLICT DO NOTHING";
  made.remove = {"DELETE FROM " + std::string(schema.name) + byKey(schema), keys};
  made.select = {"SELECT " + columnsOf(schema) + " FROM " + std::string(schema.name) + byKey(schema), keys};
  made.upsert.sql += orReplace(schema);
  return made;
}

std::string Statements::orReplace(const Schema& schema) const {
  std::vector<std::string> conflict = named(scopeColumn(schema));
  for (const Column& column : schema.keyColumns()) conflict.emplace_back(column.name);
  std::vector<std::string> sets;
  for (const Column& column : schema.valueColumns()) {
    const std::string name(column.name);
    const std::string given = "excluded." + name;
    sets.push_back(name + " = " +
                   (column.rule == Rule::keepsMore ? std::string(dialect_.greater) + "(" + std::string(schema.name) +
                                                         "." + name + ", " + given + ")"
                                                   : given));
  }
  return " ON CONFLICT(" + joined(conflict, ", ") + ") DO UPDATE SET " + joined(sets, ", ");
}

/// A number that the store gives is one more than the last one, or given by the table itself.
Statement Statements::insertOf(const Schema& schema) const {
  Statement statement;
  std::vector<std::string> names = named(scopeColumn(schema));
  std::vector<std::string> values;
  if (ownersOf(schema) > 0) values.push_back(parameter(1));
  for (std::size_t place = 0; place < schema.columns.size(); ++place) {
    const Column& column = schema.columns[place];
    const bool isGiven = column.rule != Rule::assigned;
    if (!isGiven && place == 0) continue;
    names.emplace_back(column.name);
    if (isGiven) {
      statement.places.push_back(place);
      values.push_back(parameter(statement.places.size() + ownersOf(schema)));
      continue;
    }
    values.push_back("(SELECT coalesce(max(" + std::string(column.name) + "), 0) + 1 FROM " + std::string(schema.name) +
                     " WHERE " + std::string(scopeColumn(schema)) + " = " + parameter(1) + " AND " +
                     std::string(schema.columns[0].name) + " = " + parameter(2) + ")");
  }
  statement.sql =
      "INSERT INTO " + std::string(schema.name) + "(" + joined(names, ", ") + ") VALUES(" + joined(values, ", ") + ")";
  return statement;
}

std::string Statements::byKey(const Schema& schema) const {
  std::vector<std::string> conditions;
  if (ownersOf(schema) > 0) conditions.push_back(std::string(scopeColumn(schema)) + " = " + parameter(1));
  for (const Column& column : schema.keyColumns())
    conditions.push_back(std::string(column.name) + " = " + parameter(conditions.size() + 1));
  return " WHERE " + joined(conditions, " AND ");
}

std::string Statements::andHas(const Statement& statement, Table table, std::size_t place) const {
  const std::size_t next = statement.places.size() + ownersOf(schemaOf(table)) + 1;
  return statement.sql + " AND " + std::string(schemaOf(table).columns[place].name) + " = " + parameter(next);
}

std::string Statements::scan(const Scan& scan) const {
  const Schema& schema = schemaOf(scan.table);
  std::size_t number = ownersOf(schema);
  std::vector<std::string> conditions;
  if (number > 0) conditions.push_back(std::string(scopeColumn(schema)) + " = " + parameter(number));
  std::size_t place = 0;
  for (; place < scan.prefix.size(); ++place)
    conditions.push_back(std::string(schema.columns[place].name) + " = " + parameter(++number));
  std::vector<std::string> names;
  std::vector<std::string> values;
  for (std::size_t i = 0; i < scan.after.size(); ++i) {
    names.emplace_back(schema.columns[place + i].name);
    values.push_back(parameter(++number));
  }
  if (!names.empty())
    conditions.push_back("(" + joined(names, ", ") + (scan.backward ? ") < (" : ") > (") + joined(values, ", ") + ")");
  std::vector<std::string> order;
  for (const Column& column : schema.keyColumns())
    order.push_back(std::string(column.name) + (scan.backward ? " DESC" : ""));
  return "SELECT " + columnsOf(schema, scan.isLight) + " FROM " + std::string(schema.name) + " WHERE " +
         joined(conditions, " AND ") + " ORDER BY " + joined(order, ", ") + " LIMIT " + parameter(++number) +
         (scan.skip > 0 ? " OFFSET " + std::to_string(scan.skip) : "");
}

}  // namespace tenure::storage
