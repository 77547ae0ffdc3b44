#include "backends/redis/store.hpp"

#include "backends/redis/errors.hpp"
#include "backends/redis/records.hpp"
#include "backends/redis/scripts.hpp"
#include "backends/redis/transaction.hpp"
#include "backends/shared/cut_off.hpp"
#include "backends/shared/record_text.hpp"
#include "base/assert.hpp"
#include "base/random.hpp"
#include "base/text.hpp"

namespace tenure::redis {
namespace {

using backends::Claim;
using std::chrono::milliseconds;

constexpr std::size_t maxTransactionBytes = 256U << 20U;
/// A claim reads again when the row changed under it; somebody who claims that often is at war with us.
constexpr int claimAttempts = 16;

milliseconds since(BootTime start) { return std::chrono::duration_cast<milliseconds>(BootClock::now() - start); }

std::vector<std::optional<std::string>> valuesOf(ReplyView array) {
  std::vector<std::optional<std::string>> values(array.size());
  for (std::size_t i = 0; i < array.size(); ++i)
    if (!array[i].isNil()) values[i] = array[i].text();
  return values;
}

Arguments viewsOf(const std::vector<std::string>& texts) { return {texts.begin(), texts.end()}; }

std::string keepMilliseconds(const Options& options) {
  return std::to_string(milliseconds(options.keepIdsFor).count());
}

}  // namespace

/// The fence and the queue's owner as they were read together.
struct Store::Found {
  Reply fence;
  Reply queue;

