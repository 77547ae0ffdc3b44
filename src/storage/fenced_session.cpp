#include "storage/fenced_session.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/random.hpp"
#include "storage/fenced_transaction.hpp"
#include "storage/open_groups.hpp"
#include "storage/records.hpp"

namespace tenure::storage {

namespace {

constexpr std::size_t rowsAPage = 1000;

/// Whether the fence is of that term, and as the change with that number left it.
bool holds(const FenceFound& found, const TermIdentity& term, const Fence& change) {
  return found.stored.size() == 1 && found.stored.front().damage.empty() && isClaimOf(found.stored.front().row, term) &&
         found.stored.front().row.sequence == change.row.sequence && found.change == change.change;
}

}  // namespace

FencedSession::FencedSession(std::unique_ptr<IStoreDriver> driver, IEventSink& events, const IClock& clock,
                             const FencedSession& main)
    : driver_(std::move(driver)),
      events_(events),
      clock_(clock),
      main_(main),
      lookahead_(driver_->limits().looksAreDear) {}
FencedSession::~FencedSession() = default;

std::unique_ptr<IFencedStore> FencedSession::openLane(std::int64_t number) {
  std::unique_ptr<IStoreDriver> lane = driver_->openLane(number);
  if (!lane) return nullptr;
  return std::unique_ptr<IFencedStore>(new FencedSession(std::move(lane), events_, clock_, main_));
}

template <class Body>
void FencedSession::emit(const Term& term, Body body) {
  events_.on({clock_.wallNow(), term.identity().election, term.token(), std::move(body)});
}

// --- the claim

void FencedSession::serve(const QueueIdentity& queue) {
  served_ = queue;
  driver_->serve(queue);
}

Result<void> FencedSession::claim(const Term& term) {
  if (isLane() && !main_.served_.value.empty()) serve(main_.served_);
  const BootTime start = clock_.now();
  claimed_.reset();
  lookahead_.distrust();
  std::optional<Fence> written;
  FencingToken previous;
  const Result<void> claimed =
      driver_->claim(term.identity().election, &term, [&](const FenceFound& found) -> Result<std::optional<Fence>> {
        previous = found.stored.empty() ? FencingToken{} : found.stored.front().row.token;
        const Result<Fence> next = judge(found, term);
        if (!next) return next.error();
        return written = *next;
      });
  if (!claimed) {
    release();
    if (isRefusal(claimed.error())) emit(term, FenceRefused{claimed.error().message()});
    return claimed;
  }
  TENURE_ASSERT(written.has_value());
  everClaimed_ = true;
  claimed_.emplace(Claimed{term, previous, std::move(*written), driver_->server()});
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now() - start);
  if (!isLane()) emit(term, FenceClaimed{driver_->name(), previous.value, took});
  return {};
}

Result<Fence> FencedSession::judge(const FenceFound& found, const Term& term) const {
  const Result<std::int64_t> sequence = sequenceIn(found, term);
  if (!sequence) return sequence.error();
  return Fence{rowOf(term.identity(), *sequence, clock_.wallNow()), freshUuid()};
}

/// With which the claim begins to count.
Result<std::int64_t> FencedSession::sequenceIn(const FenceFound& found, const Term& term) const {
  if (isLane()) {
    const bool isOurs = found.stored.size() == 1 && found.stored.front().damage.empty() &&
                        isClaimOf(found.stored.front().row, term.identity());
    if (!isOurs) return Error{Errc::staleTerm, "a lane joins the claim of its own term, and there is none"};
    return found.stored.front().row.sequence + 1;
  }
  if (found.stored.empty() && found.owner.election.empty() && everClaimed_)
    return Error{Errc::fenceLost, "the store is empty though this replica had claimed it: it was emptied or replaced"};
  const Result<Claim> claim = judgeClaim(found.stored, found.owner, term.identity(), term.valid());
  if (!claim) return claim.error();
  return *claim == Claim::again ? found.stored.front().row.sequence + 1 : 0;
}

