#include "driver.hpp"

#include <cstdint>
#include <cstring>
#include <utility>

namespace append_file_store {

using namespace tenure::spi;
using tenure::Result;

namespace {

constexpr std::size_t longestName = 1100;

// A payload is a write after the other: its table, '=' or '-', the name, and the value where it is '='.
void put(std::string& payload, std::string_view text) {
  const auto length = static_cast<std::uint32_t>(text.size());
  payload.append(reinterpret_cast<const char*>(&length), sizeof length).append(text);
}

std::string next(std::string_view& payload) {
  std::uint32_t length = 0;
  std::memcpy(&length, payload.data(), sizeof length);
  const std::string_view text = payload.substr(sizeof length, length);
  payload.remove_prefix(sizeof length + length);
  return std::string(text);
}

std::string payloadOf(const Batch& batch) {
  std::string payload;
  for (const Write& write : batch.writes) {
    if (!write.isWritten) continue;
    payload += static_cast<char>(write.name.table);
    payload += write.value ? '=' : '-';
    put(payload, write.name.text);
    if (write.value) put(payload, *write.value);
  }
  return payload;
}

}  // namespace

Result<void> Driver::connect(const std::stop_token& stop) {
  if (file_.isOpen()) return {};
  const auto lock = enter(RecordFile::Access::look, stop);
  return lock ? Result<void>{} : lock.error();
}

Result<Values> Driver::read(std::span<const Name> names) {
  const auto lock = enter(RecordFile::Access::look);
  if (!lock) return lock.error();
  Values values;
  for (const Name& name : names) values.push_back(valueOf(name));
  return values;
}

Result<std::vector<NamedValue>> Driver::scan(const Range& range) {
  const auto lock = enter(RecordFile::Access::look);
  if (!lock) return lock.error();
  auto first = values_.lower_bound({range.table, range.prefix});
  auto last = values_.upper_bound({range.table, range.prefix + std::string(longestName, '\xff')});
  if (!range.after.empty()) {
    if (range.backward)
      last = values_.lower_bound({range.table, range.after});
    else
      first = values_.upper_bound({range.table, range.after});
  }
  std::vector<NamedValue> found;
  while (first != last && found.size() < range.atMost) {
    const auto& [name, value] = range.backward ? *--last : *first++;
    found.push_back({name.text, value});
  }
  return found;
}

// The lock is held from the first expectation to the last byte on the disk: that makes one step of it for everybody.
Result<Applied> Driver::apply(const Batch& batch) {
  const auto lock = enter(RecordFile::Access::write);
  if (!lock) return lock.error();
  Applied applied;
  for (std::size_t i = 0; i < batch.writes.size(); ++i)
    if (!isAsExpected(batch.writes[i])) {
      applied.unmet = i;
      return applied;
    }
  if (const std::string payload = payloadOf(batch); !payload.empty()) {
    if (const Result<void> appended = file_.append(payload); !appended) return appended.error();
    take(payload);
  }
  for (const Name& name : batch.alsoRead) applied.read.push_back(valueOf(name));
  return applied;
}

// Where there is no file it makes none.
Result<tenure::Findings> Driver::inspect() {
  const auto lock = enter(RecordFile::Access::look);
  if (!lock) return lock.error();
  const std::string size = file_.isOpen()
                               ? std::to_string(values_.size()) + " values in " + std::to_string(file_.end()) + " bytes"
                               : "absent";
  return tenure::Findings{
      {.severity = tenure::Severity::fact, .name = "file", .value = file_.path(), .expected = size}};
}

Result<RecordFile::Lock> Driver::enter(RecordFile::Access access, const std::stop_token& stop) {
  if (!file_.isOpen()) values_.clear();  // and are read again, from the beginning
  return file_.enter(
      access, [this](std::string_view payload) { take(payload); }, stop);
}

void Driver::take(std::string_view payload) {
  while (!payload.empty()) {
    const auto table = static_cast<Table>(payload[0]);
    const bool hasValue = payload[1] == '=';
    payload.remove_prefix(2);
    Name name{table, next(payload)};
    if (hasValue)
      values_.insert_or_assign(std::move(name), next(payload));
    else
      values_.erase(name);
  }
}

std::optional<std::string> Driver::valueOf(const Name& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : std::optional{found->second};
}

bool Driver::isAsExpected(const Write& write) const {
  switch (write.expected.of) {
    case Expected::Of::anything: return true;
    case Expected::Of::absence: return !values_.contains(write.name);
    case Expected::Of::value: return valueOf(write.name) == write.expected.value;
  }
  return false;
}

}  // namespace append_file_store
