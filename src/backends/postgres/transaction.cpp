#include "backends/postgres/transaction.hpp"

#include <iterator>

#include "backends/postgres/fence_rows.hpp"
#include "backends/postgres/statement_check.hpp"
#include "backends/postgres/store.hpp"
#include "backends/postgres/user_sql.hpp"
#include "backends/shared/state_limits.hpp"
#include "base/assert.hpp"

namespace tenure::postgresql {
namespace {

// What travels together holds the fence's lock all the way: not longer than a claim waits before it ends its holder.
constexpr std::chrono::milliseconds slowExchange{500};
constexpr std::size_t mostKeptBack = 256;

constexpr const char* addKey =
    "INSERT INTO tenure_key(consumer, id, state, digest, token, at)"
    " VALUES($1, $2, $3, $4, $5, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)";
constexpr const char* addKeyUnlessThere =
    "INSERT INTO tenure_key(consumer, id, state, digest, token, at)"
    " VALUES($1, $2, $3, $4, $5, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)"
    " ON CONFLICT(consumer, id) DO NOTHING";

Blob blobOf(const BodyDigest& digest) noexcept {
  return {{reinterpret_cast<const char*>(digest.data()), digest.size()}};
}

/// What the failure of a send that ended in a COMMIT says: whether the COMMIT itself may have happened.
Error commitFailure(const Connection& connection, const Failure& failure, std::size_t commit) {
  const bool reached = failure.sqlState.empty() || failure.command == commit;
  if (connection.isLost() && reached) return {Errc::outcomeUnknown, failure.error.detail};
  return failure.error;
}

Result<void> checkCommitted(const Connection& connection, const Answer& answer) {
  if (answer.tag() != "COMMIT") return Error{Errc::storeFailed, "the transaction was rolled back instead"};
  // A wait for synchronous standbys that was cut short is only warned of.
  if (!connection.warning().empty()) return Error{Errc::outcomeUnknown, connection.warning()};
  return {};
}

}  // namespace

Command selectKey(const ConsumerName& consumer, const MessageId& id) {
  return command("SELECT digest FROM tenure_key WHERE consumer = $1 AND id = $2", consumer.value, Blob{id.value});
}

Admission admissionOf(const Answer& key, const BodyDigest& digest) {
  if (key.rows() == 0) return Admission::fresh;
  return key.bytes(0, 0) == blobOf(digest).bytes ? Admission::duplicate : Admission::reused;
}

Result<void> commitOf(Connection& connection) {
  const Exchange committed = connection.exchange(std::vector{command("COMMIT")});
  if (!committed) return commitFailure(connection, *committed.failure, 0);
  return checkCommitted(connection, committed.answers[0]);
}

Result<void> FencedTransaction::standing() const {
  if (state_ != State::over) return {};
  return why_;
}

Error FencedTransaction::end(Error why) {
  rollback();
  why_ = std::move(why);
  return why_;
}

Result<void> FencedTransaction::requireConnection() {
  if (connection_) return {};
  auto connection = store_.session();
  if (!connection) return end(connection.error());
  connection_ = std::move(*connection);
  return {};
}

// --- what precedes a write

Result<void> FencedTransaction::ready() {
  if (Result<void> sound = standing(); !sound) return sound;
  if (state_ == State::idle) {
    state_ = State::open;
    kept_ = store_.passFence();
  }
  if (mark_ == Mark::wanted) {
    mark_ = Mark::held;
    markAt_ = kept_.size();
    onlyKeysSinceMark_ = true;
    pointPlaced_ = false;
    keysSinceMark_.clear();
  }
  return {};
}

void FencedTransaction::placeMark() {
  if (mark_ != Mark::held) return;
  const auto place = [this](const char* sql) {
    kept_.insert(kept_.begin() + static_cast<std::ptrdiff_t>(markAt_++), command(sql));
  };
  if (savepointThere_) place("RELEASE tenure_mark");
  place("SAVEPOINT tenure_mark");
  ++savepoints_;
  mark_ = Mark::placed;
  savepointThere_ = true;
}

/// Of one message's many statements only the first have a point to go back to.
void FencedTransaction::placeStatementPoint() {
  isWithoutPoint_ = !isRightBehindMark() && isFull();
  if (isRightBehindMark() || isWithoutPoint_) return;
  if (pointPlaced_) kept_.push_back(command("RELEASE tenure_statement"));
  kept_.push_back(command("SAVEPOINT tenure_statement"));
  ++savepoints_;
  pointPlaced_ = true;
}

bool FencedTransaction::isFull() const noexcept { return savepoints_ >= Store::mostSavepoints; }

Result<void> FencedTransaction::mark() {
  if (Result<void> sound = standing(); !sound) return sound;
  mark_ = Mark::wanted;
  return {};
}

Result<void> FencedTransaction::rollbackToMark() {
  TENURE_ASSERT(mark_ != Mark::none);
  if (Result<void> sound = standing(); !sound) return sound;
  if (mark_ == Mark::wanted) return {};
  if (mark_ == Mark::held) {
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(markAt_), kept_.end());
    mark_ = Mark::wanted;
    return {};
  }
  kept_.clear();  // all of it lies behind the mark
  kept_.push_back(command("ROLLBACK TO tenure_mark"));
  markAt_ = kept_.size();
  pointPlaced_ = false;
  onlyKeysSinceMark_ = true;
  keysSinceMark_.clear();
  return {};
}