Result<void> FencedSession::holdsClaim(const Term& term) const {
  if (!claimed_ || claimed_->term.identity().candidate != term.identity().candidate ||
      claimed_->term.token() != term.token())
    return Error{Errc::staleTerm, "this term does not hold the claim"};
  return {};
}

/// Everything that is asked of a claimed store goes this way.
Result<void> FencedSession::reach() {
  if (!claimed_) return Error{Errc::staleTerm, "the store was released"};
  if (Result<void> connected = driver_->connect({}); !connected) return connected;
  const bool isKnown = driver_->server() == claimed_->server && claimed_->anew.empty();
  return isKnown || claimed_->inDoubt ? Result<void>{} : claimAnew();
}

Result<void> FencedSession::claimAnew() {
  const Term term = claimed_->term;
  emit(term, Warned{driver_->name() + " was restarted or replaced since the claim: it is claimed anew"});
  lookahead_.distrust();
  const Fence& before = claimed_->fence;
  std::vector<Fence>& written = claimed_->anew;
  const auto isOurLast = [&](const FenceFound& found) {
    return holds(found, term.identity(), before) ||
           std::ranges::any_of(written, [&](const Fence& each) { return holds(found, term.identity(), each); });
  };
  const Result<void> again =
      driver_->claim(term.identity().election, &term, [&](const FenceFound& found) -> Result<std::optional<Fence>> {
        if (!isOurLast(found)) return judgeFenced(found.stored, term.identity(), before.row.sequence);
        const Result<Fence> next = judge(found, term);
        if (!next) return next.error();
        return written.emplace_back(*next);
      });
  // If its reply was lost, no commit of ours is in doubt: the next look finds what it left.
  if (!again && isOutcomeUnknown(again.error().code)) return Error{Errc::unavailable, again.error().detail};
  if (!again) return again;
  claimed_->fence = std::move(written.back());
  written.clear();
  claimed_->server = driver_->server();
  return {};
}

// --- transactions

Result<std::unique_ptr<IFencedTransaction>> FencedSession::begin(const Term& term) {
  if (const Result<void> ours = holdsClaim(term); !ours) return ours.error();
  if (claimed_->inDoubt) return Error{Errc::outcomeUnknown, "the last commit is not resolved"};
  lookahead_.forgetAssumed();
  return std::unique_ptr<IFencedTransaction>(
      std::make_unique<FencedTransaction>(*this, claimed_->term, driver_->open()));
}

Result<Fence> FencedSession::begin(ISqlTransaction& sql) {
  if (!claimed_) return fenced();
  Fence next = nextFence();
  const Result<Outcome> begun = sql.begin(claimed_->fence, next);
  if (!begun) return begun.error();
  if (*begun != Outcome::committed) return fenced();
  return next;
}

Fence FencedSession::nextFence() const {
  Fence next = claimed_->fence;
  ++next.row.sequence;
  next.change = freshUuid();
  return next;
}

Error FencedSession::fenced() {
  if (!claimed_) return {Errc::staleTerm, "the store was released"};
  const TermIdentity& term = claimed_->term.identity();
  const Result<FenceFound> found = driver_->readFence(term.election);
  if (!found) return found.error();
  return judgeFenced(found->stored, term, claimed_->fence.row.sequence);
}

Result<Rows> FencedSession::read(std::span<const RowName> rows, bool looksAtFence) {
  if (const Result<void> reached = reach(); !reached) return reached.error();
  Result<std::optional<Rows>> found = driver_->read(rows, looksAtFence ? &claimed_->fence : nullptr);
  if (!found) return found.error();
  if (!*found) return fenced();
  return std::move(**found);
}

