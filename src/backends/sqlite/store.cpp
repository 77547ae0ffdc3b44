#include "backends/sqlite/store.hpp"

#include <tuple>

#include "backends/shared/record_text.hpp"
#include "backends/sqlite/transaction.hpp"
#include "backends/sqlite/user_sql.hpp"
#include "base/assert.hpp"
#include "base/process_identity.hpp"

namespace tenure::sqlite {
namespace {

using std::chrono::milliseconds;

milliseconds since(BootTime start) { return std::chrono::duration_cast<milliseconds>(BootClock::now() - start); }

bool isOlder(const FenceRow& row, const TermIdentity& term) noexcept {
  return row.ensemble == term.ensemble &&
         std::tuple(row.generation, row.token) < std::tuple(term.generation, term.token);
}

}  // namespace

template <class Body>
void Store::emit(const Term& term, Body body) {
  events_.on({systemClock().wallNow(), term.identity().election, term.token(), std::move(body)});
}

Error Store::refused(const Term& term, Error error) {
  if (backends::isRefusal(error)) emit(term, FenceRefused{error.message()});
  return error;
}

Result<void> Store::open(const Term& term) {
  suspects_.clear();
  if (term.identity().uncleanPredecessor) suspects_.push_back(*term.identity().uncleanPredecessor);
  Result<std::shared_ptr<Connection>> opened = file_.acquire([this, term] { return makeRoom(term); });
  if (!opened) return opened.error();
  connection_ = std::move(*opened);
  return suspectStoredHolder(term);
}

/// A predecessor that died before its claim leaves the fence row with the one before it, which may hold the lock. A row
/// that is not of an older term proves nothing against its holder.
Result<void> Store::suspectStoredHolder(const Term& term) {
  if (!term.identity().uncleanPredecessor) return {};
  const auto stored = readFence(*connection_, term.identity().election.value);
  if (!stored) return stored.error();
  for (const StoredFence& fence : *stored)
    if (isOlder(fence.row, term.identity())) suspects_.push_back(fence.row.holder);
  return {};
}

bool Store::makeRoom(const Term& term) {
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
    case Eviction::Outcome::letGo: return true;
    case Eviction::Outcome::refused: break;
  }
  emit(term, StoreBusy{eviction.pid, eviction.detail});
  return false;
}

Result<void> Store::claim(const Term& term) {
  const BootTime start = BootClock::now();
  claimed_.reset();
  const Result<void> opened = open(term);
  const Result<Written> written = opened ? writeClaimOf(term) : opened.error();
  if (!written) {
    if (connection_) connection_->rollback();
    release();
    return refused(term, written.error());
  }
  claimed_ = Claimed{term, written->previousToken, written->sequence};
  emit(term, FenceClaimed{connection_->file().string(), written->previousToken, since(start)});
  return {};
}

Result<Store::Written> Store::writeClaimOf(const Term& term) {
  const TermIdentity& identity = term.identity();
  if (const Result<void> begun = connection_->run("BEGIN IMMEDIATE"); !begun) return begun.error();
  const Result<Queue> queue = readOrAddQueue(*connection_, file_.options().queue);
  if (!queue) return queue.error();
  const auto stored = readFence(*connection_, identity.election.value);
  if (!stored) return stored.error();
  const Result<Claim> claim = backends::judgeClaim(*stored, queue->owner, identity, term.valid());
  if (!claim) return claim.error();
  if (queue->owner.election.empty())
    if (const Result<void> owned = writeOwner(*connection_, queue->number, backends::ownerOf(identity)); !owned)
      return owned.error();
  const auto sequence = writeClaim(*connection_, identity, *claim, systemClock().wallNow());
  if (!sequence) return sequence.error();
  if (const Result<void> committed = connection_->commit(); !committed) return committed.error();
  queue_ = queue->number;
  return Written{stored->empty() ? 0 : stored->front().row.token.value, *sequence};
}

Result<void> Store::isClaimedBy(const Term& term) const {
  if (!claimed_ || !connection_ || claimed_->term.identity().candidate != term.identity().candidate ||
      claimed_->term.token() != term.token())
    return Error{Errc::staleTerm, "this term does not hold the claim"};
  return {};
}

Result<std::unique_ptr<IFencedTransaction>> Store::begin(const Term& term) {
  if (const Result<void> ours = isClaimedBy(term); !ours) return ours.error();
  if (claimed_->lastIsUnknown) return Error{Errc::outcomeUnknown, "the last commit is not resolved"};
  return std::unique_ptr<IFencedTransaction>(std::make_unique<FencedTransaction>(*this, connection_, term));
}

Result<void> Store::checkSql(std::string_view sql, std::span<const SqlParameter> parameters) {
  return connection_ ? checkUserSql(*connection_, sql, parameters) : checkUserSql(file_.options(), sql, parameters);
}

