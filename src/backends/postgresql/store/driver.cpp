#include "backends/postgresql/store/driver.hpp"

#include "backends/postgresql/rows/outbox_operating.hpp"
#include "backends/postgresql/rows/schema.hpp"
#include "backends/postgresql/rows/waiting_room.hpp"
#include "backends/postgresql/store/inspection.hpp"
#include "backends/postgresql/store/open_transaction.hpp"
#include "backends/postgresql/store/user_statement.hpp"
#include "base/assert.hpp"
#include "base/text.hpp"
#include "storage/records.hpp"

namespace tenure::postgresql {

namespace {

using storage::Commit;
using storage::Committed;
using storage::Fence;
using storage::FenceFound;
using storage::Outcome;
using storage::Row;
using storage::RowName;
using storage::Rows;

/// For each queue, the earliest time of the messages that this commit makes wait.
std::map<std::string, WallTime> earliestTimes(const storage::WriteSet& writes) {
  namespace waiting = storage::waiting;
  std::map<std::string, WallTime> earliest;
  writes.forEach([&](const storage::Write& write) {
    if (write.table != storage::Table::waiting || write.what != storage::Write::What::put) return;
    const WallTime due = storage::wallTimeOf(storage::integerIn(write.row, waiting::due));
    const auto [known, isFirst] = earliest.try_emplace(storage::textIn(write.row, waiting::queue), due);
    known->second = std::min(known->second, due);
  });
  return earliest;
}

bool isAt(const FenceFound& found, const Fence& expected) {
  return found.stored.size() == 1 && storage::isSame(found.stored.front().row, expected.row) &&
         found.stored.front().row.sequence == expected.row.sequence && found.change == expected.change;
}

}  // namespace

std::string Driver::name() const {
  return "postgresql://" + options_.host + ":" + std::to_string(options_.port) + "/" + options_.database;
}

// --- the session

Result<std::shared_ptr<Connection>> Driver::session(const std::stop_token& stop) {
  if (term_) return session_.get(*term_);
  auto connection = session_.withoutTerm(stop);
  if (!connection || checked_.lock() == *connection) return connection;
  if (const Result<void> checked = checkSchema(**connection); !checked) return checked.error();
  checked_ = *connection;
  return connection;
}

Result<void> Driver::connect(const std::stop_token& stop) {
  const auto connection = session(stop);
  return connection ? Result<void>{} : connection.error();
}

void Driver::release() noexcept {
  session_.close();
  term_.reset();
  owner_ = {};
  places_.clear();
  isInDoubt_ = false;
  pessimistic_ = 0;
}

std::unique_ptr<storage::IStoreDriver> Driver::openLane(std::int64_t number) {
  return std::make_unique<Driver>(options_, events_, "tenure standby", number, handedOut_);
}

Result<Findings> Driver::inspect() { return postgresql::inspect(options_); }

/// The server's.
Result<std::optional<WallTime>> Driver::clock() {
  const auto connection = session();
  if (!connection) return connection.error();
  const Result<Answer> now = (*connection)->ask("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint");
  if (!now) return now.error();
  return std::optional(now->time(0, 0));
}

/// A session that was lost meanwhile, unnoticed, is no answer.
Result<void> Driver::checkSql(std::string_view sql, std::span<const SqlParameter> parameters) {
  Result<void> checked;
  for (int again = 0; again < 2; ++again) {
    const auto connection = term_ ? session() : session_.withoutTerm();
    if (!connection) return connection.error();
    checked = checkStatement(**connection, translations_, sql, parameters);
    if (!(*connection)->isLost()) break;
  }
  return checked;
}

// --- the fence

/// After a commit in doubt, the one at the end of this waits for the synchronous standbys once more, and thereby for
/// that one.
Result<FenceFound> Driver::readFence(const ElectionName& election) {
  owner_.election = election.value;
  const auto connection = session();
  if (!connection) return connection.error();
  std::vector<Command> look;
  if (isInDoubt_) look = {beginTransaction(), awaitTurn(election.value, Turn::shared), shareFence(election.value)};
  look.push_back(selectFence(election.value, lane_));
  const Exchange read = (*connection)->exchange(look);
  if (!read) {
    (*connection)->rollback();
    return errorOf(*read.failure);
  }
  if (isInDoubt_)
    if (const Result<void> waited = commitOf(**connection); !waited) return waited.error();
  return foundIn(read.answers.back());
}

Result<std::vector<storage::StoredFence>> Driver::fences() {
  const auto connection = session();
  if (!connection) return connection.error();
  const Exchange read = (*connection)->exchange(std::vector{selectFences()});
  if (!read) return errorOf(*read.failure);
  return fencesFrom(read.answers[0]);
}

/// A busy store may hide a lost fence: a term that waited behind its successor is stale.
Error Driver::refusedAtFence(Connection& connection, const Failure& failure, const Fence& expected) {
  if (failure.sqlState == fencedState) return {Errc::staleTerm, {}};
  if (!failure.error.is(Errc::storeBusy) || connection.isLost()) return errorOf(failure);
  connection.rollback();
  const Exchange read = connection.exchange(std::vector{selectFence(expected.row.election.value, lane_)});
  if (!read || isAt(foundIn(read.answers[0]), expected)) return failure.error;
  return {Errc::staleTerm, {}};
}

// --- rows

Driver::Look Driver::lookFor(std::span<const RowName> names) {
  std::vector<std::vector<const RowName*>> byTable(storage::tableCount);
  std::vector<std::vector<std::size_t>> places(storage::tableCount);
  for (std::size_t i = 0; i < names.size(); ++i) {
    byTable[static_cast<std::size_t>(names[i].table)].push_back(&names[i]);
    places[static_cast<std::size_t>(names[i].table)].push_back(i);
  }
  Look look;
  for (std::size_t table = 0; table < byTable.size(); ++table) {
    if (byTable[table].empty()) continue;
    look.commands.push_back(rows_.select(owner_, byTable[table]));
    look.places.push_back(std::move(places[table]));
  }
  return look;
}

Rows Driver::rowsFrom(std::span<const RowName> names, const Look& look, std::span<const Answer> answers) {
  Rows rows(names.size());
  for (std::size_t i = 0; i < answers.size(); ++i)
    for (int row = 0; row < answers[i].rows(); ++row) {
      const std::size_t place = look.places[i][static_cast<std::size_t>(answers[i].integer(row, 0) - 1)];
      rows[place] = RowSets::rowFrom(answers[i], row, names[place].table, 1);
    }
  return rows;
}

Result<std::optional<Rows>> Driver::read(std::span<const RowName> names, const Fence* expected) {
  const auto connection = session();
  if (!connection) return connection.error();
  if (storage::concernsQueue(names))
    if (const Result<void> found = findQueue(**connection); !found) return found.error();
  Look look = lookFor(names);
  std::vector<Command> questions = look.commands;
  if (expected != nullptr) questions.push_back(selectFence(expected->row.election.value, lane_));
  const Exchange read = (*connection)->exchange(questions);
  if (!read) return errorOf(*read.failure);
  if (expected != nullptr && !isAt(foundIn(read.answers.back()), *expected)) return std::optional<Rows>{};
  return std::optional(rowsFrom(names, look, std::span{read.answers}.first(look.commands.size())));
}

Result<std::vector<Row>> Driver::scan(const storage::Scan& scan) {
  const auto connection = session();
  if (!connection) return connection.error();
  if (const Result<void> found = findQueue(**connection); !found) return found.error();
  const Exchange read = (*connection)->exchange(std::vector{rows_.scan(owner_, scan)});
  if (!read) return read.error();
  std::vector<Row> rows;
  for (int row = 0; row < read.answers[0].rows(); ++row)
    rows.push_back(RowSets::rowFrom(read.answers[0], row, scan.table));
  return rows;
}

Result<storage::WaitingPage> Driver::waiting(const storage::WaitingScan& scan) {
  const auto connection = session();
  if (!connection) return connection.error();
  const Exchange read = (*connection)->exchange(std::vector{selectWaiting(which_.name, scan)});
  return read ? Result<storage::WaitingPage>(waitingFrom(read.answers[0])) : read.error();
}

Result<storage::WaitingCounts> Driver::countWaiting(std::int64_t atMost) {
  const auto connection = session();
  if (!connection) return connection.error();
  const Exchange read = (*connection)->exchange(std::vector{postgresql::countWaiting(which_.name, atMost)});
  return read ? Result<storage::WaitingCounts>(countsFrom(read.answers[0])) : read.error();
}

Result<void> Driver::findQueue(Connection& connection) {
  if (owner_.queue != 0) return {};
  const Result<std::int64_t> number = postgresql::findQueue(connection, which_);
  if (!number) return number.error();
  owner_.queue = *number;
  return {};
}

// --- commits

Result<Committed> Driver::commit(const Commit& commit) {
  const auto connection = session();
  if (!connection) return connection.error();
  if (commit.expected != nullptr) {
    std::vector<Command> passing = passFence(*commit.expected, *commit.next);
    const std::size_t fence = passing.size();
    return finish(**connection, std::move(passing), fence, false, commit);
  }
  if (storage::concernsQueue(*commit.writes))
    if (const Result<void> found = findQueue(**connection); !found) return found.error();
  std::vector<Command> kept{beginTransaction()};
  if (std::ranges::any_of(commit.writes->enqueued(),
                          [&](const SentMessage& sent) { return isForTable(sent, commit); })) {
    const Result<OutboxShape> shape = shapeOf(**connection, *options_.table);
    if (!shape) return shape.error();
    kept.push_back(putBack(*shape, commit.writes->enqueued()));
    kept.push_back(notifySoon(which_.name, {}));
  }
  return finish(**connection, std::move(kept), 0, false, commit);
}

/// In one round trip; in two where a message goes to a queue for the first time.
Result<Committed> Driver::finish(Connection& connection, std::vector<Command> kept, std::size_t fence, bool isGuess,
                                 const Commit& commit) {
  const std::set<std::string> unknown = unknownQueues(commit);
  if (unknown.empty()) return finishWith({}, connection, std::move(kept), fence, isGuess, commit);
  const Exchange begun = kept.empty() ? Exchange{} : connection.exchange(kept);
  if (!begun) return failed(connection, *begun.failure, {fence, kept.size(), kept.size()}, isGuess, commit, {});
  QueuePlaces made;
  if (const Result<void> placed = makeQueues(connection, unknown, made); !placed) {
    connection.rollback();
    return placed.error();
  }
  return finishWith(std::move(made), connection, {}, 0, false, commit);
}

/// In the order in which others wait least: what is in work last of the rows, the look behind them.
Result<Committed> Driver::finishWith(QueuePlaces made, Connection& connection, std::vector<Command> kept,
                                     std::size_t fence, bool isGuess, const Commit& commit) {
  Places places{fence, kept.size(), 0};
  const bool isTable = handedOut_ != nullptr;
  HandedOut::Marks marks = isTable ? handedOut_->marksFor(*commit.writes) : HandedOut::Marks{};
  Result<std::vector<Command>> rows = rowCommands(commit, made, std::move(marks.commands));
  if (!rows) {
    connection.rollback();
    return rows.error();
  }
  std::vector<Command> all = std::move(kept);
  all.insert(all.end(), std::move_iterator(rows->begin()), std::move_iterator(rows->end()));
  const std::size_t unread = all.size();
  Look look = lookFor(commit.alsoRead);
  all.insert(all.end(), std::move_iterator(look.commands.begin()), std::move_iterator(look.commands.end()));
  places.commit = all.size();
  all.push_back(command("COMMIT"));
  const bool isTooLate = connection.isLost();
  const Exchange exchange = connection.exchange(all, isTable ? places.ours : unread);
  if (isTooLate) return exchange.error();
  if (!exchange) return failed(connection, *exchange.failure, places, isGuess, commit, marks);
  isInDoubt_ = false;
  if (const Result<void> committed = checkCommitted(connection, exchange.answers.back()); !committed) {
    isInDoubt_ = isOutcomeUnknown(committed.error().code);
    return committed.error();
  }
  places_.merge(made);
  if (isTable)
    if (const auto ok = handedOut_->committed(connection, marks, &exchange.answers[places.ours]); !ok)
      return ok.error();
  const auto looked = std::span{exchange.answers}.subspan(unread, look.places.size());
  return Committed{Outcome::committed, rowsFrom(commit.alsoRead, look, looked)};
}

/// The queues of this commit to which this driver has not sent a message before.
std::set<std::string> Driver::unknownQueues(const Commit& commit) const {
  std::set<std::string> unknown;
  for (const SentMessage& sent : commit.writes->enqueued())
    if (!isForTable(sent, commit) && !places_.contains(sent.queue)) unknown.insert(sent.queue);
  return unknown;
}

/// Inside the transaction, so that a rollback removes them. In the order of their names: two senders that make the same
/// queues cannot wait for each other.
Result<void> Driver::makeQueues(Connection& connection, const std::set<std::string>& names, QueuePlaces& made) {
  for (const std::string& queue : names) {
    const Result<std::int64_t> number =
        queue.empty() ? Result<std::int64_t>(owner_.queue) : ensureQueue(connection, {queue});
    if (!number) return number.error();
    Result<std::string> channel = channelOf(connection, *number);
    if (!channel) return channel.error();
    made.emplace(queue, QueuePlace{*number, std::move(*channel)});
  }
  return {};
}

Result<void> Driver::tryQueue(const std::string& queue) {
  if (places_.contains(queue)) return {};
  const auto connection = session();
  if (!connection) return connection.error();
  const Result<Answer> may = (*connection)
                                 ->ask(
                                     "SELECT 1 WHERE has_table_privilege('tenure_message', 'INSERT') AND "
                                     "(has_table_privilege('tenure_queue', 'INSERT')"
                                     " OR EXISTS(SELECT 1 FROM tenure_queue WHERE name = $1 AND NOT elsewhere))",
                                     queue);
  if (!may) return may.error();
  if (may->rows() > 0) return {};
  return Error{Errc::permissionDenied, name() + ": this user may not send to queue \"" + queue +
                                           "\": no right to INSERT on tenure_message, or on tenure_queue to make it"};
}

/// The queue's row is locked last, as by the waiting room: a commit that cancels a message and sends another one would
/// else deadlock with the delivery of the first.
Result<std::vector<Command>> Driver::rowCommands(const Commit& commit, const QueuePlaces& made,
                                                 std::vector<Command> marks) {
  const storage::WriteSet& writes = *commit.writes;
  std::vector<Command> commands = std::move(marks);
  const auto acknowledged = writes.acknowledged();
  if (handedOut_ == nullptr && !acknowledged.empty())
    commands.push_back(deleteByPosition(owner_.queue, {acknowledged.begin(), acknowledged.end()}));
  std::vector<Command> rows = rows_.writes(owner_, writes);
  for (const auto& [queue, due] : earliestTimes(writes)) rows.push_back(notifySoon(queue, due));
  commands.insert(commands.end(), std::move_iterator(rows.begin()), std::move_iterator(rows.end()));
  if (const Result<void> sent = addSent(commit, made, commands); !sent) return sent.error();
  return commands;
}

/// Queue by queue in the order of their numbers, so that two who send to the same ones cannot wait for each other.
Result<void> Driver::addSent(const Commit& commit, const QueuePlaces& made, std::vector<Command>& commands) {
  std::map<std::int64_t, std::pair<QueuePlace, std::vector<NewMessage>>> byQueue;
  for (const SentMessage& sent : commit.writes->enqueued()) {
    if (isForTable(sent, commit)) continue;
    const auto known = places_.find(sent.queue);
    const QueuePlace& place = known != places_.end() ? known->second : made.at(sent.queue);
    auto& [queue, messages] = byQueue[place.number];
    queue = place;
    messages.push_back(sent.message);
  }
  // What an operator puts back has no turn any more.
  const bool givesNumbers = limits_.numbersMessages && (commit.expected != nullptr || commit.isProducers);
  for (const auto& [number, sent] : byQueue) {
    const auto& [queue, messages] = sent;
    if (givesNumbers && numberedAppends_++ % appendsAForgetting == 0) commands.push_back(forgetSentIds());
    Result<Command> append = givesNumbers ? appendNumberedTo(queue, messages) : appendTo(queue, messages);
    if (!append) return append.error();
    commands.push_back(std::move(*append));
  }
  return {};
}

Error Driver::rowLocked(Connection& connection, const Failure& failure) {
  const Result<Answer> oldest = connection.ask(
      "SELECT pid::bigint, application_name, greatest(extract(epoch FROM clock_timestamp() - xact_start), 0)::bigint"
      " FROM pg_stat_activity WHERE datname = current_database() AND backend_xid IS NOT NULL"
      " AND pid <> pg_backend_pid() ORDER BY xact_start LIMIT 1");
  std::string detail = failure.error.detail;
  if (oldest && oldest->rows() > 0)
    detail += "; the oldest transaction that writes here is that of process " + oldest->text(0, 0) + " (\"" +
              escaped(oldest->text(0, 1)) + "\"), for " + oldest->text(0, 2) + " s";
  return {Errc::rowLocked, std::move(detail)};
}

std::optional<Error> Driver::markFailed(Connection& connection, const Failure& failure, std::size_t mark,
                                        const HandedOut::Marks& marks) {
  const bool isLocked = isLockTimeout(failure.sqlState);
  if (!isLocked && isOfStore(failure.sqlState)) return std::nullopt;
  if (!isLocked && handedOut_->mayHaveChanged(failure.sqlState)) {
    Result<OutboxShape> shape = shapeOf(connection, *options_.table);
    if (!shape) return shape.error();
    if (handedOut_->renew(OutboxRows(*std::move(shape)), marks.shape))
      return Error{Errc::transactionConflict, failure.error.detail};
  }
  if (isLocked && handedOut_->leaveOutOnce(marks, mark)) return Error{Errc::transactionConflict, failure.error.detail};
  if (isLocked) return rowLocked(connection, failure);
  const bool isAlone = mark >= marks.ofRows || marks.rows.size() <= 1;
  if (isAlone && handedOut_->leaveAsItIs(marks, mark)) return Error{Errc::transactionConflict, failure.error.detail};
  return Error{Errc::commitRefused, failure.error.detail};
}

Result<Committed> Driver::failed(Connection& connection, const Failure& failure, const Places& places, bool isGuess,
                                 const Commit& commit, const HandedOut::Marks& marks) {
  const bool isLost = connection.isLost();
  if (isLost && isGuess) goPessimistic();  // perhaps it was too much at once
  // The server has said why, and did so before the COMMIT.
  const bool isKnown = !failure.sqlState.empty() && failure.command < places.commit;
  if (isLost && !isKnown) {
    isInDoubt_ = true;
    return Error{Errc::outcomeUnknown, failure.error.detail};
  }
  connection.rollback();
  if (isFenceTableGone(failure)) return errorOf(failure);
  if (failure.command < places.fence) {
    const Error refused = refusedAtFence(connection, failure, *commit.expected);
    return refused.is(Errc::staleTerm) ? Result<Committed>(Committed{Outcome::fenced}) : refused;
  }
  // A deferred constraint or trigger: the store is well, the writes are not.
  if (failure.command == places.commit && !isOfStore(failure.sqlState))
    return Error{Errc::commitRefused, failure.error.detail};
  const bool isOurs = failure.command >= places.ours && failure.command < places.commit;
  if (isOurs && !isLost && failure.command - places.ours < marks.ofTable)
    if (auto why = markFailed(connection, failure, failure.command - places.ours, marks)) return *std::move(why);
  if (isOurs && isUnexpected(failure.sqlState)) return Committed{Outcome::conflict};
  // Another program has locked a row of the user's: the statement is run again by itself, and its handler is told.
  const bool isUsersLock = isLockTimeout(failure.sqlState) && failure.command < places.ours;
  if (isLost || !isGuess || (endsTransaction(meaningOf(failure.sqlState)) && !isUsersLock)) return failure.error;
  goPessimistic();
  return Error{Errc::transactionConflict, failure.error.detail};
}

std::unique_ptr<storage::ISqlTransaction> Driver::open() { return std::make_unique<OpenTransaction>(*this); }

// The claim of a driver: bounded in time, and able to end sessions of older terms that hold it up.

namespace {

using std::chrono::milliseconds;
using storage::ClaimJudge;
using storage::Fence;
using storage::FenceFound;

milliseconds since(BootTime start) { return std::chrono::duration_cast<milliseconds>(BootClock::now() - start); }

/// Two first claims met, and the other one was faster.
constexpr const char* outrun = "another first claim was faster";
constexpr int mostRepeats = 3;

// Of the second that a claim may take beyond its limit; the rest is for the server's last answer.
constexpr milliseconds afterLimit{800};
constexpr milliseconds oneRound{100};
constexpr milliseconds longRound{250};

/// Something else than the fence's own word stands in its way.
bool isHeldUp(const Result<void>& written) noexcept { return !written && written.error().is(Errc::storeBusy); }

/// An exchange in which each command may take what is left of the limit. Its answers are one for each command; those to
/// the limits are left out.
Exchange exchangeWithin(Connection& connection, milliseconds limit, std::vector<Command> commands,
                        bool beginsTransaction = false) {
  std::vector<Command> limited;
  if (beginsTransaction) limited.push_back(beginTransaction());
  const std::size_t first = limited.size() + 1;
  for (Command& command : commands) {
    limited.push_back(withinLimit(limit));
    limited.push_back(std::move(command));
  }
  Exchange exchange = connection.exchange(limited);
  std::vector<Answer> answers;
  for (std::size_t i = first; i < exchange.answers.size(); i += 2) answers.push_back(std::move(exchange.answers[i]));
  exchange.answers = std::move(answers);
  return exchange;
}

/// The writes and the COMMIT in one round trip; the first of them is the fence's.
Result<void> commitWithin(Connection& connection, milliseconds limit, std::vector<Command> writes) {
  const std::size_t before = writes.size();
  writes.push_back(command("COMMIT"));
  const Exchange written = exchangeWithin(connection, limit, std::move(writes));
  if (written && written.answers.front().changed() == 0) return Error{Errc::storeBusy, outrun};
  if (written) return checkCommitted(connection, written.answers.back());
  // The server refused a write, so it never ran the COMMIT.
  const bool isKnown = !written.failure->sqlState.empty() && written.answers.size() < before;
  if (connection.isLost() && !isKnown) return Error{Errc::outcomeUnknown, written.error().detail};
  return errorOf(*written.failure);
}

}  // namespace

template <class Body>
void Driver::emit(const Term& term, Body body) {
  events_.on({systemClock().wallNow(), term.identity().election, term.token(), std::move(body)});
}

Result<void> Driver::claim(const ElectionName& election, const Term* term, const ClaimJudge& judge) {
  owner_.election = election.value;
  if (term == nullptr) return claimAsOperator(election, judge);
  term_ = term->identity();
  isInDoubt_ = false;
  const auto attempt = [&] { return lane_ ? join(*term, judge) : claimPatiently(*term, judge); };
  Result<void> claimed = attempt();
  return !claimed && session_.hasLostKept() ? attempt() : claimed;
}

Result<void> Driver::claimPatiently(const Term& term, const ClaimJudge& judge) {
  const BootTime start = BootClock::now();
  const BootTime limit = start + options_.lockLimit;
  Result<void> written = claimBefore(term, judge, limit);
  // Another first claim was faster, or the server has undone one of two that waited for each other.
  for (int again = 0; again < mostRepeats && isHeldUp(written) && BootClock::now() < limit; ++again)
    written = claimBefore(term, judge, limit);
  if (!isHeldUp(written) || BootClock::now() < limit) return written;
  std::set<std::int64_t> ended;
  Against whom = Against::queue;
  while (isHeldUp(written) && BootClock::now() < limit + afterLimit && makeRoom(term, start, ended)) {
    const milliseconds round = whom == Against::queue ? oneRound : longRound;
    written = claimBefore(term, judge, std::min(limit + afterLimit, BootClock::now() + round), whom);
    // An ended session may be back, and lock the row before us, so the table's lock is tried too. Only by turns: it
    // waits for other elections, and they for it.
    whom = whom == Against::queue ? Against::everybody : Against::queue;
  }
  if (isHeldUp(written)) tellHolder(term, written.error());
  return written;
}

Result<void> Driver::claimBefore(const Term& term, const ClaimJudge& judge, BootTime deadline, Against whom) {
  const auto connection = session_.reach(term.identity());
  if (!connection) return connection.error();
  const auto left = std::chrono::ceil<milliseconds>(deadline - BootClock::now());
  Result<void> written = judgeAndWrite(**connection, term.identity(), judge, std::max(left, milliseconds{1}), whom);
  if (written) return written;
  (*connection)->rollback();
  const bool isOutOfTime = written.error().is(Errc::timedOut) && !(*connection)->isLost();
  return isOutOfTime ? Error{Errc::storeBusy, written.error().detail} : written.error();
}

/// In two round trips where the queue has an owner and the fence is there. The owner is read first: a first claim that
/// lands in between shows in the fence, never as a fence that is lost.
Result<void> Driver::judgeAndWrite(Connection& connection, const TermIdentity& term, const ClaimJudge& judge,
                                   milliseconds limit, Against whom) {
  const std::vector<Command> question{selectQueue(which_), lockFence(term.election.value)};
  std::vector<Command> all = session_.tableQuestions();
  all.push_back(awaitTurn(term.election.value, Turn::alone));
  if (whom == Against::everybody) all.push_back(lockFenceTable());
  all.insert(all.end(), question.begin(), question.end());
  Exchange read = exchangeWithin(connection, limit, std::move(all), true);
  if (const Result<void> known = session_.judgeTables(read); !known) return known.error();
  if (read && read.answers.end()[-2].rows() == 0) {
    // Waits for another first claim, whose fence must then be seen as well.
    if (const auto added = ensureQueue(connection, which_); !added) return added.error();
    read = exchangeWithin(connection, limit, question);
  }
  if (!read) return errorOf(*read.failure);
  const Queue queue = queueFrom(read.answers.end()[-2]);
  FenceFound found = foundIn(read.answers.back());
  found.owner = queue.owner;
  const Result<std::optional<Fence>> next = judge(found);
  if (!next) return next.error();
  TENURE_ASSERT(next->has_value());

  owner_.queue = queue.number;
  std::vector<Command> writes{found.stored.empty() ? addFence(**next) : writeFence(**next)};
  if (queue.owner.election.empty()) writes.push_back(takeQueue(queue.number, term));
  // An INSERT may meet the row of another first claim and change nothing: that has to be seen before the COMMIT.
  const bool isCertain = !found.stored.empty() && !queue.owner.election.empty();
  if (isCertain) return commitWithin(connection, limit, std::move(writes));
  const Exchange written = exchangeWithin(connection, limit, std::move(writes));
  if (!written) return errorOf(*written.failure);
  for (const Answer& each : written.answers)
    if (each.changed() == 0) return Error{Errc::storeBusy, outrun};
  return commitOf(connection);
}

/// False when the lock's holder may not be ended. An ended session may come back, so several rounds may be needed.
bool Driver::makeRoom(const Term& term, BootTime since, std::set<std::int64_t>& ended) {
  const auto connection = session_.reach(term.identity());
  if (!connection) return false;
  // A term that is over itself has no business ending others.
  if (options_.evictFrozenHolder && term.valid()) {
    const auto evicted = Session::evictOlder(**connection, term.identity());
    if (!evicted) return false;
    for (const std::int64_t process : *evicted)
      if (ended.insert(process).second) emit(term, HolderEvicted{process, postgresql::since(since)});
    if (!evicted->empty()) return true;
  }
  const auto holder = Session::holderOfFence(**connection, term.identity().election);
  return holder && holder->process == 0;  // the lock was released
}

void Driver::tellHolder(const Term& term, const Error& why) {
  const auto connection = session_.reach(term.identity());
  if (!connection) return;
  const auto holder = Session::holderOfFence(**connection, term.identity().election);
  if (!holder) return;
  const bool isKnown = holder->process != 0;
  emit(term,
       StoreBusy{holder->process, isKnown ? "the fence is held by session \"" + holder->name + "\"" : why.detail});
}

/// A lane's: the claim of its term must be there, and stays as it is.
Result<void> Driver::join(const Term& term, const ClaimJudge& judge) {
  const auto connection = session_.get(term.identity());
  if (!connection) return connection.error();
  const auto inTransaction = [&]() -> Result<void> {
    const std::string& election = term.identity().election.value;
    const Exchange shared =
        (*connection)
            ->exchange(std::vector{beginTransaction(), awaitTurn(election, Turn::shared), selectQueue(which_),
                                   shareFence(election), lockLane(election, *lane_)});
    if (!shared) return errorOf(*shared.failure);
    FenceFound found = foundIn(shared.answers[3]);
    const Answer& lane = shared.answers[4];
    const bool isOurs = lane.rows() == 1 && lane.integer(0, 0) == term.token().value;
    for (storage::StoredFence& fence : found.stored) fence.row.sequence = isOurs ? lane.integer(0, 1) : -1;
    const Result<std::optional<Fence>> next = judge(found);
    if (!next) return next.error();
    const Exchange joined = (*connection)->exchange(std::vector{writeLane(**next, *lane_)});
    if (!joined) return errorOf(*joined.failure);
    owner_.queue = queueFrom(shared.answers[2]).number;
    return commitOf(**connection);
  };
  Result<void> joined = inTransaction();
  if (!joined) (*connection)->rollback();
  return joined;
}

/// An operator's act moves the election's queues along: to another path, or this one to another election.
Result<void> Driver::claimAsOperator(const ElectionName& election, const ClaimJudge& judge) {
  const auto connection = session();
  if (!connection) return connection.error();
  const auto inTransaction = [&]() -> Result<void> {
    const Exchange read = (*connection)
                              ->exchange(std::vector{beginTransaction(), awaitTurn(election.value, Turn::alone),
                                                     lockFence(election.value), selectQueue(which_)});
    if (!read) return errorOf(*read.failure);
    FenceFound found = foundIn(read.answers[2]);
    const Queue queue = queueFrom(read.answers[3]);
    found.owner = queue.owner;
    const Result<std::optional<Fence>> next = judge(found);
    if (!next) return next.error();
    if (!*next) return commitOf(**connection);
    if ((*next)->row.election == election) {
      const Exchange rebased = (*connection)->exchange(writeRebased(**next));
      if (!rebased) return rebased.error();
    } else if (const Result<void> moved = writeMove(**connection, queue.number, election, **next); !moved) {
      return moved;
    }
    return commitOf(**connection);
  };
  Result<void> written = inTransaction();
  if (!written) (*connection)->rollback();
  return written;
}

}  // namespace tenure::postgresql
