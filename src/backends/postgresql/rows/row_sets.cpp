#include "backends/postgresql/rows/row_sets.hpp"

#include <algorithm>
#include <bit>

namespace tenure::postgresql {
namespace {

using storage::Row;
using storage::Schema;
using storage::schemaOf;
using storage::Table;
using storage::Value;
using storage::Write;
using Of = storage::Expectation::Of;

// By the server's clock, and once a statement.
constexpr std::string_view now = "(SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)";

TypeId typeOf(storage::Kind kind) noexcept {
  switch (kind) {
    case storage::Kind::integer: return TypeId::bigint;
    case storage::Kind::text: return TypeId::text;
    case storage::Kind::anyText:
    case storage::Kind::bytes: return TypeId::bytes;
  }
  return TypeId::bytes;
}

std::string_view arrayTypeOf(storage::Kind kind) noexcept {
  if (kind == storage::Kind::integer) return "bigint[]";
  return kind == storage::Kind::text ? "text[]" : "bytea[]";
}

Parameter parameterFor(const Value& value, storage::Kind kind) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return parameterOf(*number);
  const std::string_view text = std::get<std::string>(value);
  return kind == storage::Kind::text ? parameterOf(text) : parameterOf(Blob{text});
}

Parameter parameterFor(const std::vector<const Value*>& values, storage::Kind kind) {
  Array array(typeOf(kind));
  for (const Value* value : values) {
    if (const auto* number = std::get_if<std::int64_t>(value))
      array.add(*number);
    else
      array.add(std::get<std::string>(*value));
  }
  return array.parameter();
}

void addOwner(Command& command, const Schema& schema, const RowSets::Owner& owner) {
  if (schema.scope == storage::Scope::queue) command.parameters.push_back(parameterOf(owner.queue));
  if (schema.scope == storage::Scope::election)
    command.parameters.push_back(parameterOf(std::string_view(owner.election)));
}

bool isSame(const std::vector<const Value*>& values) {
  return std::ranges::all_of(values, [&](const Value* value) { return *value == *values.front(); });
}

/// "$3"
std::string parameter(std::size_t number) { return "$" + std::to_string(number); }

void list(std::string& all, std::string_view part, std::string_view between = ", ") {
  all.append(all.empty() ? "" : between).append(part);
}

bool countsRows(Of of) noexcept { return of != Of::nothing; }

}  // namespace

bool isUnexpected(std::string_view sqlState) noexcept { return sqlState == "23505" || sqlState == "22012"; }

/// The columns that have a parameter, in the order of these.
struct RowSets::Shape {
  struct Source {
    std::size_t place = 0;
    bool isArray = false;
  };
  std::vector<Source> columns{};
  std::optional<bool> expected{};  // nullopt: no value is; true: an array
  std::size_t rows = 0;

  bool isSet() const noexcept { return rows != 1; }
  std::string text() const {
    std::string all;
    for (const Source& column : columns) all.push_back(column.isArray ? 'a' : 's');
    if (expected) all.push_back(*expected ? 'A' : 'S');
    return all;
  }
};

RowSets::Shape RowSets::shapeOf(const Kind& kind, const RowPointers& rows, const ValuePointers& expected) {
  const Schema& schema = schemaOf(kind.table);
  const bool isWhole = kind.verb == Verb::insert || kind.verb == Verb::upsert;
  Shape shape{.rows = rows.size()};
  for (std::size_t place = 0; place < (isWhole ? schema.columns.size() : schema.keys); ++place) {
    const storage::Rule rule = schema.columns[place].rule;
    if (isWhole && (rule == storage::Rule::assigned || rule == storage::Rule::storeClock)) continue;
    ValuePointers values;
    for (const Row* row : rows) values.push_back(&row->at(place));
    shape.columns.push_back({place, !isSame(values)});
  }
  if (kind.expects == Of::value) shape.expected = !isSame(expected);
  // One array at least says how many rows there are; a removal has it in the last column of its key.
  const std::size_t counted = std::min(schema.keys, shape.columns.size()) - 1;
  if (shape.isSet()) shape.columns[counted].isArray = true;
  return shape;
}

