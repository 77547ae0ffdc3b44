#include "backends/postgresql/store/user_sql.hpp"

#include <algorithm>
#include <charconv>

#include "backends/postgresql/store/user_statement.hpp"
#include "base/text.hpp"

namespace tenure::postgresql {
namespace {

Parameter parameterOfUser(const SqlValue& value) {
  struct Binder {
    Parameter operator()(std::monostate) const { return {TypeId::unknown, true, std::nullopt}; }
    Parameter operator()(std::int64_t number) const { return parameterOf(number); }
    Parameter operator()(double number) const { return {TypeId::real, true, encoded(number)}; }
    Parameter operator()(const std::string& text) const { return {TypeId::unknown, false, text}; }
    Parameter operator()(const std::vector<std::byte>& bytes) const {
      return parameterOf(Blob{{reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
    }
  };
  return std::visit(Binder{}, value);
}

/// What the server would read up to its first NUL and take for the whole.
bool holdsNul(const SqlValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr && text->find('\0') != std::string::npos;
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
    if (holdsNul(given->second))
      return Error{Errc::storeFailed,
                   "parameter " + name + " holds a NUL, which PostgreSQL's text cannot; bind it as bytes"};
    command.parameters.push_back(parameterOfUser(given->second));
  }
  return command;
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

}  // namespace tenure::postgresql
