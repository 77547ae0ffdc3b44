#include "storage/operators/store_admin.hpp"

#include <algorithm>

#include "base/random.hpp"
#include "base/text.hpp"
#include "messages/headers.hpp"
#include "storage/open_groups.hpp"

namespace tenure::storage {
namespace {

constexpr std::size_t rowsAPage = 256;
/// After so many conflicts with a leader's commits an operator's change is given up.
constexpr int mostRepeats = 16;

Error changedMeanwhile() { return {Errc::versionMismatch, "the fence row is not the expected one any more"}; }
/// As it goes back to its queue: it has missed its turn among the numbered ones.
Message withoutTurn(Message message) {
  for (auto& [name, value] : message.headers)
    if (name == numberHeader) name = messages::pastNumberHeader;
  return message;
}

}  // namespace

template <class Use>
Result<void> StoreAdmin::forEachRow(const Scan& scan, Use use) {
  if (Result<void> connected = driver_->connect({}); !connected) return connected;
  return storage::forEachRow(*driver_, scan, std::move(use));
}

Result<Rows> StoreAdmin::read(std::span<const RowName> names) {
  if (const Result<void> connected = driver_->connect({}); !connected) return connected.error();
  Rows found;
  while (found.size() < names.size()) {
    const std::span<const RowName> rest = names.subspan(found.size());
    Result<std::optional<Rows>> rows = driver_->read(rest.first(std::min(rest.size(), rowsAPage)), nullptr);
    if (!rows) return rows.error();
    std::ranges::move(**rows, std::back_inserter(found));
  }
  return found;
}

// --- the fence

Result<std::vector<FenceRow>> StoreAdmin::fenceRows() {
  if (const Result<void> connected = driver_->connect({}); !connected) return connected.error();
  const Result<std::vector<StoredFence>> fences = driver_->fences();
  if (!fences) return fences.error();
  std::vector<FenceRow> rows;
  for (const StoredFence& fence : *fences) rows.push_back(fence.row);
  return rows;
}

Result<void> StoreAdmin::rebaseFence(const FenceRow& expected, const EnsembleUuid& ensemble, std::int64_t generation,
                                     const std::string& path) {
  return driver_->claim(expected.election, nullptr, [&](const FenceFound& found) -> Result<std::optional<Fence>> {
    const bool isLost = found.stored.empty() && found.owner.election == expected.election.value;
    const FenceRow row = found.stored.empty() ? FenceRow{} : found.stored.front().row;
    const bool isOf = isLost || row.election == expected.election;
    if (!isOf || !isSame(row, expected)) return changedMeanwhile();
    if (generation <= row.generation)
      return Error{Errc::invalidArgument,
                   "generation " + std::to_string(generation) + " is not above " + std::to_string(row.generation)};
    return Fence{{.election = expected.election,
                  .ensemble = ensemble,
                  .generation = generation,
                  .token = {},
                  .path = path,
                  .candidate = {},
                  .holder = row.holder,
                  .claimedAt = systemClock().wallNow()},
                 freshUuid()};
  });
}

/// The place, and with it the handlers' own state, is one election's.
Result<void> StoreAdmin::moveTo(const FenceRow& from, const FenceRow& to) {
  return driver_->claim(from.election, nullptr, [&](const FenceFound& found) -> Result<std::optional<Fence>> {
    const Result<bool> toDo = judgeMove(found.stored, found.owner, from, to);
    if (!toDo) return toDo.error();
    return *toDo ? std::optional(Fence{to, freshUuid()}) : std::nullopt;
  });
}

// --- dead letters

Result<void> StoreAdmin::visit(const DeadLetterFilter& choice, std::int64_t after, const Visit& visit, bool isLight) {
  const Scan behind{
      .table = Table::deadLetter, .after = {std::max(after, choice.after)}, .atMost = rowsAPage, .isLight = isLight};
  return forEachRow(behind, [&](const Row& row) -> Result<bool> {
    const Result<StoredLetter> letter = deadLetterFrom(row);
    if (!letter) return letter.error();
    return isChosen(choice, letter->letter) ? visit(*letter) : true;
  });
}

Result<std::vector<DeadLetter>> StoreAdmin::deadLetters(std::size_t limit, const DeadLetterFilter& choice) {
  std::vector<DeadLetter> letters;
  if (limit == 0) return letters;
  const Result<void> visited = visit(choice, 0, [&](const StoredLetter& each) -> Result<bool> {
    letters.push_back(each.letter);
    return letters.size() < limit;
  });
  return visited ? Result<std::vector<DeadLetter>>(std::move(letters)) : visited.error();
}

Result<std::int64_t> StoreAdmin::countDeadLetters(const DeadLetterFilter& choice) {
  std::int64_t count = 0;
  const auto add = [&](const StoredLetter&) -> Result<bool> { return ++count > 0; };
  const Result<void> visited = visit(choice, 0, add, true);
  return visited ? Result<std::int64_t>(count) : visited.error();
}

Result<std::vector<std::int64_t>> StoreAdmin::requeueDeadLetters(const DeadLetterFilter& choice) {
  if (!keepsQueue_)
    return Error{Errc::unsupported, driver_->name() + " keeps no queue: send them to theirs, then purge them"};
  return change(choice, Verb::requeue);
}

Result<std::vector<std::int64_t>> StoreAdmin::resetDeadLetters(const DeadLetterFilter& choice) {
  return change(choice, Verb::reset);
}

Result<std::vector<std::int64_t>> StoreAdmin::purgeDeadLetters(const DeadLetterFilter& choice) {
  return change(choice, Verb::purge);
}

bool StoreAdmin::mayRequeue(const DeadLetter& letter) const {
  return letter.message.lacks.empty() || driver_->limits().isQueueUsers;
}

/// As many as one commit takes well, from behind that number on.
Result<std::vector<StoredLetter>> StoreAdmin::chosen(const DeadLetterFilter& choice, Verb verb, std::int64_t after) {
  std::vector<StoredLetter> letters;
  std::size_t bytes = 0;
  const Result<void> visited = visit(choice, after, [&](const StoredLetter& each) -> Result<bool> {
    if (verb == Verb::requeue && !mayRequeue(each.letter)) {
      if (choice.numbers.empty()) return true;
      return Error{Errc::invalidArgument, "dead letter " + std::to_string(each.letter.number) +
                                              " was not kept whole and cannot be requeued: have its message sent " +
                                              "again, then purge it"};
    }
    bytes += each.letter.message.body.size() + 1024;
    if (!letters.empty() && bytes > driver_->limits().commitBytes / 2) return false;
    letters.push_back(each);
    return letters.size() < driver_->limits().maxBatch;
  });
  return visited ? Result<std::vector<StoredLetter>>(std::move(letters)) : visited.error();
}

Result<std::vector<std::int64_t>> StoreAdmin::change(const DeadLetterFilter& choice, Verb verb) {
  std::vector<std::int64_t> changed;
  for (int repeats = 0; repeats < mostRepeats;) {
    const auto letters = chosen(choice, verb, changed.empty() ? 0 : changed.back());
    if (!letters) return letters.error();
    if (letters->empty()) return changed;
    WriteSet writes;
    if (const Result<void> added = add(*letters, verb, writes); !added) return added.error();
    const Result<Committed> committed = driver_->commit({.writes = &writes});
    if (!committed) return committed.error();
    if (committed->outcome != Outcome::committed) {
      ++repeats;
      continue;
    }
    for (const StoredLetter& letter : *letters) changed.push_back(letter.letter.number);
  }
  return Error{Errc::storeBusy, "the dead letters change again and again while they are read"};
}

/// A key that is done belongs to another body that came under the same id, and stays.
Result<void> StoreAdmin::add(std::span<const StoredLetter> letters, Verb verb, WriteSet& writes) {
  std::vector<RowName> names;
  for (const StoredLetter& letter : letters) {
    const Row number{letter.letter.number};
    if (verb == Verb::reset)
      writes.expect(Table::deadLetter, number, Expectation::present());
    else
      writes.remove(Table::deadLetter, number, Expectation::present());
    names.push_back({Table::key, keyNamed(letter.consumer, letter.letter.message.id)});
  }
  if (verb == Verb::purge) return {};
  const Result<Rows> keys = read(names);
  if (!keys) return keys.error();
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const std::optional<Row>& key = (*keys)[i];
    if (key && integerIn(*key, key::state) != 0)
      writes.remove(Table::key, names[i].key, Expectation::has(key::state, (*key)[key::state]));
    writes.remove(Table::attempt, names[i].key);
    const bool isOfMessage = letters[i].letter.missingFrom == 0;
    if (verb == Verb::requeue && isOfMessage) writes.putBack(withoutTurn(letters[i].letter.message));
  }
  return {};
}

