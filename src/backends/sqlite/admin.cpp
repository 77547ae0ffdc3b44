// What operators ask and do, each on a connection of its own.
#include "backends/shared/headers_text.hpp"
#include "backends/sqlite/connection.hpp"
#include "backends/sqlite/fence_rows.hpp"
#include "backends/sqlite/inspection.hpp"
#include "backends/sqlite/schema.hpp"

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

Result<OpenQueue> openQueue(const Options& options) {
  Result<std::unique_ptr<Connection>> connection = openExisting(options);
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

/// The numbers themselves, or those of every dead letter of the queue when none is given.
Result<std::vector<std::int64_t>> chosen(Connection& connection, const Queue& queue,
                                         const std::vector<std::int64_t>& numbers) {
  if (!numbers.empty()) return numbers;
  std::vector<std::int64_t> all;
  Query rows = connection.query("SELECT number FROM tenure_dead_letter WHERE queue = ?1 ORDER BY number", queue.number);
  for (;;) {
    const Result<bool> row = rows.next();
    if (!row) return row.error();
    if (!*row) return all;
    all.push_back(rows.integer(0));
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
      " SELECT last, id, grp, body, headers, ?3 FROM tenure_dead_letter AS d, tenure_queue AS q"
      " WHERE d.number = ?1 AND d.queue = ?2 AND q.number = ?2",
      number, queue.number, systemClock().wallNow());
  if (!inserted) return inserted.error();
  return purgeOne(connection, queue, number);
}

template <class Each>
Result<std::size_t> forEachLetter(const Options& options, const std::vector<std::int64_t>& numbers, Each each) {
  Result<OpenQueue> open = openQueue(options);
  if (!open) return open.error();
  Connection& connection = *open->connection;
  return inTransaction(connection, [&]() -> Result<std::size_t> {
    const auto letters = chosen(connection, open->queue, numbers);
    if (!letters) return letters.error();
    std::size_t count = 0;
    for (const std::int64_t number : *letters) {
      const Result<int> changed = each(connection, open->queue, number);
      if (!changed) return changed.error();
      count += static_cast<std::size_t>(*changed);
    }
    return count;
  });
}

bool isSame(const FenceRow& a, const FenceRow& b) noexcept {
  return a.ensemble == b.ensemble && a.generation == b.generation && a.token == b.token && a.path == b.path &&
         a.candidate == b.candidate;
}

Result<void> writeRebased(Connection& connection, const FenceRow& row) {
  const ProcessIdentity& holder = row.holder;
  Result<void> removed = connection.run("DELETE FROM tenure_fence WHERE election = ?1", row.election.value);
  if (!removed) return removed;
  Result<void> written = connection.run(
      "INSERT INTO tenure_fence(election, ensemble, generation, token, seq, path, candidate, host, pid, start_time,"
      " boot_id, pid_namespace, claimed_at) VALUES(?1, ?2, ?3, 0, 0, ?4, '', ?5, ?6, ?7, ?8, ?9, ?10)",
      row.election.value, row.ensemble.value, row.generation, row.path, holder.host, holder.pid, holder.startTime,
      holder.bootId, static_cast<std::int64_t>(holder.pidNamespace), systemClock().wallNow());
  if (!written) return written;
  return connection.run("UPDATE tenure_queue SET path = ?1 WHERE election = ?2", row.path, row.election.value);
}

class Admin final : public IDatabaseAdmin {
 public:
  explicit Admin(Options options) : options_(std::move(options)) {}

  Result<Findings> inspect() override { return sqlite::inspect(options_); }
  Result<QueueStats> stats() override;
  Result<std::vector<FenceRow>> fenceRows() override;
  Result<void> rebaseFence(const FenceRow& expected, const EnsembleUuid& ensemble, std::int64_t generation,
                           const std::string& path) override;
  Result<std::vector<DeadLetter>> deadLetters(std::size_t limit) override;
  Result<std::size_t> requeueDeadLetters(const std::vector<std::int64_t>& numbers) override {
    return forEachLetter(options_, numbers, requeueOne);
  }
  Result<std::size_t> pardonDeadLetters(const std::vector<std::int64_t>& numbers) override {
    return forEachLetter(options_, numbers, pardonOne);
  }
  Result<std::size_t> purgeDeadLetters(const std::vector<std::int64_t>& numbers) override {
    return forEachLetter(options_, numbers, purgeOne);
  }

 private:
  Options options_;
};

Result<QueueStats> Admin::stats() {
  Result<OpenQueue> open = openQueue(options_);
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

Result<std::vector<DeadLetter>> Admin::deadLetters(std::size_t limit) {
  Result<OpenQueue> open = openQueue(options_);
  if (!open) return open.error();
  std::vector<DeadLetter> letters;
  Query rows = open->connection->query(
      "SELECT number, id, grp, body, headers, enqueued_at, position, reason, attempts, first_at, died_at"
      " FROM tenure_dead_letter WHERE queue = ?1 ORDER BY number LIMIT ?2",
      open->queue.number, static_cast<std::int64_t>(limit));
  for (;;) {
    const Result<bool> row = rows.next();
    if (!row) return row.error();
    if (!*row) return letters;
    Result<DeadLetter> letter = deadLetterFrom(rows);
    if (!letter) return letter.error();
    letters.push_back(std::move(*letter));
  }
}

Result<std::vector<FenceRow>> Admin::fenceRows() {
  Result<std::unique_ptr<Connection>> connection = openExisting(options_);
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
    if (stored->size() > 1 || !isSame(found, expected))
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

}  // namespace

std::unique_ptr<IDatabaseAdmin> openAdmin(const Options& options) { return std::make_unique<Admin>(options); }

}  // namespace tenure::sqlite
