#include "backends/zookeeper/store.hpp"

#include "backends/shared/record_text.hpp"
#include "backends/zookeeper/id_node.hpp"
#include "backends/zookeeper/transaction.hpp"
#include "base/assert.hpp"
#include "base/random.hpp"

namespace tenure::zookeeper {
namespace {

using backends::Claim;
using backends::StoredFence;
using std::chrono::milliseconds;

constexpr int claimAttempts = 16;

milliseconds since(BootTime start) { return std::chrono::duration_cast<milliseconds>(BootClock::now() - start); }

bool isConflict(const Error& error) noexcept {
  return error.is(Errc::versionMismatch) || error.is(Errc::alreadyExists) || error.is(Errc::notFound);
}

/// Absent is an answer.
Result<std::optional<Node>> optional(Result<Node> read) {
  if (read) return std::optional(std::move(*read));
  if (read.error().is(Errc::notFound)) return std::optional<Node>{};
  return read.error();
}

std::vector<StoredFence> storedIn(const std::optional<Node>& node) {
  if (!node) return {};
  FenceNode fence = fenceFrom(node->data);
  return {{std::move(fence.row), std::move(fence.damage)}};
}

}  // namespace

struct Store::Found {
  Node base;
  std::optional<Node> fence;

  backends::QueueOwner owner() const { return ownerFrom(base.data); }
};

template <class Body>
void Store::emit(const Term& term, Body body) {
  events_.on({systemClock().wallNow(), term.identity().election, term.token(), std::move(body)});
}

Result<void> Store::open() {
  if (!session_) session_ = std::make_unique<SessionThread>(options_.zookeeper, options_.replyLimit);
  return session_->awaitConnected();
}

Result<void> Store::makeFolders() {
  for (const std::string& shared : {options_.root, paths_.stores}) {
    const Result<CreatedNode> made = session_->create(shared);
    if (!made && !made.error().is(Errc::alreadyExists)) return made.error();
  }
  std::vector<MultiOp> ops;
  for (const std::string& folder : paths_.folders()) ops.emplace_back(CreateOp{folder});
  const Result<void> made = session_->multi(std::move(ops));
  return !made && made.error().is(Errc::alreadyExists) ? Result<void>{} : made;
}

Result<void> Store::claim(const Term& term) {
  const BootTime start = BootClock::now();
  claimed_.reset();
  Result<void> claimed = open();
  for (int attempt = 0; claimed && !claimed_; ++attempt) {
    const Result<bool> tried = tryClaim(term);
    if (!tried) claimed = tried.error();
    if (tried && !*tried && attempt == claimAttempts)
      claimed = Error{Errc::storeBusy, "the fence changes again and again while it is claimed"};
  }
  if (!claimed) {
    release();
    if (isTermOver(claimed.error().code)) emit(term, FenceRefused{claimed.error().message()});
    return claimed;
  }
  emit(term, FenceClaimed{"zookeeper " + paths_.base, claimed_->previousToken, since(start)});
  return {};
}

Result<Store::Found> Store::find() {
  Result<Node> base = session_->getFresh(paths_.base);
  if (!base && base.error().is(Errc::notFound)) {
    if (!options_.create) return Error{Errc::notFound, "there is no store " + paths_.base};
    if (const Result<void> made = makeFolders(); !made) return made.error();
    base = session_->getFresh(paths_.base);
  }
  if (!base) return base.error();
  auto fence = optional(session_->getFresh(paths_.fence));
  if (!fence) return fence.error();
  return Found{std::move(*base), std::move(*fence)};
}

Result<bool> Store::tryClaim(const Term& term) {
  const TermIdentity& identity = term.identity();
  const Result<Found> found = find();
  if (!found) return found.error();
  const std::vector<StoredFence> stored = storedIn(found->fence);
  const Result<Claim> claim = backends::judgeClaim(stored, found->owner(), identity, term.valid());
  if (!claim) return claim.error();

  FenceNode fence;
  if (found->fence) fence = fenceFrom(found->fence->data);
  const std::int64_t previous = fence.row.token.value;
  const std::int64_t sequence = *claim == Claim::again ? fence.row.sequence + 1 : 0;
  fence.row = backends::rowOf(identity, sequence, systemClock().wallNow());
  fence.by = freshUuid();
  const std::string owner = ownerText({identity.election.value, identity.electionPath});
  std::vector<MultiOp> ops{SetOp{paths_.base, owner, found->base.stat.version}};
  if (found->fence)
    ops.emplace_back(SetOp{paths_.fence, fenceText(fence), found->fence->stat.version});
  else
    ops.emplace_back(CreateOp{paths_.fence, fenceText(fence)});
  const Result<void> written = session_->multi(std::move(ops));
  if (!written && isConflict(written.error())) return false;
  if (!written) return written.error();
  Result<std::string> own = findCandidacy(identity);
  if (!own) return own.error();
  const std::int32_t version = found->fence ? found->fence->stat.version + 1 : 0;
  claimed_.emplace(Claimed{term, previous, std::move(fence), version, std::move(*own)});
  return true;
}

/// The znode that the term's token is the czxid of.
Result<std::string> Store::findCandidacy(const TermIdentity& term) {
  const std::string folder = term.electionPath + "/candidates";
  const auto names = session_->children(folder);
  if (!names && !names.error().is(Errc::notFound)) return names.error();
  if (!names) return std::string{};
  for (const std::string& name : *names) {
    if (!name.starts_with(term.candidate.value)) continue;
    std::string path = folder;
    path.append("/").append(name);
    const Result<NodeStat> stat = session_->existsFresh(path);
    if (stat && stat->czxid == term.token.value) return path;
    if (!stat && !stat.error().is(Errc::notFound)) return stat.error();
  }
  return std::string{};
}

Result<void> Store::isClaimedBy(const Term& term) const {
  if (!claimed_ || claimed_->term.identity().candidate != term.identity().candidate ||
      claimed_->term.token() != term.token())
    return Error{Errc::staleTerm, "this term does not hold the claim"};
  return {};
}

Result<std::unique_ptr<IFencedTransaction>> Store::begin(const Term& term) {
  if (const Result<void> ours = isClaimedBy(term); !ours) return ours.error();
  if (claimed_->inDoubt) return Error{Errc::outcomeUnknown, "the last commit is not resolved"};
  return std::unique_ptr<IFencedTransaction>(std::make_unique<FencedTransaction>(*this, claimed_->term));
}

Error Store::judged(const std::optional<Node>& fence, Error otherwise) const {
  const bool asWeLeftIt =
      fence && fence->stat.version == claimed_->version && fenceFrom(fence->data).by == claimed_->fence.by;
  if (asWeLeftIt) return otherwise;
  return backends::judgeFenced(storedIn(fence), claimed_->term.identity(), claimed_->fence.row.sequence);
}

Result<void> Store::checkFence() {
  TENURE_ASSERT(claimed_.has_value());
  const Result<NodeStat> stat = session_->existsFresh(paths_.fence);
  if (stat && stat->version == claimed_->version) return {};
  if (!stat && !stat.error().is(Errc::notFound)) return stat.error();
  const auto fence = optional(session_->get(paths_.fence));
  return fence ? judged(*fence, Error{Errc::storeBusy, "the fence is changing"}) : fence.error();
}

Result<Cell> Store::read(const std::string& path) {
  Result<std::optional<Node>> node = optional(session_->get(path));
  if (!node) return node.error();
  return *node ? Cell{std::move((*node)->data), (*node)->stat.version} : Cell{};
}

Result<void> Store::commit(const Changes& changes, const std::vector<std::string>& letters) {
  TENURE_ASSERT(claimed_.has_value());
  FenceNode next = claimed_->fence;
  next.by = freshUuid();
  ++next.row.sequence;
  std::vector<MultiOp> ops;
  ops.reserve(letters.size() + changes.size() + 2);
  for (const std::string& letter : letters) ops.emplace_back(CreateOp{paths_.letter(++next.deadLetters), letter});
  changes.appendTo(ops);
  ops.insert(ops.begin(), SetOp{paths_.fence, fenceText(next), claimed_->version});
  if (!claimed_->own.empty()) ops.insert(ops.begin(), CheckOp{claimed_->own});
  if (const std::size_t bytes = bytesOf(ops); bytes > options_.maxTransactionBytes)
    return Error{Errc::payloadTooLarge, "a transaction of " + std::to_string(bytes) + " bytes, at most " +
                                            std::to_string(options_.maxTransactionBytes)};
  const Result<void> written = session_->multi(std::move(ops));
  if (!written && isConflict(written.error())) return explain(written.error());
  if (!written) {
    if (isOutcomeUnknown(written.error().code)) claimed_->inDoubt = std::move(next);
    return written;
  }
  claimed_->fence = std::move(next);
  ++claimed_->version;
  return {};
}

Result<void> Store::explain(const Error& refusal) {
  const auto fence = optional(session_->getFresh(paths_.fence));
  if (!fence) return fence.error();
  Error why = judged(*fence, Error{Errc::storeBusy, "a znode was changed by somebody else: " + refusal.message()});
  if (!why.is(Errc::storeBusy) || claimed_->own.empty()) return why;
  const Result<NodeStat> own = session_->existsFresh(claimed_->own);
  return !own && own.error().is(Errc::notFound) ? Error{Errc::leaseLost, "our candidacy is gone"} : why;
}

Result<CommitFate> Store::resolve(const Term& term) {
  if (const Result<void> ours = isClaimedBy(term); !ours) return ours.error();
  // The same at each attempt: this one's reply may be lost as well.
  if (claimed_->burning.empty()) claimed_->burning = freshUuid();
  FenceNode burnt = claimed_->fence;
  burnt.by = claimed_->burning;
  ++burnt.row.sequence;
  const Result<void> written = session_->multi({SetOp{paths_.fence, fenceText(burnt), claimed_->version}});
  if (!written && !isConflict(written.error())) return written.error();
  FenceNode now = burnt;
  if (!written) {
    const auto fence = optional(session_->getFresh(paths_.fence));
    if (!fence) return fence.error();
    if (*fence) now = fenceFrom((*fence)->data);
    const bool ours = *fence && (*fence)->stat.version == claimed_->version + 1 &&
                      (now.by == burnt.by || (claimed_->inDoubt && now.by == claimed_->inDoubt->by));
    if (!ours) return judged(*fence, Error{Errc::storeBusy, "the fence is changing"});
  }
  const bool committed = now.by != burnt.by;
  claimed_->fence = std::move(now);
  ++claimed_->version;
  claimed_->inDoubt.reset();
  claimed_->burning.clear();
  return committed ? CommitFate::committed : CommitFate::notCommitted;
}

Result<ConsumerState> Store::consumerState(const ConsumerName& consumer) {
  TENURE_ASSERT(session_ != nullptr);
  const Result<Cell> recorded = read(paths_.inWork(consumer));
  if (!recorded) return recorded.error();
  backends::InWork inWork;
  if (recorded->value) inWork = backends::inWorkFrom(*recorded->value);
  ConsumerState state{.inWork = std::move(inWork.ids), .moreInWork = inWork.more, .attempts = {}};
  if (claimed_ && inWork.token != claimed_->previousToken) state.moreInWork = true;
  const auto names = session_->children(paths_.attempts());
  if (!names) return names.error();
  const std::string prefix = Paths::prefix(consumer);
  for (const std::string& name : *names) {
    if (!name.starts_with(prefix)) continue;
    const Result<Cell> attempt = read(paths_.attempts() + "/" + name);
    if (!attempt) return attempt.error();
    const MessageId id{decoded(std::string_view(name).substr(prefix.size()))};
    Result<AttemptRecord> record = backends::attemptFrom(id, attempt->value.value_or(""));
    if (!record) return record.error();
    state.attempts.push_back(std::move(*record));
  }
  return state;
}

Result<std::vector<Admission>> Store::known(const ConsumerName& consumer, std::span<const Message> messages) {
  TENURE_ASSERT(session_ != nullptr);
  std::vector<Admission> known;
  known.reserve(messages.size());
  for (const Message& message : messages) {
    const Result<Cell> key = read(paths_.id(consumer, message.id));
    if (!key) return key.error();
    known.push_back(admissionOf(key->value, digestOf(message.body)));
  }
  return known;
}

void Store::release() noexcept {
  claimed_.reset();
  session_.reset();
}

std::unique_ptr<IFencedStore> openStore(const StoreOptions& options, IEventSink& events) {
  return std::make_unique<Store>(options, events);
}

}  // namespace tenure::zookeeper
