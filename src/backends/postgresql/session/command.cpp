#include "backends/postgresql/session/command.hpp"

#include <libpq-fe.h>

#include <bit>

#include "base/text.hpp"

namespace tenure::postgresql {

namespace {

void append(std::string& bytes, std::uint32_t value) {
  for (const unsigned shift : {24U, 16U, 8U, 0U}) bytes.push_back(static_cast<char>(value >> shift & 0xFFU));
}

TypeId arrayOf(TypeId element) {
  if (element == TypeId::bigint) return TypeId::bigintArray;
  return element == TypeId::text ? TypeId::textArray : TypeId::bytesArray;
}

}  // namespace

std::string encoded(std::int64_t value) {
  std::string bytes(8, '\0');
  auto rest = static_cast<std::uint64_t>(value);
  for (std::size_t i = bytes.size(); i-- > 0; rest >>= 8U) bytes[i] = static_cast<char>(rest & 0xFFU);
  return bytes;
}

std::string encoded(double value) { return encoded(std::bit_cast<std::int64_t>(value)); }

std::int64_t decodedInteger(std::string_view bytes) noexcept {
  const bool isNegative = !bytes.empty() && (static_cast<unsigned char>(bytes.front()) & 0x80U) != 0;
  std::uint64_t value = isNegative ? ~std::uint64_t{0} : 0;
  for (const char byte : bytes) value = value << 8U | static_cast<unsigned char>(byte);
  return static_cast<std::int64_t>(value);
}

Parameter parameterOf(std::int64_t value) { return {TypeId::bigint, true, encoded(value)}; }
Parameter parameterOf(std::string_view text) { return {TypeId::text, true, std::string(text)}; }
Parameter parameterOf(Blob blob) { return {TypeId::bytes, true, std::string(blob.bytes)}; }
Parameter parameterOf(WallTime at) { return parameterOf(std::int64_t{at.time_since_epoch().count()}); }

void Array::add(std::string_view value) {
  append(values_, static_cast<std::uint32_t>(value.size()));
  values_.append(value);
  ++count_;
}

void Array::addNull() {
  append(values_, ~std::uint32_t{0});
  ++count_;
}

/// Dimensions, whether there may be NULLs, the element's type; then for each dimension its size and first index.
Parameter Array::parameter() const {
  std::string bytes;
  for (const std::uint32_t word : {1U, 1U, static_cast<std::uint32_t>(element_), count_, 1U}) append(bytes, word);
  return {arrayOf(element_), true, bytes + values_};
}

void Answer::clear(pg_result* result) noexcept { PQclear(result); }

int Answer::rows() const noexcept { return PQntuples(result_.get()); }
int Answer::columns() const noexcept { return PQnfields(result_.get()); }

bool Answer::isNull(int row, int column) const noexcept { return PQgetisnull(result_.get(), row, column) != 0; }

std::string_view Answer::bytes(int row, int column) const noexcept {
  return {PQgetvalue(result_.get(), row, column), static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::int64_t Answer::integer(int row, int column) const noexcept { return decodedInteger(bytes(row, column)); }

unsigned Answer::typeOf(int column) const noexcept { return PQftype(result_.get(), column); }

std::int64_t Answer::changed() const noexcept { return parseInteger(PQcmdTuples(result_.get())).value_or(0); }

std::string_view Answer::tag() const noexcept { return PQcmdStatus(result_.get()); }

}  // namespace tenure::postgresql
