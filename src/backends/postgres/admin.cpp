// What operators ask and do, each call on a session of its own.
#include <algorithm>

#include "backends/postgres/fence_rows.hpp"
#include "backends/postgres/inspection.hpp"
#include "backends/postgres/schema.hpp"
#include "backends/postgres/source.hpp"
#include "backends/postgres/store.hpp"
#include "backends/postgres/transaction.hpp"
#include "backends/shared/record_text.hpp"
#include "storage/choices.hpp"
#include "storage/headers_text.hpp"

namespace tenure::postgresql {
namespace {

using storage::StoredFence;

constexpr std::size_t peekedAtOnce = 16;  // they may be large

struct OpenQueue {
  std::unique_ptr<Connection> connection;
  Queue queue;
  std::string channel;
};

Result<std::unique_ptr<Connection>> openChecked(const Options& options) {
  Result<std::unique_ptr<Connection>> connection = Connection::open(options, "tenure");
  if (!connection) return connection;
  if (const Result<void> schema = checkSchema(**connection); !schema) return schema.error();
  return connection;
}

Result<OpenQueue> openQueue(const Options& options) {
  Result<std::unique_ptr<Connection>> connection = openChecked(options);
  if (!connection) return connection.error();
  if (const auto number = findQueue(**connection, options.queue); !number) return number.error();
  const Exchange found = (*connection)->exchange(std::vector{selectQueue(options.queue)});
  if (!found) return found.error();
  Queue queue = queueFrom(found.answers[0]);
  Result<std::string> channel = channelOf(**connection, queue.number);
  if (!channel) return channel.error();
  return OpenQueue{std::move(*connection), std::move(queue), std::move(*channel)};
}

/// Runs `change` in a transaction of its own; what it returns counts only when the commit has happened.
template <class Change>
auto inTransaction(Connection& connection, Change change) -> decltype(change()) {
  if (const Exchange begun = connection.exchange(std::vector{beginTransaction()}); !begun) return begun.error();
  auto result = change();
  if (!result) {
    connection.rollback();
    return result;
  }
  if (const Result<void> committed = commitOf(connection); !committed) return committed.error();
  return result;
}

Result<DeadLetter> deadLetterFrom(const Answer& rows, int row) {
  DeadLetter letter;
  letter.number = rows.integer(row, 0);
  letter.message.id.value = rows.text(row, 1);
  letter.message.group.value = rows.text(row, 2);
  letter.message.body = rows.text(row, 3);
  Result<Headers> headers = storage::headersFromText(rows.bytes(row, 4));
  if (!headers) return headers.error();
  letter.message.headers = std::move(*headers);
  letter.message.enqueuedAt = rows.time(row, 5);
  letter.message.position = rows.integer(row, 6);
  letter.reason = rows.text(row, 7);
  letter.attempts = static_cast<int>(rows.integer(row, 8));
  letter.firstAt = rows.time(row, 9);
  letter.diedAt = rows.time(row, 10);
  return letter;
}

/// Those that there are, oldest first; locked, where that is asked for, so that nobody else does something to them.
Result<std::vector<std::int64_t>> chosen(Connection& connection, const Queue& queue, const LetterChoice& choice,
                                         const char* lock) {
  const Result<Answer> rows = connection.ask(
      std::string("SELECT number FROM tenure_dead_letter WHERE queue = $1 AND ($2 = 0 OR grp = $3) AND died_at < $4"
                  " ORDER BY number ") +
          lock,
      queue.number, std::int64_t{choice.group ? 1 : 0}, Blob{choice.group ? choice.group->value : std::string_view{}},
      choice.diedBefore.value_or(WallTime::max()));
  if (!rows) return rows.error();
  std::vector<std::int64_t> numbers;
  for (int row = 0; row < rows->rows(); ++row)
    if (storage::isNamed(choice, rows->integer(row, 0))) numbers.push_back(rows->integer(row, 0));
  return numbers;
}

/// Each is run for one dead letter.
using Steps = std::vector<Command>;

Steps purge(const OpenQueue& open, std::int64_t number) {
  return {command("DELETE FROM tenure_dead_letter WHERE number = $1 AND queue = $2", number, open.queue.number)};
}

/// What would keep it from being handled again goes away. A key that is done belongs to another body that came under
/// the same id.
Steps pardon(const OpenQueue& open, std::int64_t number) {
  const std::int64_t queue = open.queue.number;
  return {command("DELETE FROM tenure_key WHERE state = 1 AND (consumer, id) IN"
                  " (SELECT consumer, id FROM tenure_dead_letter WHERE number = $1 AND queue = $2)",
                  number, queue),
          command("DELETE FROM tenure_attempt WHERE (consumer, id) IN"
                  " (SELECT consumer, id FROM tenure_dead_letter WHERE number = $1 AND queue = $2)",
                  number, queue)};
}

/// And the message goes to the end of its queue.
Steps requeue(const OpenQueue& open, std::int64_t number) {
  Steps steps = pardon(open, number);
  steps.push_back(
      command("WITH letter AS (DELETE FROM tenure_dead_letter WHERE number = $1 AND queue = $2"
              "  RETURNING id, grp, body, headers),"
              " place AS (UPDATE tenure_queue SET last = last + 1 WHERE number = $2 AND EXISTS (SELECT 1 FROM letter)"
              "  RETURNING last)"
              " INSERT INTO tenure_message(queue, n, id, grp, body, headers, enqueued_at)"
              " SELECT $2, last, id, grp, body, replace(headers, $4, $5), $3 FROM letter, place",
              number, open.queue.number, systemClock().wallNow(), storage::numberInText, storage::pastNumberInText));
  steps.push_back(command("SELECT pg_notify($1, '')", open.channel));
  return steps;
}

Result<std::vector<std::int64_t>> forEachLetter(const Options& options, const LetterChoice& choice,
                                                Steps (*stepsFor)(const OpenQueue&, std::int64_t)) {
  Result<OpenQueue> open = openQueue(options);
  if (!open) return open.error();
  Connection& connection = *open->connection;
  return inTransaction(connection, [&]() -> Result<std::vector<std::int64_t>> {
    auto letters = chosen(connection, open->queue, choice, "FOR UPDATE");
    if (!letters) return letters.error();
    for (const std::int64_t number : *letters)
      if (const Exchange done = connection.exchange(stepsFor(*open, number)); !done) return done.error();
    return letters;
  });
}

class Admin final : public IDatabaseAdmin {
 public:
  explicit Admin(Options options) : options_(std::move(options)) {}