Command RowSets::commandFor(const Owner& owner, const Kind& kind, const RowPointers& rows,
                            const ValuePointers& expected) {
  const Schema& schema = schemaOf(kind.table);
  const Shape shape = shapeOf(kind, rows, expected);
  Command command{textFor(kind, shape)};
  addOwner(command, schema, owner);
  for (const auto& [place, isArray] : shape.columns) {
    ValuePointers values;
    for (const Row* row : rows) values.push_back(&row->at(place));
    const storage::Kind type = schema.columns[place].kind;
    command.parameters.push_back(isArray ? parameterFor(values, type) : parameterFor(*values.front(), type));
  }
  if (shape.expected) {
    const storage::Kind type = schema.columns[kind.place].kind;
    command.parameters.push_back(*shape.expected ? parameterFor(expected, type)
                                                 : parameterFor(*expected.front(), type));
  }
  if (countsRows(kind.expects) && kind.verb != Verb::insert)
    command.parameters.push_back(
        parameterOf(kind.expects == Of::absence ? std::int64_t{0} : static_cast<std::int64_t>(rows.size())));
  return command;
}

/// What a text is made of. The parameters stand in this order: the owner, the columns, what is expected, how many.
struct RowSets::Parts {
  std::string table;
  std::string into;    // the columns, and
  std::string values;  // what an INSERT says for them
  std::string where;   // the row is one of those that are given
  std::string any;     // the same, of keys of which only the last column differs
  std::string arrays;
  std::string names;  // of the columns that come as arrays
  std::string count;  // that as many were found as there should be

  std::string given(std::string_view place = {}) const {
    if (arrays.empty()) return {};
    const std::string ordered = place.empty() ? "" : " WITH ORDINALITY";
    return "unnest(" + arrays + ")" + ordered + " AS given(" + names + std::string(place) + ")";
  }
  /// Rows of the table. Without the offset, the planner would make a join of it: to a server that has not analysed the
  /// table yet, a look at all of it seems cheaper.
  std::string found(const std::string& columns, const std::string& lock = {}, std::string_view place = {}) const {
    const std::string look = "SELECT " + columns + " FROM " + table + " AS t WHERE " + where;
    return arrays.empty() ? "(" + look + lock + ") AS found"
                          : given(place) + ", LATERAL (" + look + " OFFSET 0" + lock + ") AS found";
  }
};

RowSets::Parts RowSets::partsOf(const Kind& kind, const Shape& shape) {
  const Schema& schema = schemaOf(kind.table);
  Parts parts;
  parts.table = schema.name;
  std::size_t number = 0;
  if (parts.into = scopeColumn(schema); !parts.into.empty()) {
    parts.values = parameter(++number);
    parts.where = parts.any = "t." + parts.into + " = " + parts.values;
  }
  const auto take = [&](bool isArray, const std::string& name) {
    if (!isArray) return parameter(++number);
    list(parts.arrays, "(SELECT " + parameter(++number) + ")");
    list(parts.names, name);
    return "given." + name;
  };
  for (const auto& [place, isArray] : shape.columns) {
    const std::string name(schema.columns[place].name);
    const std::string value = take(isArray, name);
    list(parts.into, name);
    list(parts.values, value);
    list(parts.where, "t." + name + " = " + value, " AND ");
    const std::string_view type = arrayTypeOf(schema.columns[place].kind);
    list(parts.any,
         "t." + name + " = " + (isArray ? "ANY((SELECT " + parameter(number) + ")::" + std::string(type) + ")" : value),
         " AND ");
  }
  if (const std::size_t clock = schema.placeOf(storage::Rule::storeClock); clock < schema.columns.size()) {
    list(parts.into, schema.columns[clock].name);
    list(parts.values, now);
  }
  if (shape.expected)
    parts.where += " AND t." + std::string(schema.columns[kind.place].name) + " = " + take(*shape.expected, "expected");
  parts.count = "SELECT 1 / (count(*) = " + parameter(number + 1) + ")::int FROM ";
  return parts;
}

