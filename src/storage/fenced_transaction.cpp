#include "storage/fenced_transaction.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/text.hpp"
#include "messages/headers.hpp"
#include "messages/message_check.hpp"
#include "messages/message_numbers.hpp"
#include "storage/records.hpp"
#include "storage/waiting_rows.hpp"

namespace tenure::storage {
namespace {

constexpr std::size_t longestStateKey = 255;
/// What a commit has room for beside a letter: fence, key, and who is in work.
constexpr std::size_t besideLetter = 64U << 10U;

std::size_t bytesBesideBody(const DeadLetter& letter) {
  std::size_t bytes = letter.message.id.value.size() + letter.message.group.value.size() + letter.reason.size() + 512;
  for (const auto& [name, value] : letter.message.headers) bytes += name.size() + value.size() + 8;
  return bytes;
}

Result<void> checkStateKey(std::string_view key) {
  if (!key.empty() && key.size() <= longestStateKey) return {};
  return Error{Errc::invalidArgument, "state key \"" + escaped(key) + "\": expected 1 to 255 bytes"};
}

/// An empty one is the store's own.
Result<void> checkQueueName(std::string_view queue) {
  const auto name = parseElectionName(queue.empty() ? "own" : queue);
  if (name) return {};
  return Error{name.error().code, "queue \"" + escaped(queue) + "\": " + name.error().detail};
}

/// Only this call failed; the transaction goes on.
bool isOfCall(const Error& error) {
  return error.is(Errc::permissionDenied) || error.is(Errc::invalidArgument) || error.is(Errc::notFound);
}

}  // namespace

Result<void> FencedTransaction::status() const {
  if (broken_) return *broken_;
  if (over_) return Error{Errc::storeFailed, "the transaction is over"};
  return sql_ ? sql_->status() : Result<void>{};
}

Error FencedTransaction::breakOff(Error why) {
  rollback();
  broken_ = std::move(why);
  return *broken_;
}

Result<void> FencedTransaction::mark() {
  if (Result<void> sound = status(); !sound) return sound;
  writes_.mark();
  return sql_ ? sql_->mark() : Result<void>{};
}

Result<void> FencedTransaction::rollbackToMark() {
  if (Result<void> sound = status(); !sound) return sound;
  writes_.rollbackToMark();
  const Result<void> undone = sql_ ? sql_->rollbackToMark() : Result<void>{};
  return undone ? undone : heard(undone.error());
}

// --- a handler's statements

Result<void> FencedTransaction::begun() {
  if (Result<void> sound = status(); !sound) return sound;
  if (!sql_ || sql_->hasBegun()) return {};
  const Result<Fence> begun = session_.begin(*sql_);
  if (!begun) return breakOff(begun.error());
  begun_ = *begun;
  return {};
}

Error FencedTransaction::heard(Error error) {
  if (error.is(Errc::staleTerm)) error = session_.fenced();
  if (const Result<void> sound = sql_->status(); !sound || error.is(Errc::transactionConflict))
    return breakOff(std::move(error));
  return error;
}

Result<std::vector<SqlRow>> FencedTransaction::execute(std::string_view sql, std::span<const SqlParameter> parameters) {
  if (const Result<void> open = begun(); !open) return open.error();
  Result<std::vector<SqlRow>> rows = sql_->execute(sql, parameters);
  return rows ? std::move(rows) : heard(rows.error());
}

Result<void> FencedTransaction::write(std::string_view sql, std::span<const SqlParameter> parameters) {
  if (const Result<void> open = begun(); !open) return open;
  const Result<void> written = sql_->write(sql, parameters);
  return written ? written : heard(written.error());
}

Result<std::int64_t> FencedTransaction::touch(std::string_view sql, std::span<const SqlParameter> parameters) {
  if (const Result<void> open = begun(); !open) return open.error();
  const Result<std::int64_t> touched = sql_->touch(sql, parameters);
  return touched ? *touched : Result<std::int64_t>(heard(touched.error()));
}

Result<void> FencedTransaction::check(std::string_view sql, std::span<const SqlParameter> parameters) {
  if (const Result<void> sound = status(); !sound) return sound;
  const Result<void> checked = sql_->check(sql, parameters);
  return checked ? checked : heard(checked.error());
}

// --- reading

Result<Rows> FencedTransaction::read(std::span<const RowName> rows) {
  if (const Result<void> open = begun(); !open) return open.error();
  return session_.read(rows, !sql_ || !sql_->isLocked());
}

Result<std::optional<Row>> FencedTransaction::stored(Table table, Row key) {
  std::string name = nameOf(table, key);
  if (const auto known = stored_.find(name); known != stored_.end()) return known->second;
  const RowName wanted{table, std::move(key)};
  Result<Rows> rows = read({&wanted, 1});
  if (!rows) return breakOff(rows.error());
  return stored_.emplace(std::move(name), std::move(rows->front())).first->second;
}

Result<std::optional<Row>> FencedTransaction::current(Table table, Row key) {
  if (const Write* own = writes_.find(nameOf(table, key)))
    return own->what == Write::What::put ? std::optional(own->row) : std::nullopt;
  return stored(table, std::move(key));
}

Result<std::optional<std::string>> FencedTransaction::get(std::string_view key) {
  if (const Result<void> valid = checkStateKey(key); !valid) return valid.error();
  if (const Result<void> sound = status(); !sound) return sound.error();
  const bool isOwn = writes_.find(nameOf(Table::state, {key})) != nullptr;
  const auto row = current(Table::state, {std::string(key)});
  if (!row) return row.error();
  if (session_.isLane() && !isOwn) expectStill(key, *row);
  return *row ? std::optional(textIn(**row, state::value)) : std::nullopt;
}

/// Another lane may change it before the commit.
void FencedTransaction::expectStill(std::string_view key, const std::optional<Row>& row) {
  if (writes_.knows(nameOf(Table::state, {key}))) return;
  writes_.expect(Table::state, {std::string(key)},
                 row ? Expectation::has(state::value, (*row)[state::value]) : Expectation::absent());
}

Result<void> FencedTransaction::put(std::string_view key, std::string_view value) {
  if (Result<void> valid = checkStateKey(key); !valid) return valid;
  if (value.size() > session_.limits().stateBytes)
    return Error{Errc::payloadTooLarge, "state \"" + escaped(key) + "\" has " + std::to_string(value.size()) +
                                            " bytes, at most " + std::to_string(session_.limits().stateBytes)};
  if (Result<void> sound = status(); !sound) return sound;
  writes_.put(Table::state, rowWith(std::string(key), std::string(value)));
  return {};
}

Result<void> FencedTransaction::erase(std::string_view key) {
  if (Result<void> valid = checkStateKey(key); !valid) return valid;
  if (Result<void> sound = status(); !sound) return sound;
  writes_.remove(Table::state, {std::string(key)});
  return {};
}

Result<void> FencedTransaction::enqueue(const NewMessage& message, std::string_view queue) {
  const Limits& limits = session_.limits();
  if (!limits.keepsQueue)
    return Error{Errc::unsupported, session_.name() + ": a store without a queue, to which no message can be sent"};
  if (limits.isQueueUsers && (queue.empty() || queue == session_.queue()))
    return Error{Errc::invalidArgument, "queue " + session_.queue() + " is a table of yours: INSERT a row"};
  if (Result<void> checked = messages::checkMessage(message, limits.numbersMessages); !checked) return checked;
  if (const auto text = messages::headersTextOf(message); !text) return text.error();
  if (Result<void> named = checkQueueName(queue); !named) return named;
  if (Result<void> sound = status(); !sound) return sound;
  if (Result<void> tried = session_.tryQueue(std::string(queue)); !tried)
    return isOfCall(tried.error()) ? tried : breakOff(tried.error());
  if (message.deliverAt) return schedule(message, queue);
  writes_.enqueue(message, std::string(queue));
  return {};
}

// --- messages that wait for their time

Result<std::string> FencedTransaction::waitingRoom(std::string_view queue) const {
  if (!session_.limits().keepsScheduled)
    return Error{Errc::unsupported, session_.name() + ": this store keeps no message for a later time"};
  if (const Result<void> named = checkQueueName(queue); !named) return named.error();
  if (const Result<void> sound = status(); !sound) return sound.error();
  return queue.empty() ? session_.queue() : std::string(queue);
}

Result<void> FencedTransaction::schedule(const NewMessage& message, std::string_view queue) {
  const Result<std::string> room = waitingRoom(queue);
  if (!room) return room.error();
  if (Result<void> valid = checkTime(message, at_); !valid) return valid;
  const Row key = waitingKey(*room, message.id);
  const auto waiting = current(Table::waiting, key);
  if (!waiting) return waiting.error();
  const auto fired = *waiting ? Result<std::optional<Row>>{std::nullopt} : stored(Table::fired, key);
  if (!fired) return fired.error();
  auto change = toSchedule(*room, message, session_.limits().numbersMessages, at_, *waiting, *fired);
  if (!change) return change.error();
  if (*change) storage::schedule(**std::move(change), writes_);
  return {};
}

Result<ScheduleChange> FencedTransaction::changeWaiting(const MessageId& id, std::string_view queue,
                                                        const std::function<void(const Row& waiting)>& change) {
  const Result<std::string> room = waitingRoom(queue);
  if (!room) return room.error();
  const Row key = waitingKey(*room, id);
  const auto waiting = current(Table::waiting, key);
  if (!waiting) return waiting.error();
  if (*waiting) {
    change(**waiting);
    return ScheduleChange::done;
  }
  const auto fired = stored(Table::fired, key);
  return fired ? Result<ScheduleChange>(changeWithout(*fired)) : fired.error();
}

Result<ScheduleChange> FencedTransaction::cancelScheduled(const MessageId& id, std::string_view queue) {
  return changeWaiting(id, queue, [&](const Row& row) {
    writes_.remove(Table::waiting, {row[waiting::queue], row[waiting::id]},
                   Expectation::has(waiting::due, row[waiting::due]));
  });
}

Result<ScheduleChange> FencedTransaction::reschedule(const MessageId& id, WallTime at, std::string_view queue) {
  if (const Result<std::string> room = waitingRoom(queue); !room) return room.error();
  if (const Result<void> valid = checkTime({.id = id, .deliverAt = at}, at_); !valid) return valid.error();
  return changeWaiting(id, queue, [&](const Row& row) {
    ToSchedule change = toReschedule(row, at, at_);
    writes_.put(Table::waiting, std::move(change.row), std::move(change.expected));
  });
}

Result<Admission> FencedTransaction::admit(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest,
                                           MessageFate fate) {
  if (const Result<void> sound = status(); !sound) return sound.error();
  std::string name = nameOf(Table::key, {consumer.value, id.value});
  if (const Write* own = writes_.find(name)) return admissionOf(&own->row, digest);
  const auto known = stored_.find(name);
  const auto look = [this](std::span<const RowName> rows) { return read(rows); };
  auto found =
      known == stored_.end() ? session_.findKey(consumer, id, look) : Result<std::optional<Row>>(known->second);
  if (!found) return breakOff(found.error());
  if (!*found) {
    Row row = keyRow(consumer, id, fate, digest, term_.token(), at_);
    writes_.put(Table::key, std::move(row), Expectation::absent(), std::move(name));
    return Admission::fresh;
  }
  writes_.expect(Table::key, keyNamed(consumer, id), Expectation::has(key::digest, (**found)[key::digest]));
  return admissionOf(&*stored_.try_emplace(std::move(name), std::move(*found)).first->second, digest);
}

Result<void> FencedTransaction::recordInWork(const ConsumerName& consumer, std::size_t lane, const InWork& inWork) {
  if (Result<void> sound = status(); !sound) return sound;
  writes_.put(Table::inWork, inWorkRow(consumer, lane, term_.token(), inWork));
  return {};
}

Result<void> FencedTransaction::recordAttempt(const ConsumerName& consumer, const AttemptRecord& record) {
  if (Result<void> sound = status(); !sound) return sound;
  writes_.put(Table::attempt, attemptRow(consumer, record));
  return {};
}

Result<void> FencedTransaction::clearAttempt(const ConsumerName& consumer, const MessageId& id) {
  if (Result<void> sound = status(); !sound) return sound;
  writes_.remove(Table::attempt, keyNamed(consumer, id));
  return {};
}

Result<void> FencedTransaction::recordFact(const ConsumerName& consumer, const ConsumerFact& fact) {
  if (Result<void> sound = status(); !sound) return sound;
  const auto* streak = std::get_if<DeadLetterStreakRecord>(&fact);
  if (streak != nullptr && streak->deaths == 0)
    writes_.remove(Table::streak, {consumer.value});
  else
    writes_.put(tableOf(fact), factRow(consumer, fact));
  return {};
}

Result<void> FencedTransaction::deadLetter(const ConsumerName& consumer, const DeadLetter& letter) {
  if (Result<void> sound = status(); !sound) return sound;
  DeadLetter unnumbered = letter;
  unnumbered.number = 0;
  const std::size_t room = session_.limits().commitBytes - std::min(session_.limits().commitBytes / 2, besideLetter);
  leaveOut(unnumbered.message, room - std::min(room, bytesBesideBody(letter)),
           "a dead letter of this store has at most " + std::to_string(room) + " bytes");
  writes_.put(Table::deadLetter, deadLetterRow(consumer, unnumbered));
  if (session_.limits().skipsDeadNumbers)
    if (auto skip = messages::skipOf(letter.message, letter.reason)) writes_.enqueue(*std::move(skip));
  return {};
}

// --- groups that follow numbers

Result<GroupTurn> FencedTransaction::turnOf(const ConsumerName& consumer, const GroupId& group) {
  if (const Result<void> sound = status(); !sound) return sound.error();
  const auto row = current(Table::turn, turnKey(consumer, group));
  if (!row) return row.error();
  return *row ? turnFrom(**row) : GroupTurn{};
}

Result<void> FencedTransaction::recordTurn(const ConsumerName& consumer, const GroupId& group, const GroupTurn& turn) {
  if (Result<void> sound = status(); !sound) return sound;
  writes_.put(Table::turn, turnRow(consumer, group, turn));
  return {};
}

Result<std::optional<KeptMessage>> FencedTransaction::kept(const ConsumerName& consumer, const GroupId& group,
                                                           std::int64_t number) {
  if (const Result<void> sound = status(); !sound) return sound.error();
  const auto row = current(Table::kept, keptKey(consumer, group, number));
  if (!row) return row.error();
  if (!*row) return std::optional<KeptMessage>{};
  Result<KeptMessage> found = keptFrom(**row);
  return found ? Result<std::optional<KeptMessage>>(std::move(*found)) : found.error();
}

Result<void> FencedTransaction::keep(const ConsumerName& consumer, const KeptMessage& message) {
  if (Result<void> sound = status(); !sound) return sound;
  writes_.put(Table::kept, keptRow(consumer, message));
  return {};
}

Result<void> FencedTransaction::dropKept(const ConsumerName& consumer, const GroupId& group, std::int64_t number) {
  if (Result<void> sound = status(); !sound) return sound;
  writes_.remove(Table::kept, keptKey(consumer, group, number));
  return {};
}

// --- the end

Result<void> FencedTransaction::logAttempts(const ConsumerName& consumer, std::span<const LoggedAttempt> attempts) {
  if (Result<void> sound = status(); !sound) return sound;
  for (const LoggedAttempt& each : attempts) writes_.put(Table::log, logRow(consumer, term_.token(), each));
  return {};
}

Result<void> FencedTransaction::acknowledge(std::span<const Message> messages) {
  if (Result<void> sound = status(); !sound) return sound;
  writes_.acknowledge(messages);
  return {};
}

Result<void> FencedTransaction::commit() {
  TENURE_ASSERT(!over_ || broken_);
  Result<void> committed = status();
  if (committed && (!writes_.isEmpty() || (sql_ && sql_->hasBegun())))
    committed = session_.commit(writes_, sql_.get(), begun_);
  if (!committed && committed.error().is(Errc::transactionConflict)) session_.expectAssumed();
  rollback();
  session_.giveBack(std::move(writes_));
  return committed;
}

void FencedTransaction::rollback() noexcept {
  if (sql_ && !over_) sql_->rollback();
  writes_.clear();
  over_ = true;
}

}  // namespace tenure::storage
