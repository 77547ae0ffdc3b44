#include "backends/postgresql/rows/outbox_shape.hpp"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "backends/postgresql/rows/outbox_roles.hpp"
#include "backends/postgresql/session/identifiers.hpp"
#include "base/text.hpp"

namespace tenure::postgresql {
namespace {

using Role = OutboxTable::Role;

bool isWritten(Role role) noexcept {
  return role == Role::status || role == Role::attempts || role == Role::failure || role == Role::nextAt ||
         role == Role::sentAt;
}

/// A column of the table, as the catalog has it.
struct FoundColumn {
  std::string name;
  std::string type;      // as format_type writes it, without a length
  std::string fullType;  // with it
  std::string base;      // a domain's own type
  bool isEnum = false;
  bool maySelect = false;
  bool mayUpdate = false;
  bool isNotNull = false;
  bool isUnique = false;  // by an index of its own
};

struct FoundTable {
  std::string shown;  // "shop.outbox"
  bool mayDelete = false;
  bool isPartitioned = false;
  std::vector<FoundColumn> columns;

  bool has(const std::string& name) const {
    return std::ranges::find(columns, name, &FoundColumn::name) != columns.end();
  }
  /// Requires has(name).
  const FoundColumn& column(const std::string& name) const {
    return *std::ranges::find(columns, name, &FoundColumn::name);
  }