// --- sending

Result<void> FencedTransaction::later(Command command) {
  if (Result<void> open = ready(); !open) return open;
  onlyKeysSinceMark_ = false;
  kept_.push_back(std::move(command));
  return {};
}

Exchange FencedTransaction::sendWith(Command question, std::size_t alsoRead) {
  kept_.push_back(std::move(question));
  begun_ = true;
  const BootTime start = BootClock::now();
  Exchange exchange = connection_->exchange(kept_, kept_.size() - 1 - alsoRead);
  if (guessed_ && BootClock::now() - start > slowExchange) store_.goCarefully();
  if (exchange) forgetKept();
  return exchange;
}

/// They are done, or given up. Keys right behind the mark may have to be written again.
void FencedTransaction::forgetKept() {
  kept_.pop_back();  // the question
  rememberKeys();
  kept_.clear();
  guessed_ = false;
}

void FencedTransaction::rememberKeys() {
  if (mark_ == Mark::placed && onlyKeysSinceMark_)
    keysSinceMark_.insert(keysSinceMark_.end(),
                          std::move_iterator(kept_.begin() + static_cast<std::ptrdiff_t>(markAt_)),
                          std::move_iterator(kept_.end()));
  markAt_ = 0;
}

Result<Answer> FencedTransaction::now(Command question) {
  if (const Result<void> open = ready(); !open) return open.error();
  if (const Result<void> connected = requireConnection(); !connected) return connected.error();
  placeMark();
  Exchange exchange = sendWith(std::move(question));
  if (!exchange) return endBy(*exchange.failure);
  return std::move(exchange.answers.back());
}

Error FencedTransaction::endBy(const Failure& failure) {
  const bool isAtFence = failure.command <= fenceCheck && kept_.size() > fenceCheck &&
                         std::string_view(kept_.front().sql) == std::string_view(beginTransaction().sql);
  const bool isFenced = isAtFence && failure.sqlState == fencedState;
  if (isFenceTableGone(failure)) return end({Errc::fenceLost, failure.error.detail});
  if (connection_->isLost()) store_.guessedWrong();  // perhaps it was too much at once
  if (!isFenced && guessed_ && !connection_->isLost() && !endsTransaction(meaningOf(failure.sqlState))) {
    store_.guessedWrong();
    return end({Errc::undone, failure.error.detail});
  }
  // Whoever waits for its turn behind the term that has replaced it is stale, and not held up.
  const bool isHeldUp = isAtFence && failure.error.is(Errc::storeBusy) && !connection_->isLost();
  if (!isFenced && !isHeldUp) return end(failure.error);
  connection_->rollback();
  if (isHeldUp && store_.isStillClaimed(*connection_)) return end(failure.error);
  return end(store_.fenced(*connection_));
}