// --- attempts and the log

Result<std::vector<FailingMessage>> StoreAdmin::failing() {
  std::vector<FailingMessage> found;
  const Scan all{.table = Table::attempt, .atMost = rowsAPage};
  const Result<void> read = forEachRow(all, [&](const Row& row) -> Result<bool> {
    found.push_back(attemptFrom(row));
    return true;
  });
  return read ? Result<std::vector<FailingMessage>>(std::move(found)) : read.error();
}

Result<void> StoreAdmin::forgetAttempts(const MessageId& id) {
  const Result<std::vector<FailingMessage>> all = failing();
  if (!all) return all.error();
  WriteSet writes;
  for (const FailingMessage& each : *all)
    if (each.attempts.id == id) writes.remove(Table::attempt, keyNamed(each.consumer, id));
  if (writes.isEmpty()) return {};
  const Result<Committed> committed = driver_->commit({.writes = &writes});
  return committed ? Result<void>{} : committed.error();
}

Result<std::vector<ConsumerStreak>> StoreAdmin::streaks() {
  std::vector<ConsumerStreak> found;
  const Scan all{.table = Table::streak, .atMost = rowsAPage};
  const Result<void> read = forEachRow(all, [&](const Row& row) -> Result<bool> {
    found.push_back({ConsumerName{textIn(row, streak::consumer)}, streakFrom(row)});
    return true;
  });
  return read ? Result<std::vector<ConsumerStreak>>(std::move(found)) : read.error();
}

