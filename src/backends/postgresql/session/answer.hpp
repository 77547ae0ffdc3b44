/// The server's reply to one statement: its rows, or how many it changed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tenure/values.hpp"

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