  backends::QueueOwner owner() const {
    return {queue.view().after("election").text(), queue.view().after("path").text()};
  }
  bool isNew() const noexcept { return fence.view().size() == 0 && queue.view().size() == 0; }
  bool isUnclaimed() const { return fence.view().size() == 0 && owner().election.empty(); }
};

template <class Body>
void Store::emit(const Term& term, Body body) {
  events_.on({systemClock().wallNow(), term.identity().election, term.token(), std::move(body)});
}

Result<void> Store::prepare(const std::stop_token& stop) {
  const Result<Connection*> connected = link_.use(stop);
  if (!connected) return backends::unlessStopped(connected.error(), stop);
  return {};
}

Result<void> Store::claim(const Term& term) {
  const BootTime start = BootClock::now();
  claimed_.reset();
  lookahead_.clear();
  const Result<Connection*> connection = link_.use();
  const Result<void> written = connection ? writeClaimOf(term, **connection) : connection.error();
  if (!written) {
    release();
    if (backends::isRefusal(written.error())) emit(term, FenceRefused{written.error().message()});
    return written;
  }
  everClaimed_ = true;
  if ((*connection)->passwordWasClear())
    emit(term, Warned{nameOf(link_.options()) + ": the password travels in clear; put a TLS tunnel in front"});
  emit(term, FenceClaimed{nameOf(link_.options()) + " queue " + link_.options().queue, claimed_->previousToken,
                          since(start)});
  return {};
}

Result<void> Store::writeClaimOf(const Term& term, Connection& connection) {
  for (int attempt = 0; attempt < claimAttempts; ++attempt) {
    const Result<bool> written = tryClaim(term, connection);
    if (!written) return written.error();
    if (*written) return {};
  }
  return Error{Errc::storeBusy, "the fence changes again and again while it is claimed"};
}

Result<Store::Found> Store::readFence(Connection& connection) const {
  Result<Reply> fence = connection.read({"HGETALL", keys_.fence});
  if (!fence) return fence.error();
  Result<Reply> queue = connection.read({"HGETALL", keys_.queue});
  if (!queue) return queue.error();
  return Found{std::move(*fence), std::move(*queue)};
}

Result<bool> Store::tryClaim(const Term& term, Connection& connection) {
  const TermIdentity& identity = term.identity();
  const Result<Found> found = readFence(connection);
  if (!found) return found.error();
  if (found->isNew() && everClaimed_)
    return Error{Errc::fenceLost, "the store is empty though this replica had claimed it: it was emptied or replaced"};
  const std::vector<backends::StoredFence> stored = storedFence(found->fence.view());
  // A producer that may create makes the queue anew on an emptied server, but never a fence.
  if (found->isUnclaimed() && !link_.options().create) return noQueue(link_.options().queue);
  const Result<Claim> claim = backends::judgeClaim(stored, found->owner(), identity, term.valid());
  if (!claim) return claim.error();

  const std::int64_t sequence = *claim == Claim::again ? stored.front().row.sequence + 1 : 0;
  const std::string by = freshUuid();
  const std::vector<std::string> row = fieldsOf(backends::rowOf(identity, sequence, systemClock().wallNow()), by);
  const backends::QueueOwner owner = found->owner();
  Arguments arguments;
  for (const std::string_view value : comparedFields(found->fence.view())) arguments.push_back(value);
  arguments.insert(arguments.end(), {owner.election, owner.path, identity.election.value, identity.electionPath});
  arguments.insert(arguments.end(), row.begin(), row.end());
  const Result<Reply> written = connection.run(claimScript, {keys_.fence, keys_.queue}, arguments);
  if (!written) return written.error();
  if ((*written)[0].bytes() != "ok") return false;
  const std::int64_t previous = stored.empty() ? 0 : stored.front().row.token.value;
  claimed_.emplace(Claimed{term, previous, sequence, ExpectedFence(identity, sequence, by), connection.server().runId});
  return true;
}

Result<void> Store::isClaimedBy(const Term& term) const {
  if (!claimed_ || claimed_->term.identity().candidate != term.identity().candidate ||
      claimed_->term.token() != term.token())
    return Error{Errc::staleTerm, "this term does not hold the claim"};
  return {};
}

Result<std::unique_ptr<IFencedTransaction>> Store::begin(const Term& term) {
  if (const Result<void> ours = isClaimedBy(term); !ours) return ours.error();
  if (!claimed_->inDoubt.empty()) return Error{Errc::outcomeUnknown, "the last commit is not resolved"};
  return std::unique_ptr<IFencedTransaction>(std::make_unique<FencedTransaction>(*this, claimed_->term));
}

Result<Connection*> Store::connected() {
  const Result<Connection*> connection = link_.use();
  if (!connection) return connection;
  if (!claimed_ || (*connection)->server().runId == claimed_->runId || !claimed_->inDoubt.empty()) return connection;
  if (const Result<void> claimed = claimAnew(**connection); !claimed) return claimed.error();
  return connection;
}

Result<void> Store::claimAnew(Connection& connection) {
  const Result<Found> found = readFence(connection);
  if (!found) return found.error();
  const Claimed before = *claimed_;
  emit(before.term, Warned{nameOf(link_.options()) + " was restarted or replaced since the claim: it is claimed anew"});
  if (!before.fence.isIn(comparedFields(found->fence.view()))) return fencedBy(found->fence.view());
  lookahead_.distrust();
  const Result<bool> written = tryClaim(before.term, connection);
  // If its reply was lost, no commit of ours is in doubt: the next look finds what it left.
  if (!written && isOutcomeUnknown(written.error().code)) return Error{Errc::unavailable, written.error().detail};
  if (!written) return written.error();
  if (!*written) return Error{Errc::storeBusy, "the fence changed while it was claimed"};
  claimed_->previousToken = before.previousToken;
  return {};
}

Error Store::fencedBy(ReplyView row) const {
  const std::vector<backends::StoredFence> stored = storedFence(row);
  return backends::judgeFenced(stored, claimed_->term.identity(), claimed_->sequence);
}

Result<Store::Looked> Store::look(const Arguments& fields, const Arguments& keys) {
  TENURE_ASSERT(claimed_.has_value());
  const Result<Connection*> connection = connected();
  if (!connection) return connection.error();
  const std::string state = keys_.state(claimed_->term.identity().election);
  Arguments allKeys{keys_.fence, state};
  allKeys.insert(allKeys.end(), keys.begin(), keys.end());
  Arguments arguments;
  claimed_->fence.appendTo(arguments);
  arguments.insert(arguments.end(), fields.begin(), fields.end());
  const Result<Reply> reply = (*connection)->run(lookScript, allKeys, arguments);
  if (!reply) return reply.error();
  if ((*reply)[0].bytes() != "ok") return fencedBy((*reply)[1]);
  return Looked{valuesOf((*reply)[1]), valuesOf((*reply)[2])};
}

Result<void> Store::commit(const WriteSet& writes) {
  TENURE_ASSERT(claimed_.has_value());
  if (writes.bytes() > maxTransactionBytes)
    return Error{Errc::payloadTooLarge, "a transaction of " + std::to_string(writes.bytes()) + " bytes, at most " +
                                            std::to_string(maxTransactionBytes)};
  const Result<Connection*> connection = connected();
  if (!connection) return connection.error();
  const std::string by = freshUuid();
  const std::string keep = keepMilliseconds(link_.options());
  const std::string state = keys_.state(claimed_->term.identity().election);
  const std::string sequence = std::to_string(claimed_->sequence + 1);
  WriteSet::Encoded request{.keys = {keys_.fence, keys_.messages, keys_.dead, keys_.attempts, keys_.inWork, state,
                                     keys_.keyCount, keys_.logs},
                            .arguments = {}};
  claimed_->fence.appendTo(request.arguments);
  request.arguments.insert(request.arguments.end(), {by, keep, sequence});
  writes.encode(request);
  const Result<Reply> reply = runAndLookOnward(**connection, request);
  if (!reply) {
    if (isOutcomeUnknown(reply.error().code)) claimed_->inDoubt = by;
    return reply.error();
  }
  if ((*reply)[0].bytes() == "fenced") return fencedBy((*reply)[1]);
  if ((*reply)[0].bytes() != "ok") {
    lookahead_.distrust();
    return Error{Errc::undone, "an idempotency key was changed by somebody else"};
  }
  claimed_->fence.advance(++claimed_->sequence, by);
  return {};
}

/// The look at the keys of those that come next travels with the commit, and costs no journey.
Result<Reply> Store::runAndLookOnward(Connection& connection, const WriteSet::Encoded& request) {
  const std::vector<MessageId> next = lookahead_.takeNext(storage::furthestAhead);
  if (next.empty()) return connection.run(commitScript, request.keys, request.arguments);
  const ConsumerName consumer = lookahead_.consumer();
  const std::vector<std::string> question = keysQuestion(consumer, next);
  Companion look{viewsOf(question)};
  Result<Reply> reply = connection.run(commitScript, request.keys, request.arguments, &look);
  const bool isCommitted = reply && (*reply)[0].bytes() == "ok";
  if (isCommitted && look.reply && look.reply->view().size() == next.size())
    noteFresh(consumer, next, look.reply->view());
  else
    lookahead_.expectAgain(next);
  return reply;
}

std::vector<std::string> Store::keysQuestion(const ConsumerName& consumer, std::span<const MessageId> ids) const {
  std::vector<std::string> question{"MGET"};
  question.reserve(ids.size() + 1);
  for (const MessageId& id : ids) question.push_back(keys_.id(consumer, id));
  return question;
}

void Store::noteFresh(const ConsumerName& consumer, std::span<const MessageId> ids, ReplyView values) {
  for (std::size_t i = 0; i < ids.size() && i < values.size(); ++i)
    if (values[i].isNil()) lookahead_.sawAbsent(consumer, ids[i]);
}

Result<CommitFate> Store::resolve(const Term& term) {
  if (const Result<void> ours = isClaimedBy(term); !ours) return ours.error();
  const Result<Connection*> connection = connected();
  if (!connection) return connection.error();
  // The same at each attempt: this one's reply may be lost as well.
  if (claimed_->burning.empty()) claimed_->burning = freshUuid();
  const std::string inDoubt = claimed_->inDoubt.empty() ? "none" : claimed_->inDoubt;
  Arguments arguments;
  claimed_->fence.appendTo(arguments);
  arguments.insert(arguments.end(), {inDoubt, claimed_->burning});
  const Result<Reply> reply = (*connection)->run(resolveScript, {keys_.fence}, arguments);
  if (!reply) return reply.error();
  const std::string_view answer = (*reply)[0].bytes();
  if (answer == "fenced") return fencedBy((*reply)[1]);
  claimed_->fence.advance(++claimed_->sequence, answer == "committed" ? inDoubt : claimed_->burning);
  claimed_->inDoubt.clear();
  claimed_->burning.clear();
  return answer == "committed" ? CommitFate::committed : CommitFate::notCommitted;
}

Result<ConsumerState> Store::consumerState(const ConsumerName& consumer) {
  const Result<Connection*> connection = connected();
  if (!connection) return connection.error();
  const Result<Reply> recorded = (*connection)->read({"HGET", keys_.inWork, consumer.value});
  if (!recorded) return recorded.error();
  const Result<Reply> attempts = (*connection)->read({"HGETALL", keys_.attempts});
  if (!attempts) return attempts.error();
  backends::InWork inWork;
  if (!recorded->view().isNil()) inWork = backends::inWorkFrom(recorded->view().bytes());
  ConsumerState state{.inWork = std::move(inWork.ids),
                      .moreInWork = inWork.more,
                      .attempts = {},
                      .recordedBy = FencingToken{inWork.token}};
  if (claimed_ && inWork.token != claimed_->previousToken) state.moreInWork = true;
  auto records = attemptsFrom(attempts->view(), consumer);
  if (!records) return records.error();
  state.attempts = std::move(*records);
  return state;
}

Result<std::vector<Admission>> Store::known(const ConsumerName& consumer, std::span<const Message> messages) {
  if (messages.empty()) return std::vector<Admission>{};
  const bool foreseen = messages.size() == 1 && lookahead_.isAbsent(consumer, messages.front().id);
  if (foreseen) return std::vector{Admission::fresh};
  const Result<Connection*> connection = connected();
  if (!connection) return connection.error();
  std::vector<MessageId> ids;
  if (messages.size() == 1) ids = lookahead_.take(messages.front().id, storage::furthestAhead);
  for (std::size_t i = ids.size(); i < messages.size(); ++i) ids.push_back(messages[i].id);
  const Result<Reply> reply = (*connection)->read(viewsOf(keysQuestion(consumer, ids)));
  if (!reply) return reply.error();
  noteFresh(consumer, ids, reply->view());
  const auto values = valuesOf(reply->view());
  std::vector<Admission> known;
  known.reserve(messages.size());
  for (std::size_t i = 0; i < messages.size() && i < values.size(); ++i)
    known.push_back(backends::admissionOf(values[i], digestOf(messages[i].body)));
  return known;
}

Result<Pruned> Store::prune(const Term& term, const Pruning&) {
  if (const Result<void> ours = isClaimedBy(term); !ours) return ours.error();
  const Result<Connection*> connection = connected();
  if (!connection) return connection.error();
  const Result<Reply> reply = (*connection)->run(countScript, {keys_.keyCount}, {});
  if (!reply) return reply.error();
  return Pruned{.looked = static_cast<std::size_t>((*reply)[1].integer())};
}

Result<std::size_t> Store::pruneLog(const Term& term, const LogPruning& step) {
  if (const Result<void> ours = isClaimedBy(term); !ours) return ours.error();
  const Result<Connection*> connection = connected();
  if (!connection) return connection.error();
  const std::string before = backends::timeText(step.before);
  const std::string atMost = std::to_string(step.atMost);
  const std::string mostKept = std::to_string(step.mostKept);
  Arguments arguments;
  claimed_->fence.appendTo(arguments);
  arguments.insert(arguments.end(), {before, atMost, mostKept});
  const Result<Reply> reply = (*connection)->run(pruneLogScript, {keys_.fence, keys_.log(step.consumer)}, arguments);
  if (!reply) return reply.error();
  if ((*reply)[0].bytes() != "ok") return fencedBy((*reply)[1]);
  return static_cast<std::size_t>((*reply)[1].integer());
}

void Store::release() noexcept {
  claimed_.reset();
  lookahead_.clear();
  link_.drop();
}

}  // namespace tenure::redis
