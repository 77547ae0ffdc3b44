#include "backends/rabbitmq/fields.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/rabbitmq/bytes.hpp"
#include "base/text.hpp"

namespace tenure::rabbitmq {
namespace {

using nlohmann::json;

constexpr int deepest = 32;                 // levels of nested arrays and tables
constexpr std::size_t longestMember = 255;  // bytes in the name of a table's member
constexpr const char* bytesMark = "$bytes";
constexpr const char* decimalMark = "$decimal";
constexpr const char* timestampMark = "$timestamp";

std::string textOf(double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.17g", number);
  return text.data();
}

std::string hexOf(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    hex += digits[byte >> 4U];
    hex += digits[byte & 15U];
  }
  return hex;
}

std::optional<std::string> bytesFromHex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    unsigned value = 0;
    if (std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16).ptr != hex.data() + i + 2) return std::nullopt;
    bytes += static_cast<char>(value);
  }
  return hex.size() % 2 == 0 ? std::optional(bytes) : std::nullopt;
}

json jsonOf(const amqp_field_value_t& field, int depth) {
  if (depth > deepest) return nullptr;
  switch (field.kind) {
    case AMQP_FIELD_KIND_BOOLEAN: return field.value.boolean != 0;
    case AMQP_FIELD_KIND_VOID: return nullptr;
    case AMQP_FIELD_KIND_I8: return field.value.i8;
    case AMQP_FIELD_KIND_U8: return field.value.u8;
    case AMQP_FIELD_KIND_I16: return field.value.i16;
    case AMQP_FIELD_KIND_U16: return field.value.u16;
    case AMQP_FIELD_KIND_I32: return field.value.i32;
    case AMQP_FIELD_KIND_U32: return field.value.u32;
    case AMQP_FIELD_KIND_I64: return field.value.i64;
    case AMQP_FIELD_KIND_U64: return field.value.u64;
    case AMQP_FIELD_KIND_F32: return field.value.f32;
    case AMQP_FIELD_KIND_F64: return field.value.f64;
    case AMQP_FIELD_KIND_TIMESTAMP: return {{timestampMark, field.value.u64}};
    case AMQP_FIELD_KIND_DECIMAL:
      return {{decimalMark, json::array({field.value.decimal.decimals, field.value.decimal.value})}};
    case AMQP_FIELD_KIND_ARRAY: {
      json all = json::array();
      for (int i = 0; i < field.value.array.num_entries; ++i)
        all.push_back(jsonOf(field.value.array.entries[i], depth + 1));
      return all;
    }
    case AMQP_FIELD_KIND_TABLE: {
      json all = json::object();
      for (int i = 0; i < field.value.table.num_entries; ++i)
        all[std::string(viewOf(field.value.table.entries[i].key))] =
            jsonOf(field.value.table.entries[i].value, depth + 1);
      return all;
    }
    default: break;
  }
  const std::string_view bytes = viewOf(field.value.bytes);
  return isText(bytes) ? json(bytes) : json{{bytesMark, hexOf(bytes)}};
}

template <class T>
std::optional<T> numberIn(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

amqp_field_value_t fieldOfKind(char kind) {
  amqp_field_value_t field{};
  field.kind = static_cast<std::uint8_t>(kind);
  return field;
}

}  // namespace

std::optional<std::string> textOf(const amqp_field_value_t& field) {
  switch (field.kind) {
    case AMQP_FIELD_KIND_UTF8:
    case AMQP_FIELD_KIND_BYTES: return std::string{viewOf(field.value.bytes)};
    case AMQP_FIELD_KIND_F32: return textOf(static_cast<double>(field.value.f32));
    case AMQP_FIELD_KIND_F64: return textOf(field.value.f64);
    case AMQP_FIELD_KIND_TIMESTAMP: return std::to_string(field.value.u64);
    case AMQP_FIELD_KIND_VOID: return "";
    case AMQP_FIELD_KIND_DECIMAL:
    case AMQP_FIELD_KIND_ARRAY:
    case AMQP_FIELD_KIND_TABLE:
    case AMQP_FIELD_KIND_BOOLEAN:
    case AMQP_FIELD_KIND_I8:
    case AMQP_FIELD_KIND_U8:
    case AMQP_FIELD_KIND_I16:
    case AMQP_FIELD_KIND_U16:
    case AMQP_FIELD_KIND_I32:
    case AMQP_FIELD_KIND_U32:
    case AMQP_FIELD_KIND_I64:
    case AMQP_FIELD_KIND_U64: return jsonOf(field, 0).dump(-1, ' ', false, json::error_handler_t::replace);
    default: return std::nullopt;
  }
}

