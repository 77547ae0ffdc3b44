#include "storage/write_set.hpp"

#include <cstdio>

#include "base/assert.hpp"

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
  name.push_back(static_cast<char>('0' + static_cast<int>(table)));
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
  bytes_ += message.id.value.size() + message.group.value.size() + message.body.size();
  for (const auto& [name, value] : message.headers) bytes_ += name.size() + value.size();
  enqueued_.push_back({std::move(message), std::move(queue)});
}

void WriteSet::add(Write write) {
  bytes_ += bytesOf(write.row);
  if (write.name.empty() && !isNumberedByStore(write))
    write.name = nameOf(write.table, std::span{write.row}.first(schemaOf(write.table).keys));
  writes_.push_back({std::move(write)});
  index(writes_.size() - 1);
}

void WriteSet::index(std::size_t place) {
  Entry& entry = writes_[place];
  entry.counts = true;
  if (entry.write.name.empty()) return;
  const auto [known, isFirst] = latest_.try_emplace(entry.write.name, place);
  if (isFirst) return;
  Entry& before = writes_[known->second];
  // Whoever only expects something takes no write's place.
  if (entry.write.what == Write::What::expect) {
    entry.counts = false;
    return;
  }
  before.counts = false;
  entry.write.expected = before.write.expected;
  known->second = place;
}

const Write* WriteSet::find(std::string_view name) const {
  const auto known = latest_.find(name);
  if (known == latest_.end()) return nullptr;
  const Write& write = writes_[known->second].write;
  return write.what == Write::What::expect ? nullptr : &write;
}

void WriteSet::mark() noexcept { mark_ = {writes_.size(), acknowledged_.size(), enqueued_.size(), bytes_}; }

void WriteSet::rollbackToMark() {
  acknowledged_.resize(mark_.acknowledged);
  enqueued_.resize(mark_.enqueued);
  bytes_ = mark_.bytes;
  if (writes_.size() == mark_.writes) return;
  latest_.clear();
  writes_.erase(writes_.begin() + static_cast<std::ptrdiff_t>(mark_.writes), writes_.end());
  for (std::size_t place = 0; place < writes_.size(); ++place) index(place);
}

void WriteSet::clear() {
  mark_ = {};
  rollbackToMark();
}

}  // namespace tenure::storage
