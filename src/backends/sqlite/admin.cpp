// What operators ask and do, each on a connection of its own.
#include <algorithm>

#include "backends/shared/choices.hpp"
#include "backends/shared/headers_text.hpp"
#include "backends/shared/record_text.hpp"
#include "backends/sqlite/connection.hpp"
#include "backends/sqlite/fence_rows.hpp"
#include "backends/sqlite/inspection.hpp"
#include "backends/sqlite/schema.hpp"
#include "backends/sqlite/source.hpp"
#include "backends/sqlite/store.hpp"

namespace tenure::sqlite {
namespace {

/// Opens what is there, never creates, and finds the queue.
struct OpenQueue {
  std::unique_ptr<Connection> connection;
  Queue queue;
};

Result<std::unique_ptr<Connection>> openExisting(Options options) {
  options.create = false;
  return Connection::open(options);
}

/// A file that this process may not write can be read all the same. One that it may write is opened for that: what a
/// dead leader left half done is undone then.
Result<std::unique_ptr<Connection>> openToRead(const Options& options) {
  Result<std::unique_ptr<Connection>> connection = openExisting(options);
  const bool mayBeReadOnly =
      !connection && (connection.error().is(Errc::permissionDenied) || connection.error().is(Errc::unavailable));
  if (!mayBeReadOnly) return connection;
  Result<std::unique_ptr<Connection>> reading = Connection::look(options);
  if (!reading) return connection.error();
  if (const Result<void> schema = ensureSchema(**reading, false); !schema) return schema.error();
  return reading;
}

enum class For { reading, writing };

Result<OpenQueue> openQueue(const Options& options, For purpose) {
  auto connection = purpose == For::reading ? openToRead(options) : openExisting(options);
  if (!connection) return connection.error();
  Result<Queue> queue = readQueue(**connection, options.queue);
  if (!queue) return queue.error();
  return OpenQueue{std::move(*connection), std::move(*queue)};
}

/// Runs `change` in a transaction of its own; what it returns counts only when the commit has happened.
template <class Change>
auto inTransaction(Connection& connection, Change change) -> decltype(change()) {
  if (const Result<void> begun = connection.run("BEGIN IMMEDIATE"); !begun) return begun.error();
  auto result = change();
  if (!result) {
    connection.rollback();
    return result;
  }
  if (const Result<void> committed = connection.commit(); !committed) return committed.error();
  return result;
}

Result<DeadLetter> deadLetterFrom(const Query& row) {
  DeadLetter letter;
  letter.number = row.integer(0);
  letter.message.id.value = row.bytes(1);
  letter.message.group.value = row.bytes(2);
  letter.message.body = row.bytes(3);
  Result<Headers> headers = backends::headersFromText(row.bytes(4));
  if (!headers) return headers.error();
  letter.message.headers = std::move(*headers);
  letter.message.enqueuedAt = row.time(5);
  letter.message.position = row.integer(6);
  letter.reason = row.text(7);
  letter.attempts = static_cast<int>(row.integer(8));
  letter.firstAt = row.time(9);
  letter.diedAt = row.time(10);
  return letter;
}

/// Those that there are, oldest first.
Result<std::vector<std::int64_t>> chosen(Connection& connection, const Queue& queue, const LetterChoice& choice) {
  std::vector<std::int64_t> numbers;
  Query rows = connection.query(
      "SELECT number FROM tenure_dead_letter WHERE queue = ?1 AND (?2 = 0 OR grp = ?3) AND died_at < ?4 ORDER BY "
      "number",
      queue.number, choice.group ? 1 : 0, choice.group.value_or(GroupId{}).value,
      choice.diedBefore.value_or(WallTime::max()));
  for (;;) {
    const Result<bool> row = rows.next();
    if (!row) return row.error();
    if (!*row) return numbers;
    if (backends::isNamed(choice, rows.integer(0))) numbers.push_back(rows.integer(0));
  }
}

Result<int> purgeOne(Connection& connection, const Queue& queue, std::int64_t number) {
  return connection.change("DELETE FROM tenure_dead_letter WHERE number = ?1 AND queue = ?2", number, queue.number);
}

/// What would keep the message from being handled again goes away.
Result<int> pardonOne(Connection& connection, const Queue& queue, std::int64_t number) {
  // A key that is done belongs to another body that came under the same id.
  for (const std::string_view sql : {"DELETE FROM tenure_key WHERE state = 1 AND (consumer, id) IN"
                                     " (SELECT consumer, id FROM tenure_dead_letter WHERE number = ?1 AND queue = ?2)",
                                     "DELETE FROM tenure_attempt WHERE (consumer, id) IN"
                                     " (SELECT consumer, id FROM tenure_dead_letter WHERE number = ?1 AND queue = ?2)"})
    if (const Result<void> cleared = connection.run(sql, number, queue.number); !cleared) return cleared.error();
  Query letter =
      connection.query("SELECT 1 FROM tenure_dead_letter WHERE number = ?1 AND queue = ?2", number, queue.number);
  const Result<bool> there = letter.next();
  if (!there) return there.error();
  return *there ? 1 : 0;
}

/// And the message goes to the end of its queue.
Result<int> requeueOne(Connection& connection, const Queue& queue, std::int64_t number) {
  if (const Result<int> pardoned = pardonOne(connection, queue, number); !pardoned) return pardoned;
  if (const Result<void> moved =
          connection.run("UPDATE tenure_queue SET last = last + 1 WHERE number = ?1", queue.number);
      !moved)
    return moved.error();
  const Result<void> inserted = connection.run(
      "INSERT INTO tenure_message(n, id, grp, body, headers, enqueued_at)"
      " SELECT last, id, grp, body, replace(headers, ?4, ?5), ?3 FROM tenure_dead_letter AS d, tenure_queue AS q"
      " WHERE d.number = ?1 AND d.queue = ?2 AND q.number = ?2",
      number, queue.number, systemClock().wallNow(), backends::numberInText, backends::pastNumberInText);
  if (!inserted) return inserted.error();
  return purgeOne(connection, queue, number);
}

template <class Each>
Result<std::vector<std::int64_t>> forEachLetter(const Options& options, const LetterChoice& choice, Each each) {
  Result<OpenQueue> open = openQueue(options, For::writing);
  if (!open) return open.error();
  Connection& connection = *open->connection;
  return inTransaction(connection, [&]() -> Result<std::vector<std::int64_t>> {
    auto letters = chosen(connection, open->queue, choice);
    if (!letters) return letters.error();
    for (const std::int64_t number : *letters)
      if (const Result<int> changed = each(connection, open->queue, number); !changed) return changed.error();
    return letters;
  });
}

class Admin final : public IDatabaseAdmin {
 public:
  explicit Admin(Options options) : options_(std::move(options)) {}

