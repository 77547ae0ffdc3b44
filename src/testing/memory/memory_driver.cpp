#include "testing/memory/memory_driver.hpp"

#include <algorithm>
#include <utility>

#include "storage/records.hpp"

namespace tenure::memory {

using storage::Committed;
using storage::Fence;
using storage::FenceFound;
using storage::Outcome;
using storage::Row;
using storage::Rows;
using storage::Write;

// --- the fence

/// A queue that is consumed into another store has an owner, and no fence.
FenceFound Driver::find(const ElectionName& election) const {
  const Kept& kept = state_.kept;
  FenceFound found;
  if (kept.isClaimed || kept.owner.election != election.value) found.owner = kept.owner;
  if (!kept.fence) return found;
  Fence fence = *kept.fence;
  if (lane_ != 0) {
    const auto joined = kept.lanes.find(lane_);
    fence.row.sequence = joined == kept.lanes.end() ? -1 : joined->second.row.sequence;
    fence.change = joined == kept.lanes.end() ? std::string{} : joined->second.change;
  }
  found.stored.push_back({std::move(fence.row), {}});
  found.change = std::move(fence.change);
  return found;
}

bool Driver::isAt(const Fence& expected) const {
  const Kept& kept = state_.kept;
  if (lane_ == 0) return kept.fence && kept.fence->change == expected.change;
  const auto joined = kept.lanes.find(lane_);
  return joined != kept.lanes.end() && joined->second.change == expected.change;
}

Result<FenceFound> Driver::readFence(const ElectionName& election) {
  const std::lock_guard lock(state_.mutex);
  return find(election);
}

Result<std::vector<storage::StoredFence>> Driver::fences() {
  const std::lock_guard lock(state_.mutex);
  return find({}).stored;
}

Result<Findings> Driver::inspect() {
  const std::lock_guard lock(state_.mutex);
  Findings findings;
  for (const storage::StoredFence& fence : find({}).stored)
    findings.push_back({Severity::fact, "fence of " + fence.row.election.value, storage::described(fence.row)});
  return findings;
}

/// From here on no lane of an earlier claim has joined.
Result<void> Driver::claim(const ElectionName& election, const Term* term, const storage::ClaimJudge& judge) {
  const std::lock_guard lock(state_.mutex);
  if (Result<void> struck = state_.strike(Operation::claim); !struck) return struck;
  Result<std::optional<Fence>> next = judge(find(election));
  if (!next) return next.error();
  if (!*next) return {};
  const std::optional<bool> lost = std::exchange(state_.lostClaim, std::nullopt);
  if (lost && state_.recognizesNoLostClaim) (*next)->change += " by somebody else";
  if (lost.value_or(true)) take(std::move(**next), term != nullptr);
  return lost ? Result<void>(Error{Errc::outcomeUnknown, "the reply was lost"}) : Result<void>{};
}

void Driver::take(Fence next, bool isTerms) {
  Kept& kept = state_.kept;
  if (lane_ != 0) {
    kept.lanes[lane_] = std::move(next);
    return;
  }
  kept.owner = {next.row.election.value, next.row.path};
  kept.isClaimed = true;
  kept.fence = std::move(next);
  kept.lanes.clear();
  if (isTerms) state_.writing.clear();
}

std::unique_ptr<storage::IStoreDriver> Driver::openLane(std::int64_t number) {
  return hasLanes_ ? std::make_unique<Driver>(state_, clock_, hasLanes_, number) : nullptr;
}

// --- rows

Rows Driver::rowsOf(std::span<const storage::RowName> names) const {
  Rows rows;
  rows.reserve(names.size());
  for (const storage::RowName& name : names) {
    const Row* row = state_.kept.find(name.table, name.key);
    rows.push_back(row == nullptr ? std::nullopt : std::optional(*row));
  }
  return rows;
}

Result<std::optional<Rows>> Driver::read(std::span<const storage::RowName> rows, const Fence* expected) {
  const std::lock_guard lock(state_.mutex);
  ++state_.reads;
  if (expected != nullptr && !isAt(*expected)) return std::optional<Rows>{};
  return std::optional{rowsOf(rows)};
}

Result<std::vector<Row>> Driver::scan(const storage::Scan& scan) {
  const std::lock_guard lock(state_.mutex);
  const auto& all = state_.kept.rows;
  const std::string begin = storage::nameOf(scan.table, scan.prefix) + '\0';
  auto first = all.lower_bound(begin);
  auto last = all.lower_bound(begin.substr(0, begin.size() - 1) + '\1');
  if (!scan.after.empty()) {
    Row key = scan.prefix;
    key.insert(key.end(), scan.after.begin(), scan.after.end());
    const std::string after = storage::nameOf(scan.table, key);
    const bool isWhole = key.size() == storage::schemaOf(scan.table).keys;
    if (scan.backward)
      last = all.lower_bound(after);
    else
      first = isWhole ? all.upper_bound(after) : all.lower_bound(after + '\1');
  }
  std::vector<Row> found;
  const auto take = [&](auto from, auto to) {
    for (std::size_t skipped = 0; from != to && found.size() < scan.atMost; ++from)
      if (skipped++ >= scan.skip) found.push_back(from->second);
  };
  if (scan.backward)
    take(std::make_reverse_iterator(last), std::make_reverse_iterator(first));
  else
    take(first, last);
  return found;
}

// --- messages that wait for their time

void Kept::scheduled(const std::string& name, const Row& row) {
  namespace waiting = storage::waiting;
  Place place{storage::textIn(row, waiting::queue), storage::integerIn(row, waiting::due), 0};
  const auto before = waitingAt.find(name);
  place.added = before == waitingAt.end() ? ++numbers["added"] : before->second.added;
  unscheduled(name);
  waitingAt[name] = place;
  this->waiting[std::move(place)] = name;
}

void Kept::unscheduled(const std::string& name) {
  const auto place = waitingAt.find(name);
  if (place == waitingAt.end()) return;
  waiting.erase(place->second);
  waitingAt.erase(place);
}

Result<storage::WaitingPage> Driver::waiting(const storage::WaitingScan& scan) {
  const std::lock_guard lock(state_.mutex);
  storage::WaitingPage page;
  const Kept& kept = state_.kept;
  for (auto each = kept.waiting.upper_bound({"", scan.due, scan.added});
       each != kept.waiting.end() && each->first.queue.empty() && page.rows.size() < scan.atMost; ++each) {
    page.rows.push_back(kept.rows.at(each->second));
    page.added.push_back(each->first.added);
  }
  return page;
}

Result<storage::WaitingCounts> Driver::countWaiting(std::int64_t atMost) {
  namespace fired = storage::fired;
  const std::lock_guard lock(state_.mutex);
  storage::WaitingCounts counts;
  counts.waiting =
      std::ranges::count_if(state_.kept.waiting, [](const auto& each) { return each.first.queue.empty(); });
  counts.waiting = std::min(counts.waiting, atMost);
  const WallTime since = clock_.wallNow() - storage::latenessAge;
  state_.kept.forEach(storage::Table::fired, {std::string()}, [&](const Row& row) {
    const std::int64_t at = storage::integerIn(row, fired::at);
    const std::chrono::milliseconds lateness{at - storage::integerIn(row, fired::due)};
    if (storage::wallTimeOf(at) > since) counts.lateness = std::max(counts.lateness.value_or(lateness), lateness);
  });
  return counts;
}

// --- committing

Result<Committed> Driver::commit(const storage::Commit& commit) {
  std::unique_lock lock(state_.mutex);
  if (const auto first = std::exchange(state_.beforeNextCommit, {})) {
    lock.unlock();  // it asks the world for things itself
    first();
    lock.lock();
  }
  const bool isBurning = commit.writes->isEmpty();
  if (commit.expected != nullptr) {
    const Result<void> struck = state_.strike(isBurning ? Operation::resolve : Operation::commit);
    if (!struck) return struck.error();
    if (!isAt(*commit.expected)) return Committed{Outcome::fenced};
    if (const Result<void> taken = judge(*commit.writes); !taken) return taken.error();
  }
  const std::optional<bool> lost =
      commit.expected == nullptr ? std::nullopt : std::exchange(state_.lostReply, std::nullopt);
  if (lost.value_or(true)) {
    if (!write(*commit.writes)) return Committed{Outcome::conflict};
    if (commit.expected != nullptr) (lane_ == 0 ? *state_.kept.fence : state_.kept.lanes.at(lane_)) = *commit.next;
    if (commit.expected != nullptr && !isBurning) ++state_.commits;
  }
  if (lost) return Error{Errc::outcomeUnknown, "the reply was lost"};
  return Committed{.read = rowsOf(commit.alsoRead)};
}

/// Where the row is, or before which it belongs: mostly where the `last` one was, for ids mostly ascend.
Driver::Place Driver::placeOf(const std::string& name, Place last) {
  auto& rows = state_.kept.rows;
  const bool isHere =
      (last == rows.end() || name <= last->first) && (last == rows.begin() || std::prev(last)->first < name);
  return isHere ? last : rows.lower_bound(name);
}

/// What it is to refuse, as a test asked.
Result<void> Driver::judge(const storage::WriteSet& writes) const {
  Result<void> taken;
  for (const SentMessage& sent : writes.enqueued())
    if (state_.closedQueues.contains(sent.queue)) taken = Error{Errc::commitRefused, "queue " + sent.queue};
  writes.forEach([&](const Write& write) {
    if (write.what != Write::What::put) return;
    if (write.table == storage::Table::deadLetter &&
        storage::textIn(write.row, storage::deadLetter::body).size() > state_.largestLetter)
      taken = Error{Errc::payloadTooLarge, "a dead letter, as the test asked"};
    if (write.table != storage::Table::key || storage::integerIn(write.row, storage::key::state) != 0) return;
    const auto found = state_.refused.find(storage::textIn(write.row, storage::key::id));
    if (found != state_.refused.end()) taken = Error{found->second, "as the test asked"};
  });
  return taken;
}

/// False, and nothing is written, where an expectation is not met.
bool Driver::write(storage::WriteSet& writes) {
  Kept& kept = state_.kept;
  std::vector<Place> places;  // of the writes, in their order
  auto place = kept.rows.end();
  bool isMet = true;
  writes.forEach([&](Write& write) {
    place = placeOf(write.name, place);
    const bool isThere = place != kept.rows.end() && place->first == write.name;
    isMet = isMet && write.expected.isMetBy(isThere ? &place->second : nullptr);
    places.push_back(place);
  });
  if (!isMet) return false;
  // What is removed may be where something else is put: it goes last.
  auto next = places.begin();
  writes.forEach([&](Write& write) {
    if (write.what == Write::What::put) put(write, *next);
    ++next;
  });
  writes.forEach([&](Write& write) {
    if (write.what != Write::What::remove) return;
    if (write.table == storage::Table::waiting) kept.unscheduled(write.name);
    kept.rows.erase(write.name);
  });
  for (const std::int64_t position : writes.acknowledged()) kept.queue.erase(position);
  for (const SentMessage& sent : writes.enqueued())
    sent.queue.empty() ? kept.enqueue(sent.message, clock_.wallNow()) : kept.others[sent.queue].push_back(sent.message);
  return true;
}

/// `place`: of the row that is there, or that comes behind it.
void Driver::put(Write& write, Place place) {
  namespace key = storage::key;
  const storage::Schema& schema = storage::schemaOf(write.table);
  if (write.name.empty()) {
    Row row = std::move(write.row);
    const std::size_t number = schema.placeOf(storage::Rule::assigned);
    row[number] = ++state_.kept.numbers[storage::nameOf(write.table, std::span{row}.first(number))];
    state_.kept.rows.emplace(storage::nameOf(write.table, std::span{row}.first(schema.keys)), std::move(row));
    return;
  }
  if (write.table == storage::Table::waiting) state_.kept.scheduled(write.name, write.row);
  if (place == state_.kept.rows.end() || place->first != write.name) {
    place = state_.kept.rows.emplace_hint(place, std::move(write.name), std::move(write.row));
  } else {
    const std::size_t most = schema.placeOf(storage::Rule::keepsMore);
    if (most < write.row.size()) write.row[most] = std::max(write.row[most], place->second[most]);
    place->second = std::move(write.row);
  }
  if (write.table != storage::Table::key) return;
  const Row& row = place->second;
  const MessageFate fate = storage::integerIn(row, key::state) == 0 ? MessageFate::done : MessageFate::dead;
  state_.ledger.push_back(
      {FencingToken{storage::integerIn(row, key::token)}, MessageId{storage::textIn(row, key::id)}, fate});
}

}  // namespace tenure::memory
