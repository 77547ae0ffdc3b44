/// One statement with its values, ready to be sent. It owns its values, so that it may wait for others and travel with
/// them in one round trip.
///
/// Our own values go as binary of a stated type, so that nothing in them is ever read as SQL; a user's text goes
/// without a type, which lets the server read it as it would read a quoted literal.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenure/values.hpp"

/// The server's reply to one statement: its rows, or how many it changed.
struct pg_result;

namespace tenure::postgresql {

/// Columns are read as binary unless the command asked for text. Views live as long as the answer.
class Answer {
 public:
  /// Takes the result over.
  explicit Answer(pg_result* result) noexcept : result_(result, &clear) {}

  int rows() const noexcept;
  int columns() const noexcept;
  bool isNull(int row, int column) const noexcept;
  std::string_view bytes(int row, int column) const noexcept;
  std::string text(int row, int column) const { return std::string(bytes(row, column)); }
  std::int64_t integer(int row, int column) const noexcept;
  WallTime time(int row, int column) const noexcept {
    return WallTime{std::chrono::milliseconds{integer(row, column)}};
  }
  /// The type's number in pg_type.
  unsigned typeOf(int column) const noexcept;

  /// How many rows the statement inserted, changed or deleted.
  std::int64_t changed() const noexcept;
  /// What it did: "COMMIT", "INSERT 0 1".
  std::string_view tag() const noexcept;

 private:
  static void clear(pg_result* result) noexcept;
  std::unique_ptr<pg_result, decltype(&clear)> result_;
};

}  // namespace tenure::postgresql

namespace tenure::postgresql {

/// The payload of a notification about a message that waits and is due soon. A notification about a message in the
/// queue has none.
inline constexpr std::string_view timePayload = "due";

/// Type numbers of pg_type that never change.
enum class TypeId : unsigned {
  unknown = 0,
  boolean = 16,
  bytes = 17,
  bigint = 20,
  text = 25,
  real = 701,
  bytesArray = 1001,
  textArray = 1009,
  bigintArray = 1016,
};

/// Big-endian, as the wire has it.
std::string encoded(std::int64_t value);
std::string encoded(double value);
/// Of 2, 4 or 8 bytes.
std::int64_t decodedInteger(std::string_view bytes) noexcept;

struct Parameter {
  TypeId type = TypeId::unknown;
  bool isBinary = true;
  std::optional<std::string> bytes;  // nullopt for NULL
};

/// Bytes, bound as bytea; a plain string_view is bound as text.
struct Blob {
  std::string_view bytes;
};

Parameter parameterOf(std::int64_t value);
Parameter parameterOf(std::string_view text);
Parameter parameterOf(Blob blob);
Parameter parameterOf(WallTime at);
template <std::same_as<std::optional<std::string>> Nullable>
Parameter parameterOf(const Nullable& text) {
  return text ? parameterOf(std::string_view(*text)) : Parameter{TypeId::text, true, std::nullopt};
}

/// Many values of one type as one parameter.
class Array {
 public:
  /// `element` is bytes, text or bigint.
  explicit Array(TypeId element) : element_(element) {}
  void add(std::string_view value);
  void add(std::int64_t value) { add(encoded(value)); }
  void addNull();
  Parameter parameter() const;

 private:
  TypeId element_;
  std::uint32_t count_ = 0;
  std::string values_;
};
inline Parameter parameterOf(const Array& array) { return array.parameter(); }

/// A statement's text, cheap to copy: a literal, or shared.
class SqlText {
 public:
  SqlText(const char* literal) : text_(literal) {}
  SqlText(std::shared_ptr<const std::string> shared) : owner_(std::move(shared)), text_(*owner_) {}
  SqlText(std::string own) : SqlText(std::make_shared<const std::string>(std::move(own))) {}

  operator std::string_view() const noexcept { return text_; }
  const char* c_str() const noexcept { return text_.data(); }

 private:
  std::shared_ptr<const std::string> owner_;
  std::string_view text_;  // a NUL follows it
};

struct Command {
  SqlText sql;
  std::vector<Parameter> parameters{};
  bool textResults = false;    // for a user's statement, whose types are not known beforehand
  bool leavesNothing = false;  // sent unnamed: the session keeps no prepared statement
};

template <class... Values>
Command command(SqlText sql, const Values&... values) {
  Command command{std::move(sql)};
  command.parameters.reserve(sizeof...(values));
  (command.parameters.push_back(parameterOf(values)), ...);
  return command;
}

}  // namespace tenure::postgresql