  Result<Findings> inspect() override { return sqlite::inspect(options_); }
  Result<QueueStats> stats() override;
  Result<void> peek(std::size_t limit, const std::function<void(const Message&)>& each) override;
  Result<std::vector<InWorkRecord>> inWork() override;
  Result<std::vector<std::optional<std::string>>> state(const ElectionName& election,
                                                        std::span<const std::string> keys) override;
  Result<std::vector<FenceRow>> fenceRows() override;
  Result<void> rebaseFence(const FenceRow& expected, const EnsembleUuid& ensemble, std::int64_t generation,
                           const std::string& path) override;
  Result<void> moveTo(const FenceRow& from, const FenceRow& to) override;
  Result<std::vector<DeadLetter>> deadLetters(std::size_t limit, const LetterChoice& choice) override;
  Result<std::vector<std::int64_t>> requeueDeadLetters(const LetterChoice& choice) override {
    return forEachLetter(options_, choice, requeueOne);
  }
  Result<std::vector<std::int64_t>> pardonDeadLetters(const LetterChoice& choice) override {
    return forEachLetter(options_, choice, pardonOne);
  }
  Result<std::vector<std::int64_t>> purgeDeadLetters(const LetterChoice& choice) override {
    return forEachLetter(options_, choice, purgeOne);
  }
  Result<std::vector<FailingMessage>> failing() override;
  Result<void> release(const ConsumerName& consumer, const MessageId& id) override;
  Result<std::vector<LogLine>> log(const LogChoice& choice) override;

