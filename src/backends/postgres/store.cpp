#include "backends/postgres/store.hpp"

#include <set>
#include <unordered_set>

#include "backends/postgres/schema.hpp"
#include "backends/postgres/statement_check.hpp"
#include "backends/postgres/transaction.hpp"
#include "backends/shared/record_text.hpp"
#include "base/assert.hpp"

namespace tenure::postgresql {
namespace {

using std::chrono::milliseconds;
using storage::Claim;
using storage::isClaimOf;
using storage::judgeClaim;
using storage::judgeFenced;

milliseconds since(BootTime start) { return std::chrono::duration_cast<milliseconds>(BootClock::now() - start); }

Error errorOf(const Failure& failure) {
  return isFenceTableGone(failure) ? Error{Errc::fenceLost, failure.error.detail} : failure.error;
}

/// Two first claims met, and the other one was faster.
constexpr const char* outrun = "another first claim was faster";
constexpr int mostRepeats = 3;

// Of the second that a claim may take beyond its limit; the rest is for the server's last answer.
constexpr milliseconds afterLimit{800};
constexpr milliseconds oneRound{100};
constexpr milliseconds longRound{250};

/// Something else than the fence's own word stands in its way.
template <class Written>
bool isHeldUp(const Result<Written>& written) noexcept {
  return !written && written.error().is(Errc::storeBusy);
}

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
void Store::emit(const Term& term, Body body) {
  events_.on({systemClock().wallNow(), term.identity().election, term.token(), std::move(body)});
}

Error Store::refused(const Term& term, Error error) {
  if (storage::isRefusal(error)) emit(term, FenceRefused{error.message()});
  return error;
}

Result<void> Store::claim(const Term& term) {
  if (lane_) return join(term);
  const BootTime start = BootClock::now();
  claimed_.reset();
  lookahead_.clear();
  const Result<Written> written = claimPatiently(term);
  if (!written) {
    release();
    return refused(term, written.error());
  }
  claimed_ = Claimed{term, written->previousToken, written->sequence};
  const auto connection = session();
  emit(term, FenceClaimed{connection ? (*connection)->name() : "", written->previousToken, since(start)});
  return {};
}

Result<void> Store::join(const Term& term) {
  claimed_.reset();
  const auto connection = session_.get(term.identity());
  if (!connection) return connection.error();
  const Result<Written> joined = judgeAndJoin(**connection, term.identity());
  if (!joined) (*connection)->rollback();
  if (!joined) return refused(term, joined.error());
  claimed_ = Claimed{term, joined->previousToken, joined->sequence};
  return {};
}

Result<Store::Written> Store::judgeAndJoin(Connection& connection, const TermIdentity& term) {
  const Exchange shared =
      connection.exchange(std::vector{beginTransaction(), awaitTurn(term.election.value, Turn::shared),
                                      selectQueue(options_.queue), shareFence(term.election.value)});
  if (!shared) return errorOf(*shared.failure);
  const auto stored = fencesFrom(shared.answers[3]);
  const bool ours = shared.answers[2].rows() == 1 && stored.size() == 1 && stored.front().damage.empty() &&
                    isClaimOf(stored.front().row, term);
  if (!ours) return Error{Errc::staleTerm, "a lane joins the claim of its own term, and there is none"};
  const Exchange joined = connection.exchange(std::vector{joinLane(term, *lane_)});
  if (!joined) return errorOf(*joined.failure);
  const Result<void> committed = commitOf(connection);
  if (!committed) return committed.error();
  queue_ = queueFrom(shared.answers[2]).number;
  return Written{term.token.value, joined.answers[0].integer(0, 0)};
}

std::unique_ptr<IFencedStore> Store::openLane(std::int64_t number) {
  return std::unique_ptr<IFencedStore>(new Store(options_, events_, number, main_));
}

Result<Store::Written> Store::claimPatiently(const Term& term) {
  const BootTime start = BootClock::now();
  const BootTime limit = start + options_.lockLimit;
  Result<Written> written = claimBefore(term, limit);
  // Another first claim was faster, or the server has undone one of two that waited for each other.
  for (int again = 0; again < mostRepeats && isHeldUp(written) && BootClock::now() < limit; ++again)
    written = claimBefore(term, limit);
  if (!isHeldUp(written) || BootClock::now() < limit) return written;
  std::set<std::int64_t> ended;
  Against whom = Against::queue;
  while (isHeldUp(written) && BootClock::now() < limit + afterLimit && makeRoom(term, start, ended)) {
    const milliseconds round = whom == Against::queue ? oneRound : longRound;
    written = claimBefore(term, std::min(limit + afterLimit, BootClock::now() + round), whom);
    // Whoever was ended may be back, and lock the row before us. By turns, because other elections may be in the way of
    // the table's lock, and have to wait for it.
    whom = whom == Against::queue ? Against::everybody : Against::queue;
  }
  if (isHeldUp(written)) tellHolder(term, written.error());
  return written;
}

Result<Store::Written> Store::claimBefore(const Term& term, BootTime deadline, Against whom) {
  const auto connection = session_.reach(term.identity());
  if (!connection) return connection.error();
  const auto left = std::chrono::ceil<milliseconds>(deadline - BootClock::now());
  Result<Written> written = judgeAndWrite(**connection, term, std::max(left, milliseconds{1}), whom);
  if (written) return written;
  (*connection)->rollback();
  const bool isOutOfTime = written.error().is(Errc::timedOut) && !(*connection)->isLost();
  return isOutOfTime ? Error{Errc::storeBusy, written.error().detail} : written.error();
}

/// The owner is read first: a first claim that lands in between shows in the fence, never as a fence that is lost.
Result<Store::Written> Store::judgeAndWrite(Connection& connection, const Term& term, milliseconds limit,
                                            Against whom) {
  const TermIdentity& identity = term.identity();
  const std::vector<Command> question{selectQueue(options_.queue), lockFence(identity.election.value)};
  std::vector<Command> inTurn{awaitTurn(identity.election.value, Turn::alone)};
  if (whom == Against::everybody) inTurn.push_back(lockFenceTable());
  inTurn.insert(inTurn.end(), question.begin(), question.end());
  const std::vector<Command> beginning{beginTransaction(), withinLimit(limit)};
  if (const Exchange begun = connection.exchange(beginning); !begun) return begun.error();
  if (const Result<void> known = session_.checkTables(); !known) return known.error();
  Exchange read = connection.exchange(eachWithin(limit, inTurn));
  if (read && fromBehind(read, 1).rows() == 0) {
    // Waits for another first claim, whose fence must then be seen as well.
    if (const auto added = ensureQueue(connection, options_.queue); !added) return added.error();
    read = connection.exchange(eachWithin(limit, question));
  }
  if (!read) return errorOf(*read.failure);
  const Queue queue = queueFrom(fromBehind(read, 1));
  const auto stored = fencesFrom(fromBehind(read, 0));
  const Result<Claim> claim = judgeClaim(stored, queue.owner, identity, term.valid());
  if (!claim) return claim.error();

  std::vector<Command> writes{writeClaim(identity, *claim, systemClock().wallNow())};
  if (queue.owner.election.empty()) writes.push_back(takeQueue(queue.number, identity));
  const Exchange written = connection.exchange(eachWithin(limit, writes));
  if (!written) return errorOf(*written.failure);
  const bool isTaken = writes.size() > 1 && fromBehind(written, 0).changed() == 0;
  const Answer& fence = fromBehind(written, writes.size() - 1);
  if (fence.rows() == 0 || isTaken) return Error{Errc::storeBusy, outrun};
  const Result<void> committed = commitOf(connection);
  if (!committed) return committed.error();
  queue_ = queue.number;
  return Written{stored.empty() ? 0 : stored.front().row.token.value, fence.integer(0, 0)};
}

/// False when nobody who may be ended is in the way. Whoever was ended may be back, so there is more than one round.
bool Store::makeRoom(const Term& term, BootTime since, std::set<std::int64_t>& ended) {
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

void Store::tellHolder(const Term& term, const Error& why) {
  const auto connection = session_.reach(term.identity());
  if (!connection) return;
  const auto holder = Session::holderOfFence(**connection, term.identity().election);
  if (!holder) return;
  const bool isKnown = holder->process != 0;
  emit(term,
       StoreBusy{holder->process, isKnown ? "the fence is held by session \"" + holder->name + "\"" : why.detail});
}

Result<void> Store::isClaimedBy(const Term& term) const {
  if (!claimed_ || claimed_->term.identity().candidate != term.identity().candidate ||
      claimed_->term.token() != term.token())
    return Error{Errc::staleTerm, "this term does not hold the claim"};
  return {};
}

Result<std::shared_ptr<Connection>> Store::session() {
  if (!claimed_) return Error{Errc::staleTerm, "the store was released"};
  return session_.get(claimed_->term.identity());
}

Result<std::unique_ptr<IFencedTransaction>> Store::begin(const Term& term) {
  if (const Result<void> ours = isClaimedBy(term); !ours) return ours.error();
  if (claimed_->lastIsUnknown) return Error{Errc::outcomeUnknown, "the last commit is not resolved"};
  return std::unique_ptr<IFencedTransaction>(std::make_unique<FencedTransaction>(*this, term));
}

std::vector<Command> Store::passFence() const {
  TENURE_ASSERT(claimed_.has_value());
  return postgresql::passFence(claimed_->term.identity(), claimed_->sequence, lane_);
}

bool Store::isStillClaimed(Connection& connection) const {
  const TermIdentity& term = claimed_->term.identity();
  const Exchange read = connection.exchange(std::vector{selectFence(term.election.value)});
  const auto stored = read ? fencesFrom(read.answers[0]) : std::vector<storage::StoredFence>{};
  return !read || (stored.size() == 1 && isClaimOf(stored.front().row, term));
}

Error Store::fenced(Connection& connection) const {
  const TermIdentity& term = claimed_->term.identity();
  const Exchange read = connection.exchange(std::vector{selectFence(term.election.value, lane_)});
  if (!read) return errorOf(*read.failure);
  return judgeFenced(fencesFrom(read.answers[0]), term, claimed_->sequence);
}

/// The commit at the end waits for the synchronous standbys once more, and thereby for the one in question.
Result<CommitFate> Store::resolve(const Term& term) {
  if (const Result<void> ours = isClaimedBy(term); !ours) return ours.error();
  const auto connection = session();
  if (!connection) return connection.error();
  const std::string& election = term.identity().election.value;
  // Shared, so that live lanes and users' programs do not keep it waiting. A commit that is under way has the row that
  // it counts in: it is read when that is had.
  std::vector<Command> question{beginTransaction(), awaitTurn(election, Turn::shared), shareFence(election)};
  if (lane_) question.push_back(lockLane(election, *lane_));
  question.push_back(selectFence(election, lane_));
  const Exchange locked = (*connection)->exchange(question);
  if (!locked) {
    (*connection)->rollback();
    return errorOf(*locked.failure);
  }
  if (const Result<void> waited = commitOf(**connection); !waited) return waited.error();
  const auto stored = fencesFrom(locked.answers.back());
  const bool ours =
      stored.size() == 1 && stored.front().damage.empty() && isClaimOf(stored.front().row, term.identity());
  const std::int64_t ahead = ours ? stored.front().row.sequence - claimed_->sequence : -1;
  if (ahead != 0 && ahead != 1) return judgeFenced(stored, term.identity(), claimed_->sequence);
  claimed_->sequence += ahead;
  claimed_->lastIsUnknown = false;
  return ahead == 1 ? CommitFate::committed : CommitFate::notCommitted;
}

/// A session that was lost meanwhile, unnoticed, is no answer.
Result<void> Store::checkSql(std::string_view sql, std::span<const SqlParameter> parameters) {
  Result<void> checked;
  for (int again = 0; again < 2; ++again) {
    const auto connection = claimed_ ? session() : session_.withoutTerm();
    if (!connection) return connection.error();
    checked = checkStatement(**connection, translations_, sql, parameters);
    if (!(*connection)->isLost()) break;
  }
  return checked;
}

Result<ConsumerState> Store::consumerState(const ConsumerName& consumer) {
  const auto connection = session();
  if (!connection) return connection.error();
  const Exchange read =
      (*connection)
          ->exchange(
              std::vector{command("SELECT more, ids, token FROM tenure_in_work WHERE consumer = $1", consumer.value),
                          command("SELECT id, attempts, last_error, first_at, last_at, standing FROM tenure_attempt"
                                  " WHERE consumer = $1",
                                  consumer.value)});
  if (!read) return read.error();
  ConsumerState state;
  const Answer& inWork = read.answers[0];
  const bool recorded = inWork.rows() == 1;
  if (recorded) {
    state.moreInWork = inWork.integer(0, 0) != 0;
    state.inWork = backends::splitIds(inWork.bytes(0, 1));
  }
  const std::int64_t recordedBy = recorded ? inWork.integer(0, 2) : 0;
  state.recordedBy = FencingToken{recordedBy};
  if (recordedBy != claimed_->previousToken) state.moreInWork = true;
  const Answer& attempts = read.answers[1];
  for (int row = 0; row < attempts.rows(); ++row) state.attempts.push_back(attemptFrom(attempts, row));
  return state;
}

Result<std::vector<Admission>> Store::known(const ConsumerName& consumer, std::span<const Message> messages) {
  const bool foreseen = messages.size() == 1 && mayGuess() && lookahead_.isAbsent(consumer, messages.front().id);
  if (foreseen) return std::vector{Admission::fresh};
  const auto connection = session();
  if (!connection) return connection.error();
  if (messages.size() == 1 && mayGuess()) {
    const Exchange ahead = (*connection)->exchange(std::vector{lookAhead(consumer, messages.front().id)});
    if (!ahead) return ahead.error();
    lookedAhead(consumer, ahead.answers[0]);
    if (lookahead_.isAbsent(consumer, messages.front().id)) return std::vector{Admission::fresh};
  }
  std::vector<Command> questions;
  for (const Message& message : messages) questions.push_back(selectKey(consumer, message.id));
  const Exchange keys = (*connection)->exchange(questions);
  if (!keys) return keys.error();
  std::vector<Admission> known;
  for (std::size_t i = 0; i < messages.size(); ++i)
    known.push_back(admissionOf(keys.answers[i], digestOf(messages[i].body)));
  return known;
}

/// A subquery, because the planner does not turn one into a join: to a server that has not analysed the table yet, a
/// look at all of it would seem cheaper.
Command Store::lookAhead(const ConsumerName& consumer, const MessageId& id) {
  lookedFor_ = lookahead_.take(id, storage::furthestAhead);
  return lookFor(consumer);
}

Command Store::lookFor(const ConsumerName& consumer) const {
  Array ids(TypeId::bytes);
  for (const MessageId& each : lookedFor_) ids.add(each.value);
  return command(
      "SELECT id FROM unnest($2) AS id WHERE (SELECT true FROM tenure_key AS k WHERE k.consumer = $1 AND k.id = id.id)",
      consumer.value, ids);
}

std::optional<Command> Store::lookOnward() {
  if (!mayGuess()) return std::nullopt;
  lookedFor_ = lookahead_.takeNext(storage::furthestAhead);
  return lookedFor_.empty() ? std::nullopt : std::optional(lookFor(lookahead_.consumer()));
}

void Store::lookedOnward(const Answer* keys) {
  if (keys == nullptr)
    lookahead_.expectAgain(lookedFor_);
  else
    lookedAhead(lookahead_.consumer(), *keys);
}

void Store::lookedAhead(const ConsumerName& consumer, const Answer& keys) {
  std::unordered_set<std::string_view> known;
  for (int row = 0; row < keys.rows(); ++row) known.insert(keys.bytes(row, 0));
  for (const MessageId& id : lookedFor_)
    if (!known.contains(id.value)) lookahead_.sawAbsent(consumer, id);
}

bool Store::admitUnasked(const ConsumerName& consumer, const MessageId& id) {
  if (mayGuess()) return lookahead_.useAbsent(consumer, id);
  --careful_;
  return false;
}

void Store::guessedWrong() noexcept {
  goCarefully();
  lookahead_.distrust();
}

void Store::release() noexcept {
  claimed_.reset();
  lookahead_.clear();
  careful_ = 0;
  session_.close();
}

Command deleteByPosition(std::int64_t queue, std::span<const Message> messages) {
  const std::int64_t first = messages.front().position;
  std::size_t inLine = 1;
  while (inLine < messages.size() && messages[inLine].position == messages[inLine - 1].position + 1) ++inLine;
  if (inLine == messages.size())  // without a gap: nobody else's message can lie between them
    return command("DELETE FROM tenure_message WHERE queue = $1 AND n BETWEEN $2 AND $3", queue, first,
                   messages.back().position);
  Array places(TypeId::bigint);
  for (const Message& message : messages) places.add(message.position);
  return command("DELETE FROM tenure_message WHERE queue = $1 AND n = ANY($2)", queue, places);
}

}  // namespace tenure::postgresql