Result<void> FencedSession::commit(WriteSet& writes, ISqlTransaction* sql, const std::optional<Fence>& begun) {
  if (const std::size_t bytes = writes.bytes(limits().bytesAWrite); bytes > limits().commitBytes)
    return Error{Errc::payloadTooLarge, "a transaction of " + std::to_string(bytes) + " bytes, at most " +
                                            std::to_string(limits().commitBytes)};
  if (Result<void> reached = reach(); !reached) return reached;
  Fence next = begun ? *begun : nextFence();
  std::vector<MessageId> ahead;
  std::vector<RowName> alsoRead;
  if (!limits().looksAreDear) ahead = lookahead_.takeNext(limits().rowsALook);
  for (const MessageId& id : ahead) alsoRead.push_back({Table::key, keyNamed(lookahead_.consumer(), id)});
  const Commit all{&claimed_->fence, &next, &writes, alsoRead};
  Result<Committed> committed = sql != nullptr ? sql->commit(all) : driver_->commit(all);
  if (!committed || committed->read.empty()) lookahead_.expectAgain(ahead);
  if (!committed) {
    lookahead_.distrust();
    if (isOutcomeUnknown(committed.error().code)) claimed_->inDoubt = next;
    return committed.error();
  }
  if (committed->outcome != Outcome::committed) lookahead_.distrust();
  if (committed->outcome == Outcome::fenced) return fenced();
  if (committed->outcome == Outcome::conflict)
    return Error{Errc::transactionConflict, "what the transaction rests on was changed by somebody else"};
  for (std::size_t i = 0; i < committed->read.size(); ++i)
    if (!committed->read[i]) lookahead_.sawAbsent(lookahead_.consumer(), ahead[i]);
  claimed_->fence = std::move(next);
  return {};
}

Result<void> FencedSession::tryQueue(const std::string& queue) {
  if (queue.empty() || !claimed_ || claimed_->triedQueues.contains(queue)) return {};
  if (const Result<void> reached = reach(); !reached) return reached;
  if (const Result<void> tried = driver_->tryQueue(queue); !tried) return tried;
  claimed_->triedQueues.insert(queue);
  return {};
}

Result<CommitFate> FencedSession::resolve(const Term& term) {
  if (const Result<void> ours = holdsClaim(term); !ours) return ours.error();
  if (const Result<void> reached = reach(); !reached) return reached.error();
  // The same at each attempt: this one's reply may be lost as well.
  if (!claimed_->burning) claimed_->burning = nextFence();
  WriteSet nothing;
  const Result<Committed> burnt = driver_->commit({&claimed_->fence, &*claimed_->burning, &nothing});
  if (!burnt) return burnt.error();
  Fence now = *claimed_->burning;
  if (burnt->outcome != Outcome::committed) {
    const Result<FenceFound> found = driver_->readFence(term.identity().election);
    if (!found) return found.error();
    if (claimed_->inDoubt && holds(*found, term.identity(), *claimed_->inDoubt))
      now = *claimed_->inDoubt;
    else if (!holds(*found, term.identity(), now))
      return judgeFenced(found->stored, term.identity(), claimed_->fence.row.sequence);
  }
  const bool committed = now.change != claimed_->burning->change;
  claimed_->fence = std::move(now);
  claimed_->inDoubt.reset();
  claimed_->burning.reset();
  return committed ? CommitFate::committed : CommitFate::notCommitted;
}

Result<ConsumerState> FencedSession::consumerState(const ConsumerName& consumer) {
  std::vector<RowName> names{{Table::inWork, inWorkKey(consumer, 0)}};
  for (const Table table : factTables) names.push_back({table, {consumer.value}});
  const Result<Rows> recorded = read(names, false);
  if (!recorded) return recorded.error();
  ConsumerState state{.inWork = inWorkFrom(recorded->front(), claimed_->previous)};
  for (std::size_t place = 0; place < factTables.size(); ++place)
    if (const std::optional<Row>& fact = (*recorded)[place + 1]) addFact(place, *fact, state.facts);
  const Scan attempts{.table = Table::attempt, .prefix = {consumer.value}, .atMost = rowsAPage};
  const Result<void> scanned = forEachRow(*driver_, attempts, [&](const Row& each) -> Result<bool> {
    state.attempts.push_back(attemptFrom(each).attempts);
    return true;
  });
  return scanned ? Result<ConsumerState>(std::move(state)) : scanned.error();
}

