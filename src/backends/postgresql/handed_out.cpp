#include "backends/postgresql/handed_out.hpp"

#include <utility>

#include "storage/records.hpp"

namespace tenure::postgresql {
namespace {

/// By the ids of their messages.
using OutboxFailures = std::map<std::string, OutboxFailure>;

OutboxFailures deadIn(const storage::WriteSet& writes) {
  namespace letter = storage::deadLetter;
  OutboxFailures dead;
  writes.forEach([&](const storage::Write& write) {
    if (write.table != storage::Table::deadLetter || write.what != storage::Write::What::put) return;
    const std::string& id = storage::textIn(write.row, letter::id);
    dead[id] = {id, storage::textIn(write.row, letter::reason), storage::integerIn(write.row, letter::attempts)};
  });
  return dead;
}

OutboxFailures triedIn(const storage::WriteSet& writes) {
  namespace attempt = storage::attempt;
  OutboxFailures tried;
  writes.forEach([&](const storage::Write& write) {
    if (write.table != storage::Table::attempt || write.what != storage::Write::What::put) return;
    const std::string& id = storage::textIn(write.row, attempt::id);
    tried[id] = {id, storage::textIn(write.row, attempt::lastError), storage::integerIn(write.row, attempt::attempts)};
  });
  return tried;
}

}  // namespace

void HandedOut::begin(OutboxRows rows) {
  const std::lock_guard lock(mutex_);
  rows_.emplace(std::move(rows));
}

void HandedOut::end() {
  const std::lock_guard lock(mutex_);
  if (!ids_.empty()) former_ = std::exchange(ids_, {});
}

const std::string* HandedOut::find(std::int64_t position) const {
  for (const auto* ids : {&ids_, &former_})
    if (const auto row = ids->find(position); row != ids->end()) return &row->second;
  return nullptr;
}

std::int64_t HandedOut::add(const std::string& id) {
  const std::lock_guard lock(mutex_);
  ids_.emplace(++last_, id);
  return last_;
}

std::vector<std::string> HandedOut::ids() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> ids;
  for (const auto& [position, id] : ids_) ids.push_back(id);
  return ids;
}

std::vector<Command> HandedOut::marksFor(const storage::WriteSet& writes) const {
  OutboxFailures dead = deadIn(writes);
  OutboxFailures tried = triedIn(writes);
  const std::lock_guard lock(mutex_);
  if (!rows_) return {};
  std::vector<std::string> sent;
  std::vector<OutboxFailure> died;
  for (const std::int64_t position : writes.acknowledged()) {
    const std::string* id = find(position);
    if (id == nullptr) continue;
    tried.erase(*id);
    const auto letter = dead.find(*id);
    letter == dead.end() ? sent.push_back(*id) : died.push_back(letter->second);
  }
  std::vector<OutboxFailure> shown;
  for (auto& [id, attempt] : tried) shown.push_back(std::move(attempt));
  std::vector<Command> marks;
  if (!shown.empty() && rows_->showsAttempts()) marks.push_back(rows_->tried(shown));
  if (!sent.empty()) marks.push_back(rows_->sent(sent));
  if (!died.empty()) marks.push_back(rows_->dead(died));
  return marks;
}

std::optional<Command> HandedOut::markFor(std::span<const std::int64_t> positions) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> ids;
  for (const std::int64_t position : positions)
    if (const std::string* id = find(position)) ids.push_back(*id);
  return ids.empty() ? std::nullopt : std::optional(rows_->sent(ids));
}

void HandedOut::done(std::span<const std::int64_t> positions) {
  const std::lock_guard lock(mutex_);
  for (const std::int64_t position : positions) ids_.erase(position), former_.erase(position);
}

}  // namespace tenure::postgresql
