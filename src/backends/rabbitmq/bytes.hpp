/// Our strings as rabbitmq-c wants them: borrowed, never changed by it.
#pragma once

#include <amqp.h>

#include <cstdint>
#include <string_view>

namespace tenure::rabbitmq {

inline amqp_bytes_t bytesOf(std::string_view text) noexcept { return {text.size(), const_cast<char*>(text.data())}; }

inline std::string_view viewOf(const amqp_bytes_t& bytes) noexcept {
  return {static_cast<const char*>(bytes.bytes), bytes.len};
}

inline amqp_field_value_t stringField(std::string_view text) noexcept {
  amqp_field_value_t field{};
  field.kind = AMQP_FIELD_KIND_UTF8;
  field.value.bytes = bytesOf(text);
  return field;
}

inline amqp_field_value_t integerField(std::int64_t number) noexcept {
  amqp_field_value_t field{};
  field.kind = AMQP_FIELD_KIND_I64;
  field.value.i64 = number;
  return field;
}

inline amqp_field_value_t truthField(bool truth) noexcept {
  amqp_field_value_t field{};
  field.kind = AMQP_FIELD_KIND_BOOLEAN;
  field.value.boolean = truth ? 1 : 0;
  return field;
}

}  // namespace tenure::rabbitmq