std::string RowSets::sqlOf(const Kind& kind, const Shape& shape) const {
  const Schema& schema = schemaOf(kind.table);
  const Parts parts = partsOf(kind, shape);
  const std::string columns = columnsOf(schema);
  switch (kind.verb) {
    case Verb::select:
      return shape.isSet() ? "SELECT given.place, found.* FROM " + parts.found(columns, {}, ", place")
                           : "SELECT 1::bigint, found.* FROM " + parts.found(columns);
    case Verb::insert:
    case Verb::upsert:
      return "INSERT INTO " + parts.table + "(" + parts.into + ") SELECT " + parts.values +
             (shape.isSet() ? " FROM " + parts.given() : "") +
             (kind.verb == Verb::upsert ? statements_.orReplace(schema) : "");
    case Verb::remove: {
      const bool isPrecise = shape.expected && shape.isSet();
      const std::string condition = isPrecise
                                        ? "t.ctid = ANY(ARRAY(SELECT found.ctid FROM " + parts.found("t.ctid") + "))"
                                        : (shape.expected ? parts.where : parts.any);
      const std::string removal = "DELETE FROM " + parts.table + " AS t WHERE " + condition;
      return countsRows(kind.expects) ? "WITH gone AS (" + removal + " RETURNING 1) " + parts.count + "gone" : removal;
    }
    case Verb::expect: return parts.count + parts.found("1");
    case Verb::lock: return parts.count + parts.found("1", " FOR UPDATE");
    case Verb::share: return parts.count + parts.found("1", " FOR SHARE");
    case Verb::hold: return "SELECT count(*) FROM " + parts.found("1", " FOR UPDATE");
  }
  return {};
}

SqlText RowSets::textFor(const Kind& kind, const Shape& shape) {
  const auto letter = [](std::size_t number) { return static_cast<char>('a' + number); };
  std::string key{letter(static_cast<std::size_t>(kind.table)), letter(static_cast<std::size_t>(kind.verb)),
                  letter(static_cast<std::size_t>(kind.expects)), letter(kind.place), shape.isSet() ? 'm' : '1'};
  key += shape.text();
  if (const auto known = texts_.find(key); known != texts_.end()) return known->second;
  return texts_.emplace(std::move(key), SqlText(sqlOf(kind, shape))).first->second;
}

// --- reading

Command RowSets::select(const Owner& owner, std::span<const storage::RowName* const> names) {
  RowPointers keys;
  for (const storage::RowName* name : names) keys.push_back(&name->key);
  return commandFor(owner, {.table = names.front()->table, .verb = Verb::select}, keys, {});
}

Command RowSets::scan(const Owner& owner, const storage::Scan& scan) const {
  const Schema& schema = schemaOf(scan.table);
  Command command{statements_.scan(scan)};
  addOwner(command, schema, owner);
  std::size_t place = 0;
  for (const Row* values : {&scan.prefix, &scan.after})
    for (const Value& value : *values) command.parameters.push_back(parameterFor(value, schema.columns[place++].kind));
  command.parameters.push_back(parameterOf(static_cast<std::int64_t>(scan.atMost)));
  return command;
}

Row RowSets::rowFrom(const Answer& answer, int row, Table table, int behind) {
  const Schema& schema = schemaOf(table);
  Row found;
  found.reserve(schema.columns.size());
  for (std::size_t place = 0; place < schema.columns.size(); ++place) {
    const int column = behind + static_cast<int>(place);
    if (schema.columns[place].kind == storage::Kind::integer)
      found.emplace_back(answer.integer(row, column));
    else
      found.emplace_back(answer.text(row, column));
  }
  return found;
}

// --- writing

void RowSets::add(std::vector<Set>& sets, const Kind& kind, const Write& write) {
  const std::size_t keys = schemaOf(kind.table).keys;
  const auto takes = [&](const Set& set) {
    if (set.kind != kind) return false;
    const Row& first = set.writes.front()->row;
    return kind.verb != Verb::remove ||
           std::equal(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(keys - 1), write.row.begin());
  };
  // What is written one after the other is mostly alike.
  const auto set = std::find_if(sets.rbegin(), sets.rend(), takes);
  if (set != sets.rend())
    set->writes.push_back(&write);
  else
    sets.push_back({kind, {&write}});
}