struct FieldWriter::Kept {
  std::optional<amqp_field_value_t> fieldOf(char kind, std::string_view text);
  std::optional<amqp_field_value_t> fieldOf(const json& value, int depth);
  std::optional<amqp_field_value_t> arrayOf(const json& value, int depth);
  std::optional<amqp_field_value_t> tableOf(const json& value, int depth);
  std::optional<amqp_field_value_t> markedOf(const json& value);
  amqp_bytes_t keep(std::string text) { return bytesOf(texts.emplace_back(std::move(text))); }

  std::deque<std::string> texts;
  std::deque<std::vector<amqp_field_value_t>> arrays;
  std::deque<std::vector<amqp_table_entry_t>> tables;
};

FieldWriter::FieldWriter() : kept_(std::make_unique<Kept>()) {}
FieldWriter::~FieldWriter() = default;

amqp_field_value_t FieldWriter::fieldOf(char kind, std::string_view text) {
  return kept_->fieldOf(kind, text).value_or(stringField(text));
}

std::optional<amqp_field_value_t> FieldWriter::Kept::fieldOf(char kind, std::string_view text) {
  amqp_field_value_t field = fieldOfKind(kind);
  const auto set = [&](auto& place) {
    const auto number = numberIn<std::int64_t>(text);
    using Number = std::remove_reference_t<decltype(place)>;
    if (!number || !std::in_range<Number>(*number)) return false;
    place = static_cast<Number>(*number);
    return true;
  };
  const auto setReal = [&](auto& place) {
    using Real = std::remove_reference_t<decltype(place)>;
    const auto number = numberIn<double>(text);
    if (!number || !std::isfinite(static_cast<Real>(*number))) return false;  // a broker takes no other
    place = static_cast<Real>(*number);
    return true;
  };
  const auto setUnsigned = [&](std::uint64_t& place) {
    const auto number = numberIn<std::uint64_t>(text);
    if (number) place = *number;
    return number.has_value();
  };
  bool isSet = false;
  switch (kind) {
    case AMQP_FIELD_KIND_BOOLEAN:
      field.value.boolean = text == "true" ? 1 : 0;
      isSet = text == "true" || text == "false";
      break;
    case AMQP_FIELD_KIND_VOID: isSet = text.empty(); break;
    case AMQP_FIELD_KIND_I8: isSet = set(field.value.i8); break;
    case AMQP_FIELD_KIND_U8: isSet = set(field.value.u8); break;
    case AMQP_FIELD_KIND_I16: isSet = set(field.value.i16); break;
    case AMQP_FIELD_KIND_U16: isSet = set(field.value.u16); break;
    case AMQP_FIELD_KIND_I32: isSet = set(field.value.i32); break;
    case AMQP_FIELD_KIND_U32: isSet = set(field.value.u32); break;
    case AMQP_FIELD_KIND_I64: isSet = set(field.value.i64); break;
    case AMQP_FIELD_KIND_U64:
    case AMQP_FIELD_KIND_TIMESTAMP: isSet = setUnsigned(field.value.u64); break;
    case AMQP_FIELD_KIND_F32: isSet = setReal(field.value.f32); break;
    case AMQP_FIELD_KIND_F64: isSet = setReal(field.value.f64); break;
    case AMQP_FIELD_KIND_BYTES: field.value.bytes = bytesOf(text); return field;
    case AMQP_FIELD_KIND_DECIMAL:
    case AMQP_FIELD_KIND_ARRAY:
    case AMQP_FIELD_KIND_TABLE: {
      const json value = json::parse(text, nullptr, false);
      auto made = value.is_discarded() ? std::nullopt : fieldOf(value, 0);
      return made && made->kind == static_cast<std::uint8_t>(kind) ? made : std::nullopt;
    }
    default: break;
  }
  return isSet ? std::optional(field) : std::nullopt;
}

