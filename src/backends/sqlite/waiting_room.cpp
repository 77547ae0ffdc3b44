#include "backends/sqlite/waiting_room.hpp"

#include <algorithm>

#include "backends/sqlite/queue_rows.hpp"
#include "storage/records.hpp"
#include "storage/waiting_rows.hpp"

namespace tenure::sqlite {
namespace {

using storage::Row;
using storage::WaitingPage;

constexpr std::size_t promotedBytes = 8U << 20U;

}  // namespace

Result<WaitingPage> readWaiting(Connection& connection, const std::string& queue, const storage::WaitingScan& scan,
                                std::int64_t until) {
  Query rows = connection.query(
      "SELECT queue, id, due, grp, body, headers, numbered, added FROM tenure_waiting"
      " WHERE queue = ?1 AND (due, added) > (?2, ?3) AND due <= ?4 ORDER BY due, added LIMIT ?5",
      queue, scan.due, scan.added, until, static_cast<std::int64_t>(scan.atMost));
  WaitingPage page;
  for (std::size_t bytes = 0; bytes < promotedBytes;) {
    const Result<bool> row = rows.next();
    if (!row) return row.error();
    if (!*row) break;
    page.rows.push_back(storage::rowWith(rows.text(0), rows.text(1), rows.integer(2), rows.text(3), rows.text(4),
                                         rows.text(5), rows.integer(6)));
    page.added.push_back(rows.integer(7));
    bytes += rows.bytes(4).size();
  }
  return page;
}

Result<storage::WaitingCounts> countWaiting(Connection& connection, const std::string& queue, std::int64_t atMost) {
  Query counted = connection.query(
      "SELECT (SELECT count(*) FROM (SELECT 1 FROM tenure_waiting WHERE queue = ?1 AND due > 0 LIMIT ?4)),"
      " (SELECT max(at - due) FROM"
      "  (SELECT at, due FROM tenure_fired WHERE at > ?2 AND queue = ?1 ORDER BY at DESC LIMIT ?3)),"
      " count(*), min(sent_at) FROM"
      " (SELECT sent_at FROM tenure_waiting WHERE queue = ?1 AND due = 0 ORDER BY due, added LIMIT ?4)",
      queue, systemClock().wallNow() - storage::latenessAge, storage::latenessRows, atMost);
  const Result<bool> row = counted.next();
  if (!row) return row.error();
  storage::WaitingCounts counts{.waiting = counted.integer(0), .atOnce = counted.integer(2)};
  if (!counted.isNull(3)) counts.oldestAtOnce = counted.time(3);
  if (!counted.isNull(1)) counts.lateness = std::chrono::milliseconds{counted.integer(1)};
  return counts;
}

// --- who reads the queue

Result<bool> isReader(Connection& connection, const std::string& queue, const TermIdentity& term) {
  Query reader = connection.query(
      "SELECT 1 FROM tenure_reader WHERE queue = ?1 AND election = ?2 AND path = ?3 AND ensemble = ?4"
      " AND generation = ?5 AND token = ?6",
      queue, term.election.value, term.electionPath, term.ensemble.value, term.generation, term.token.value);
  return reader.next();
}

Result<void> checkReader(Connection& connection, const std::string& queue, const TermIdentity& term) {
  const Result<bool> ours = isReader(connection, queue, term);
  if (!ours) return ours.error();
  if (*ours) return {};
  Query newer = connection.query(
      "SELECT 1 FROM tenure_reader WHERE queue = ?1 AND ensemble = ?2 AND (generation, token) > (?3, ?4)", queue,
      term.ensemble.value, term.generation, term.token.value);
  const Result<bool> isNewer = newer.next();
  if (!isNewer) return isNewer.error();
  return *isNewer ? storage::newerReader(queue) : storage::wentBack(queue);
}

/// Tokens of two ensembles cannot be compared: a term of another ensemble takes the row, and the fence decides who
/// commits.
Result<void> raiseReader(Connection& connection, const std::string& queue, const TermIdentity& term) {
  const Result<int> raised = connection.change(
      "INSERT INTO tenure_reader(queue, election, path, ensemble, generation, token) VALUES(?1, ?2, ?3, ?4, ?5, ?6)"
      " ON CONFLICT(queue) DO UPDATE SET election = ?2, path = ?3, ensemble = ?4, generation = ?5, token = ?6,"
      " asleep_until = 0 WHERE election <> ?2 OR path <> ?3 OR ensemble <> ?4 OR (generation, token) <= (?5, ?6)",
      queue, term.election.value, term.electionPath, term.ensemble.value, term.generation, term.token.value);
  if (!raised) return raised.error();
  if (*raised == 1) return {};
  return storage::newerReader(queue);
}

// --- what is due

void WaitingRoom::attach(std::shared_ptr<Connection> connection, std::int64_t number, std::string queue,
                         const TermIdentity& term) {
  connection_ = std::move(connection);
  number_ = number;
  queue_ = std::move(queue);
  term_ = term;
}

Result<std::optional<WallTime>> WaitingRoom::firstDue() {
  Query first =
      connection_->query("SELECT due FROM tenure_waiting WHERE queue = ?1 ORDER BY due, added LIMIT 1", queue_);
  const Result<bool> found = first.next();
  if (!found) return found.error();
  return *found ? std::optional(first.time(0)) : std::nullopt;
}

/// The file has no clock: it is this host's.
Result<scheduled::IWaitingRoom::Front> WaitingRoom::look() {
  const Result<std::optional<WallTime>> due = firstDue();
  if (!due) return due.error();
  return Front{systemClock().wallNow(), *due};
}

Result<std::vector<scheduled::IWaitingRoom::Unread>> WaitingRoom::unread() {
  Query rows = connection_->query(storage::namesSql(true));
  std::vector<Unread> unread;
  for (;;) {
    const Result<bool> row = rows.next();
    if (!row) return row.error();
    if (!*row) return unread;
    unread.push_back({rows.text(0), rows.time(1)});
  }
}

Result<scheduled::IWaitingRoom::Promoted> WaitingRoom::promote(WallTime until, std::size_t atMost) {
  if (const Result<void> locked = connection_->lock(); !locked) return locked.error();
  const auto inTransaction = [&]() -> Result<Promoted> {
    const Result<bool> ours = isReader(*connection_, queue_, term_);
    if (!ours) return ours.error();
    if (!*ours) return storage::newerReader(queue_);
    Result<WaitingPage> once = readWaiting(*connection_, queue_, {.due = -1, .atMost = atMost}, 0);
    if (!once) return once.error();
    const std::int64_t latest = storage::millisecondsOf(until);
    Result<WaitingPage> timed = readWaiting(*connection_, queue_, {.due = 1, .atMost = atMost}, latest);
    return timed ? move(storage::inTurns(*std::move(once), *std::move(timed), atMost)) : timed.error();
  };
  Result<Promoted> promoted = inTransaction();
  const Result<void> committed = promoted ? connection_->commit() : Result<void>{};
  if (!promoted || !committed) connection_->rollback();
  if (!promoted || committed) return promoted;
  // A repeat is harmless: the next look finds each message in the waiting room or in its queue.
  const bool isUnknown = isOutcomeUnknown(committed.error().code);
  return isUnknown ? Error{Errc::unavailable, committed.error().detail} : committed.error();
}

Result<scheduled::IWaitingRoom::Promoted> WaitingRoom::move(const WaitingPage& page) {
  const WallTime now = systemClock().wallNow();
  Promoted promoted{.messages = page.rows.size()};
  std::vector<storage::WaitingMessage> messages;
  for (const Row& row : page.rows) {
    auto message = storage::waitingFrom(row);
    if (!message) return message.error();
    if (message->message.deliverAt)
      promoted.lateness = std::max(promoted.lateness, now - *message->message.deliverAt);
    else
      promoted.hasOnce = true;
    messages.push_back(*std::move(message));
  }
  if (const Result<void> added = promoteTo(*connection_, number_, messages, now); !added) return added.error();
  for (const std::int64_t added : page.added)
    if (const auto gone = connection_->run("DELETE FROM tenure_waiting WHERE added = ?1", added); !gone)
      return gone.error();
  for (const storage::WaitingMessage& each : messages) {
    if (!each.message.deliverAt) continue;
    const Result<void> fired =
        connection_->run("INSERT OR REPLACE INTO tenure_fired(queue, id, due, at) VALUES(?1, ?2, ?3, ?4)", queue_,
                         each.message.id.value, *each.message.deliverAt, now);
    if (!fired) return fired.error();
  }
  if (const Result<void> forgotten = forgetOld(*connection_, "tenure_fired", messages.size(), now); !forgotten)
    return forgotten.error();
  const Result<std::optional<WallTime>> next = firstDue();
  if (!next) return next.error();
  promoted.next = *next;
  return promoted;
}

}  // namespace tenure::sqlite