Result<InWork> FencedSession::inWorkOf(const ConsumerName& consumer, std::size_t lane) {
  const Result<Rows> found = read(std::array{RowName{Table::inWork, inWorkKey(consumer, lane)}}, false);
  if (!found) return found.error();
  return found->front() ? inWorkFrom(*found->front()) : InWork{};
}

Result<std::vector<NumberedGroup>> FencedSession::openGroups(const ConsumerName& consumer) {
  if (const Result<void> reached = reach(); !reached) return reached.error();
  return openGroupsOf(*driver_, consumer);
}

// --- keys

Result<std::vector<Admission>> FencedSession::known(const ConsumerName& consumer, std::span<const Message> messages) {
  std::vector<MessageId> ids;
  if (messages.size() == 1) {
    const MessageId& id = messages.front().id;
    if (lookahead_.assumes(id) || lookahead_.isAbsent(consumer, id)) return std::vector{Admission::fresh};
    ids = lookahead_.take(id, limits().rowsALook);
  }
  for (std::size_t i = ids.size(); i < messages.size(); ++i) ids.push_back(messages[i].id);
  if (ids.empty()) return std::vector<Admission>{};
  const Result<Rows> rows =
      lookAt(consumer, ids, [this](std::span<const RowName> names) { return read(names, false); });
  if (!rows) return rows.error();
  std::vector<Admission> known;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::optional<Row>& row = (*rows)[i];
    known.push_back(admissionOf(row ? &*row : nullptr, digestOf(messages[i].body)));
  }
  return known;
}

Result<std::optional<Row>> FencedSession::findKey(const ConsumerName& consumer, const MessageId& id, const Look& look) {
  if (lookahead_.assume(id) || lookahead_.useAbsent(consumer, id)) return std::optional<Row>{};
  Result<Rows> rows = lookAt(consumer, lookahead_.take(id, limits().rowsALook), look);
  if (!rows) return rows.error();
  lookahead_.useAbsent(consumer, id);
  return std::move(rows->front());
}

Result<Rows> FencedSession::lookAt(const ConsumerName& consumer, std::span<const MessageId> ids, const Look& look) {
  std::vector<RowName> names;
  for (const MessageId& id : ids) names.push_back({Table::key, keyNamed(consumer, id)});
  Result<Rows> rows = look(names);
  if (!rows) return rows;
  for (std::size_t i = 0; i < ids.size(); ++i)
    (*rows)[i] ? lookahead_.sawPresent() : lookahead_.sawAbsent(consumer, ids[i]);
  return rows;
}

void FencedSession::release() noexcept {
  claimed_.reset();
  lookahead_.clear();
  driver_->release();
}

// What a term forgets of its consumer: old idempotency keys, and the old end of its log.

/// Looks without a lock, and commits only where something is old enough. A key that was made anew meanwhile stays.
Result<Pruned> FencedSession::prune(const Term& term, const Pruning& step) {
  if (const Result<void> ours = holdsClaim(term); !ours) return ours.error();
  if (claimed_->inDoubt) return Error{Errc::outcomeUnknown, "the last commit is not resolved"};
  if (const Result<void> reached = reach(); !reached) return reached.error();
  if (limits().keepsIdsFor) {
    const Result<std::size_t> count = driver_->countKeys();
    return count ? Pruned{.looked = *count} : Result<Pruned>(count.error());
  }
  Scan scan{.table = Table::key, .prefix = {step.consumer.value}, .atMost = std::min(step.atMost, limits().maxBatch)};
  if (!step.after.empty()) scan.after = {step.after};
  const Result<std::vector<Row>> page = driver_->scan(scan);
  if (!page) return page.error();
  Pruned pruned;
  WriteSet writes;
  const WallTime latest = step.now == WallTime::max() ? step.now : step.now + std::chrono::minutes{1};
  for (const Row& row : *page) {
    if (isFull(writes)) break;
    ++pruned.looked;
    const WallTime at = wallTimeOf(integerIn(row, key::at));
    if (at > latest) pruned.future = std::max(pruned.future.value_or(at), at);
    if (at >= step.before) continue;
    writes.remove(Table::key, {row[key::consumer], row[key::id]}, Expectation::has(key::at, row[key::at]));
    ++pruned.removed;
  }
  if (pruned.looked < page->size() || page->size() == scan.atMost)
    pruned.last = textIn((*page)[pruned.looked - 1], key::id);
  if (pruned.future) pruned.removed = 0;
  if (pruned.removed == 0) return pruned;
  const Result<void> committed = commit(writes);
  return committed ? Result<Pruned>(pruned) : committed.error();
}