Result<std::vector<InWorkRecord>> StoreAdmin::inWork() {
  std::vector<InWorkRecord> found;
  const Scan all{.table = Table::inWork, .atMost = rowsAPage};
  const Result<void> read = forEachRow(all, [&](const Row& row) -> Result<bool> {
    found.push_back({ConsumerName{textIn(row, inWork::consumer)},
                     static_cast<std::size_t>(integerIn(row, inWork::lane)), inWorkFrom(row)});
    return true;
  });
  return read ? Result<std::vector<InWorkRecord>>(std::move(found)) : read.error();
}

Result<std::vector<ConsumersGroup>> StoreAdmin::openGroups() {
  if (const Result<void> connected = driver_->connect({}); !connected) return connected.error();
  return storage::openGroups(*driver_);
}

Result<void> StoreAdmin::release(const ConsumerName& consumer, const MessageId& id) {
  constexpr auto blocked = static_cast<std::int64_t>(AttemptState::blocked);
  constexpr auto released = static_cast<std::int64_t>(AttemptState::released);
  const Result<bool> raised = raise({Table::attempt, keyNamed(consumer, id)}, attempt::state, blocked, released);
  if (!raised) return raised.error();
  return *raised ? Result<void>{} : blocksNobody(id);
}

Result<void> StoreAdmin::resume(const ConsumerName& consumer) {
  constexpr auto stopped = static_cast<std::int64_t>(DeadLetterStreakRecord::State::stopped);
  constexpr auto resumed = static_cast<std::int64_t>(DeadLetterStreakRecord::State::resumed);
  const Result<bool> raised = raise({Table::streak, {consumer.value}}, streak::state, stopped, resumed);
  if (!raised) return raised.error();
  if (*raised) return {};
  return Error{Errc::notFound, "consumer \"" + escaped(consumer.value) + "\" has not stopped"};
}