// --- state

Result<std::optional<std::string>> FencedTransaction::get(std::string_view key) {
  if (const Result<void> checked = backends::checkStateKey(key); !checked) return checked.error();
  const Result<Answer> value = now(command("SELECT value FROM tenure_state WHERE election = $1 AND key = $2",
                                           term_.identity().election.value, Blob{key}));
  if (!value) return value.error();
  return value->rows() == 1 ? std::optional(value->text(0, 0)) : std::nullopt;
}

Result<void> FencedTransaction::put(std::string_view key, std::string_view value) {
  if (Result<void> checked = backends::checkState(key, value); !checked) return checked;
  const Result<Answer> written =
      now(command("INSERT INTO tenure_state(election, key, value) VALUES($1, $2, $3)"
                  " ON CONFLICT(election, key) DO UPDATE SET value = $3",
                  term_.identity().election.value, Blob{key}, Blob{value}));
  onlyKeysSinceMark_ = false;
  return written ? Result<void>{} : written.error();
}

Result<void> FencedTransaction::erase(std::string_view key) {
  if (Result<void> checked = backends::checkStateKey(key); !checked) return checked;
  const Result<Answer> erased = now(
      command("DELETE FROM tenure_state WHERE election = $1 AND key = $2", term_.identity().election.value, Blob{key}));
  onlyKeysSinceMark_ = false;
  return erased ? Result<void>{} : erased.error();
}

// --- a user's statements

Result<std::vector<SqlRow>> FencedTransaction::execute(std::string_view sql, std::span<const SqlParameter> parameters) {
  if (const Result<void> sound = standing(); !sound) return sound.error();
  Result<Command> statement = userCommand(store_.translations(), sql, parameters);
  if (!statement) return statement.error();
  if (const Result<void> open = ready(); !open) return open.error();
  if (const Result<void> connected = requireConnection(); !connected) return connected.error();
  placeStatementPoint();
  placeMark();
  const Exchange exchange = sendWith(std::move(*statement));
  if (!exchange) return undoStatement(*exchange.failure);
  onlyKeysSinceMark_ = false;
  if (!connection_->inSoundTransaction()) return end({Errc::storeFailed, "a statement ended the whole transaction"});
  return rowsOf(exchange.answers.back());
}

Result<void> FencedTransaction::write(std::string_view sql, std::span<const SqlParameter> parameters) {
  if (!store_.mayGuess() || kept_.size() >= mostKeptBack) return ISqlStatements::write(sql, parameters);
  if (Result<void> sound = standing(); !sound) return sound;
  Result<Command> statement = userCommand(store_.translations(), sql, parameters);
  if (!statement) return statement.error();
  Result<void> kept = later(std::move(*statement));
  guessed_ = true;
  return kept;
}

Result<void> FencedTransaction::check(std::string_view sql, std::span<const SqlParameter> parameters) {
  if (Result<void> sound = standing(); !sound) return sound;
  if (Result<void> connected = requireConnection(); !connected) return connected;
  Result<void> checked = checkStatement(*connection_, store_.translations(), sql, parameters);
  if (!checked && connection_->isLost()) return end(checked.error());
  return checked;
}

