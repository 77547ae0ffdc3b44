#include "backends/postgres/store.hpp"

#include <unordered_set>

#include "backends/postgres/schema.hpp"
#include "backends/postgres/transaction.hpp"
#include "backends/shared/record_text.hpp"
#include "base/assert.hpp"

namespace tenure::postgresql {
namespace {

using backends::Claim;
using backends::isClaimOf;
using backends::judgeClaim;
using backends::judgeFenced;
using std::chrono::milliseconds;

milliseconds since(BootTime start) { return std::chrono::duration_cast<milliseconds>(BootClock::now() - start); }

Error errorOf(const Failure& failure) {
  return isFenceTableGone(failure) ? Error{Errc::fenceLost, failure.error.detail} : failure.error;
}

/// Two first claims met, and the other one was faster.
constexpr const char* outrun = "another first claim was faster";

}  // namespace

template <class Body>
void Store::emit(const Term& term, Body body) {
  events_.on({systemClock().wallNow(), term.identity().election, term.token(), std::move(body)});
}

Error Store::refused(const Term& term, Error error) {
  if (backends::isRefusal(error)) emit(term, FenceRefused{error.message()});
  return error;
}

Result<void> Store::claim(const Term& term) {
  if (lane_) return join(term);
  const BootTime start = BootClock::now();
  claimed_.reset();
  foresight_.clear();
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
  const Exchange shared = connection.exchange(
      std::vector{beginTransaction(), selectQueue(options_.queue), shareFence(term.election.value)});
  if (!shared) return errorOf(*shared.failure);
  const auto stored = fencesFrom(shared.answers[2]);
  const bool ours = shared.answers[1].rows() == 1 && stored.size() == 1 && stored.front().damage.empty() &&
                    isClaimOf(stored.front().row, term);
  if (!ours) return Error{Errc::staleTerm, "a lane joins the claim of its own term, and there is none"};
  const Exchange joined = connection.exchange(std::vector{joinLane(term, *lane_)});
  if (!joined) return errorOf(*joined.failure);
  const Result<void> committed = commitOf(connection);
  if (!committed) return committed.error();
  queue_ = queueFrom(shared.answers[1]).number;
  return Written{term.token.value, joined.answers[0].integer(0, 0)};
}

std::unique_ptr<IFencedStore> Store::openLane(std::int64_t number) {
  return std::unique_ptr<IFencedStore>(new Store(options_, events_, number, main_));
}

Result<Store::Written> Store::claimPatiently(const Term& term) {
  const BootTime start = BootClock::now();
  Result<Written> written = claimOnce(term);
  const auto heldUp = [&] { return !written && written.error().is(Errc::storeBusy); };
  if (heldUp() && written.error().detail == outrun) written = claimOnce(term);
  if (heldUp() && makeRoom(term, start)) written = claimOnce(term);
  return written;
}

Result<Store::Written> Store::claimOnce(const Term& term) {
  const auto connection = session_.get(term.identity());
  if (!connection) return connection.error();
  Result<Written> written = judgeAndWrite(**connection, term);
  if (!written) (*connection)->rollback();
  return written;
}

/// The owner is read first: a first claim that lands in between shows in the fence, never as a fence that is lost.
Result<Store::Written> Store::judgeAndWrite(Connection& connection, const Term& term) {
  const TermIdentity& identity = term.identity();
  const std::vector<Command> question{selectQueue(options_.queue), lockFence(identity.election.value)};
  if (const Exchange begun = connection.exchange(std::vector{beginTransaction()}); !begun) return begun.error();
  Exchange read = connection.exchange(question);
  if (read && read.answers[0].rows() == 0) {
    // Waits for another first claim, whose fence must then be seen as well.
    if (const auto added = ensureQueue(connection, options_.queue); !added) return added.error();
    read = connection.exchange(question);
  }
  if (!read) return errorOf(*read.failure);
  const Queue queue = queueFrom(read.answers[0]);
  const auto stored = fencesFrom(read.answers[1]);
  const Result<Claim> claim = judgeClaim(stored, queue.owner, identity, term.valid());
  if (!claim) return claim.error();

  std::vector<Command> writes{writeClaim(identity, *claim, systemClock().wallNow())};
  if (queue.owner.election.empty()) writes.push_back(takeQueue(queue.number, identity));
  const Exchange written = connection.exchange(writes);
  if (!written) return errorOf(*written.failure);
  if (written.answers[0].rows() == 0 || (writes.size() > 1 && written.answers[1].changed() == 0))
    return Error{Errc::storeBusy, outrun};
  const Result<void> committed = commitOf(connection);
  if (!committed) return committed.error();
  queue_ = queue.number;
  return Written{stored.empty() ? 0 : stored.front().row.token.value, written.answers[0].integer(0, 0)};
}

bool Store::makeRoom(const Term& term, BootTime since) {
  const auto connection = session_.get(term.identity());
  if (!connection) return false;
  // A term that is over itself has no business ending others.
  if (options_.evictFrozenHolder && term.valid()) {
    const auto evicted = Session::evictOlder(**connection, term.identity());
    if (evicted && !evicted->empty()) {
      for (const std::int64_t process : *evicted) emit(term, HolderEvicted{process, postgresql::since(since)});
      return true;
    }
  }
  const auto holder = Session::holderOfFence(**connection, term.identity().election);
  if (holder && holder->process == 0) return true;  // it has let go
  if (holder) emit(term, StoreBusy{holder->process, "the fence is held by session \"" + holder->name + "\""});
  return false;
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

Command Store::passFence() const {
  TENURE_ASSERT(claimed_.has_value());
  return postgresql::passFence(claimed_->term.identity(), claimed_->sequence, lane_);
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
  // Read once more when the lock is had: what a lane counts is in another row, which the lock's own answer may miss.
  const Exchange locked =
      (*connection)->exchange(std::vector{beginTransaction(), lockFence(election), selectFence(election, lane_)});
  if (!locked) {
    (*connection)->rollback();
    return errorOf(*locked.failure);
  }
  if (const Result<void> waited = commitOf(**connection); !waited) return waited.error();
  const auto stored = fencesFrom(locked.answers[2]);
  const bool ours =
      stored.size() == 1 && stored.front().damage.empty() && isClaimOf(stored.front().row, term.identity());
  const std::int64_t ahead = ours ? stored.front().row.sequence - claimed_->sequence : -1;
  if (ahead != 0 && ahead != 1) return judgeFenced(stored, term.identity(), claimed_->sequence);
  claimed_->sequence += ahead;
  claimed_->lastIsUnknown = false;
  return ahead == 1 ? CommitFate::committed : CommitFate::notCommitted;
}

AttemptRecord attemptFrom(const Answer& rows, int row) {
  return {MessageId{rows.text(row, 0)},
          static_cast<int>(rows.integer(row, 1)),
          rows.text(row, 2),
          rows.time(row, 3),
          rows.time(row, 4),
          static_cast<Standing>(rows.integer(row, 5))};
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
  if (recordedBy != claimed_->previousToken) state.moreInWork = true;
  const Answer& attempts = read.answers[1];
  for (int row = 0; row < attempts.rows(); ++row) state.attempts.push_back(attemptFrom(attempts, row));
  return state;
}

Result<std::vector<Admission>> Store::known(const ConsumerName& consumer, std::span<const Message> messages) {
  const bool foreseen = messages.size() == 1 && mayGuess() && foresight_.isFresh(consumer, messages.front().id);
  if (foreseen) return std::vector{Admission::fresh};
  const auto connection = session();
  if (!connection) return connection.error();
  if (messages.size() == 1 && mayGuess()) {
    const Exchange ahead = (*connection)->exchange(std::vector{lookAhead(consumer, messages.front().id)});
    if (!ahead) return ahead.error();
    lookedAhead(consumer, ahead.answers[0]);
    if (foresight_.isFresh(consumer, messages.front().id)) return std::vector{Admission::fresh};
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
  lookedFor_ = foresight_.take(id, backends::furthestAhead);
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
  lookedFor_ = foresight_.takeNext(backends::furthestAhead);
  return lookedFor_.empty() ? std::nullopt : std::optional(lookFor(foresight_.consumer()));
}

void Store::lookedOnward(const Answer* keys) {
  if (keys == nullptr)
    foresight_.expectAgain(lookedFor_);
  else
    lookedAhead(foresight_.consumer(), *keys);
}

void Store::lookedAhead(const ConsumerName& consumer, const Answer& keys) {
  std::unordered_set<std::string_view> known;
  for (int row = 0; row < keys.rows(); ++row) known.insert(keys.bytes(row, 0));
  for (const MessageId& id : lookedFor_)
    if (!known.contains(id.value)) foresight_.sawFresh(consumer, id);
}

bool Store::admitUnasked(const ConsumerName& consumer, const MessageId& id) {
  if (mayGuess()) return foresight_.useFresh(consumer, id);
  --careful_;
  return false;
}

void Store::guessedWrong() noexcept {
  goCarefully();
  foresight_.doubt();
}

void Store::release() noexcept {
  claimed_.reset();
  foresight_.clear();
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