/// Whether the row had `from` in that place.
Result<bool> StoreAdmin::raise(const RowName& name, std::size_t place, std::int64_t from, std::int64_t to) {
  for (int repeats = 0; repeats < mostRepeats; ++repeats) {
    Result<Rows> rows = read({&name, 1});
    if (!rows) return rows.error();
    std::optional<Row>& row = rows->front();
    if (!row || integerIn(*row, place) != from) return false;
    row->at(place) = to;
    WriteSet writes;
    writes.put(name.table, std::move(*row), Expectation::has(place, from));
    const Result<Committed> committed = driver_->commit({.writes = &writes});
    if (!committed) return committed.error();
    if (committed->outcome == Outcome::committed) return true;
  }
  return Error{Errc::storeBusy, "the record changes again and again while it is changed"};
}

Result<void> StoreAdmin::readLog(const ConsumerName& consumer, const LogChoice& choice, std::vector<LogLine>& lines) {
  if (choice.limit == 0) return {};
  const std::size_t most = lines.size() + choice.limit;
  const Scan newestFirst{.table = Table::log, .prefix = {consumer.value}, .atMost = rowsAPage, .backward = true};
  return forEachRow(newestFirst, [&](const Row& row) -> Result<bool> {
    LogLine line = logLineFrom(row);
    if (isChosen(choice, line)) lines.push_back(std::move(line));
    return lines.size() < most;
  });
}

/// Each consumer's log in its order, all of them by when the attempts ended.
Result<std::vector<LogLine>> StoreAdmin::log(const LogChoice& choice) {
  if (const Result<void> connected = driver_->connect({}); !connected) return connected.error();
  std::vector<LogLine> lines;
  if (choice.consumer) {
    if (const Result<void> read = readLog(*choice.consumer, choice, lines); !read) return read.error();
  }
  for (Scan scan{.table = Table::log, .atMost = 1, .backward = true}; !choice.consumer;) {
    const Result<std::vector<Row>> last = driver_->scan(scan);
    if (!last) return last.error();
    if (last->empty()) break;
    scan.after = {last->front().at(log::consumer)};
    const Result<void> read = readLog(ConsumerName{textIn(last->front(), log::consumer)}, choice, lines);
    if (!read) return read.error();
  }
  std::ranges::reverse(lines);
  std::ranges::stable_sort(lines, {}, [](const LogLine& line) { return line.attempt.endedAt; });
  if (lines.size() > choice.limit) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(choice.limit));
  return lines;
}

}  // namespace tenure::storage

namespace tenure {

Error noneWaits(const MessageId& id) {
  return {Errc::notFound, "no message waits under the id \"" + escaped(id.value) + "\""};
}

std::string_view toString(AttemptEnd end) noexcept {
  switch (end) {
    case AttemptEnd::done: return "done";
    case AttemptEnd::skipped: return "skipped";
    case AttemptEnd::postponed: return "postponed";
    case AttemptEnd::failed: return "failed";
    case AttemptEnd::rejected: return "rejected";
    case AttemptEnd::died: return "died";
  }
  return "unknown";
}

namespace storage {

bool isNamed(const DeadLetterFilter& choice, std::int64_t number) noexcept {
  return choice.numbers.empty() || std::ranges::find(choice.numbers, number) != choice.numbers.end();
}

bool isChosen(const DeadLetterFilter& choice, const DeadLetter& letter) noexcept {
  return isNamed(choice, letter.number) && (!choice.group || letter.message.group == *choice.group) &&
         (!choice.diedBefore || letter.diedAt < *choice.diedBefore) && letter.number > choice.after &&
         letter.reason.find(choice.reasonHas) != std::string::npos;
}

bool isChosen(const LogChoice& choice, const LogLine& line) noexcept {
  return (!choice.consumer || line.consumer == *choice.consumer) &&
         (!choice.message || line.attempt.message == *choice.message) &&
         (!choice.end || line.attempt.end == *choice.end) && line.attempt.endedAt >= choice.since;
}

Error blocksNobody(const MessageId& id) {
  return {Errc::notFound, "message \"" + escaped(id.value) + "\" blocks nobody"};
}

}  // namespace storage
}  // namespace tenure
