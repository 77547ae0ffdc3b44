#include "storage/write_set.hpp"

#include <bit>
#include <cstdio>
#include <functional>

#include "base/assert.hpp"
#include "messages/headers.hpp"

namespace tenure::storage {
namespace {

std::size_t bytesOf(const Row& row) noexcept {
  std::size_t bytes = 0;
  for (const Value& value : row) {
    const auto* text = std::get_if<std::string>(&value);
    bytes += text == nullptr ? sizeof(std::int64_t) : text->size();
  }
  return bytes;
}

std::size_t bytesOf(const Expectation& expected) noexcept {
  const auto* text = std::get_if<std::string>(&expected.value);
  return text == nullptr ? 0 : text->size();
}

char digitOf(Table table) noexcept { return static_cast<char>('0' + static_cast<int>(table)); }

bool isNumberedByStore(const Write& write) {
  const Schema& schema = schemaOf(write.table);
  const std::size_t place = schema.placeOf(Rule::assigned);
  return write.what == Write::What::put && place < schema.keys && integerIn(write.row, place) == 0;
}

}  // namespace

bool Expectation::isMetBy(const Row* row) const {
  switch (of) {
    case Of::nothing: return true;
    case Of::absence: return row == nullptr;
    case Of::presence: return row != nullptr;
    case Of::value: return row != nullptr && row->at(place) == value;
  }
  return false;
}

std::string nameOf(Table table, std::span<const Value> key) {
  std::string name;
  name.reserve(64);
  name.push_back(digitOf(table));
  for (const Value& value : key) {
    name.push_back('\0');
    if (const auto* text = std::get_if<std::string>(&value)) {
      name += *text;
      continue;
    }
    std::array<char, 24> digits{};
    std::snprintf(digits.data(), digits.size(), "%019lld", static_cast<long long>(std::get<std::int64_t>(value)));
    name += digits.data();
  }
  return name;
}

std::string nameOf(Table table, std::initializer_list<std::string_view> key) {
  std::size_t size = 1;
  for (const std::string_view value : key) size += 1 + value.size();
  std::string name;
  name.reserve(size);
  name.push_back(digitOf(table));
  for (const std::string_view value : key) name.append(1, '\0').append(value);
  return name;
}

void WriteSet::put(Table table, Row row, Expectation expected, std::string name) {
  TENURE_ASSERT(row.size() == schemaOf(table).columns.size());
  add({table, Write::What::put, std::move(row), std::move(expected), std::move(name)});
}

void WriteSet::remove(Table table, Row key, Expectation expected) {
  TENURE_ASSERT(key.size() == schemaOf(table).keys);
  add({table, Write::What::remove, std::move(key), std::move(expected)});
}

void WriteSet::expect(Table table, Row key, Expectation expected) {
  TENURE_ASSERT(key.size() == schemaOf(table).keys);
  add({table, Write::What::expect, std::move(key), std::move(expected)});
}

void WriteSet::acknowledge(std::span<const Message> messages) {
  for (const Message& message : messages) acknowledged_.push_back(message.position);
}

void WriteSet::enqueue(NewMessage message, std::string queue) {
  bytes_ += message.id.value.size() + message.group.value.size() + sizeOf(message);
  enqueued_.push_back({std::move(message), std::move(queue)});
}

void WriteSet::putBack(Message message) {
  const bool isWhole = message.lacks.empty();
  enqueue(static_cast<NewMessage&&>(message));
  enqueued_.back().isWhole = isWhole;
}

void WriteSet::add(Write&& write) {
  bytes_ += bytesOf(write.row) + bytesOf(write.expected);
  if (write.name.empty() && !isNumberedByStore(write))
    write.name = nameOf(write.table, std::span{write.row}.first(schemaOf(write.table).keys));
  writes_.push_back(std::move(write));
  index(writes_.size() - 1);
}

/// Of the name, or where it would be.
std::size_t WriteSet::slotOf(std::string_view name) const noexcept {
  const std::size_t last = slots_.size() - 1;
  std::size_t slot = last & std::hash<std::string_view>{}(name);
  while (slots_[slot] != 0 && writes_[slots_[slot] - 1].name != name) slot = (slot + 1) & last;
  return slot;
}

/// Anew, with slots for as many again.
void WriteSet::indexFirst(std::size_t places) {
  slots_.assign(std::bit_ceil(4 * writes_.size() + 4), 0);
  for (std::size_t place = 0; place < places; ++place) index(place);
}

void WriteSet::index(std::size_t place) {
  if (2 * place >= slots_.size()) return indexFirst(place + 1);
  Write& write = writes_[place];
  write.counts = true;
  if (write.name.empty()) return;
  std::uint32_t& slot = slots_[slotOf(write.name)];
  if (slot != 0) {
    // An `expect` takes no write's place.
    if (write.what == Write::What::expect) {
      write.counts = false;
      return;
    }
    Write& before = writes_[slot - 1];
    before.counts = false;
    write.expected = before.expected;
  }
  slot = static_cast<std::uint32_t>(place + 1);
}

const Write* WriteSet::find(std::string_view name) const {
  if (slots_.empty()) return nullptr;
  const std::uint32_t slot = slots_[slotOf(name)];
  return slot == 0 || writes_[slot - 1].what == Write::What::expect ? nullptr : &writes_[slot - 1];
}

void WriteSet::mark() noexcept { mark_ = {writes_.size(), acknowledged_.size(), enqueued_.size(), bytes_}; }

void WriteSet::rollbackToMark() {
  acknowledged_.resize(mark_.acknowledged);
  enqueued_.resize(mark_.enqueued);
  bytes_ = mark_.bytes;
  if (writes_.size() == mark_.writes) return;
  indexFirst(mark_.writes);
  writes_.erase(writes_.begin() + static_cast<std::ptrdiff_t>(mark_.writes), writes_.end());
}

void WriteSet::clear() {
  mark_ = {};
  rollbackToMark();
}

}  // namespace tenure::storage