/// Mostly nothing has to go: the oldest line says so, and the newest one how many there are.
Result<std::size_t> FencedSession::pruneLog(const Term& term, const LogPruning& step) {
  if (const Result<void> ours = holdsClaim(term); !ours) return ours.error();
  if (claimed_->inDoubt) return Error{Errc::outcomeUnknown, "the last commit is not resolved"};
  if (const Result<void> reached = reach(); !reached) return reached.error();
  Scan scan{.table = Table::log, .prefix = {step.consumer.value}, .atMost = 1};
  const Result<std::vector<Row>> oldest = driver_->scan(scan);
  if (!oldest) return oldest.error();
  if (oldest->empty()) return std::size_t{0};
  const auto last = lastBeyondBound(step, integerIn(oldest->front(), log::number));
  if (!last) return last.error();
  const auto mayGo = [&](const Row& row) {
    return wallTimeOf(integerIn(row, log::endedAt)) < step.before || integerIn(row, log::number) <= last->value_or(0);
  };
  if (!mayGo(oldest->front())) return *last ? 0 : step.atMost;
  scan.atMost = step.atMost;
  const Result<std::vector<Row>> page = driver_->scan(scan);
  if (!page) return page.error();
  WriteSet writes;
  std::size_t removed = 0;
  for (const Row& row : *page) {
    if (!mayGo(row) || isFull(writes)) break;
    writes.remove(Table::log, {row[log::consumer], row[log::number]});
    ++removed;
  }
  if (removed == 0) return removed;
  const Result<void> committed = commit(writes);
  return committed ? Result<std::size_t>(removed) : committed.error();
}

/// Lines up to this number go, whatever their age; nullopt: it is still to be counted.
Result<std::optional<std::int64_t>> FencedSession::lastBeyondBound(const LogPruning& step, std::int64_t oldest) {
  if (step.mostKept == 0) return std::optional<std::int64_t>{0};
  Scan scan{.table = Table::log, .prefix = {step.consumer.value}, .atMost = 1, .backward = true};
  const Result<std::vector<Row>> newest = driver_->scan(scan);
  if (!newest) return newest.error();
  const std::int64_t last = newest->empty() ? 0 : integerIn(newest->front(), log::number);
  if (!limits().logHasGaps) {
    const bool areTooMany = std::cmp_less(step.mostKept, last);
    return std::optional(areTooMany ? last - static_cast<std::int64_t>(step.mostKept) : std::int64_t{0});
  }
  LogBound& bound = claimed_->logBound;
  bound.look(step, oldest, last);
  if (bound.isCounting()) {
    const LogBound::Slice slice = bound.next(step);
    scan.after = {slice.below};
    scan.skip = static_cast<std::size_t>(slice.atMost - 1);
    const Result<std::vector<Row>> lowest = driver_->scan(scan);
    if (!lowest) return lowest.error();
    bound.counted(slice, lowest->empty() ? std::nullopt : std::optional(integerIn(lowest->front(), log::number)));
  }
  return bound.isCounting() ? std::nullopt : std::optional(bound.upTo());
}

}  // namespace tenure::storage
