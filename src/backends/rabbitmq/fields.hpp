/// Header values of AMQP that are no strings: as text, with the letter of their kind beside it, and back again.
///
///   array ["eu", 7]  ──textOf──▶ kind "A", text ["eu",7]  ──FieldWriter──▶ array ["eu", 7]
///
/// Arrays and tables are JSON. In JSON, bytes that are no text, decimals and timestamps are objects of one member:
/// {"$bytes": "ff00"}, {"$decimal": [2, 1999]}, {"$timestamp": 1764400000}. Pure.
#pragma once

#include <amqp.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tenure::rabbitmq {

/// Nullopt: of a kind that no publisher can send.
std::optional<std::string> textOf(const amqp_field_value_t& field);

/// Makes fields, and owns what they point to.
class FieldWriter {
 public:
  FieldWriter();
  ~FieldWriter();
  FieldWriter(const FieldWriter&) = delete;
  FieldWriter& operator=(const FieldWriter&) = delete;

  /// A string where the text is none of that kind. The text is borrowed.
  amqp_field_value_t fieldOf(char kind, std::string_view text);

 private:
  struct Kept;
  std::unique_ptr<Kept> kept_;
};

}  // namespace tenure::rabbitmq