  std::string columnNames() const {
    std::string all;
    for (const FoundColumn& each : columns) all += (all.empty() ? "" : ", ") + each.name;
    return all.empty() ? "no columns" : all;
  }
};

Error unfit(const FoundTable& table, std::string_view why) {
  return {Errc::configurationRefused, "table " + printable(table.shown) + ": " + std::string(why)};
}

struct Expected {
  std::vector<std::string_view> bases;
  const char* told;
};

Expected expectedFor(Role role) {
  static const std::vector<std::string_view> texts{"text", "character varying", "character"};
  static const std::vector<std::string_view> times{"timestamp with time zone", "timestamp without time zone"};
  static const std::vector<std::string_view> integers{"bigint", "integer", "smallint"};
  const auto with = [](std::vector<std::string_view> some, std::initializer_list<std::string_view> others) {
    some.insert(some.end(), others);
    return some;
  };
  switch (role) {
    case Role::id:
    case Role::group: {
      std::vector<std::string_view> names = with(texts, {"bigint", "integer", "smallint", "numeric", "uuid"});
      return {std::move(names), "a text, a whole number or a uuid"};
    }
    case Role::order:
      return {with(with(texts, {"bigint", "integer", "smallint", "numeric", "uuid", "date"}), {times[0], times[1]}),
              "a number, a timestamp, a text or a uuid"};
    case Role::body: return {with(texts, {"bytea", "json", "jsonb"}), "text, bytea, json or jsonb"};
    case Role::headers: return {{"json", "jsonb"}, "json or jsonb"};
    case Role::exchange:
    case Role::routingKey:
    case Role::failure: return {texts, "a text"};
    case Role::number:
    case Role::attempts: return {integers, "bigint, integer or smallint"};
    case Role::sendAt:
    case Role::createdAt:
    case Role::nextAt:
    case Role::sentAt: return {times, "timestamp with time zone, or without"};
    case Role::status: return {with(texts, {"bigint", "integer", "smallint"}), "a text, an enum or a whole number"};
  }
  return {};
}

Result<FoundTable> findTable(Connection& connection, const OutboxTable& table) {
  FoundTable found{.shown = queueNameOf(table), .columns = {}};
  const Result<Answer> relation = connection.ask(
      "SELECT c.oid::bigint, c.relkind::text, has_schema_privilege(n.oid, 'USAGE')::int::bigint,"
      " has_table_privilege(c.oid, 'DELETE')::int::bigint, current_user::text"
      " FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2",
      table.schema, table.name);
  if (!relation) return relation.error();
  if (relation->rows() == 0) return unfit(found, "this database has none of that name");
  const std::string kind = relation->text(0, 1);
  if (kind != "r" && kind != "p") return unfit(found, "it is no table");
  found.isPartitioned = kind == "p";
  if (relation->integer(0, 2) == 0)
    return unfit(found, "user " + relation->text(0, 4) + " has no right to USAGE of schema " + escaped(table.schema));
  found.mayDelete = relation->integer(0, 3) != 0;
  const Result<Answer> columns = connection.ask(
      "SELECT a.attname::text, format_type(a.atttypid, -1), format_type(a.atttypid, a.atttypmod),"
      " format_type(CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END, NULL), (t.typtype = 'e')::int::bigint,"
      " has_column_privilege(a.attrelid, a.attnum, 'SELECT')::int::bigint,"
      " has_column_privilege(a.attrelid, a.attnum, 'UPDATE')::int::bigint, a.attnotnull::int::bigint,"
      " EXISTS(SELECT FROM pg_index AS i WHERE i.indrelid = a.attrelid AND i.indisvalid AND i.indisunique"
      "  AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum AND i.indpred IS NULL)::int::bigint"
      " FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid"
      " WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
      relation->integer(0, 0));
  if (!columns) return columns.error();
  for (int row = 0; row < columns->rows(); ++row)
    found.columns.push_back({columns->text(row, 0), columns->text(row, 1), columns->text(row, 2), columns->text(row, 3),
                             columns->integer(row, 4) != 0, columns->integer(row, 5) != 0,
                             columns->integer(row, 6) != 0, columns->integer(row, 7) != 0,
                             columns->integer(row, 8) != 0});
  return found;
}

Result<OutboxShape::Column> fittingColumn(const FoundTable& table, Role role, const std::string& name) {
  const std::string shown = "column \"" + escaped(name) + "\" (" + std::string(toString(role)) + ") ";
  const auto found = std::ranges::find(table.columns, name, &FoundColumn::name);
  if (found == table.columns.end())
    return unfit(table, shown + "is not there: it has " + printable(table.columnNames()));
  const Expected expected = expectedFor(role);
  const bool isFit = std::ranges::find(expected.bases, found->base) != expected.bases.end();
  if (!isFit && !(role == Role::status && found->isEnum))
    return unfit(table, shown + "is of type " + escaped(found->type) + ": expected " + expected.told);
  if (!found->maySelect) return unfit(table, shown + "may not be read by this user: no right to SELECT");
  if (isWritten(role) && !found->mayUpdate)
    return unfit(table, shown + "may not be written by this user: no right to UPDATE");
  return OutboxShape::Column{.sql = quotedName(name),
                             .type = found->type,
                             .fullType = found->fullType,
                             .isJson = found->base == "json" || found->base == "jsonb",
                             .isBytes = found->base == "bytea",
                             .mayUpdate = found->mayUpdate,
                             .isNotNull = found->isNotNull};
}

OutboxTable::Columns columnsOf(const OutboxTable& table) {
  OutboxTable::Columns columns = table.columns;
  if (columns.empty())
    for (const RoleName& each : roleNames()) columns.emplace(each.role, each.column);
  if (const auto id = columns.find(Role::id); id != columns.end()) columns.emplace(Role::order, id->second);
  return columns;
}

/// Rows are marked by their ids: one of two rows with the same id would be marked with the other, and never be sent.
/// A partitioned table cannot have such an index; there the ids are the user's to keep apart.
Result<void> checkIds(const FoundTable& table, const std::string& name) {
  const FoundColumn& id = table.column(name);
  const std::string shown = "column \"" + escaped(name) + "\" (id) ";
  if (!id.isNotNull) return unfit(table, shown + "may be NULL: expected it NOT NULL");
  if (id.isUnique || table.isPartitioned) return {};
  return unfit(table, shown + "has no unique index of its own: rows of the same id would be marked together");
}

/// Whether the column can hold the states, each of them another value.
Result<void> checkStates(Connection& connection, const FoundTable& table, const OutboxShape& shape) {
  const OutboxShape::Column& status = shape.at(Role::status);
  const auto state = [&](const std::string& text) { return text + "::" + status.fullType; };
  const Result<Answer> same =
      connection.ask("SELECT (" + state(shape.waiting) + " IN (" + state(shape.sent) + ", " + state(shape.dead) +
                     ") OR " + state(shape.sent) + " = " + state(shape.dead) + ")::int::bigint");
  if (!same && connection.isLost()) return same.error();
  if (!same)
    return unfit(table, "column " + printable(status.sql) + " (status) is of type " + escaped(status.fullType) +
                            ", which does not hold the states: " + same.error().detail);
  if (same->integer(0, 0) == 0) return {};
  return unfit(table, "column " + printable(status.sql) + " (status): two of the states are the same in it");
}

}  // namespace

const OutboxShape::Column* OutboxShape::find(Role role) const noexcept {
  const auto found = roles.find(role);
  return found == roles.end() ? nullptr : &found->second;
}

Result<void> OutboxShape::takesNumbers() const {
  const std::string which = "table " + printable(table) + ": ";
  const Column* number = find(Role::number);
  if (number == nullptr || find(Role::group) == nullptr)
    return Error{Errc::configurationRefused,
                 which + "its rows cannot be given numbers: name a column for number, and one for group"};
  if (!number->mayUpdate)
    return Error{Errc::configurationRefused, which + "column " + printable(number->sql) +
                                                 " (number) may not be written by this user: no right to UPDATE"};
  return {};
}

Result<OutboxShape> shapeOf(Connection& connection, const OutboxTable& table) {
  const Result<FoundTable> found = findTable(connection, table);
  if (!found) return found.error();
  OutboxShape shape{.table = quotedName(table.schema) + "." + quotedName(table.name),
                    .roles = {},
                    .waiting = literal(table.waiting),
                    .sent = literal(table.sent),
                    .dead = literal(table.dead)};
  const OutboxTable::Columns columns = columnsOf(table);
  for (const Role required : {Role::id, Role::body})
    if (!columns.contains(required))
      return unfit(*found, "no column is named for " + std::string(toString(required)) + ": it has " +
                               printable(found->columnNames()));
  for (const auto& [role, name] : columns) {
    Result<OutboxShape::Column> column = fittingColumn(*found, role, name);
    if (!column && table.columns.empty() && !found->has(name))
      return Error{column.error().code, column.error().detail + "; columns=ROLE=COLUMN,... in the URL names yours"};
    if (!column) return column.error();
    shape.roles.emplace(role, *std::move(column));
  }
  if (const Result<void> ids = checkIds(*found, columns.at(Role::id)); !ids) return ids.error();
  shape.hasUniqueIds = found->column(columns.at(Role::id)).isUnique;
  if (shape.hasStatus()) {
    if (const Result<void> states = checkStates(connection, *found, shape); !states) return states.error();
    if (shape.find(Role::sentAt) != nullptr) shape.keepSent = table.keepSent;
    if (shape.keepSent > std::chrono::milliseconds{0} && !found->mayDelete)
      return unfit(*found, "old sent rows may not be deleted by this user: no right to DELETE, or keep-sent=0");
  } else if (const OutboxShape::Column* sentAt = shape.find(Role::sentAt)) {
    return unfit(*found, "column " + printable(sentAt->sql) +
                             " (sent_at) goes with a column for status: without one each row waits, and is deleted "
                             "when it was sent");
  } else if (!found->mayDelete) {
    return unfit(*found, "delivered rows may not be deleted by this user: no right to DELETE");
  }
  return shape;
}

}  // namespace tenure::postgresql
