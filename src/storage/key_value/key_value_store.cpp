#include "storage/key_value/key_value_store.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/text.hpp"
#include "storage/fenced_session.hpp"
#include "storage/key_value/encoding.hpp"
#include "storage/operators/store_admin.hpp"

namespace tenure::storage {
namespace {

using Expects = Expectation::Of;

/// A claim begins again when the fence changed under it; somebody who claims that often is at war with us.
constexpr int claimAttempts = 16;
constexpr std::size_t piecesAPage = 64;

const spi::Name fenceName{spi::Table::fence, "fence"};
const spi::Name ownerName{spi::Table::owner, "owner"};

spi::Expected asRead(const std::optional<std::string>& value) {
  if (!value) return {spi::Expected::Of::absence};
  return {spi::Expected::Of::value, *value};
}

/// Of what is written without being read.
spi::Expected blindly(const Expectation& expected) {
  return {expected.of == Expects::absence ? spi::Expected::Of::absence : spi::Expected::Of::anything};
}

bool isNumbered(const Write& write) {
  return write.what == Write::What::put && (write.table == Table::log || write.table == Table::deadLetter);
}
bool isCut(const Write& write) { return write.what == Write::What::remove && write.table == Table::log; }
bool restsOnWhatIsThere(const Write& write) {
  const Schema& schema = schemaOf(write.table);
  const bool merges = write.what == Write::What::put && schema.placeOf(Rule::keepsMore) < schema.columns.size();
  return merges || write.expected.of == Expects::presence || write.expected.of == Expects::value;
}

/// The row as it is written over the one that is there.
Row merged(Table table, Row row, const std::optional<Row>& there) {
  const std::size_t place = schemaOf(table).placeOf(Rule::keepsMore);
  if (there && place < row.size()) row[place] = std::max(row[place], there->at(place));
  return row;
}

}  // namespace

KeyValueStore::KeyValueStore(std::unique_ptr<spi::IKeyValueDriver> values, bool keepsScheduled)
    : values_(std::move(values)) {
  const spi::Limits& given = values_->limits();
  limits_ = {.commitBytes = given.batchBytes,
             .stateBytes = given.stateBytes,
             .bytesAWrite = given.bytesAWrite,
             .maxBatch = given.maxBatch,
             .rowsALook = given.namesARead,
             .looksAreDear = given.readsAreDear,
             .keepsIdsFor = given.keepsKeysFor,
             .keepsQueue = given.keepsQueue,
             .keepsScheduled = keepsScheduled};
}

// --- the fence

Result<KeyValueStore::Found> KeyValueStore::find() {
  const std::array names{fenceName, ownerName};
  Result<spi::Values> values = values_->read(names);
  if (!values) return values.error();
  FenceFound fence = fenceFrom(values->at(0), values->at(1));
  return Found{std::move(*values), std::move(fence)};
}

Result<FenceFound> KeyValueStore::readFence(const ElectionName&) {
  Result<Found> found = find();
  if (!found) return found.error();
  return std::move(found->fence);
}

Result<bool> KeyValueStore::exchange(const Found& found, const Fence& next) {
  spi::Batch batch;
  batch.writes.push_back({fenceName, asRead(found.values.at(0)), fenceText_.of(next)});
  batch.writes.push_back(
      {ownerName, asRead(found.values.at(1)), textOf(QueueOwner{next.row.election.value, next.row.path})});
  const Result<spi::Applied> applied = values_->apply(batch);
  if (!applied) return applied.error();
  return !applied->unmet;
}

Result<std::vector<StoredFence>> KeyValueStore::fences() {
  Result<Found> found = find();
  if (!found) return found.error();
  return std::move(found->fence.stored);
}

Result<void> KeyValueStore::claim(const ElectionName&, const Term* term, const ClaimJudge& judge) {
  counters_.clear();
  if (Result<void> connected = values_->connect({}); !connected) return connected;
  for (int attempt = 0; attempt < claimAttempts; ++attempt) {
    const Result<Found> found = find();
    if (!found) return found.error();
    const Result<std::optional<Fence>> next = judge(found->fence);
    if (!next) return next.error();
    if (!*next) return {};
    const Result<bool> exchanged = exchange(*found, **next);
    if (!exchanged) return exchanged.error();
    if (*exchanged) return term == nullptr ? Result<void>{} : values_->claimed((*next)->row);
  }
  return Error{Errc::storeBusy, "the fence changes again and again while it is claimed"};
}

// --- reading

Result<std::optional<Rows>> KeyValueStore::read(std::span<const RowName> rows, const Fence* expected) {
  std::vector<spi::Name> names;
  names.reserve(rows.size() + 1);
  for (const RowName& row : rows) names.push_back(named(row.table, row.key));
  if (expected != nullptr) names.push_back(fenceName);
  const Result<spi::Values> values = values_->read(names);
  if (!values) return values.error();
  if (expected != nullptr && values->back() != fenceText_.of(*expected)) return std::optional<Rows>{};
  std::optional<Rows> found{std::in_place};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::optional<std::string>& value = (*values)[i];
    std::optional<Row>& place = found->emplace_back();
    if (!value) continue;
    Result<Row> row = rowFrom(rows[i].table, names[i].text, *value);
    if (!row) return row.error();
    place = std::move(*row);
  }
  return found;
}

