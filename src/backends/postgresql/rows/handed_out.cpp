#include "backends/postgresql/rows/handed_out.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "backends/postgresql/rows/queue_rows.hpp"
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
  takeNoMark_.clear();
  takeNoWord_.clear();
  notNow_.clear();
  ++shape_;
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

HandedOut::Marks HandedOut::marksFor(const storage::WriteSet& writes) const {
  OutboxFailures dead = deadIn(writes);
  OutboxFailures tried = triedIn(writes);
  const std::lock_guard lock(mutex_);
  if (!rows_) return {};
  Marks marks;
  marks.shape = shape_;
  marks.positions.assign(writes.acknowledged().begin(), writes.acknowledged().end());
  const Places places = find(marks.positions);
  std::vector<std::string> sent;
  std::vector<OutboxFailure> died;
  for (const std::string& id : places.rows) {
    tried.erase(id);
    const auto letter = dead.find(id);
    if (letter == dead.end())
      sent.push_back(id);
    else if (!takeNoMark_.contains(id))
      died.push_back(letter->second);
  }
  std::vector<OutboxFailure> shown;
  for (auto& [id, attempt] : tried)
    if (isRow(id) && !takeNoWord_.contains(id) && !takeNoMark_.contains(id) && !notNow_.contains(id))
      shown.push_back(std::move(attempt));
  for (const OutboxFailure& each : died) marks.died.push_back(each.id);
  if (!sent.empty()) marks.commands.push_back(rows_->sent(sent));
  if (!died.empty()) marks.commands.push_back(rows_->dead(died));
  marks.ofRows = marks.commands.size();
  marks.rows = std::move(sent);
  marks.rows.insert(marks.rows.end(), marks.died.begin(), marks.died.end());
  if (!shown.empty() && rows_->showsAttempts()) {
    for (const OutboxFailure& each : shown) marks.shown.push_back(each.id);
    marks.commands.push_back(rows_->tried(shown));
  }
  marks.ofTable = marks.commands.size();
  if (!places.skips.empty()) marks.commands.push_back(deleteByPosition(queue_, places.skips));
  return marks;
}

HandedOut::Marks HandedOut::marksFor(std::span<const std::int64_t> positions) const {
  const std::lock_guard lock(mutex_);
  Marks marks;
  marks.shape = shape_;
  marks.positions.assign(positions.begin(), positions.end());
  Places places = find(positions);
  if (!places.rows.empty()) marks.commands.push_back(rows_->sent(places.rows));
  marks.ofRows = marks.ofTable = marks.commands.size();
  if (!places.skips.empty()) marks.commands.push_back(deleteByPosition(queue_, places.skips));
  marks.rows = std::move(places.rows);
  return marks;
}

bool HandedOut::leaveAsItIs(const Marks& marks, std::size_t command) {
  const bool isOfDead = !marks.died.empty() && command + 1 == marks.ofRows;
  if (isOfDead) {
    leaveAsTheyAre(marks.died);
    return true;
  }
  if (command < marks.ofRows || marks.shown.empty()) return false;
  const std::lock_guard lock(mutex_);
  takeNoWord_.insert(marks.shown.begin(), marks.shown.end());
  return true;
}

bool HandedOut::leaveOutOnce(const Marks& marks, std::size_t command) {
  if (command < marks.ofRows || marks.shown.empty()) return false;
  const std::lock_guard lock(mutex_);
  notNow_.insert(marks.shown.begin(), marks.shown.end());
  return true;
}

void HandedOut::leaveAsTheyAre(const std::vector<std::string>& ids) {
  const std::lock_guard lock(mutex_);
  takeNoMark_.insert(ids.begin(), ids.end());
}

bool HandedOut::renew(OutboxRows rows, std::size_t shapeOfMarks) {
  const std::lock_guard lock(mutex_);
  if (!rows_ || !rows_->isAs(rows)) {
    rows_.emplace(std::move(rows));
    ++shape_;
  }
  return shapeOfMarks != shape_;
}

Result<void> HandedOut::committed(Connection& connection, const Marks& marks, const Answer* answers) {
  std::int64_t changed = 0;
  for (std::size_t i = 0; i < marks.ofRows; ++i) changed += answers[i].changed();
  return committed(connection, marks, changed);
}

Result<void> HandedOut::committed(Connection& connection, const Marks& marks, std::int64_t changed) {
  const std::lock_guard lock(mutex_);
  notNow_.clear();
  for (const std::int64_t position : marks.positions) {
    const auto place = handedOut_.find(position);
    const auto* id = place == handedOut_.end() ? nullptr : std::get_if<std::string>(&place->second);
    const bool isMarked = id == nullptr || std::ranges::count(marks.rows, *id) > 0;
    if (isMarked) handedOut_.erase(position);  // a row that is left as it is would be found at once
    former_.erase(position);
  }
  if (changed >= static_cast<std::int64_t>(marks.rows.size()) || !rows_) return {};
  const Exchange looked = connection.exchange(std::vector{rows_->stillWaiting(marks.rows)});
  if (!looked) return looked.error();
  return looked.answers[0].rows() == 0 ? Result<void>{} : rows_->markRefused(looked.answers[0].text(0, 0));
}

}  // namespace tenure::postgresql
