#include "support/memory_values.hpp"

#include <optional>
#include <utility>

namespace tenure::test {
namespace {

std::optional<std::string> valueOf(const MemoryValues& shared, const spi::Name& name) {
  const auto found = shared.values.find(name);
  return found == shared.values.end() ? std::nullopt : std::optional{found->second};
}

bool isMet(const spi::Expected& expected, const std::optional<std::string>& value) {
  switch (expected.of) {
    case spi::Expected::Of::anything: return true;
    case spi::Expected::Of::absence: return !value;
    case spi::Expected::Of::value: return value == expected.value;
  }
  return false;
}

}  // namespace

Result<spi::Values> MemoryDriver::read(std::span<const spi::Name> names) {
  const std::lock_guard lock(shared_->mutex);
  ++shared_->reads;
  spi::Values values;
  for (const spi::Name& name : names) values.push_back(valueOf(*shared_, name));
  return values;
}

Result<std::vector<spi::NamedValue>> MemoryDriver::scan(const spi::Range& range) {
  const std::lock_guard lock(shared_->mutex);
  std::vector<spi::NamedValue> found;
  const auto take = [&](const auto& each) {
    const std::string& name = each.first.text;
    const bool isBehind = range.after.empty() || (range.backward ? name < range.after : name > range.after);
    if (each.first.table == range.table && name.starts_with(range.prefix) && isBehind && found.size() < range.atMost)
      found.push_back({name, each.second});
  };
  if (range.backward)
    for (auto each = shared_->values.rbegin(); each != shared_->values.rend(); ++each) take(*each);
  else
    for (const auto& each : shared_->values) take(each);
  return found;
}

Result<spi::Applied> MemoryDriver::apply(const spi::Batch& batch) {
  if (const auto first = std::exchange(shared_->beforeNextBatch, {})) first();
  const std::lock_guard lock(shared_->mutex);
  std::optional<MemoryValues::Fault> fault;
  if (!shared_->faults.empty()) {
    fault = shared_->faults.front();
    shared_->faults.pop_front();
  }
  if (fault == MemoryValues::Fault::unavailable) return Error{Errc::unavailable, "as the test asked"};
  if (fault == MemoryValues::Fault::lostBefore) return Error{Errc::outcomeUnknown, "as the test asked"};
  ++shared_->batches;
  for (std::size_t i = 0; i < batch.writes.size(); ++i)
    if (!isMet(batch.writes[i].expected, valueOf(*shared_, batch.writes[i].name))) return spi::Applied{i};
  for (const spi::Write& write : batch.writes) {
    if (!write.isWritten) continue;
    if (write.value)
      shared_->values[write.name] = *write.value;
    else
      shared_->values.erase(write.name);
  }
  if (fault == MemoryValues::Fault::lostAfter) return Error{Errc::outcomeUnknown, "as the test asked"};
  spi::Applied applied;
  for (const spi::Name& name : batch.alsoRead) applied.read.push_back(valueOf(*shared_, name));
  return applied;
}

}  // namespace tenure::test
