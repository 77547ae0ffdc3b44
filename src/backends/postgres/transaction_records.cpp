// What a transaction writes down of messages and attempts: none of it needs an answer, but what is removed is counted.
#include "backends/postgres/store.hpp"
#include "backends/postgres/transaction.hpp"
#include "storage/headers_text.hpp"

namespace tenure::postgresql {

Result<void> FencedTransaction::recordInWork(const ConsumerName& consumer, std::span<const MessageId> ids, bool more) {
  std::string joined;
  for (const MessageId& id : ids) joined.append(id.value).push_back('\0');
  return later(
      command("INSERT INTO tenure_in_work(consumer, token, more, ids) VALUES($1, $2, $3, $4)"
              " ON CONFLICT(consumer) DO UPDATE SET token = $2, more = $3, ids = $4",
              consumer.value, term_.token().value, std::int64_t{more ? 1 : 0}, Blob{joined}));
}

Result<void> FencedTransaction::recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) {
  return later(command(
      "INSERT INTO tenure_attempt AS known(consumer, id, attempts, last_error, first_at, last_at, standing)"
      " VALUES($1, $2, $3, $4, $5, $6, $7) ON CONFLICT(consumer, id) DO UPDATE"
      " SET attempts = $3, last_error = $4, first_at = $5, last_at = $6, standing = greatest(known.standing, $7)",
      consumer.value, Blob{record.id.value}, std::int64_t{record.attempts}, Blob{record.lastError}, record.firstAt,
      record.lastAt, static_cast<std::int64_t>(record.standing)));
}

Result<void> FencedTransaction::clearAttempt(const ConsumerName& consumer, const MessageId& id) {
  return later(command("DELETE FROM tenure_attempt WHERE consumer = $1 AND id = $2", consumer.value, Blob{id.value}));
}

Result<void> FencedTransaction::deadLetter(const ConsumerName& consumer, const DeadLetter& letter) {
  const Message& message = letter.message;
  return later(command(
      "INSERT INTO tenure_dead_letter(queue, consumer, id, grp, body, headers, enqueued_at, position, reason, attempts,"
      " first_at, died_at) VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
      store_.queueNumber(), consumer.value, Blob{message.id.value}, Blob{message.group.value}, Blob{message.body},
      storage::headersToTextAnyhow(message.headers), message.enqueuedAt, message.position, Blob{letter.reason},
      std::int64_t{letter.attempts}, letter.firstAt, letter.diedAt));
}

Result<void> FencedTransaction::logAttempts(const ConsumerName& consumer, std::span<const LoggedAttempt> attempts) {
  for (const LoggedAttempt& each : attempts) {
    Result<void> kept = later(command(
        "INSERT INTO tenure_log(consumer, id, attempt, outcome, error, token, began_at, ended_at)"
        " VALUES($1, $2, $3, $4, $5, $6, $7, $8)",
        consumer.value, Blob{each.message.value}, std::int64_t{each.attempt}, static_cast<std::int64_t>(each.end),
        Blob{each.error}, term_.token().value, each.beganAt, each.endedAt));
    if (!kept) return kept;
  }
  return {};
}

Result<std::size_t> FencedTransaction::removeLog(const LogPruning& step, std::int64_t upTo) {
  const Result<Answer> removed =
      now(command("DELETE FROM tenure_log WHERE consumer = $1 AND n IN (SELECT n FROM"
                  " (SELECT n, ended_at FROM tenure_log WHERE consumer = $1 ORDER BY n LIMIT $3) AS oldest"
                  " WHERE ended_at < $2 OR n <= $4)",
                  step.consumer.value, step.before, static_cast<std::int64_t>(step.atMost), upTo));
  if (!removed) return removed.error();
  return static_cast<std::size_t>(removed->changed());
}

Result<void> FencedTransaction::deleteMessages(std::span<const Message> messages) {
  return messages.empty() ? Result<void>{} : later(deleteByPosition(store_.queueNumber(), messages));
}

Result<std::size_t> FencedTransaction::removeKeys(const Pruning& step, const std::string& last) {
  if (Result<void> writable = ready(); !writable) return writable.error();
  const Result<Answer> removed =
      now(command("DELETE FROM tenure_key WHERE consumer = $1 AND id > $2 AND id <= $3 AND at < $4",
                  step.consumer.value, Blob{step.after}, Blob{last}, step.before));
  if (!removed) return removed.error();
  return static_cast<std::size_t>(removed->changed());
}

AttemptRecord attemptFrom(const Answer& rows, int row) {
  return {MessageId{rows.text(row, 0)},
          static_cast<int>(rows.integer(row, 1)),
          rows.text(row, 2),
          rows.time(row, 3),
          rows.time(row, 4),
          static_cast<Standing>(rows.integer(row, 5))};
}

}  // namespace tenure::postgresql
