// The claim of a driver: bounded whatever it waits for, and through in spite of whoever holds it up.
#include "backends/postgresql/rows/schema.hpp"
#include "backends/postgresql/store/driver.hpp"
#include "base/assert.hpp"

namespace tenure::postgresql {
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
  return lane_ ? join(*term, judge) : claimPatiently(*term, judge);
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
    // Whoever was ended may be back, and lock the row before us. By turns, because other elections may be in the way of
    // the table's lock, and have to wait for it.
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

/// False when nobody who may be ended is in the way. Whoever was ended may be back, so there is more than one round.
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
  return holder && holder->process == 0;  // it has let go
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