  Result<Findings> inspect() override { return postgresql::inspect(options_); }
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
    return forEachLetter(options_, choice, requeue);
  }
  Result<std::vector<std::int64_t>> pardonDeadLetters(const LetterChoice& choice) override {
    return forEachLetter(options_, choice, pardon);
  }
  Result<std::vector<std::int64_t>> purgeDeadLetters(const LetterChoice& choice) override {
    return forEachLetter(options_, choice, purge);
  }
  Result<std::vector<FailingMessage>> failing() override;
  Result<void> release(const ConsumerName& consumer, const MessageId& id) override;
  Result<std::vector<LogLine>> log(const LogChoice& choice) override;

 private:
  Options options_;
};

Result<QueueStats> Admin::stats() {
  Result<OpenQueue> open = openQueue(options_);
  if (!open) return open.error();
  const Result<Answer> counted = open->connection->ask(
      "SELECT count(*), coalesce(sum(octet_length(body)), 0)::bigint, min(enqueued_at),"
      " (SELECT count(*) FROM tenure_dead_letter WHERE queue = $1),"
      " (SELECT count(*) FROM tenure_attempt WHERE id IN (SELECT id FROM tenure_message WHERE queue = $1))"
      " FROM tenure_message WHERE queue = $1",
      open->queue.number);
  if (!counted) return counted.error();
  QueueStats stats{.waiting = counted->integer(0, 0),
                   .waitingBytes = counted->integer(0, 1),
                   .deadLetters = counted->integer(0, 3),
                   .retrying = counted->integer(0, 4),
                   .oldest = std::nullopt,
                   .election = open->queue.owner.election};
  if (!counted->isNull(0, 2)) stats.oldest = counted->time(0, 2);
  return stats;
}

Result<void> Admin::peek(std::size_t limit, const std::function<void(const Message&)>& each) {
  Result<OpenQueue> open = openQueue(options_);
  if (!open) return open.error();
  std::int64_t last = 0;
  for (std::size_t seen = 0; seen < limit;) {
    const std::size_t some = std::min(limit - seen, peekedAtOnce);
    const Result<Answer> rows = open->connection->ask(
        "SELECT n, id, grp, body, headers, enqueued_at FROM tenure_message WHERE queue = $1 AND n > $2 ORDER BY n LIMIT"
        " $3",
        open->queue.number, last, static_cast<std::int64_t>(some));
    if (!rows) return rows.error();
    for (int row = 0; row < rows->rows(); ++row) {
      const Result<Message> message = messageFrom(*rows, row);
      if (!message) return message.error();
      last = message->position;
      each(*message);
    }
    if (static_cast<std::size_t>(rows->rows()) < some) return {};
    seen += some;
  }
  return {};
}

Result<std::vector<InWorkRecord>> Admin::inWork() {
  Result<OpenQueue> open = openQueue(options_);
  if (!open) return open.error();
  const Result<Answer> rows = open->connection->ask("SELECT consumer, more, ids FROM tenure_in_work ORDER BY consumer");
  if (!rows) return rows.error();
  std::vector<InWorkRecord> records;
  for (int row = 0; row < rows->rows(); ++row)
    records.push_back(
        {ConsumerName{rows->text(row, 0)}, backends::splitIds(rows->bytes(row, 2)), rows->integer(row, 1) != 0});
  return records;
}

Result<std::vector<std::optional<std::string>>> Admin::state(const ElectionName& election,
                                                             std::span<const std::string> keys) {
  Result<OpenQueue> open = openQueue(options_);
  if (!open) return open.error();
  std::vector<std::optional<std::string>> values;
  for (const std::string& key : keys) {
    const Result<Answer> value = open->connection->ask(
        "SELECT value FROM tenure_state WHERE election = $1 AND key = $2", election.value, Blob{key});
    if (!value) return value.error();
    values.push_back(value->rows() == 1 ? std::optional(value->text(0, 0)) : std::nullopt);
  }
  return values;
}

Result<std::vector<DeadLetter>> Admin::deadLetters(std::size_t limit, const LetterChoice& choice) {
  Result<OpenQueue> open = openQueue(options_);
  if (!open) return open.error();
  auto numbers = chosen(*open->connection, open->queue, choice, "");
  if (!numbers) return numbers.error();
  numbers->resize(std::min(limit, numbers->size()));
  std::vector<DeadLetter> letters;
  for (const std::int64_t number : *numbers) {
    const Result<Answer> rows = open->connection->ask(
        "SELECT number, id, grp, body, headers, enqueued_at, position, reason, attempts, first_at, died_at"
        " FROM tenure_dead_letter WHERE number = $1",
        number);
    if (!rows) return rows.error();
    if (rows->rows() == 0) continue;
    Result<DeadLetter> letter = deadLetterFrom(*rows, 0);
    if (!letter) return letter.error();
    letters.push_back(std::move(*letter));
  }
  return letters;
}

Result<std::vector<FailingMessage>> Admin::failing() {
  Result<OpenQueue> open = openQueue(options_);
  if (!open) return open.error();
  const Result<Answer> rows = open->connection->ask(
      "SELECT id, attempts, last_error, first_at, last_at, standing, consumer FROM tenure_attempt"
      " ORDER BY consumer, id");
  if (!rows) return rows.error();
  std::vector<FailingMessage> failing;
  for (int row = 0; row < rows->rows(); ++row)
    failing.push_back({ConsumerName{rows->text(row, 6)}, attemptFrom(*rows, row)});
  return failing;
}

Result<void> Admin::release(const ConsumerName& consumer, const MessageId& id) {
  Result<OpenQueue> open = openQueue(options_);
  if (!open) return open.error();
  const Result<Answer> released =
      open->connection->ask("UPDATE tenure_attempt SET standing = 2 WHERE consumer = $1 AND id = $2 AND standing = 1",
                            consumer.value, Blob{id.value});
  if (!released) return released.error();
  return released->changed() == 1 ? Result<void>{} : storage::blocksNobody(id);
}

Result<std::vector<LogLine>> Admin::log(const LogChoice& choice) {
  Result<OpenQueue> open = openQueue(options_);
  if (!open) return open.error();
  const Result<Answer> rows = open->connection->ask(
      "SELECT consumer, id, attempt, outcome, error, token, began_at, ended_at FROM tenure_log"
      " WHERE ($1 = 0 OR consumer = $2) AND ($3 = 0 OR id = $4) AND ($5 = 0 OR outcome = $6) AND ended_at >= $7"
      " ORDER BY ended_at DESC, consumer, n DESC LIMIT $8",
      std::int64_t{choice.consumer ? 1 : 0},
      choice.consumer ? std::string_view(choice.consumer->value) : std::string_view{},
      std::int64_t{choice.message ? 1 : 0}, Blob{choice.message ? choice.message->value : std::string_view{}},
      std::int64_t{choice.end ? 1 : 0}, static_cast<std::int64_t>(choice.end.value_or(AttemptEnd::done)), choice.since,
      static_cast<std::int64_t>(choice.limit));
  if (!rows) return rows.error();
  std::vector<LogLine> lines;
  for (int row = rows->rows() - 1; row >= 0; --row)
    lines.push_back({ConsumerName{rows->text(row, 0)},
                     FencingToken{rows->integer(row, 5)},
                     {.message = MessageId{rows->text(row, 1)},
                      .attempt = static_cast<int>(rows->integer(row, 2)),
                      .end = static_cast<AttemptEnd>(rows->integer(row, 3)),
                      .error = rows->text(row, 4),
                      .beganAt = rows->time(row, 6),
                      .endedAt = rows->time(row, 7)}});
  return lines;
}

Result<std::vector<FenceRow>> Admin::fenceRows() {
  Result<std::unique_ptr<Connection>> connection = openChecked(options_);
  if (!connection) return connection.error();
  const Exchange read = (*connection)->exchange(std::vector{selectFences()});
  if (!read) return read.error();
  std::vector<FenceRow> rows;
  for (const StoredFence& fence : fencesFrom(read.answers[0])) rows.push_back(fence.row);
  return rows;
}

Result<void> Admin::rebaseFence(const FenceRow& expected, const EnsembleUuid& ensemble, std::int64_t generation,
                                const std::string& path) {
  Result<std::unique_ptr<Connection>> opened = openChecked(options_);
  if (!opened) return opened.error();
  Connection& connection = **opened;
  return inTransaction(connection, [&]() -> Result<void> {
    const Exchange read = connection.exchange(
        std::vector{awaitTurn(expected.election.value, Turn::alone), lockFence(expected.election.value)});
    if (!read) return read.error();
    const auto stored = fencesFrom(read.answers[1]);
    const FenceRow found = stored.empty() ? FenceRow{} : stored.front().row;
    if (stored.size() > 1 || !storage::isSame(found, expected))
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
  Result<OpenQueue> open = openQueue(options_);
  if (!open) return open.error();
  Connection& connection = *open->connection;
  return inTransaction(connection, [&]() -> Result<void> {
    const Exchange read = connection.exchange(std::vector{awaitTurn(from.election.value, Turn::alone),
                                                          lockFence(from.election.value), selectQueue(options_.queue)});
    if (!read) return read.error();
    const auto stored = fencesFrom(read.answers[1]);
    const Queue queue = queueFrom(read.answers[2]);
    const Result<bool> moves = storage::judgeMove(stored, queue.owner, from, to);
    if (!moves) return moves.error();
    if (!*moves) return {};
    const Result<Answer> owned =
        connection.ask("UPDATE tenure_queue SET election = $2, path = $3 WHERE number = $1 AND election = $4",
                       queue.number, to.election.value, to.path, from.election.value);
    if (!owned) return owned.error();
    return stored.empty() ? Result<void>{} : writeMove(connection, from, to);
  });
}

}  // namespace

std::unique_ptr<IDatabaseAdmin> openAdmin(const Options& options) { return std::make_unique<Admin>(options); }

}  // namespace tenure::postgresql
