// The claim of a driver: bounded whatever it waits for, and through in spite of whoever holds it up.
#include "backends/postgresql/driver.hpp"
#include "backends/postgresql/schema.hpp"
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

/// Each of them may take what is left of the limit.
std::vector<Command> eachWithin(milliseconds limit, std::vector<Command> commands) {
  std::vector<Command> limited;
  for (Command& command : commands) {
    limited.push_back(withinLimit(limit));
    limited.push_back(std::move(command));
  }
  return limited;
}
/// The answer to such a command, counted from the last one.
const Answer& fromBehind(const Exchange& exchange, std::size_t command) {
  return exchange.answers[exchange.answers.size() - 1 - 2 * command];
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

/// The owner is read first: a first claim that lands in between shows in the fence, never as a fence that is lost.
Result<void> Driver::judgeAndWrite(Connection& connection, const TermIdentity& term, const ClaimJudge& judge,
                                   milliseconds limit, Against whom) {
  const std::vector<Command> question{selectQueue(which_), lockFence(term.election.value)};
  std::vector<Command> inTurn{awaitTurn(term.election.value, Turn::alone)};
  if (whom == Against::everybody) inTurn.push_back(lockFenceTable());
  inTurn.insert(inTurn.end(), question.begin(), question.end());
  const std::vector<Command> beginning{beginTransaction(), withinLimit(limit)};
  if (const Exchange begun = connection.exchange(beginning); !begun) return begun.error();
  if (const Result<void> known = session_.checkTables(); !known) return known.error();
  Exchange read = connection.exchange(eachWithin(limit, inTurn));
  if (read && fromBehind(read, 1).rows() == 0) {
    // Waits for another first claim, whose fence must then be seen as well.
    if (const auto added = ensureQueue(connection, which_); !added) return added.error();
    read = connection.exchange(eachWithin(limit, question));
  }
  if (!read) return errorOf(*read.failure);
  const Queue queue = queueFrom(fromBehind(read, 1));
  FenceFound found = foundIn(fromBehind(read, 0));
  found.owner = queue.owner;
  const Result<std::optional<Fence>> next = judge(found);
  if (!next) return next.error();
  TENURE_ASSERT(next->has_value());

  std::vector<Command> writes{found.stored.empty() ? addFence(**next) : writeFence(**next)};
  if (queue.owner.election.empty()) writes.push_back(takeQueue(queue.number, term));
  const Exchange written = connection.exchange(eachWithin(limit, writes));
  if (!written) return errorOf(*written.failure);
  for (std::size_t i = 0; i < writes.size(); ++i)
    if (fromBehind(written, i).changed() == 0) return Error{Errc::storeBusy, outrun};
  owner_.queue = queue.number;
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
