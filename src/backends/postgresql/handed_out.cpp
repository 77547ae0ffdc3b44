#include "backends/postgresql/handed_out.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "backends/postgresql/queue_rows.hpp"
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
    tried[id] = {id, storage::textIn(write.row, attempt::lastError), storage::integerIn(write.row, attempt::attempts),
                 storage::integerIn(write.row, attempt::nextAt)};
  });
  return tried;
}

}  // namespace

void HandedOut::begin(OutboxRows rows, std::int64_t queue) {
  const std::lock_guard lock(mutex_);
  rows_.emplace(std::move(rows));
  queue_ = queue;
}

void HandedOut::end() {
  const std::lock_guard lock(mutex_);
  if (!handedOut_.empty()) former_ = std::exchange(handedOut_, {});
}

HandedOut::Places HandedOut::find(std::span<const std::int64_t> positions) const {
  Places places;
  for (const std::int64_t position : positions) {
    for (const auto* known : {&handedOut_, &former_}) {
      const auto found = known->find(position);
      if (found == known->end()) continue;
      if (const auto* row = std::get_if<std::string>(&found->second)) places.rows.push_back(*row);
      if (const auto* skip = std::get_if<std::int64_t>(&found->second)) places.skips.push_back(*skip);
      break;
    }
  }
  return places;
}

bool HandedOut::isRow(const std::string& id) const {
  const Place row = id;
  return std::ranges::any_of(std::array{&handedOut_, &former_}, [&](const auto* places) {
    return std::ranges::any_of(*places, [&](const auto& each) { return each.second == row; });
  });
}

std::int64_t HandedOut::addPlace(Place place) {
  const std::lock_guard lock(mutex_);
  handedOut_.emplace(++last_, std::move(place));
  return last_;
}

std::vector<Command> HandedOut::marksFor(const storage::WriteSet& writes) const {
  OutboxFailures dead = deadIn(writes);
  OutboxFailures tried = triedIn(writes);
  const std::lock_guard lock(mutex_);
  if (!rows_) return {};
  const Places places = find(writes.acknowledged());
  std::vector<std::string> sent;
  std::vector<OutboxFailure> died;
  for (const std::string& id : places.rows) {
    tried.erase(id);
    const auto letter = dead.find(id);
    letter == dead.end() ? sent.push_back(id) : died.push_back(letter->second);
  }
  std::vector<OutboxFailure> shown;
  for (auto& [id, attempt] : tried)
    if (isRow(id)) shown.push_back(std::move(attempt));
  std::vector<Command> marks;
  if (!shown.empty() && rows_->showsAttempts()) marks.push_back(rows_->tried(shown));
  if (!sent.empty()) marks.push_back(rows_->sent(sent));
  if (!died.empty()) marks.push_back(rows_->dead(died));
  if (!places.skips.empty()) marks.push_back(deleteByPosition(queue_, places.skips));
  return marks;
}

std::vector<Command> HandedOut::marksFor(std::span<const std::int64_t> positions) const {
  const std::lock_guard lock(mutex_);
  const Places places = find(positions);
  std::vector<Command> marks;
  if (!places.rows.empty()) marks.push_back(rows_->sent(places.rows));
  if (!places.skips.empty()) marks.push_back(deleteByPosition(queue_, places.skips));
  return marks;
}

void HandedOut::done(std::span<const std::int64_t> positions) {
  const std::lock_guard lock(mutex_);
  for (const std::int64_t position : positions) handedOut_.erase(position), former_.erase(position);
}

}  // namespace tenure::postgresql