Result<std::vector<Row>> KeyValueStore::scan(const Scan& scan) {
  if (scan.table == Table::log) return scanLog(scan);
  Row after = scan.prefix;
  after.insert(after.end(), scan.after.begin(), scan.after.end());
  const Result<std::vector<spi::NamedValue>> page =
      values_->scan({.table = kindOf(scan.table),
                     .prefix = prefixOf(scan.table, scan.prefix),
                     .after = scan.after.empty() ? std::string{} : named(scan.table, after).text,
                     .atMost = scan.atMost,
                     .backward = scan.backward});
  if (!page) return page.error();
  std::vector<Row> rows;
  for (const spi::NamedValue& each : *page) {
    Result<Row> row = rowFrom(scan.table, each.name, each.value);
    if (!row) return row.error();
    rows.push_back(std::move(*row));
  }
  return rows;
}

/// Piece by piece: one may hold lines before and behind the wanted ones.
Result<std::vector<Row>> KeyValueStore::scanLog(const Scan& scan) {
  TENURE_ASSERT(scan.after.empty() || scan.backward);
  Row from = scan.prefix;
  from.insert(from.end(), scan.after.begin(), scan.after.end());
  spi::Range range{.table = spi::Table::log,
                   .prefix = prefixOf(Table::log, scan.prefix),
                   .after = {},
                   .atMost = std::min(scan.atMost, piecesAPage),
                   .backward = scan.backward};
  std::int64_t below = std::numeric_limits<std::int64_t>::max();
  if (!scan.after.empty()) range.after = named(Table::log, from).text;
  if (from.size() == schemaOf(Table::log).keys) below = integerIn(from, log::number);
  std::vector<Row> rows;
  while (rows.size() < scan.atMost) {
    const Result<std::vector<spi::NamedValue>> page = values_->scan(range);
    if (!page) return page.error();
    for (const spi::NamedValue& each : *page) {
      Result<std::vector<Row>> piece = pieceFrom(each.name, each.value);
      if (!piece) return piece.error();
      if (scan.backward) std::ranges::reverse(*piece);
      for (Row& row : *piece)
        if (rows.size() < scan.atMost && integerIn(row, log::number) < below) rows.push_back(std::move(row));
    }
    if (page->size() < range.atMost) break;
    range.after = page->back().name;
  }
  return rows;
}

// --- committing