/// The failed statement is forgotten; the transaction is as it was before it.
Error FencedTransaction::undoStatement(const Failure& failure) {
  const bool wasTheUsers = failure.command + 1 == kept_.size();
  if (!wasTheUsers || connection_->isLost() || endsTransaction(meaningOf(failure.sqlState))) return endBy(failure);
  if (isWithoutPoint_)
    return end(
        {Errc::payloadTooLarge, "a statement failed behind " + std::to_string(Store::mostSavepoints) +
                                    " others of its transaction, too many to undo it alone: " + failure.error.detail});
  forgetKept();
  std::vector<Command> undo;
  if (pointPlaced_ && !isRightBehindMark()) {
    undo.push_back(command("ROLLBACK TO tenure_statement"));
  } else {
    undo = keysSinceMark_;
    undo.insert(undo.begin(), command("ROLLBACK TO tenure_mark"));
  }
  if (const Exchange undone = connection_->exchange(undo); !undone) return endBy(*undone.failure);
  return {Errc::storeFailed, failure.error.detail};
}

// --- idempotency keys

Result<Admission> FencedTransaction::admit(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest,
                                           MessageFate fate) {
  if (const Result<void> open = ready(); !open) return open.error();
  const auto insert = [&](const char* sql) {
    return command(sql, consumer.value, Blob{id.value}, std::int64_t{fate == MessageFate::dead ? 1 : 0}, blobOf(digest),
                   term_.token().value);
  };
  bool isForeseen = store_.admitUnasked(consumer, id);
  if (!isForeseen && store_.expects(id)) {
    const Result<Answer> keys = now(store_.lookAhead(consumer, id));
    if (!keys) return keys.error();
    store_.lookedAhead(consumer, *keys);
    isForeseen = store_.admitUnasked(consumer, id);
  }
  if (!isForeseen) return askForKey(consumer, id, digest, insert(addKeyUnlessThere));
  kept_.push_back(insert(addKey));
  guessed_ = true;
  return Admission::fresh;
}

Result<Admission> FencedTransaction::askForKey(const ConsumerName& consumer, const MessageId& id,
                                               const BodyDigest& digest, Command key) {
  if (onlyKeysSinceMark_) keysSinceMark_.push_back(key);
  const Result<Answer> added = now(std::move(key));
  if (!added) return added.error();
  if (added->changed() == 1) return Admission::fresh;
  const Result<Answer> known = now(selectKey(consumer, id));
  if (!known) return known.error();
  return admissionOf(*known, digest);
}

// --- the end

Result<void> FencedTransaction::commit() {
  if (state_ == State::idle) {
    state_ = State::over;
    return {};
  }
  if (Result<void> sound = standing(); !sound) return sound;
  if (Result<void> connected = requireConnection(); !connected) return connected;
  if (begun_ && !connection_->inSoundTransaction())
    return end({Errc::storeFailed, "a statement ended the whole transaction"});
  return commitAll();
}

Result<void> FencedTransaction::commitAll() {
  std::optional<Command> look = store_.lookOnward();
  if (look) kept_.push_back(*std::move(look));
  const std::size_t commit = kept_.size();
  const Exchange exchange = sendWith(command("COMMIT"), look ? 1 : 0);
  if (look) store_.lookedOnward(exchange ? &exchange.answers[commit - 1] : nullptr);
  if (exchange) {
    const Result<void> committed = checkCommitted(*connection_, exchange.answers.back());
    if (committed) store_.committed();
    if (!committed && isOutcomeUnknown(committed.error().code)) store_.commitBecameUnknown();
    state_ = State::over;
    return committed;
  }
  const Error why = commitFailure(*connection_, *exchange.failure, commit);
  // A deferred constraint: the store is well, the writes are not.
  if (exchange.failure->sqlState.starts_with("23") && exchange.failure->command == commit)
    return end({Errc::invalidArgument, exchange.failure->error.detail});
  if (!isOutcomeUnknown(why.code)) return endBy(*exchange.failure);
  store_.guessedWrong();
  store_.commitBecameUnknown();
  return end(why);
}

void FencedTransaction::rollback() noexcept {
  if (state_ == State::open && begun_ && connection_) connection_->rollback();
  state_ = State::over;
}

}  // namespace tenure::postgresql