std::optional<amqp_field_value_t> FieldWriter::Kept::fieldOf(const json& value, int depth) {
  if (depth > deepest) return std::nullopt;
  switch (value.type()) {
    case json::value_t::null: return fieldOfKind(AMQP_FIELD_KIND_VOID);
    case json::value_t::boolean: return truthField(value.get<bool>());
    case json::value_t::number_integer: return integerField(value.get<std::int64_t>());
    case json::value_t::number_unsigned: {
      const auto number = value.get<std::uint64_t>();
      if (std::in_range<std::int64_t>(number)) return integerField(static_cast<std::int64_t>(number));
      amqp_field_value_t field = fieldOfKind(AMQP_FIELD_KIND_U64);
      field.value.u64 = number;
      return field;
    }
    case json::value_t::number_float: {
      amqp_field_value_t field = fieldOfKind(AMQP_FIELD_KIND_F64);
      field.value.f64 = value.get<double>();
      return std::isfinite(field.value.f64) ? std::optional(field) : std::nullopt;
    }
    case json::value_t::string: {
      amqp_field_value_t field = fieldOfKind(AMQP_FIELD_KIND_UTF8);
      field.value.bytes = keep(value.get<std::string>());
      return field;
    }
    case json::value_t::array: return arrayOf(value, depth);
    case json::value_t::object: return tableOf(value, depth);
    default: return std::nullopt;
  }
}

std::optional<amqp_field_value_t> FieldWriter::Kept::arrayOf(const json& value, int depth) {
  std::vector<amqp_field_value_t> entries;
  for (const json& each : value) {
    const auto field = fieldOf(each, depth + 1);
    if (!field) return std::nullopt;
    entries.push_back(*field);
  }
  std::vector<amqp_field_value_t>& kept = arrays.emplace_back(std::move(entries));
  amqp_field_value_t field = fieldOfKind(AMQP_FIELD_KIND_ARRAY);
  field.value.array = {static_cast<int>(kept.size()), kept.data()};
  return field;
}

std::optional<amqp_field_value_t> FieldWriter::Kept::tableOf(const json& value, int depth) {
  if (auto marked = markedOf(value)) return marked;
  std::vector<amqp_table_entry_t> entries;
  for (const auto& [name, each] : value.items()) {
    const auto field = fieldOf(each, depth + 1);
    if (!field || name.size() > longestMember) return std::nullopt;
    entries.push_back({keep(name), *field});
  }
  std::vector<amqp_table_entry_t>& kept = tables.emplace_back(std::move(entries));
  amqp_field_value_t field = fieldOfKind(AMQP_FIELD_KIND_TABLE);
  field.value.table = {static_cast<int>(kept.size()), kept.data()};
  return field;
}

/// The AMQP value that an object with one mark stands for (bytes, a decimal): JSON has no type for it.
std::optional<amqp_field_value_t> FieldWriter::Kept::markedOf(const json& value) {
  if (value.size() != 1) return std::nullopt;
  const std::string mark = value.begin().key();
  const json& marked = value.begin().value();
  if (mark == bytesMark && marked.is_string()) {
    auto bytes = bytesFromHex(marked.get<std::string>());
    if (!bytes) return std::nullopt;
    amqp_field_value_t field = fieldOfKind(AMQP_FIELD_KIND_BYTES);
    field.value.bytes = keep(*std::move(bytes));
    return field;
  }
  if (mark == timestampMark && marked.is_number_unsigned()) {
    amqp_field_value_t field = fieldOfKind(AMQP_FIELD_KIND_TIMESTAMP);
    field.value.u64 = marked.get<std::uint64_t>();
    return field;
  }
  const bool isDecimal = mark == decimalMark && marked.is_array() && marked.size() == 2 &&
                         marked[0].is_number_unsigned() && marked[1].is_number_unsigned();
  if (!isDecimal || marked[0].get<std::uint64_t>() > std::numeric_limits<std::uint8_t>::max() ||
      marked[1].get<std::uint64_t>() > std::numeric_limits<std::uint32_t>::max())
    return std::nullopt;
  amqp_field_value_t field = fieldOfKind(AMQP_FIELD_KIND_DECIMAL);
  field.value.decimal = {marked[0].get<std::uint8_t>(), marked[1].get<std::uint32_t>()};
  return field;
}

}  // namespace tenure::rabbitmq
