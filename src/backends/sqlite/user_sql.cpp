#include "backends/sqlite/user_sql.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "backends/sqlite/connection.hpp"
#include "base/text.hpp"

namespace tenure::sqlite {
namespace {

Error notAllowed(std::string_view sql) {
  return {Errc::invalidArgument, "\"" + escaped(sql) +
                                     "\" is not allowed inside the fenced transaction: it would end the transaction, "
                                     "reach another file, change a setting, or write Tenure's own tables"};
}

Error notOne(std::string_view sql) {
  return {Errc::invalidArgument, "\"" + escaped(sql) + "\" is not exactly one statement"};
}

Error failed(const Connection& connection, int code, std::string_view sql) {
  if ((code & 0xFF) == SQLITE_AUTH) return notAllowed(sql);
  return errorOf(connection.handle(), code);
}

/// Whether only white space, comments and semicolons are left.
bool isBlank(const Connection& connection, const char* at, const char* end) {
  while (at < end) {
    sqlite3_stmt* statement = nullptr;
    const char* rest = end;
    const int code = sqlite3_prepare_v3(connection.handle(), at, static_cast<int>(end - at), 0, &statement, &rest);
    sqlite3_finalize(statement);
    if (code != SQLITE_OK || statement != nullptr) return false;
    if (rest == at) return true;
    at = rest;
  }
  return true;
}

/// The caller finalizes it.
Result<sqlite3_stmt*> compileAnew(Connection& connection, std::string_view sql) {
  // SQLite stops reading at a NUL; what follows it would be dropped in silence.
  if (sql.find('\0') != std::string_view::npos) return notOne(sql);
  sqlite3_stmt* statement = nullptr;
  const char* rest = nullptr;
  const int code = sqlite3_prepare_v3(connection.handle(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, &rest);
  if (code != SQLITE_OK) return failed(connection, code, sql);
  if (statement != nullptr && isBlank(connection, rest, sql.data() + sql.size())) return statement;
  sqlite3_finalize(statement);
  return notOne(sql);
}

Result<Prepared*> compile(Connection& connection, std::string_view sql) {
  if (Prepared* known = connection.userStatements().find(sql)) return known;
  const Result<sqlite3_stmt*> statement = compileAnew(connection, sql);
  if (!statement) return statement.error();
  return &connection.userStatements().keep(sql, *statement);
}

Error noValueFor(std::string_view name, int index) {
  return {Errc::invalidArgument,
          "no value for parameter " + (name.empty() ? "?" + std::to_string(index) : std::string(name))};
}

/// Nullptr for a nameless one as well.
const SqlParameter* valueFor(std::string_view name, std::span<const SqlParameter> given) {
  const auto value = std::find_if(given.begin(), given.end(), [&](const auto& each) { return each.first == name; });
  return name.empty() || value == given.end() ? nullptr : &*value;
}

int bindValue(sqlite3_stmt* statement, int index, const SqlValue& value) {
  struct Binder {
    sqlite3_stmt* statement;
    int index;
    int operator()(std::monostate) const { return sqlite3_bind_null(statement, index); }
    int operator()(std::int64_t number) const { return sqlite3_bind_int64(statement, index, number); }
    int operator()(double number) const { return sqlite3_bind_double(statement, index, number); }
    // The caller's values outlive the run, and every parameter is bound again before the next one.
    int operator()(const std::string& text) const {
      if (!isText(text)) return sqlite3_bind_blob64(statement, index, text.data(), text.size(), SQLITE_STATIC);
      return sqlite3_bind_text64(statement, index, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
    }
    int operator()(const std::vector<std::byte>& bytes) const {
      if (bytes.empty()) return sqlite3_bind_zeroblob(statement, index, 0);
      return sqlite3_bind_blob64(statement, index, bytes.data(), bytes.size(), SQLITE_STATIC);
    }
  };
  return std::visit(Binder{statement, index}, value);
}

Result<void> bindParameters(Connection& connection, const Prepared& prepared, std::span<const SqlParameter> given) {
  int index = 0;
  for (const std::string& name : prepared.parameters) {
    ++index;
    const SqlParameter* value = valueFor(name, given);
    if (value == nullptr) return noValueFor(name, index);
    const int code = bindValue(prepared.statement, index, value->second);
    if (code != SQLITE_OK) return errorOf(connection.handle(), code);
  }
  return {};
}

Result<void> checkParameters(sqlite3_stmt* statement, std::span<const SqlParameter> given) {
  for (int index = 1; index <= sqlite3_bind_parameter_count(statement); ++index) {
    const char* name = sqlite3_bind_parameter_name(statement, index);
    const std::string_view known = name == nullptr ? "" : name;
    if (valueFor(known, given) == nullptr) return noValueFor(known, index);
  }
  return {};
}

SqlValue valueOf(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER: return std::int64_t{sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT: return sqlite3_column_double(statement, column);
    case SQLITE_NULL: return std::monostate{};
    default: break;
  }
  const bool isText = sqlite3_column_type(statement, column) == SQLITE_TEXT;
  const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(statement, column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, column));
  if (isText) return std::string(reinterpret_cast<const char*>(data), size);
  return std::vector<std::byte>(data, data + size);
}

SqlRow rowOf(sqlite3_stmt* statement) {
  SqlRow row;
  for (int column = 0; column < sqlite3_column_count(statement); ++column) row.push_back(valueOf(statement, column));
  return row;
}

std::vector<std::string_view> notText(std::span<const SqlParameter> parameters) {
  std::vector<std::string_view> found;
  for (const auto& [name, value] : parameters)
    if (const auto* text = std::get_if<std::string>(&value); text != nullptr && !isText(*text)) found.push_back(*text);
  return found;
}

/// Where a statement puts strings that are no text. SQLite itself lets any column that is not STRICT take any bytes.
class Landings {
 public:
  Landings(sqlite3* db, std::vector<std::string_view> strings) : db_(db), strings_(std::move(strings)) {
    sqlite3_preupdate_hook(db_, &Landings::onChange, this);
  }
  ~Landings() { sqlite3_preupdate_hook(db_, nullptr, nullptr); }
  Landings(const Landings&) = delete;
  Landings& operator=(const Landings&) = delete;

  /// Errors:  commitRefused  one of them is in a column of text
  Result<void> check(Connection& connection) const {
    for (const auto& [table, column] : places_) {
      Query declared = connection.query("SELECT name, upper(type) FROM pragma_table_info(?1) WHERE cid = ?2", table,
                                        std::int64_t{column});
      const Result<bool> row = declared.next();
      if (!row) return row.error();
      if (*row && hasTextAffinity(declared.text(1)))
        return Error{Errc::commitRefused, "column " + declared.text(0) + " of table " + table +
                                              " holds text, and a parameter is no text: only a BLOB holds any bytes"};
    }
    return {};
  }

 private:
  static bool hasTextAffinity(const std::string& type) {
    const auto has = [&](const char* part) { return type.find(part) != std::string::npos; };
    return !has("INT") && (has("CHAR") || has("CLOB") || has("TEXT"));
  }

  static void onChange(void* self, sqlite3* db, int what, const char*, const char* table, sqlite3_int64,
                       sqlite3_int64) {
    if (what == SQLITE_DELETE) return;
    auto& landings = *static_cast<Landings*>(self);
    for (int column = 0; column < sqlite3_preupdate_count(db); ++column) {
      sqlite3_value* value = nullptr;
      if (sqlite3_preupdate_new(db, column, &value) == SQLITE_OK && landings.hasOne(value))
        landings.places_.emplace(table, column);
    }
  }
  bool hasOne(sqlite3_value* value) const {
    const int type = sqlite3_value_type(value);
    if (type != SQLITE_BLOB && type != SQLITE_TEXT) return false;
    const auto* data = static_cast<const char*>(sqlite3_value_blob(value));
    const std::string_view bytes{data, static_cast<std::size_t>(sqlite3_value_bytes(value))};
    return std::ranges::any_of(strings_, [&](std::string_view each) { return bytes.find(each) != bytes.npos; });
  }

  sqlite3* db_;
  std::vector<std::string_view> strings_;
  std::set<std::pair<std::string, int>> places_;
};

/// A table or column that is not there. SQLite has one code for that and for a slip, and tells them apart in words.
bool mayCome(sqlite3* db) noexcept {
  const std::string_view said = sqlite3_errmsg(db);
  return said.starts_with("no such table") || said.starts_with("no such column");
}

/// What SQLite says of a statement that it cannot compile.
bool isTheStatements(const Error& error, int code) noexcept {
  const int kind = code & 0xFF;
  return error.is(Errc::invalidArgument) || kind == SQLITE_ERROR || kind == SQLITE_TOOBIG;
}

}  // namespace

Result<void> checkUserSql(Connection& connection, std::string_view sql, std::span<const SqlParameter> parameters) {
  // Only what is run looks whether the tables are still those that SQLite remembers.
  if (const Result<bool> looked = connection.query("SELECT 1 FROM sqlite_schema LIMIT 1").next(); !looked)
    return looked.error();
  const Connection::UserMode userMode(connection);
  const Result<sqlite3_stmt*> statement = compileAnew(connection, sql);
  if (!statement) {
    const bool isBad = isTheStatements(statement.error(), sqlite3_extended_errcode(connection.handle()));
    if (!isBad) return statement.error();
    return Error{mayCome(connection.handle()) ? Errc::notFound : Errc::invalidArgument, statement.error().detail};
  }
  Result<void> checked = checkParameters(*statement, parameters);
  sqlite3_finalize(*statement);
  return checked;
}

bool onlyReads(Connection& connection, std::string_view sql) {
  const Connection::UserMode userMode(connection);
  const Result<Prepared*> prepared = compile(connection, sql);
  return prepared && sqlite3_stmt_readonly((*prepared)->statement) != 0;
}

namespace {

Result<std::vector<SqlRow>> run(Connection& connection, std::string_view sql,
                                std::span<const SqlParameter> parameters) {
  const Connection::UserMode userMode(connection);
  const Result<Prepared*> prepared = compile(connection, sql);
  if (!prepared) return prepared.error();
  sqlite3_stmt* statement = (*prepared)->statement;
  if (const Result<void> bound = bindParameters(connection, **prepared, parameters); !bound) return bound.error();
  std::vector<SqlRow> rows;
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) rows.push_back(rowOf(statement));
  if (code == SQLITE_DONE) {
    sqlite3_reset(statement);
    return rows;
  }
  const Error error = failed(connection, code, sql);
  sqlite3_reset(statement);
  return error;
}

}  // namespace

Result<std::vector<SqlRow>> executeUserSql(Connection& connection, std::string_view sql,
                                           std::span<const SqlParameter> parameters) {
  std::vector<std::string_view> strings = notText(parameters);
  if (strings.empty()) return run(connection, sql, parameters);
  if (const Result<void> placed = connection.run("SAVEPOINT tenure_text"); !placed) return placed.error();
  Result<std::vector<SqlRow>> rows = [&] {
    const Landings landings(connection.handle(), std::move(strings));
    Result<std::vector<SqlRow>> written = run(connection, sql, parameters);
    const Result<void> checked = written ? landings.check(connection) : Result<void>{};
    return checked ? std::move(written) : checked.error();
  }();
  if (!connection.inTransaction()) return rows;  // the statement has rolled everything back
  if (!rows)
    if (const Result<void> undone = connection.run("ROLLBACK TO tenure_text"); !undone) return undone.error();
  if (const Result<void> released = connection.run("RELEASE tenure_text"); !released) return released.error();
  return rows;
}

}  // namespace tenure::sqlite