Result<Committed> KeyValueStore::commit(const Commit& commit) {
  Building building;
  if (commit.expected != nullptr) {
    spi::Expected expected{spi::Expected::Of::value, fenceText_.of(*commit.expected)};
    building.batch.writes.push_back({fenceName, std::move(expected), fenceText_.of(*commit.next)});
  }
  std::vector<const Write*> writes;
  commit.writes->forEach([&](const Write& write) { writes.push_back(&write); });
  if (const Result<void> added = add(writes, building); !added) return added.error();
  if (building.hasConflict) {
    // A fenced term hears of the fence, whatever else has changed.
    const Result<std::optional<Rows>> fence = read({}, commit.expected);
    if (!fence) return fence.error();
    return Committed{*fence ? Outcome::conflict : Outcome::fenced};
  }
  building.batch.acknowledged = commit.writes->acknowledged();
  building.batch.enqueued = commit.writes->enqueued();
  std::vector<spi::Name> alsoRead;
  for (const RowName& row : commit.alsoRead) alsoRead.push_back(named(row.table, row.key));
  building.batch.alsoRead = alsoRead;
  Result<spi::Applied> applied = values_->apply(building.batch);
  if (!applied || applied->unmet) counters_.clear();
  if (!applied) return applied.error();
  if (applied->unmet) return Committed{*applied->unmet == 0 && commit.expected ? Outcome::fenced : Outcome::conflict};
  for (auto& [name, value] : building.counters) counters_[name] = std::move(value);
  Committed committed;
  for (std::size_t i = 0; i < applied->read.size(); ++i) {
    std::optional<Row>& place = committed.read.emplace_back();
    if (!applied->read[i]) continue;
    Result<Row> row = rowFrom(commit.alsoRead[i].table, alsoRead[i].text, *applied->read[i]);
    // A damaged one is no hint; who asks for it hears of it.
    if (row) place = std::move(*row);
  }
  return committed;
}

Result<void> KeyValueStore::add(std::span<const Write* const> writes, Building& to) {
  std::vector<const Write*> asRead;
  std::vector<const Write*> numbered;
  std::vector<const Write*> cuts;
  for (const Write* write : writes) {
    if (isNumbered(*write))
      numbered.push_back(write);
    else if (isCut(*write))
      cuts.push_back(write);
    else if (restsOnWhatIsThere(*write))
      asRead.push_back(write);
    else if (write->what == Write::What::put)
      to.batch.writes.push_back({nameOf(*write), blindly(write->expected), textOf(write->table, write->row)});
    else
      to.batch.writes.push_back(
          {nameOf(*write), blindly(write->expected), std::nullopt, write->what == Write::What::remove});
  }
  Result<void> added = addAsRead(asRead, to);
  if (added) added = addNumbered(numbered, to);
  if (added) added = cutLog(cuts, to);
  return added;
}

Result<void> KeyValueStore::addAsRead(std::span<const Write* const> writes, Building& to) {
  if (writes.empty()) return {};
  std::vector<spi::Name> names;
  for (const Write* write : writes) names.push_back(nameOf(*write));
  const Result<spi::Values> values = values_->read(names);
  if (!values) return values.error();
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const Write& write = *writes[i];
    std::optional<Row> there;
    if ((*values)[i]) {
      Result<Row> row = rowFrom(write.table, names[i].text, *(*values)[i]);
      if (!row) return row.error();
      there = std::move(*row);
    }
    to.hasConflict = to.hasConflict || !write.expected.isMetBy(there ? &*there : nullptr);
    std::optional<std::string> value;
    if (write.what == Write::What::put) value = textOf(write.table, merged(write.table, write.row, there));
    to.batch.writes.push_back(
        {std::move(names[i]), asRead((*values)[i]), std::move(value), write.what != Write::What::expect});
  }
  return {};
}

Result<void> KeyValueStore::addNumbered(std::span<const Write* const> writes, Building& to) {
  std::map<std::string, std::vector<const Write*>> lines;  // by consumer
  std::vector<const Write*> letters;
  for (const Write* write : writes)
    (write->table == Table::log ? lines[textIn(write->row, log::consumer)] : letters).push_back(write);
  if (!letters.empty()) {
    Result<std::int64_t> number = takeNumbers("dead letters", letters.size(), to);
    if (!number) return number.error();
    for (const Write* letter : letters)
      to.batch.writes.push_back({named(Table::deadLetter, std::array{Value{(*number)++}}),
                                 {spi::Expected::Of::absence},
                                 textOf(Table::deadLetter, letter->row)});
  }
  for (const auto& [consumer, each] : lines) {
    const Result<std::int64_t> number = takeNumbers("log " + consumer, each.size(), to);
    if (!number) return number.error();
    std::string piece;
    for (const Write* line : each) piece += textOf(Table::log, line->row);
    to.batch.writes.push_back({named(Table::log, std::array{Value{consumer}, Value{*number}}),
                               {spi::Expected::Of::absence},
                               std::move(piece)});
  }
  return {};
}