Result<void> Store::passFence(Connection& connection) {
  TENURE_ASSERT(claimed_.has_value());
  const TermIdentity& term = claimed_->term.identity();
  const Result<int> passed = connection.change(
      "UPDATE tenure_fence SET seq = seq + 1 WHERE election = ?1 AND generation = ?2 AND token = ?3 AND candidate = ?4"
      " AND ensemble = ?5 AND seq = ?6",
      term.election.value, term.generation, term.token.value, term.candidate.value, term.ensemble.value,
      claimed_->sequence);
  if (!passed) return passed.error();
  if (*passed == 1) return {};
  const auto stored = readFence(connection, term.election.value);
  if (!stored) return stored.error();
  return backends::judgeFenced(*stored, term, claimed_->sequence);
}

Result<void> Store::commit(Connection& connection) {
  Result<void> committed = connection.commit();
  if (committed) ++claimed_->sequence;
  claimed_->lastIsUnknown = !committed && isOutcomeUnknown(committed.error().code);
  return committed;
}

Result<CommitFate> Store::resolve(const Term& term) {
  if (const Result<void> ours = isClaimedBy(term); !ours) return ours.error();
  if (const Result<void> locked = connection_->run("BEGIN IMMEDIATE"); !locked) return locked.error();
  const auto stored = readFence(*connection_, term.identity().election.value);
  connection_->rollback();
  if (!stored) return stored.error();
  const bool ours = stored->size() == 1 && stored->front().damage.empty() &&
                    backends::isClaimOf(stored->front().row, term.identity());
  const std::int64_t ahead = ours ? stored->front().row.sequence - claimed_->sequence : -1;
  if (ahead != 0 && ahead != 1) return backends::judgeFenced(*stored, term.identity(), claimed_->sequence);
  claimed_->sequence += ahead;
  claimed_->lastIsUnknown = false;
  return ahead == 1 ? CommitFate::committed : CommitFate::notCommitted;
}

AttemptRecord attemptFrom(const Query& row) {
  return {MessageId{row.text(0)},
          static_cast<int>(row.integer(1)),
          row.text(2),
          row.time(3),
          row.time(4),
          static_cast<Standing>(row.integer(5))};
}

Result<ConsumerState> Store::consumerState(const ConsumerName& consumer) {
  TENURE_ASSERT(connection_ != nullptr);
  ConsumerState state;
  Query inWork = connection_->query("SELECT more, ids, token FROM tenure_in_work WHERE consumer = ?1", consumer.value);
  const Result<bool> recorded = inWork.next();
  if (!recorded) return recorded.error();
  if (*recorded) {
    state.moreInWork = inWork.integer(0) != 0;
    state.inWork = backends::splitIds(inWork.bytes(1));
  }
  const std::int64_t recordedBy = *recorded ? inWork.integer(2) : 0;
  state.recordedBy = FencingToken{recordedBy};
  if (claimed_ && recordedBy != claimed_->previousToken) state.moreInWork = true;
  Query attempts = connection_->query(
      "SELECT id, attempts, last_error, first_at, last_at, standing FROM tenure_attempt WHERE consumer = ?1",
      consumer.value);
  for (;;) {
    const Result<bool> row = attempts.next();
    if (!row) return row.error();
    if (!*row) return state;
    state.attempts.push_back(attemptFrom(attempts));
  }
}

Result<std::vector<Admission>> Store::known(const ConsumerName& consumer, std::span<const Message> messages) {
  TENURE_ASSERT(connection_ != nullptr);
  std::vector<Admission> known;
  known.reserve(messages.size());
  for (const Message& message : messages) {
    Query key = connection_->query("SELECT digest FROM tenure_key WHERE consumer = ?1 AND id = ?2", consumer.value,
                                   message.id.value);
    const Result<bool> found = key.next();
    if (!found) return found.error();
    const BodyDigest digest = digestOf(message.body);
    const bool same =
        *found && key.bytes(0) == std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size());
    known.push_back(!*found ? Admission::fresh : same ? Admission::duplicate : Admission::reused);
  }
  return known;
}

void Store::release() noexcept {
  claimed_.reset();
  if (connection_) connection_->whenBusy({});
  connection_.reset();
}

Result<void> deleteByPosition(Connection& connection, std::span<const Message> messages) {
  for (std::size_t first = 0; first < messages.size();) {
    std::size_t last = first;
    // Places without a gap: nobody else's message can lie between them.
    while (last + 1 < messages.size() && messages[last + 1].position == messages[last].position + 1) ++last;
    const Result<void> deleted = connection.run("DELETE FROM tenure_message WHERE n BETWEEN ?1 AND ?2",
                                                messages[first].position, messages[last].position);
    if (!deleted) return deleted;
    first = last + 1;
  }
  return {};
}

}  // namespace tenure::sqlite
