#include "backends/postgresql/store/user_statement.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "backends/postgresql/rows/fence_rows.hpp"
#include "backends/postgresql/rows/schema.hpp"
#include "base/text.hpp"

namespace tenure::postgresql {

namespace {

constexpr std::size_t mostKept = 256;

// What a statement may not begin with.
constexpr std::array<std::string_view, 17> forbidden{
    "abort", "begin",   "commit", "copy",     "deallocate", "discard",   "end", "execute", "listen",
    "load",  "prepare", "reset",  "rollback", "release",    "savepoint", "set", "start"};

bool isBlank(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }
bool isDigit(char c) noexcept { return c >= '0' && c <= '9'; }
bool beginsName(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80U;
}
bool continuesName(char c) noexcept { return beginsName(c) || isDigit(c); }

std::string lowered(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lower;
}

/// Reads the statement once from front to back, copying it with its parameters replaced.
class Translator {
 public:
  explicit Translator(std::string_view sql) : sql_(sql) {}

  Result<UserStatement> translate() {
    while (at_ < sql_.size() && refusal_.empty()) step();
    if (refusal_.empty() && !began_) refusal_ = "is not exactly one statement";
    if (!refusal_.empty()) return Error{Errc::invalidArgument, "\"" + escaped(sql_) + "\" " + refusal_};
    return std::move(statement_);
  }

 private:
  void step() {
    const char c = sql_[at_];
    const char next = peek(1);
    if (isBlank(c)) return copy(1);
    if (c == '-' && next == '-') return copy(lineComment());
    if (c == '/' && next == '*') return copy(blockComment());
    if (c == ';') return endStatement();
    if (c == '\0') return refuse("holds a NUL");
    if (ended_) return refuse("is not exactly one statement");
    if (c == '\'') return began(), copy(quoted('\'', false));
    if (c == '"') return quotedName();
    if (c == '$') return began(), dollar();
    if (c == ':') return began(), colon();
    if (beginsName(c)) return name();
    began_ = true;
    copy(1);
  }

  char peek(std::size_t ahead) const noexcept { return at_ + ahead < sql_.size() ? sql_[at_ + ahead] : '\0'; }
  void began() noexcept { began_ = true; }
  void refuse(std::string why) { refusal_ = std::move(why); }
  void copy(std::size_t count) {
    statement_.sql.append(sql_.substr(at_, count));
    at_ += std::min(count, sql_.size() - at_);
  }

  void endStatement() {
    if (!began_) return refuse("is not exactly one statement");
    ended_ = true;
    ++at_;
  }

  std::size_t lineComment() const noexcept { return std::min(sql_.find('\n', at_), sql_.size()) - at_; }

  /// Block comments nest.
  std::size_t blockComment() const noexcept {
    int depth = 0;
    for (std::size_t i = at_; i + 1 < sql_.size(); ++i) {
      const std::string_view two = sql_.substr(i, 2);
      if (two != "/*" && two != "*/") continue;
      depth += two == "/*" ? 1 : -1;
      ++i;
      if (depth == 0) return i + 1 - at_;
    }
    return sql_.size() - at_;
  }

  /// From the opening quote at at_ + `skip` to behind the closing one; a doubled one is part of the text.
  std::size_t quoted(char quote, bool backslashes, std::size_t skip = 0) const noexcept {
    for (std::size_t i = at_ + skip + 1; i < sql_.size(); ++i) {
      if (backslashes && sql_[i] == '\\')
        ++i;
      else if (sql_[i] == quote && i + 1 < sql_.size() && sql_[i + 1] == quote)
        ++i;
      else if (sql_[i] == quote)
        return i + 1 - at_;
    }
    return sql_.size() - at_;
  }

  void quotedName() {
    const std::size_t length = quoted('"', false);
    checkTable(sql_.substr(at_ + 1, length < 2 ? 0 : length - 2));
    began();
    copy(length);
  }

  /// $tag$ … $tag$; a bare $1 would be somebody else's numbering.
  void dollar() {
    std::size_t end = at_ + 1;
    while (end < sql_.size() && continuesName(sql_[end])) ++end;
    if (isDigit(peek(1))) return refuse("has a numbered parameter; expected :name");
    if (end >= sql_.size() || sql_[end] != '$') return copy(1);
    const std::string_view tag = sql_.substr(at_, end + 1 - at_);
    const std::size_t close = sql_.find(tag, end + 1);
    copy(close == std::string_view::npos ? sql_.size() - at_ : close + tag.size() - at_);
  }

  void colon() {
    if (peek(1) == ':' || peek(1) == '=') return copy(2);  // a cast, a named argument
    if (!beginsName(peek(1))) return copy(1);              // an array's slice
    std::size_t end = at_ + 1;
    while (end < sql_.size() && continuesName(sql_[end])) ++end;
    const std::string name(sql_.substr(at_, end - at_));
    auto& names = statement_.parameters;
    const auto known = std::find(names.begin(), names.end(), name);
    const auto place = known - names.begin() + 1;
    if (known == names.end()) names.push_back(name);
    // Apart from what precedes and follows, which may be a digit.
    statement_.sql += "$" + std::to_string(place);
    at_ = end;
    if (at_ < sql_.size() && continuesName(sql_[at_])) statement_.sql += ' ';
  }

