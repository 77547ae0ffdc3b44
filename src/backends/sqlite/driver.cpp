#include "backends/sqlite/driver.hpp"

#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "backends/shared/answer_wait.hpp"
#include "backends/sqlite/inspection.hpp"
#include "backends/sqlite/open_transaction.hpp"
#include "backends/sqlite/queue_rows.hpp"
#include "backends/sqlite/schema.hpp"
#include "backends/sqlite/user_sql.hpp"
#include "backends/sqlite/waiting_room.hpp"
#include "base/assert.hpp"
#include "process/process_identity.hpp"

namespace tenure::sqlite {
namespace {

using std::chrono::milliseconds;
using storage::Committed;
using storage::Fence;
using storage::FenceFound;
using storage::Outcome;
using storage::Row;
using storage::Rows;
using storage::schemaOf;
using storage::Table;

milliseconds since(BootTime start) { return std::chrono::duration_cast<milliseconds>(BootClock::now() - start); }

bool isOlder(const FenceRow& row, const TermIdentity& term) noexcept {
  return row.ensemble == term.ensemble &&
         std::tuple(row.generation, row.token) < std::tuple(term.generation, term.token);
}

bool isAt(const FenceFound& found, const Fence& expected) {
  return found.stored.size() == 1 && found.stored.front().row.sequence == expected.row.sequence &&
         found.stored.front().row.token == expected.row.token && found.change == expected.change;
}

}  // namespace

template <class Body>
void Driver::emit(const Term& term, Body body) {
  events_.on({systemClock().wallNow(), term.identity().election, term.token(), std::move(body)});
}

// A look at a key costs as much as making it.
storage::Limits Driver::limitsFor(const Options& options) {
  return {.looksAreDear = true,
          .keepsQueue = true,
          .numbersMessages = options.numbered,
          .keepsScheduled = true,
          .skipsDeadNumbers = options.skipDeadNumbers && !options.numbered};
}

// --- the file

Result<void> Driver::prepare(const std::stop_token&) {
  const Result<void> usable = lookAsStandby(file_.options());
  if (const auto ahead = usable ? file_.openAhead() : nullptr) rehearse(*ahead);
  return usable;
}

/// Compiles the statements of a claim and of a first commit, before the term that runs them. All results are dropped.
void Driver::rehearse(Connection& connection) {
  const Connection::Rehearsal rehearsal(connection);
  const auto rowOf = [](Table table) { return Row(schemaOf(table).columns.size(), std::int64_t{0}); };
  for (const std::string_view sql : {"BEGIN IMMEDIATE", "BEGIN", "ROLLBACK"}) static_cast<void>(connection.run(sql));
  static_cast<void>(readQueue(connection, which_));
  static_cast<void>(sqlite::readFence(connection, {}));
  static_cast<void>(sqlite::writeFence(connection, {}));
  static_cast<void>(raiseReader(connection, which_.name, {}));
  for (const Table table : {Table::inWork, Table::key, Table::window, Table::streak, Table::clock})
    static_cast<void>(tables_.read(connection, {}, {table, rowOf(table)}));
  static_cast<void>(tables_.scan(connection, {}, {.table = Table::attempt, .prefix = {""}, .atMost = 1}));
  static_cast<void>(passFence(connection, {}, {}));
  static_cast<void>(tables_.write(
      connection, {}, {Table::key, storage::Write::What::put, rowOf(Table::key), storage::Expectation::absent()}));
  static_cast<void>(tables_.write(connection, {}, {Table::inWork, storage::Write::What::put, rowOf(Table::inWork)}));
  static_cast<void>(deleteByPosition(connection, std::array<std::int64_t, 1>{}));
  static_cast<void>(connection.commit());
}

Result<void> Driver::connect(const std::stop_token&) {
  if (connection_ && (term_ || !connection_->hasMoved()))
    return {};  // a term goes on with the file that it has claimed
  Result<std::shared_ptr<Connection>> opened = file_.acquire();
  if (!opened) return opened.error();
  connection_ = std::move(*opened);
  owner_.queue = 0;  // its number in this file
  return {};
}

/// A predecessor that died before its claim leaves the fence row with the one before it, which may hold the lock. A row
/// that is not of an older term proves nothing against its holder.
Result<void> Driver::openFor(const Term& term) {
  suspects_.clear();
  const TermIdentity& identity = term.identity();
  if (identity.uncleanPredecessor) suspects_.push_back(*identity.uncleanPredecessor);
  Result<std::shared_ptr<Connection>> opened = file_.acquire([this, term] { return makeRoom(term); });
  if (!opened) return opened.error();
  connection_ = std::move(*opened);
  if (!identity.uncleanPredecessor) return {};
  const auto found = sqlite::readFence(*connection_, identity.election.value);
  if (!found) return found.error();
  for (const StoredFence& fence : found->stored)
    if (isOlder(fence.row, identity)) suspects_.push_back(fence.row.holder);
  return {};
}

bool Driver::makeRoom(const Term& term) {
  const BootTime start = BootClock::now();
  const Options& options = file_.options();
  std::erase(suspects_, thisProcess());
  // A term that is over itself has no business killing anybody.
  const bool mayEvict = options.evictFrozenHolder && term.valid();
  const auto suspects = mayEvict ? std::span<const ProcessIdentity>(suspects_) : std::span<const ProcessIdentity>();
  const Duration watched = firstLook_ ? start - firstLook_->at : Duration::zero();
  const Eviction eviction = evictHolder(std::filesystem::absolute(options.file), suspects, firstLook_);
  switch (eviction.outcome) {
    case Eviction::Outcome::evicted:
      emit(term, HolderEvicted{eviction.pid, options.lockLimit + since(start - watched)});
      return true;
    case Eviction::Outcome::suspected:
    case Eviction::Outcome::released: return true;
    case Eviction::Outcome::refused: break;
  }
  emit(term, StoreBusy{eviction.pid, eviction.detail});
  return false;
}

void Driver::release() noexcept {
  file_.closeAhead();
  if (connection_) connection_->whenBusy({});
  connection_.reset();
  owner_ = {};
  pessimistic_ = 0;
  term_.reset();
}

// --- the fence

Result<FenceFound> Driver::readFence(const ElectionName& election) {
  TENURE_ASSERT(connection_ != nullptr);
  owner_.election = election.value;
  return sqlite::readFence(*connection_, election.value);
}

Result<std::vector<StoredFence>> Driver::fences() { return readFences(*connection_); }

Result<void> Driver::claim(const ElectionName& election, const Term* term, const storage::ClaimJudge& judge) {
  if (Result<void> opened = term != nullptr ? openFor(*term) : connect({}); !opened) return opened;
  const auto inTransaction = [&]() -> Result<void> {
    const Result<Queue> queue =
        term != nullptr ? readOrAddQueue(*connection_, which_) : readQueue(*connection_, which_);
    if (!queue) return queue.error();
    Result<FenceFound> found = readFence(election);
    if (!found) return found.error();
    found->owner = queue->owner;
    const Result<std::optional<Fence>> next = judge(*found);
    if (!next) return next.error();
    owner_ = {queue->number, election.value};
    return *next ? writeFence(election, *queue, **next, term) : Result<void>{};
  };
  if (Result<void> begun = connection_->lock(); !begun) return begun;
  term_ = term != nullptr ? std::optional(*term) : std::nullopt;
  Result<void> written = inTransaction();
  if (written) written = connection_->commit();
  if (!written) connection_->rollback();
  return written;
}

/// An operator's act moves the election's queues along: to another path, or this one to another election.
Result<void> Driver::writeFence(const ElectionName& election, const Queue& queue, const Fence& next, const Term* term) {
  const QueueOwner owner{next.row.election.value, next.row.path};
  if (next.row.election != election) {
    if (Result<void> owned = writeOwner(*connection_, queue.number, owner); !owned) return owned;
    return moveFence(*connection_, election, next);
  }
  if (Result<void> written = sqlite::writeFence(*connection_, next); !written) return written;
  if (term == nullptr) return writePath(*connection_, owner);
  if (!which_.elsewhere)
    if (Result<void> raised = raiseReader(*connection_, which_.name, term->identity()); !raised) return raised;
  return queue.owner.election.empty() ? writeOwner(*connection_, queue.number, owner) : Result<void>{};
}

// --- rows

Result<void> Driver::findQueue() {
  if (owner_.queue != 0) return {};
  const Result<Queue> queue = readQueue(*connection_, which_);
  if (!queue) return queue.error();
  owner_.queue = queue->number;
  return {};
}

/// Outside a transaction each statement would take the file's lock, and let it go.
Result<std::optional<Rows>> Driver::read(std::span<const storage::RowName> rows, const Fence* expected) {
  TENURE_ASSERT(connection_ != nullptr);
  if (storage::concernsQueue(rows))
    if (const Result<void> known = findQueue(); !known) return known.error();
  if (connection_->inTransaction() || rows.size() + (expected != nullptr ? 1 : 0) < 2) return readAll(rows, expected);
  if (const Result<void> begun = connection_->run("BEGIN"); !begun) return begun.error();
  auto found = readAll(rows, expected);
  connection_->rollback();
  return found;
}

Result<std::optional<Rows>> Driver::readAll(std::span<const storage::RowName> rows, const Fence* expected) {
  if (expected != nullptr) {
    const Result<FenceFound> found = readFence(expected->row.election);
    if (!found) return found.error();
    if (!isAt(*found, *expected)) return std::optional<Rows>{};
  }
  std::optional<Rows> found{std::in_place};
  for (const storage::RowName& name : rows) {
    Result<std::optional<Row>> row = tables_.read(*connection_, owner_, name);
    if (!row) return row.error();
    found->push_back(std::move(*row));
  }
  return found;
}

Result<std::vector<Row>> Driver::scan(const storage::Scan& scan) {
  TENURE_ASSERT(connection_ != nullptr);
  if (const Result<void> found = findQueue(); !found) return found.error();
  return tables_.scan(*connection_, owner_, scan);
}

Result<storage::WaitingPage> Driver::waiting(const storage::WaitingScan& scan) {
  TENURE_ASSERT(connection_ != nullptr);
  return readWaiting(*connection_, which_.name, scan);
}

Result<storage::WaitingCounts> Driver::countWaiting(std::int64_t atMost) {
  TENURE_ASSERT(connection_ != nullptr);
  return sqlite::countWaiting(*connection_, which_.name, atMost);
}

// --- transactions

Result<Outcome> Driver::begin(const Fence& expected, const Fence& next) {
  TENURE_ASSERT(connection_ != nullptr);
  if (const Result<void> begun = connection_->lock(); !begun) return begun.error();
  const Result<bool> passed = passFence(*connection_, expected, next);
  if (passed && *passed) return Outcome::committed;
  connection_->rollback();
  return passed ? Result<Outcome>(Outcome::fenced) : passed.error();
}

Result<Committed> Driver::commit(const storage::Commit& commit) {
  TENURE_ASSERT(connection_ != nullptr);
  if (commit.expected == nullptr) {
    if (storage::concernsQueue(*commit.writes))
      if (const Result<void> found = findQueue(); !found) return found.error();
    if (const Result<void> begun = connection_->lock(); !begun) return begun.error();
    return finish(commit);
  }
  const Result<Outcome> begun = begin(*commit.expected, *commit.next);
  if (!begun) return begun.error();
  return *begun == Outcome::committed ? finish(commit) : Committed{*begun};
}

/// Tries COMMIT again while readers block it, until the lease ends or the outage limit has passed.
Result<void> Driver::commitPatiently() {
  if (timer_ == nullptr || !term_) return connection_->commit();
  backends::AnswerWait wait(timer_, timer_->limit());
  Result<void> committed = connection_->commit([&] { return term_->valid() && wait.goesOn(); });
  committed || !committed.error().is(Errc::storeBusy) ? wait.answered() : wait.failed();
  return committed;
}

Result<Committed> Driver::finish(const storage::Commit& commit) {
  const Result<bool> written = writeAll(commit);
  const bool isMet = written && *written;
  const Result<void> committed = isMet ? commitPatiently() : Result<void>{};
  if (!isMet || !committed) connection_->rollback();
  if (!written) return written.error();
  if (!committed) return committed.error();
  return Committed{isMet ? Outcome::committed : Outcome::conflict};
}

Result<bool> Driver::writeAll(const storage::Commit& commit) {
  const storage::WriteSet& writes = *commit.writes;
  Result<bool> met = true;
  writes.forEach([&](const storage::Write& write) {
    if (met && *met) met = tables_.write(*connection_, owner_, write);
  });
  if (!met || !*met) return met;
  if (const Result<void> deleted = deleteByPosition(*connection_, writes.acknowledged()); !deleted)
    return deleted.error();
  if (const Result<void> sent = addSent(commit); !sent) return sent.error();
  return true;
}

/// In the order in which they were sent, whichever way their queue was named.
Result<void> Driver::addSent(const storage::Commit& commit) {
  std::map<std::string, std::int64_t> numbers{{"", owner_.queue}};
  std::map<std::int64_t, std::vector<NewMessage>> byQueue;
  for (const SentMessage& sent : commit.writes->enqueued()) {
    const auto [known, isNew] = numbers.try_emplace(sent.queue);
    if (isNew) {
      const Result<std::int64_t> queue = ensureQueue(*connection_, {sent.queue});
      if (!queue) return queue.error();
      known->second = *queue;
    }
    byQueue[known->second].push_back(sent.message);
  }
  // What an operator puts back has no turn any more.
  const bool givesNumbers = limits_.numbersMessages && (commit.expected != nullptr || commit.isProducers);
  for (const auto& [queue, messages] : byQueue)
    if (const auto added = appendTo(*connection_, queue, messages, givesNumbers); !added) return added.error();
  return {};
}

std::unique_ptr<storage::ISqlTransaction> Driver::open() { return std::make_unique<OpenTransaction>(*this); }

Result<void> Driver::checkSql(std::string_view sql, std::span<const SqlParameter> parameters) {
  return connection_ ? checkUserSql(*connection_, sql, parameters) : checkUserSql(file_.options(), sql, parameters);
}

Result<Findings> Driver::inspect() { return sqlite::inspect(file_.options()); }

}  // namespace tenure::sqlite