 private:
  Options options_;
};

Result<QueueStats> Admin::stats() {
  Result<OpenQueue> open = openQueue(options_, For::reading);
  if (!open) return open.error();
  const std::int64_t queue = open->queue.number;
  Query counted = open->connection->query(
      "SELECT count(*), coalesce(sum(length(body)), 0), min(enqueued_at),"
      " (SELECT count(*) FROM tenure_dead_letter WHERE queue = ?1),"
      " (SELECT count(*) FROM tenure_attempt WHERE id IN (SELECT id FROM tenure_message WHERE n > ?2 AND n <= ?3))"
      " FROM tenure_message WHERE n > ?2 AND n <= ?3",
      queue, positionIn(queue, 0), lastPositionIn(queue));
  const Result<bool> row = counted.next();
  if (!row) return row.error();
  QueueStats stats{.waiting = counted.integer(0),
                   .waitingBytes = counted.integer(1),
                   .deadLetters = counted.integer(3),
                   .retrying = counted.integer(4),
                   .oldest = std::nullopt,
                   .election = open->queue.owner.election};
  if (!counted.isNull(2)) stats.oldest = counted.time(2);
  return stats;
}

Result<void> Admin::peek(std::size_t limit, const std::function<void(const Message&)>& each) {
  Result<OpenQueue> open = openQueue(options_, For::reading);
  if (!open) return open.error();
  Query rows = open->connection->query(
      "SELECT n, id, grp, body, headers, enqueued_at FROM tenure_message WHERE n > ?1 AND n <= ?2 ORDER BY n LIMIT ?3",
      positionIn(open->queue.number, 0), lastPositionIn(open->queue.number), static_cast<std::int64_t>(limit));
  for (;;) {
    const Result<bool> row = rows.next();
    if (!row) return row.error();
    if (!*row) return {};
    const Result<Message> message = messageFrom(rows);
    if (!message) return message.error();
    each(*message);
  }
}

Result<std::vector<InWorkRecord>> Admin::inWork() {
  Result<OpenQueue> open = openQueue(options_, For::reading);
  if (!open) return open.error();
  std::vector<InWorkRecord> records;
  Query rows = open->connection->query("SELECT consumer, more, ids FROM tenure_in_work ORDER BY consumer");
  for (;;) {
    const Result<bool> row = rows.next();
    if (!row) return row.error();
    if (!*row) return records;
    records.push_back({ConsumerName{rows.text(0)}, backends::splitIds(rows.bytes(2)), rows.integer(1) != 0});
  }
}

Result<std::vector<std::optional<std::string>>> Admin::state(const ElectionName& election,
                                                             std::span<const std::string> keys) {
  Result<OpenQueue> open = openQueue(options_, For::reading);
  if (!open) return open.error();
  std::vector<std::optional<std::string>> values;
  for (const std::string& key : keys) {
    Query value =
        open->connection->query("SELECT value FROM tenure_state WHERE election = ?1 AND key = ?2", election.value, key);
    const Result<bool> found = value.next();
    if (!found) return found.error();
    values.push_back(*found ? std::optional(value.text(0)) : std::nullopt);
  }
  return values;
}

Result<std::vector<DeadLetter>> Admin::deadLetters(std::size_t limit, const LetterChoice& choice) {
  Result<OpenQueue> open = openQueue(options_, For::reading);
  if (!open) return open.error();
  const auto numbers = chosen(*open->connection, open->queue, choice);
  if (!numbers) return numbers.error();
  std::vector<DeadLetter> letters;
  for (const std::int64_t number : *numbers) {
    if (letters.size() == limit) break;
    Query rows = open->connection->query(
        "SELECT number, id, grp, body, headers, enqueued_at, position, reason, attempts, first_at, died_at"
        " FROM tenure_dead_letter WHERE number = ?1",
        number);
    const Result<bool> row = rows.next();
    if (!row) return row.error();
    if (!*row) continue;
    Result<DeadLetter> letter = deadLetterFrom(rows);
    if (!letter) return letter.error();
    letters.push_back(std::move(*letter));
  }
  return letters;
}

Result<std::vector<FailingMessage>> Admin::failing() {
  Result<OpenQueue> open = openQueue(options_, For::reading);
  if (!open) return open.error();
  std::vector<FailingMessage> failing;
  Query rows = open->connection->query(
      "SELECT id, attempts, last_error, first_at, last_at, standing, consumer FROM tenure_attempt"
      " ORDER BY consumer, id");
  for (;;) {
    const Result<bool> row = rows.next();
    if (!row) return row.error();
    if (!*row) return failing;
    failing.push_back({ConsumerName{rows.text(6)}, attemptFrom(rows)});
  }
}

Result<void> Admin::release(const ConsumerName& consumer, const MessageId& id) {
  Result<OpenQueue> open = openQueue(options_, For::writing);
  if (!open) return open.error();
  const Result<int> released = open->connection->change(
      "UPDATE tenure_attempt SET standing = 2 WHERE consumer = ?1 AND id = ?2 AND standing = 1", consumer.value,
      id.value);
  if (!released) return released.error();
  return *released == 1 ? Result<void>{} : backends::blocksNobody(id);
}

Result<std::vector<LogLine>> Admin::log(const LogChoice& choice) {
  Result<OpenQueue> open = openQueue(options_, For::reading);
  if (!open) return open.error();
  std::vector<LogLine> lines;
  Query rows = open->connection->query(
      "SELECT consumer, id, attempt, outcome, error, token, began_at, ended_at FROM tenure_log"
      " WHERE (?1 = 0 OR consumer = ?2) AND (?3 = 0 OR id = ?4) AND (?5 = 0 OR outcome = ?6) AND ended_at >= ?7"
      " ORDER BY ended_at DESC, consumer, n DESC LIMIT ?8",
      choice.consumer ? 1 : 0, choice.consumer.value_or(ConsumerName{}).value, choice.message ? 1 : 0,
      choice.message.value_or(MessageId{}).value, choice.end ? 1 : 0,
      static_cast<int>(choice.end.value_or(AttemptEnd::done)), choice.since, static_cast<std::int64_t>(choice.limit));
  for (;;) {
    const Result<bool> row = rows.next();
    if (!row) return row.error();
    if (!*row) break;
    lines.push_back({ConsumerName{rows.text(0)},
                     FencingToken{rows.integer(5)},
                     {.message = MessageId{rows.text(1)},
                      .attempt = static_cast<int>(rows.integer(2)),
                      .end = static_cast<AttemptEnd>(rows.integer(3)),
                      .error = rows.text(4),
                      .beganAt = rows.time(6),
                      .endedAt = rows.time(7)}});
  }
  std::reverse(lines.begin(), lines.end());
  return lines;
}

Result<std::vector<FenceRow>> Admin::fenceRows() {
  Result<std::unique_ptr<Connection>> connection = openToRead(options_);
  if (!connection) return connection.error();
  const auto stored = readFences(**connection);
  if (!stored) return stored.error();
  std::vector<FenceRow> rows;
  for (const StoredFence& fence : *stored) rows.push_back(fence.row);
  return rows;
}

Result<void> Admin::rebaseFence(const FenceRow& expected, const EnsembleUuid& ensemble, std::int64_t generation,
                                const std::string& path) {
  Result<std::unique_ptr<Connection>> opened = openExisting(options_);
  if (!opened) return opened.error();
  Connection& connection = **opened;
  return inTransaction(connection, [&]() -> Result<void> {
    const auto stored = readFence(connection, expected.election.value);
    if (!stored) return stored.error();
    const FenceRow found = stored->empty() ? FenceRow{} : stored->front().row;
    if (stored->size() > 1 || !backends::isSame(found, expected))
      return Error{Errc::versionMismatch, "the fence row is not the expected one any more"};
    if (generation <= found.generation)
      return Error{Errc::invalidArgument,
                   "generation " + std::to_string(generation) + " is not above " + std::to_string(found.generation)};
    FenceRow rebased = found;
    rebased.election = expected.election;
    rebased.ensemble = ensemble;
    rebased.generation = generation;
    rebased.path = path;
    return writeRebased(connection, rebased);
  });
}

Result<void> Admin::moveTo(const FenceRow& from, const FenceRow& to) {
  Result<std::unique_ptr<Connection>> opened = openExisting(options_);
  if (!opened) return opened.error();
  Connection& connection = **opened;
  return inTransaction(connection, [&]() -> Result<void> {
    const Result<Queue> queue = readQueue(connection, options_.queue);
    if (!queue) return queue.error();
    const auto stored = readFence(connection, from.election.value);
    if (!stored) return stored.error();
    const Result<bool> moves = backends::judgeMove(*stored, queue->owner, from, to);
    if (!moves) return moves.error();
    if (!*moves) return {};
    if (Result<void> owned = writeOwner(connection, queue->number, {to.election.value, to.path}); !owned) return owned;
    if (stored->empty()) return {};
    if (Result<void> moved = moveFence(connection, from, to); !moved) return moved;
    return moveState(connection, from, to);
  });
}

}  // namespace

std::unique_ptr<IDatabaseAdmin> openAdmin(const Options& options) { return std::make_unique<Admin>(options); }

}  // namespace tenure::sqlite