Result<std::int64_t> KeyValueStore::takeNumbers(const std::string& counter, std::size_t count, Building& to) {
  const spi::Name name{spi::Table::counter, counter};
  auto known = counters_.find(counter);
  if (known == counters_.end()) {
    Result<spi::Values> read = values_->read({&name, 1});
    if (!read) return read.error();
    known = counters_.emplace(counter, std::move(read->front())).first;
  }
  const std::optional<std::string>& last = known->second;
  const auto number = parseInteger(last.value_or("0"));
  if (!number) return Error{Errc::storeFailed, "the counter \"" + escaped(counter) + "\" is damaged"};
  std::string value = std::to_string(*number + static_cast<std::int64_t>(count));
  to.batch.writes.push_back({name, asRead(last), value});
  to.counters.emplace(counter, std::move(value));
  return *number + 1;
}

/// Lines go from a log's old end: of a piece, what is left becomes a piece of its own.
Result<void> KeyValueStore::cutLog(std::span<const Write* const> removals, Building& to) {
  std::map<std::string, std::int64_t> ends;  // by consumer: up to which line
  for (const Write* removal : removals) {
    std::int64_t& end = ends[textIn(removal->row, log::consumer)];
    end = std::max(end, integerIn(removal->row, log::number));
  }
  for (const auto& [consumer, end] : ends) {
    spi::Range range{
        .table = spi::Table::log, .prefix = prefixOf(Table::log, {consumer}), .after = {}, .atMost = piecesAPage};
    for (bool isBehind = false; !isBehind;) {
      const Result<std::vector<spi::NamedValue>> page = values_->scan(range);
      if (!page) return page.error();
      for (const spi::NamedValue& each : *page) {
        const Result<std::vector<Row>> piece = pieceFrom(each.name, each.value);
        if (!piece) return piece.error();
        isBehind = piece->empty() || integerIn(piece->front(), log::number) > end;
        if (isBehind) break;
        to.batch.writes.push_back({{spi::Table::log, each.name}, asRead(each.value), std::nullopt});
        std::string rest;
        std::int64_t first = 0;
        for (const Row& line : *piece) {
          if (integerIn(line, log::number) <= end) continue;
          if (first == 0) first = integerIn(line, log::number);
          rest += textOf(Table::log, line);
        }
        if (first != 0)
          to.batch.writes.push_back(
              {named(Table::log, std::array{Value{consumer}, Value{first}}), {spi::Expected::Of::absence}, rest});
      }
      isBehind = isBehind || page->size() < range.atMost;
      if (!page->empty()) range.after = page->back().name;
    }
  }
  return {};
}

Result<Findings> KeyValueStore::inspect() {
  if (const Result<void> connected = values_->connect({}); !connected) return connected.error();
  Result<Findings> findings = values_->inspect();
  if (!findings) return findings;
  const Result<Found> found = find();
  if (!found) return found.error().is(Errc::notFound) ? findings : found.error();
  const std::string& owner = found->fence.owner.election;
  findings->push_back({Severity::fact, "store", owner.empty() ? "of no election yet" : "of election " + owner});
  for (const StoredFence& fence : found->fence.stored)
    if (fence.damage.empty())
      findings->push_back({Severity::fact, "fence of " + owner, described(fence.row)});
    else
      findings->push_back({Severity::refusal, "fence of " + owner, fence.damage, "a sound one"});
  if (found->fence.stored.empty() && !owner.empty())
    findings->push_back(
        {Severity::refusal, "fence", "absent", "the fence of election " + owner + ": see tenure fence rebase"});
  return findings;
}

void KeyValueStore::release() noexcept {
  counters_.clear();
  values_->release();
}

}  // namespace tenure::storage

namespace tenure::spi {

// What stands in tenure/spi/key_value.hpp for drivers that are not ours.
std::unique_ptr<IFencedStore> openStore(std::unique_ptr<IKeyValueDriver> driver, IEventSink& events) {
  return std::make_unique<storage::FencedSession>(std::make_unique<storage::KeyValueStore>(std::move(driver)), events);
}

std::unique_ptr<IStoreAdmin> openAdmin(std::unique_ptr<IKeyValueDriver> driver) {
  return std::make_unique<storage::StoreAdmin>(std::make_unique<storage::KeyValueStore>(std::move(driver)), false);
}

}  // namespace tenure::spi
