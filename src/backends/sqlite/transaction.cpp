#include "backends/sqlite/transaction.hpp"

#include "backends/shared/headers_text.hpp"
#include "backends/shared/state_limits.hpp"
#include "backends/sqlite/store.hpp"
#include "backends/sqlite/user_sql.hpp"
#include "base/assert.hpp"

namespace tenure::sqlite {
namespace {

Blob blobOf(const BodyDigest& digest) noexcept {
  return {{reinterpret_cast<const char*>(digest.data()), digest.size()}};
}

}  // namespace

FencedTransaction::FencedTransaction(Store& store, std::shared_ptr<Connection> connection, Term term)
    : store_(store), connection_(std::move(connection)), term_(std::move(term)) {}

Result<void> FencedTransaction::requireOpen() const {
  if (broken_) return *broken_;
  if (state_ == State::open && connection_->inTransaction()) return {};
  return Error{Errc::storeFailed,
               state_ == State::over ? "the transaction is over" : "a statement rolled the whole transaction back"};
}

Result<void> FencedTransaction::standing() const { return state_ == State::idle ? Result<void>{} : requireOpen(); }

Result<void> FencedTransaction::ready() {
  if (state_ == State::idle) {
    if (Result<void> begun = beginUnderFence(); !begun) return begun;
  } else if (Result<void> open = requireOpen(); !open) {
    return open;
  }
  return markWanted_ ? placeMark() : Result<void>{};
}

Result<void> FencedTransaction::beginUnderFence() {
  Result<void> begun = connection_->run("BEGIN IMMEDIATE");
  if (begun) {
    state_ = State::open;
    at_ = systemClock().wallNow();
    begun = store_.passFence(*connection_);
  }
  if (!begun) {
    rollback();
    broken_ = begun.error();
  }
  return begun;
}

Result<void> FencedTransaction::placeMark() {
  if (markPlaced_)
    if (Result<void> released = connection_->run("RELEASE tenure_mark"); !released) return released;
  markPlaced_ = false;
  if (Result<void> placed = connection_->run("SAVEPOINT tenure_mark"); !placed) return placed;
  markPlaced_ = true;
  markWanted_ = false;
  return {};
}

Result<void> FencedTransaction::mark() {
  if (Result<void> sound = standing(); !sound) return sound;
  markWanted_ = true;
  return {};
}

Result<void> FencedTransaction::rollbackToMark() {
  TENURE_ASSERT(markWanted_ || markPlaced_);
  if (state_ == State::idle) return {};
  if (Result<void> open = requireOpen(); !open) return open;
  return markWanted_ ? Result<void>{} : connection_->run("ROLLBACK TO tenure_mark");
}

Error FencedTransaction::heard(Error error) {
  if (error.is(Errc::storeFull) || error.is(Errc::unavailable)) broken_ = error;
  return error;
}

Result<std::optional<std::string>> FencedTransaction::get(std::string_view key) {
  if (const Result<void> checked = backends::checkStateKey(key); !checked) return checked.error();
  if (const Result<void> open = ready(); !open) return open.error();
  Query value = connection_->query("SELECT value FROM tenure_state WHERE election = ?1 AND key = ?2",
                                   term_.identity().election.value, key);
  const Result<bool> found = value.next();
  if (!found) return heard(found.error());
  return *found ? std::optional(value.text(0)) : std::nullopt;
}

Result<void> FencedTransaction::put(std::string_view key, std::string_view value) {
  if (Result<void> checked = backends::checkState(key, value); !checked) return checked;
  if (Result<void> open = ready(); !open) return open;
  const Result<void> put = connection_->run(
      "INSERT INTO tenure_state(election, key, value) VALUES(?1, ?2, ?3)"
      " ON CONFLICT(election, key) DO UPDATE SET value = ?3",
      term_.identity().election.value, key, Blob{value});
  return put ? put : heard(put.error());
}

Result<void> FencedTransaction::erase(std::string_view key) {
  if (Result<void> checked = backends::checkStateKey(key); !checked) return checked;
  if (Result<void> open = ready(); !open) return open;
  const Result<void> erased = connection_->run("DELETE FROM tenure_state WHERE election = ?1 AND key = ?2",
                                               term_.identity().election.value, key);
  return erased ? erased : heard(erased.error());
}

Result<std::vector<SqlRow>> FencedTransaction::execute(std::string_view sql, std::span<const SqlParameter> parameters) {
  if (const Result<void> open = ready(); !open) return open.error();
  Result<std::vector<SqlRow>> rows = executeUserSql(*connection_, sql, parameters);
  if (!rows) rows = heard(rows.error());
  const Result<void> stillOpen = requireOpen();
  if (!rows || stillOpen) return rows;
  return stillOpen.error();
}

Result<void> FencedTransaction::check(std::string_view sql, std::span<const SqlParameter> parameters) {
  if (Result<void> sound = standing(); !sound) return sound;
  return checkUserSql(*connection_, sql, parameters);
}

Result<Admission> FencedTransaction::admit(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest,
                                           MessageFate fate) {
  if (const Result<void> open = ready(); !open) return open.error();
  const Result<int> added = connection_->change(
      "INSERT INTO tenure_key(consumer, id, state, digest, token, at) VALUES(?1, ?2, ?3, ?4, ?5, ?6)"
      " ON CONFLICT(consumer, id) DO NOTHING",
      consumer.value, id.value, fate == MessageFate::dead ? 1 : 0, blobOf(digest), term_.token().value, at_);
  if (!added) return added.error();
  return *added == 1 ? Admission::fresh : admissionOf(consumer, id, digest);
}

Result<Admission> FencedTransaction::admissionOf(const ConsumerName& consumer, const MessageId& id,
                                                 const BodyDigest& digest) {
  Query known =
      connection_->query("SELECT digest FROM tenure_key WHERE consumer = ?1 AND id = ?2", consumer.value, id.value);
  const Result<bool> row = known.next();
  if (!row) return row.error();
  return known.bytes(0) == blobOf(digest).bytes ? Admission::duplicate : Admission::reused;
}

Result<void> FencedTransaction::recordInWork(const ConsumerName& consumer, std::span<const MessageId> ids, bool more) {
  std::string joined;
  for (const MessageId& id : ids) joined.append(id.value).push_back('\0');
  if (Result<void> open = ready(); !open) return open;
  return connection_->run(
      "INSERT INTO tenure_in_work(consumer, token, more, ids) VALUES(?1, ?2, ?3, ?4)"
      " ON CONFLICT(consumer) DO UPDATE SET token = ?2, more = ?3, ids = ?4",
      consumer.value, term_.token().value, more ? 1 : 0, Blob{joined});
}

Result<void> FencedTransaction::recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) {
  if (Result<void> open = ready(); !open) return open;
  return connection_->run(
      "INSERT INTO tenure_attempt(consumer, id, attempts, last_error, first_at, last_at, standing)"
      " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT(consumer, id) DO UPDATE"
      " SET attempts = ?3, last_error = ?4, first_at = ?5, last_at = ?6, standing = max(standing, ?7)",
      consumer.value, record.id.value, record.attempts, record.lastError, record.firstAt, record.lastAt,
      static_cast<int>(record.standing));
}