std::vector<Command> RowSets::writes(const Owner& owner, const storage::WriteSet& writes) {
  std::vector<Set> sets;
  std::vector<Command> commands;
  WritePointers states;
  writes.forEach([&](const Write& write) {
    if (write.table == Table::state) states.push_back(&write);
  });
  const bool wasRead = std::ranges::any_of(states, [](const Write* each) { return each->expected.of != Of::nothing; });
  if (wasRead || (besideOthers_ && states.size() > 1)) expectState(owner, states, commands);
  for (const Write* each : states) addPlain(sets, *each);
  writes.forEach([&](const Write& write) {
    if (write.table == Table::state) return;
    const Of of = write.expected.of;
    const std::size_t place = of == Of::value ? write.expected.place : 0;
    const auto addAs = [&](Verb verb, Of expects) {
      add(sets, {write.table, verb, expects, expects == Of::value ? place : 0}, write);
    };
    if (write.what == Write::What::expect || (write.what == Write::What::remove && of == Of::absence))
      return addAs(Verb::expect, of);
    if (write.what == Write::What::remove) return addAs(Verb::remove, of);
    const Schema& schema = schemaOf(write.table);
    if (of == Of::absence || schema.placeOf(storage::Rule::assigned) < schema.keys)
      return addAs(Verb::insert, Of::nothing);
    if (of != Of::nothing) addAs(Verb::lock, of);
    addAs(Verb::upsert, Of::nothing);
  });
  std::stable_partition(sets.begin(), sets.end(), [](const Set& set) { return set.kind.table != Table::inWork; });
  for (Set& set : sets) commands.push_back(commandFor(owner, set));
  return commands;
}

/// The write itself, after expectState has checked its expectation. A row that was read as absent may since have been
/// inserted by a lane that did not read it, and so takes no lock: the insert fails then.
void RowSets::addPlain(std::vector<Set>& sets, const Write& write) {
  const bool isAbsent = write.expected.of == Of::absence;
  if (write.what == Write::What::put)
    add(sets, {.table = write.table, .verb = isAbsent ? Verb::insert : Verb::upsert}, write);
  if (write.what == Write::What::remove && !isAbsent) add(sets, {.table = write.table, .verb = Verb::remove}, write);
}

/// A key without a known row has no row to lock. An advisory lock stands in: exclusive for a transaction that may
/// insert the row, shared for one that has only read its absence.
void RowSets::expectState(const Owner& owner, const WritePointers& writes, std::vector<Command>& commands) {
  std::map<std::int64_t, bool> absent;  // by the lock's number: whether it is held alone
  std::vector<Set> present;
  std::vector<Set> none;
  WritePointers ordered = writes;
  std::ranges::sort(ordered, {}, &Write::name);
  for (const Write* write : ordered) {
    const bool isWritten = write->what != Write::What::expect;
    const bool isThere = write->expected.of == Of::value;
    if (isThere || isWritten) {
      Kind kind{Table::state, Verb::hold};
      if (isThere) kind = {Table::state, isWritten ? Verb::lock : Verb::share, Of::value, write->expected.place};
      if (present.empty() || present.back().kind != kind) present.push_back({kind});
      present.back().writes.push_back(write);
    }
    if (isThere) continue;
    const BodyDigest digest = digestOf(owner.election + write->name);
    absent[std::bit_cast<std::array<std::int64_t, 2>>(digest)[0]] |= isWritten;
    if (write->expected.of == Of::absence) add(none, {Table::state, Verb::expect, Of::absence}, *write);
  }
  if (!absent.empty()) {
    Array keys(TypeId::bigint);
    Array alone(TypeId::bigint);
    for (const auto& [key, isAlone] : absent) keys.add(key), alone.add(std::int64_t{isAlone});
    commands.push_back(
        command("SELECT CASE WHEN alone = 1 THEN pg_advisory_xact_lock(key) ELSE pg_advisory_xact_lock_shared(key) END"
                " FROM unnest($1, $2) AS given(key, alone)",
                keys, alone));
  }
  for (std::vector<Set>* sets : {&present, &none})
    for (Set& set : *sets) commands.push_back(commandFor(owner, set));
}

/// Keys and state in the order of their names: two commits that write the same ones never wait for each other. Messages
/// that wait for their time stay in the order in which they were sent, which their numbers keep.
Command RowSets::commandFor(const Owner& owner, Set& set) {
  if (set.kind.table == Table::key || set.kind.table == Table::state)
    std::ranges::sort(set.writes, [](const Write* one, const Write* other) { return one->name < other->name; });
  RowPointers rows;
  ValuePointers expected;
  for (const Write* write : set.writes) {
    rows.push_back(&write->row);
    expected.push_back(&write->expected.value);
  }
  return commandFor(owner, set.kind, rows, expected);
}

}  // namespace tenure::postgresql