  void name() {
    std::size_t end = at_ + 1;
    while (end < sql_.size() && (continuesName(sql_[end]) || sql_[end] == '$')) ++end;
    const std::string word = lowered(sql_.substr(at_, end - at_));
    if (!began_ && std::find(forbidden.begin(), forbidden.end(), word) != forbidden.end())
      return refuse(
          "is not allowed inside the fenced transaction: it would end the transaction, or change the session");
    const bool takesString = end < sql_.size() && sql_[end] == '\'';
    const bool escapes = takesString && word == "e";
    checkTable(word);
    began();
    copy(takesString && word.size() == 1 ? quoted('\'', escapes, 1) : end - at_);
  }

  void checkTable(std::string_view name) {
    if (isOurTable(name)) refuse("names " + std::string(name) + ", which is Tenure's own");
  }

  std::string_view sql_;
  std::size_t at_ = 0;
  bool began_ = false;
  bool ended_ = false;
  std::string refusal_;
  UserStatement statement_;
};

}  // namespace

Result<UserStatement> translate(std::string_view sql) { return Translator(sql).translate(); }

Result<const Translations::Translation*> Translations::of(std::string_view sql) {
  if (const auto known = kept_.find(sql); known != kept_.end()) return &known->second;
  Result<UserStatement> fresh = translate(sql);
  if (!fresh) return fresh.error();
  if (kept_.size() >= mostKept) kept_.clear();
  Translation translation{std::make_shared<const std::string>(std::move(fresh->sql)), std::move(fresh->parameters)};
  return &kept_.emplace(sql, std::move(translation)).first->second;
}

namespace {

Parameter parameterOfUser(const SqlValue& value) {
  struct Binder {
    Parameter operator()(std::monostate) const { return {TypeId::unknown, true, std::nullopt}; }
    Parameter operator()(std::int64_t number) const { return parameterOf(number); }
    Parameter operator()(double number) const { return {TypeId::real, true, encoded(number)}; }
    // A string that is no text is sent in binary form: a bytea parameter stores it unchanged, a text refuses it.
    Parameter operator()(const std::string& text) const { return {TypeId::unknown, !isText(text), text}; }
    Parameter operator()(const std::vector<std::byte>& bytes) const {
      return parameterOf(Blob{{reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
    }
  };
  return std::visit(Binder{}, value);
}

/// "\x" and two digits a byte.
std::vector<std::byte> bytesFromHex(std::string_view text) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 2; i + 1 < text.size(); i += 2) {
    unsigned value = 0;
    std::from_chars(text.data() + i, text.data() + i + 2, value, 16);
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

SqlValue realFrom(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size()) return value;
  return std::string(text);
}

SqlValue valueOf(const Answer& answer, int row, int column) {
  constexpr unsigned smallint = 21;
  constexpr unsigned integer = 23;
  constexpr unsigned oid = 26;
  constexpr unsigned real4 = 700;
  if (answer.isNull(row, column)) return std::monostate{};
  const std::string_view text = answer.bytes(row, column);
  switch (answer.typeOf(column)) {
    case static_cast<unsigned>(TypeId::boolean): return std::int64_t{text == "t" ? 1 : 0};
    case static_cast<unsigned>(TypeId::bigint):
    case smallint:
    case integer:
    case oid: return parseInteger(text).value_or(0);
    case static_cast<unsigned>(TypeId::real):
    case real4: return realFrom(text);
    case static_cast<unsigned>(TypeId::bytes): return bytesFromHex(text);
    default: return std::string(text);
  }
}

}  // namespace

Result<Command> userCommand(Translations& translations, std::string_view sql,
                            std::span<const SqlParameter> parameters) {
  const auto statement = translations.of(sql);
  if (!statement) return statement.error();
  Command command{(*statement)->sql, {}, true};
  command.parameters.reserve((*statement)->parameters.size());
  for (const std::string& name : (*statement)->parameters) {
    const auto given =
        std::find_if(parameters.begin(), parameters.end(), [&](const auto& each) { return each.first == name; });
    if (given == parameters.end()) return Error{Errc::invalidArgument, "no value for parameter " + name};
    command.parameters.push_back(parameterOfUser(given->second));
  }
  return command;
}

namespace {

bool isNoText(const Parameter& parameter) noexcept {
  return parameter.type == TypeId::unknown && parameter.isBinary && parameter.bytes;
}

}  // namespace

bool holdsNoText(const Command& command) noexcept {
  return std::ranges::any_of(command.parameters, [](const Parameter& each) { return isNoText(each); });
}

Command typesOfProbe() {
  return command(
      "SELECT type::oid::bigint, format_type(type::oid, NULL) FROM pg_prepared_statements AS p,"
      " unnest(p.parameter_types) WITH ORDINALITY AS given(type, place) WHERE p.name = 'tenure_probe' ORDER BY place");
}

Result<void> judgeTypes(const Command& command, const Answer& types) {
  for (std::size_t i = 0; i < command.parameters.size(); ++i) {
    const int row = static_cast<int>(i);
    if (!isNoText(command.parameters[i]) || row >= types.rows()) continue;
    if (types.integer(row, 0) == static_cast<std::int64_t>(TypeId::bytes)) continue;
    return Error{Errc::commitRefused, "parameter " + std::to_string(i + 1) + " is no text, and its place takes " +
                                          types.text(row, 1) + ": only bytea holds any bytes"};
  }
  return {};
}

std::vector<SqlRow> rowsOf(const Answer& answer) {
  std::vector<SqlRow> rows;
  for (int row = 0; row < answer.rows(); ++row) {
    SqlRow values;
    for (int column = 0; column < answer.columns(); ++column) values.push_back(valueOf(answer, row, column));
    rows.push_back(std::move(values));
  }
  return rows;
}

namespace {

constexpr std::string_view noRight = "42501";

// What the steps below are, by place.
constexpr std::size_t preparing = 2;

/// By its class: syntax and names, a literal's value, what the server cannot do, or cannot hold.
bool isTheStatements(std::string_view sqlState) noexcept {
  constexpr std::array<std::string_view, 4> classes{"42", "22", "0A", "54"};
  return std::any_of(classes.begin(), classes.end(), [&](auto prefix) { return sqlState.starts_with(prefix); });
}

/// A table, a column, a function or a schema that is not there.
bool mayCome(std::string_view sqlState) noexcept {
  constexpr std::array<std::string_view, 4> absent{"42P01", "42703", "42883", "3F000"};
  return std::ranges::find(absent, sqlState) != absent.end();
}

std::string typeName(TypeId type) {
  switch (type) {
    case TypeId::bigint: return "bigint";
    case TypeId::real: return "float8";
    case TypeId::bytes: return "bytea";
    case TypeId::text: return "text";
    default: return "unknown";
  }
}

std::string listOf(const std::vector<Parameter>& parameters, std::string (*name)(TypeId)) {
  std::string list;
  for (const Parameter& parameter : parameters) list += (list.empty() ? "(" : ", ") + name(parameter.type);
  return list.empty() ? "" : list + ")";
}

/// A NULL only fills its place.
std::vector<Command> stepsFor(const Command& statement, bool isInside) {
  const std::string types = listOf(statement.parameters, typeName);
  const std::string places = listOf(statement.parameters, [](TypeId) { return std::string("NULL"); });
  return {isInside ? command("SAVEPOINT tenure_check") : beginTransaction(),
          command("SELECT set_config('plan_cache_mode', 'force_generic_plan', true)"),
          command("PREPARE tenure_check" + types + " AS " + std::string(std::string_view(statement.sql))),
          command("EXPLAIN EXECUTE tenure_check" + places)};
}

/// Nothing of it stays.
Result<void> cleanUp(Connection& connection, bool isInside, bool isPrepared) {
  std::vector<Command> steps{command(isInside ? "ROLLBACK TO tenure_check" : "ROLLBACK")};
  if (isInside) steps.push_back(command("RELEASE tenure_check"));
  if (isPrepared) steps.push_back(command("DEALLOCATE tenure_check"));
  const Exchange cleaned = connection.exchange(steps);
  return cleaned ? Result<void>{} : cleaned.error();
}

}  // namespace

Result<void> checkStatement(Connection& connection, Translations& translations, std::string_view sql,
                            std::span<const SqlParameter> parameters) {
  const Result<Command> statement = userCommand(translations, sql, parameters);
  if (!statement) return Error{Errc::invalidArgument, statement.error().detail};
  const bool isInside = connection.inTransaction();
  const std::vector<Command> steps = stepsFor(*statement, isInside);
  const Exchange tried = connection.exchange(steps);
  if (connection.isLost()) return tried.error();
  const std::size_t failed = tried ? steps.size() : tried.failure->command;
  if (const Result<void> clean = cleanUp(connection, isInside, failed > preparing); !clean) return clean;
  if (tried) return {};
  const std::string& state = tried.failure->sqlState;
  const bool isBad = failed == preparing ? isTheStatements(state) : failed > preparing && state == noRight;
  if (isBad) return Error{mayCome(state) ? Errc::notFound : Errc::invalidArgument, tried.error().detail};
  // What the plan finds wrong with a NULL says nothing of a message: a type may allow none.
  const bool isOfTheNull = failed > preparing && (isTheStatements(state) || state.starts_with("23"));
  return isOfTheNull ? Result<void>{} : tried.error();
}

}  // namespace tenure::postgresql