Result<void> FencedTransaction::clearAttempt(const ConsumerName& consumer, const MessageId& id) {
  if (Result<void> open = ready(); !open) return open;
  return connection_->run("DELETE FROM tenure_attempt WHERE consumer = ?1 AND id = ?2", consumer.value, id.value);
}

Result<void> FencedTransaction::deadLetter(const ConsumerName& consumer, const DeadLetter& letter) {
  if (Result<void> open = ready(); !open) return open;
  const Message& message = letter.message;
  return connection_->run(
      "INSERT INTO tenure_dead_letter(queue, consumer, id, grp, body, headers, enqueued_at, position, reason, attempts,"
      " first_at, died_at) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
      store_.queueNumber(), consumer.value, message.id.value, message.group.value, Blob{message.body},
      backends::headersToTextAnyhow(message.headers), message.enqueuedAt, message.position, letter.reason,
      letter.attempts, letter.firstAt, letter.diedAt);
}

Result<void> FencedTransaction::logAttempts(const ConsumerName& consumer, std::span<const LoggedAttempt> attempts) {
  if (Result<void> open = ready(); !open) return open;
  for (const LoggedAttempt& each : attempts) {
    Result<void> logged = connection_->run(
        "INSERT INTO tenure_log(consumer, n, id, attempt, outcome, error, token, began_at, ended_at)"
        " VALUES(?1, (SELECT coalesce(max(n), 0) + 1 FROM tenure_log WHERE consumer = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        consumer.value, each.message.value, each.attempt, static_cast<int>(each.end), each.error, term_.token().value,
        each.beganAt, each.endedAt);
    if (!logged) return logged;
  }
  return {};
}

Result<std::size_t> FencedTransaction::removeLog(const LogPruning& step, std::int64_t upTo) {
  if (const Result<void> writable = ready(); !writable) return writable.error();
  const Result<int> removed = connection_->change(
      "DELETE FROM tenure_log WHERE consumer = ?1 AND n IN (SELECT n FROM"
      " (SELECT n, ended_at FROM tenure_log WHERE consumer = ?1 ORDER BY n LIMIT ?3) WHERE ended_at < ?2 OR n <= ?4)",
      step.consumer.value, step.before, static_cast<std::int64_t>(step.atMost), upTo);
  if (!removed) return removed.error();
  return static_cast<std::size_t>(*removed);
}

Result<void> FencedTransaction::deleteMessages(std::span<const Message> messages) {
  if (messages.empty()) return {};
  if (Result<void> open = ready(); !open) return open;
  return deleteByPosition(*connection_, messages);
}

Result<std::size_t> FencedTransaction::removeKeys(const Pruning& step, const std::string& last) {
  if (const Result<void> writable = ready(); !writable) return writable.error();
  const Result<int> removed =
      connection_->change("DELETE FROM tenure_key WHERE consumer = ?1 AND id > ?2 AND id <= ?3 AND at < ?4",
                          step.consumer.value, step.after, last, step.before);
  if (!removed) return removed.error();
  return static_cast<std::size_t>(*removed);
}

Result<void> FencedTransaction::commit() {
  TENURE_ASSERT(state_ != State::over);
  if (state_ == State::idle) {
    state_ = State::over;
    return {};
  }
  Result<void> committed = requireOpen();
  if (committed) committed = store_.commit(*connection_);
  rollback();
  return committed;
}

void FencedTransaction::rollback() noexcept {
  if (state_ == State::open) connection_->rollback();
  state_ = State::over;
}

}  // namespace tenure::sqlite
