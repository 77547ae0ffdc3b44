#include "backends/postgresql/rows/waiting_room.hpp"

#include <algorithm>
#include <set>

#include "backends/postgresql/rows/fence_rows.hpp"
#include "backends/postgresql/rows/row_sets.hpp"
#include "storage/records.hpp"
#include "storage/waiting_rows.hpp"

namespace tenure::postgresql {
namespace {

using storage::Row;
using storage::WaitingMessage;
using storage::WaitingPage;

constexpr std::int64_t enoughBytes = 8LL << 20U;
constexpr std::int64_t lateCommits = 60'000;  // milliseconds
constexpr std::chrono::minutes frontLooks{1};
constexpr std::string_view nothingToHold = "55P03";  // lock_not_available
constexpr std::chrono::seconds oneByOne{1};          // after others have locked one of the messages

// By the server's clock.
const std::string serverNow = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
const std::string firstOnce =
    "(SELECT added FROM tenure_waiting WHERE queue = $1 AND due = 0 AND added > $2 ORDER BY due, added LIMIT 1)";
const std::string firstTimed =
    "(SELECT due FROM tenure_waiting WHERE queue = $1 AND due > 0 AND due >= $3 ORDER BY due, added LIMIT 1)";
// The oldest transaction that may still add a message. Who adds one holds the table's RowExclusiveLock until the end,
// also as a prepared transaction; others may have written what they like. Locks are asked for where the oldest of all
// transactions says nothing: that takes longer, and the longer the more locks there are. They name transactions by the
// lower half of their numbers.
const std::string oldestWriter =
    "WITH running AS (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest),"
    " locks AS MATERIALIZED (SELECT locktype, relation, mode, virtualtransaction, transactionid::text::bigint AS low"
    "  FROM pg_locks WHERE granted AND (SELECT oldest FROM running) <= $1)"
    " SELECT CASE WHEN oldest > $1 THEN oldest ELSE coalesce("
    "  (SELECT min(oldest + ((holder.low - oldest % 4294967296 + 4294967296) % 4294967296)) FROM locks AS holder"
    "   JOIN locks AS held USING (virtualtransaction) WHERE holder.locktype = 'transactionid'"
    "   AND held.relation = 'tenure_waiting'::regclass AND held.mode = 'RowExclusiveLock'), $1 + 1) END FROM running";
const std::string waitingColumns = "queue, id, due, grp, body, headers, numbered, added";

// Moves messages without a time to the queue's end, as they are: they do not come to this process for that. Without
// effect where one of them gets a number. Says how many there are, how many were moved, and the place of the last one.
const std::string moveWhole =
    "WITH first AS MATERIALIZED (SELECT ctid AS place, added, numbered, octet_length(body) AS size FROM tenure_waiting"
    "  WHERE queue = $1 AND due = 0 AND added > $2 ORDER BY due, added LIMIT (SELECT $3) FOR UPDATE NOWAIT),"
    " fitting AS MATERIALIZED (SELECT place, added, numbered FROM"
    "  (SELECT *, sum(size) OVER (ORDER BY added) - size AS before FROM first) AS measured WHERE before < $4),"
    " gone AS (DELETE FROM tenure_waiting AS sent WHERE sent.ctid = ANY(ARRAY("
    "   SELECT place FROM fitting WHERE NOT EXISTS (SELECT FROM fitting WHERE numbered <> 0)))"
    "  RETURNING sent.added, sent.id, sent.grp, sent.body, sent.headers),"
    " ends AS (UPDATE tenure_queue SET last = last + (SELECT count(*) FROM gone)"
    "  WHERE number = $5 AND EXISTS (SELECT FROM gone) RETURNING last - (SELECT count(*) FROM gone) AS before),"
    " stored AS (INSERT INTO tenure_message(queue, n, id, grp, body, headers, enqueued_at)"
    "  SELECT $5, before + row_number() OVER (ORDER BY added), id, grp, body, nullif(headers, ''), $6 FROM ends, gone)"
    " SELECT count(*), (SELECT count(*) FROM gone), max(added) FROM fitting";

/// One statement for each run of messages that are numbered, or not: so they come to the queue in their order.
Result<void> addAppends(const QueuePlace& queue, const std::vector<WaitingMessage>& messages,
                        std::vector<Command>& commands) {
  for (auto begin = messages.begin(); begin != messages.end();) {
    const auto end = std::find_if(begin, messages.end(),
                                  [&](const WaitingMessage& each) { return each.getsNumber() != begin->getsNumber(); });
    std::vector<NewMessage> run;
    storage::DamagedHeaders damaged;
    for (const WaitingMessage& each : std::span(begin, end)) {
      run.push_back(each.message);
      if (!each.damagedHeaders.empty()) damaged.emplace(each.message.id, each.damagedHeaders);
    }
    Result<Command> append = begin->getsNumber() ? appendNumberedTo(queue, run) : appendTo(queue, run, damaged);
    if (!append) return append.error();
    commands.push_back(*std::move(append));
    begin = end;
  }
  return {};
}

}  // namespace

Command selectWaiting(const std::string& queue, const storage::WaitingScan& scan) {
  return command("SELECT " + waitingColumns +
                     " FROM tenure_waiting WHERE queue = $1 AND (due, added) > ($2, $3)"
                     " ORDER BY due, added LIMIT (SELECT $4)",
                 queue, scan.due, scan.added, static_cast<std::int64_t>(scan.atMost));
}

WaitingPage waitingFrom(const Answer& rows) {
  WaitingPage page;
  for (int row = 0; row < rows.rows(); ++row) {
    page.rows.push_back(RowSets::rowFrom(rows, row, storage::Table::waiting));
    page.added.push_back(rows.integer(row, 7));
  }
  return page;
}

Command countWaiting(const std::string& queue, std::int64_t atMost) {
  return command(
      "SELECT (SELECT count(*) FROM (SELECT FROM tenure_waiting WHERE queue = $1 AND due > 0"
      "   ORDER BY due, added LIMIT $4) AS timed),"
      " (SELECT max(at - due) FROM"
      "  (SELECT at, due FROM tenure_fired WHERE at > $2 AND queue = $1 ORDER BY at DESC LIMIT $3) AS last),"
      " count(*), min(sent_at) FROM"
      " (SELECT sent_at FROM tenure_waiting WHERE queue = $1 AND due = 0 ORDER BY due, added LIMIT $4) AS once",
      queue, systemClock().wallNow() - storage::latenessAge, storage::latenessRows, atMost);
}

storage::WaitingCounts countsFrom(const Answer& row) {
  storage::WaitingCounts counts{.waiting = row.integer(0, 0), .atOnce = row.integer(0, 2)};
  if (!row.isNull(0, 3)) counts.oldestAtOnce = row.time(0, 3);
  if (!row.isNull(0, 1)) counts.lateness = std::chrono::milliseconds{row.integer(0, 1)};
  return counts;
}

void WaitingRoom::attach(Connection* connection, QueuePlace queue, const TermIdentity& term) {
  connection_ = connection;
  queue_ = std::move(queue);
  term_ = term;
  heldSince_.clear();
  once_ = {};
  timedFrom_ = 0;
  firstTimed_.reset();
  nextFrontLook_ = BootClock::now() + frontLooks;
}

Result<scheduled::IWaitingRoom::Front> WaitingRoom::look() {
  const bool atFront = BootClock::now() >= nextFrontLook_;
  const Command look = command("SELECT " + serverNow + ", " + firstOnce + ", " + firstTimed, options_.queue,
                               atFront ? std::int64_t{0} : once_.begin(), atFront ? std::int64_t{0} : timedFrom_);
  const std::optional<std::int64_t> awaited = once_.awaits();
  // A transaction that is over by the first statement has its messages seen by the second.
  const Exchange looked = awaited ? connection_->exchange(std::vector{
                                        beginTransaction(), command(oldestWriter, *awaited), look, command("COMMIT")})
                                  : connection_->exchange(std::vector{look});
  if (!looked) {
    connection_->rollback();
    return looked.error();
  }
  const Answer* const front = &looked.answers[awaited ? 2 : 0];
  if (atFront) nextFrontLook_ = BootClock::now() + frontLooks;
  const auto once = front->isNull(0, 1) ? std::nullopt : std::optional(front->integer(0, 1));
  const auto timed = front->isNull(0, 2) ? std::nullopt : std::optional(front->integer(0, 2));
  if (once && *once <= once_.begin()) once_ = {};  // added in a way that draws no place
  once_.looked(once, awaited ? looked.answers[1].integer(0, 0) : 0);
  const std::int64_t now = front->integer(0, 0);
  timedFrom_ = std::min(timed.value_or(now), now) - lateCommits;
  firstTimed_ = timed;
  Front found{storage::wallTimeOf(now)};
  if (once)
    found.due = WallTime{};
  else if (timed)
    found.due = storage::wallTimeOf(*timed);
  return found;
}

Result<void> WaitingRoom::fallAsleep(std::chrono::milliseconds forSoLong) {
  const std::string extend = "UPDATE tenure_reader SET asleep_until = greatest(asleep_until, " + serverNow + " + $7)";
  const std::vector sleeping{beginTransaction(), command("SET LOCAL synchronous_commit = off"),
                             ofReader(extend, "", static_cast<std::int64_t>(forSoLong.count())), command("COMMIT")};
  const Exchange asleep = connection_->exchange(sleeping);
  if (asleep) return asleep.answers[2].changed() == 1 ? Result<void>{} : storage::newerReader(options_.queue);
  connection_->rollback();
  // While another transaction holds the reader's row, senders do not notify, and the next look finds their messages.
  return isHeldUp(asleep.error()) ? Result<void>{} : asleep.error();
}

/// A lock that was not had in time, or a deadlock: the others go first.
bool WaitingRoom::isHeldUp(const Error& error) const { return error.is(Errc::storeBusy) && !connection_->isLost(); }

/// A statement about the reader's row, where it is this term's. Parameters of its own begin with $7.
template <class... Own>
Command WaitingRoom::ofReader(const std::string& sql, const std::string& end, Own... own) const {
  return command(sql +
                     " WHERE queue = $1 AND election = $2 AND path = $3 AND ensemble = $4 AND generation = $5"
                     " AND token = $6" +
                     end,
                 options_.queue, term_.election.value, term_.electionPath, term_.ensemble.value, term_.generation,
                 term_.token.value, own...);
}

Result<void> WaitingRoom::hold() {
  const Exchange held =
      connection_->exchange(std::vector{beginTransaction(), ofReader("SELECT 1 FROM tenure_reader", " FOR UPDATE")});
  if (held && held.answers[1].rows() > 0) return {};
  connection_->rollback();
  return held ? storage::newerReader(options_.queue) : held.error();
}

Result<std::vector<scheduled::IWaitingRoom::Unread>> WaitingRoom::unread() {
  const Result<Answer> rows = connection_->ask(storage::namesSql(true));
  if (!rows) return rows.error();
  std::vector<Unread> unread;
  for (int row = 0; row < rows->rows(); ++row) unread.push_back({rows->text(row, 0), rows->time(row, 1)});
  return unread;
}

Result<scheduled::IWaitingRoom::Promoted> WaitingRoom::promote(WallTime until, std::size_t atMost) {
  const bool isTimedDue = firstTimed_ && *firstTimed_ <= storage::millisecondsOf(until);
  const auto inTransaction = [&]() -> Result<Promoted> {
    const Result<bool> begun = begin();
    if (!begun) return begun.error();
    if (!*begun) return Promoted{.isHeld = true};
    if (!isTimedDue && BootClock::now() >= oneByOneUntil_) {
      const Result<std::optional<Promoted>> whole = moveAll(atMost);
      if (!whole) return whole.error();
      if (*whole) return **whole;
    }
    const Result<Due> due = dueMessages(until, atMost);
    if (!due) return due.error();
    Result<WaitingPage> locked = lock(*due);
    if (!locked) return locked.error();
    const WaitingPage page = movable(*due, *std::move(locked));
    if (page.rows.empty()) return Promoted{.isHeld = true};
    return move(page);
  };
  Result<Promoted> promoted = inTransaction();
  if (!promoted && isHeldUp(promoted.error())) promoted = Promoted{.isHeld = true};
  if (!promoted || promoted->isHeld) connection_->rollback();
  return promoted;
}

Result<bool> WaitingRoom::begin() {
  const std::vector question{
      beginTransaction(),
      ofReader("SELECT pg_current_xact_id()::text::bigint FROM tenure_reader", " FOR UPDATE NOWAIT"),
      command("SELECT generation, token FROM tenure_fence WHERE election = $1 AND path = $2 AND ensemble = $3"
              " FOR SHARE NOWAIT",
              term_.election.value, term_.electionPath, term_.ensemble.value)};
  const Exchange begun = connection_->exchange(question);
  if (!begun && begun.failure->sqlState == nothingToHold) return false;
  if (!begun) return begun.error();
  const Answer& fence = begun.answers[2];
  const bool isFenced = fence.rows() > 0 && std::pair(fence.integer(0, 0), fence.integer(0, 1)) >
                                                std::pair(term_.generation, term_.token.value);
  if (begun.answers[1].rows() == 0 || isFenced) return storage::newerReader(options_.queue);
  once_.began(begun.answers[1].integer(0, 0));
  return true;
}

Result<Answer> WaitingRoom::finish(Command statement) {
  Exchange done = connection_->exchange(std::vector{std::move(statement), command("COMMIT")});
  if (!done) return done.error();
  const Result<void> committed = checkCommitted(*connection_, done.answers.back());
  return committed ? Result<Answer>(std::move(done.answers.front())) : committed.error();
}

Error WaitingRoom::undone(const Error& error) {
  connection_->rollback();
  return isOutcomeUnknown(error.code) ? Error{Errc::unavailable, error.detail} : error;
}

Result<std::int64_t> WaitingRoom::commitAsReader(Command statement) {
  const Result<bool> begun = begin();
  if (!begun) return undone(begun.error());
  if (!*begun) return undone({Errc::storeBusy, "another transaction holds the queue's reader or the fence"});
  const Result<Answer> answer = finish(std::move(statement));
  return answer ? Result<std::int64_t>(answer->changed()) : undone(answer.error());
}

Result<Answer> WaitingRoom::answerAsReader(Command statement) {
  if (const Result<void> held = hold(); !held) return held.error();
  Result<Answer> answer = finish(std::move(statement));
  return answer ? std::move(answer) : undone(answer.error());
}

Result<std::optional<scheduled::IWaitingRoom::Promoted>> WaitingRoom::moveAll(std::size_t atMost) {
  const Exchange moved = connection_->exchange(
      std::vector{command(moveWhole, options_.queue, once_.begin(), static_cast<std::int64_t>(atMost), enoughBytes,
                          queue_.number, systemClock().wallNow())});
  if (!moved && moved.failure->sqlState == nothingToHold) {
    oneByOneUntil_ = BootClock::now() + oneByOne;
    return std::optional(Promoted{.isHeld = true});
  }
  if (!moved) return moved.error();
  const std::int64_t there = moved.answers[0].integer(0, 0);
  const std::int64_t gone = moved.answers[0].integer(0, 1);
  if (gone == 0) return std::optional<Promoted>{};
  if (gone < there) {  // another transaction has changed one of them after this statement's look
    oneByOneUntil_ = BootClock::now() + oneByOne;
    return std::optional(Promoted{.isHeld = true});
  }
  once_.saw(moved.answers[0].integer(0, 2));
  const Result<Promoted> promoted = commit({}, static_cast<std::size_t>(gone), 0);
  return promoted ? Result<std::optional<Promoted>>(*promoted) : promoted.error();
}

Result<WaitingRoom::Due> WaitingRoom::dueMessages(WallTime until, std::size_t atMost) {
  const Result<Answer> rows = connection_->ask(
      "SELECT due, added, grp FROM (SELECT *, sum(size) OVER (ORDER BY place, due) - size AS before FROM ("
      "  SELECT due, added, grp, octet_length(body) AS size, row_number() OVER (ORDER BY added) AS place FROM ("
      "   SELECT * FROM tenure_waiting WHERE queue = $1 AND due = 0 AND added > $2"
      "   ORDER BY due, added LIMIT (SELECT $5)) AS once"
      "  UNION ALL"
      "  SELECT due, added, grp, octet_length(body), row_number() OVER (ORDER BY due, added) FROM ("
      "   SELECT * FROM tenure_waiting WHERE queue = $1 AND due > 0 AND due >= $3 AND due <= $4"
      "   ORDER BY due, added LIMIT (SELECT $5)) AS timed) AS both_kinds) AS measured"
      " WHERE before < $6 ORDER BY place, due LIMIT (SELECT $5)",
      options_.queue, once_.begin(), timedFrom_, until, static_cast<std::int64_t>(atMost), enoughBytes);
  if (!rows) return rows.error();
  Due due;
  for (int row = 0; row < rows->rows(); ++row) {
    due.push_back({rows->integer(row, 0), rows->integer(row, 1), rows->text(row, 2)});
    if (due.back().due == 0) once_.saw(due.back().added);
  }
  return due;
}

/// Two ranges of the index, and not a list: that would be compared with every message that is due.
Result<WaitingPage> WaitingRoom::lock(const Due& due) {
  std::vector<Command> locks;
  for (const bool hasTime : {false, true}) {
    const auto isOfKind = [&](const DueMessage& each) { return (each.due != 0) == hasTime; };
    const auto first = std::find_if(due.begin(), due.end(), isOfKind);
    if (first == due.end()) continue;
    const auto last = std::find_if(due.rbegin(), due.rend(), isOfKind);
    locks.push_back(command("SELECT " + waitingColumns +
                                " FROM tenure_waiting WHERE queue = $1 AND (due, added) >= ($2, $3)"
                                " AND (due, added) <= ($4, $5) ORDER BY due, added FOR UPDATE SKIP LOCKED",
                            options_.queue, first->due, first->added, last->due, last->added));
  }
  WaitingPage page;
  if (locks.empty()) return page;
  const Exchange locked = connection_->exchange(locks);
  if (!locked) return locked.error();
  for (const Answer& rows : locked.answers) {
    WaitingPage some = waitingFrom(rows);
    std::move(some.rows.begin(), some.rows.end(), std::back_inserter(page.rows));
    page.added.insert(page.added.end(), some.added.begin(), some.added.end());
  }
  return page;
}

WaitingPage WaitingRoom::movable(const Due& due, WaitingPage locked) {
  std::map<std::int64_t, std::size_t> free;  // by `added`, the place in `locked`
  for (std::size_t i = 0; i < locked.added.size(); ++i) free.emplace(locked.added[i], i);
  std::map<std::int64_t, BootTime> heldSince;
  std::set<std::string> heldGroups;
  WaitingPage page;
  for (const DueMessage& each : due) {
    const auto row = free.find(each.added);
    if (row == free.end()) {
      const auto before = heldSince_.find(each.added);
      const BootTime since = before == heldSince_.end() ? BootClock::now() : before->second;
      heldSince.emplace(each.added, since);
      if (!each.group.empty() && BootClock::now() - since < options_.lockLimit) heldGroups.insert(each.group);
    } else if (!heldGroups.contains(each.group)) {
      page.rows.push_back(std::move(locked.rows[row->second]));
      page.added.push_back(each.added);
    }
  }
  heldSince_ = std::move(heldSince);
  return page;
}

Result<scheduled::IWaitingRoom::Promoted> WaitingRoom::move(const WaitingPage& page) {
  std::vector<WaitingMessage> messages;
  Array ids(TypeId::bytes);
  Array timedIds(TypeId::bytes);
  Array times(TypeId::bigint);
  std::size_t timed = 0;
  for (const Row& row : page.rows) {
    Result<WaitingMessage> message = storage::waitingFrom(row);
    if (!message) return message.error();
    ids.add(message->message.id.value);
    if (message->message.deliverAt) {
      ++timed;
      timedIds.add(message->message.id.value);
      times.add(storage::millisecondsOf(*message->message.deliverAt));
    }
    messages.push_back(*std::move(message));
  }
  std::vector commands{
      command("DELETE FROM tenure_waiting WHERE queue = $1 AND id = ANY((SELECT $2)::bytea[])", options_.queue, ids),
      command("INSERT INTO tenure_fired(queue, id, due, at) SELECT $1, id, due, " + serverNow +
                  " FROM unnest($2::bytea[], $3::bigint[]) AS given(id, due)"
                  " ON CONFLICT(queue, id) DO UPDATE SET due = excluded.due, at = excluded.at RETURNING at - due",
              options_.queue, timedIds, times),
      forgetOld("tenure_fired", static_cast<std::int64_t>(2 * messages.size()))};
  if (const Result<void> added = addAppends(queue_, messages, commands); !added) return added.error();
  return commit(commands, messages.size(), timed);
}

/// `before`: what is left to do; the second of it tells how late each message with a time is, where there are any.
Result<scheduled::IWaitingRoom::Promoted> WaitingRoom::commit(std::vector<Command> before, std::size_t messages,
                                                              std::size_t timed) {
  before.push_back(command("SELECT " + firstOnce + ", " + firstTimed, options_.queue, once_.begin(), timedFrom_));
  before.push_back(command("COMMIT"));
  const Exchange moved = connection_->exchange(before);
  if (!moved) return moved.error();
  // A repeat is harmless: the next look finds each message in the waiting room or in its queue.
  if (const Result<void> committed = checkCommitted(*connection_, moved.answers.back()); !committed)
    return isOutcomeUnknown(committed.error().code) ? Error{Errc::unavailable, committed.error().detail}
                                                    : committed.error();
  Promoted promoted{.messages = messages, .hasOnce = timed < messages};
  for (std::size_t row = 0; row < timed; ++row)
    promoted.lateness =
        std::max(promoted.lateness, std::chrono::milliseconds{moved.answers[1].integer(static_cast<int>(row), 0)});
  const Answer& next = moved.answers[moved.answers.size() - 2];
  if (!next.isNull(0, 0))
    promoted.next = WallTime{};
  else if (!next.isNull(0, 1))
    promoted.next = next.time(0, 1);
  return promoted;
}

}  // namespace tenure::postgresql
