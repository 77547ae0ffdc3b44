#include "backends/zookeeper/store.hpp"

#include <algorithm>
#include <utility>

#include "backends/shared/cut_off.hpp"
#include "backends/shared/record_text.hpp"
#include "backends/zookeeper/id_node.hpp"
#include "backends/zookeeper/transaction.hpp"
#include "base/assert.hpp"
#include "base/random.hpp"
#include "coordination/zookeeper.hpp"

namespace tenure::zookeeper {
namespace {

using backends::Claim;
using backends::StoredFence;
using std::chrono::milliseconds;

constexpr int claimAttempts = 16;
/// Where one message comes again, others do.
constexpr std::size_t carefulFor = 256;

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

Result<void> Store::open(const std::stop_token& stop) {
  if (!session_) session_ = std::make_unique<SessionThread>(options_.zookeeper, options_.replyLimit);
  session_->limitAnswers(timer_);
  return session_->awaitConnected(stop);
}

Result<void> Store::prepare(const std::stop_token& stop) {
  const Result<void> opened = open(stop);
  if (!opened) return backends::unlessStopped(opened.error(), stop);
  return {};
}

/// Looked at first: where it is there already, we may well have no right to create it.
Result<void> Store::makeFolder(const std::string& path) {
  const Result<NodeStat> found = session_->existsFresh(path);
  if (found) return {};
  if (!found.error().is(Errc::notFound)) return found.error();
  const Result<CreatedNode> made = session_->create(path);
  if (made || made.error().is(Errc::alreadyExists)) return {};
  return made.error();
}

Result<void> Store::makeFolders() {
  for (const std::string& shared : paths_.above())
    if (const Result<void> made = makeFolder(shared); !made) return made;
  std::vector<MultiOp> ops;
  for (const std::string& folder : paths_.folders()) ops.emplace_back(CreateOp{folder});
  const Result<void> made = session_->multi(std::move(ops));
  return !made && made.error().is(Errc::alreadyExists) ? Result<void>{} : made;
}

Result<void> Store::claim(const Term& term) {
  const BootTime start = BootClock::now();
  claimed_.reset();
  doubt();
  Result<void> claimed = open();
  for (int attempt = 0; claimed && !claimed_; ++attempt) {
    const Result<bool> tried = tryClaim(term);
    if (!tried) claimed = tried.error();
    if (tried && !*tried && attempt == claimAttempts)
      claimed = Error{Errc::storeBusy, "the fence changes again and again while it is claimed"};
  }
  if (claimed) claimed = moveFormer();
  if (!claimed) {
    release();
    if (backends::isRefusal(claimed.error())) emit(term, FenceRefused{claimed.error().message()});
    return claimed;
  }
  if (const auto clear = digestTravelsInClear(options_.zookeeper))
    emit(term, Warned{"zookeeper " + paths_.base + ": the digest travels in clear to " + *clear +
                      "; put a TLS tunnel in between"});
  emit(term, FenceClaimed{"zookeeper " + paths_.base, claimed_->previousToken, since(start)});
  return {};
}

/// All that is below was made with the same rights. What we may not even read is not open to the world.
Result<void> Store::lookAtAcl(const Term& term) {
  const Result<bool> open = session_->isWorldWritable(paths_.base);
  if (!open) return open.error().is(Errc::permissionDenied) ? Result<void>{} : open.error();
  if (!*open) return {};
  const std::string finding = paths_.base + " can be changed by anybody who reaches the ensemble";
  if (options_.zookeeper.strictAcl) return Error{Errc::configurationRefused, finding};
  if (!std::exchange(aclWarned_, true) && !electionIsAsOpen(term.identity())) emit(term, Warned{finding});
  return {};
}

/// Then the candidate has said so: of the same ensemble it need not be told again.
bool Store::electionIsAsOpen(const TermIdentity& term) {
  const Result<std::string> own = findCandidacy(term);
  if (!own || own->empty()) return false;
  const Result<bool> open = session_->isWorldWritable(term.electionPath);
  return open && *open;
}

Result<Store::Found> Store::find() {
  Result<Node> base = session_->getFresh(paths_.base);
  if (!base && base.error().is(Errc::notFound)) {
    if (!options_.create) return Error{Errc::notFound, "there is no store " + paths_.base};
    if (options_.zookeeper.strictAcl && options_.zookeeper.digest.empty())
      return Error{Errc::configurationRefused,
                   "without a digest (digest-file) anybody could change " + paths_.base + ": it is not made"};
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
  if (const Result<void> looked = lookAtAcl(term); !looked) return looked.error();
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

Result<std::vector<Cell>> Store::read(const std::vector<std::string>& paths, FenceCheck check) {
  const bool asksFence = check == FenceCheck::pass;
  TENURE_ASSERT(session_ && (claimed_ || !asksFence));
  std::vector<std::string> asked;
  if (asksFence) asked.push_back(paths_.fence);
  asked.insert(asked.end(), paths.begin(), paths.end());
  using Reading = SessionThread::Reading;
  auto nodes = session_->getAll(asked, asksFence ? Reading::fresh : Reading::any);
  if (!nodes) return nodes.error();
  if (asksFence) {
    Error fenced = judged(nodes->front(), {});
    if (fenced.code) return fenced;
  }
  std::vector<Cell> cells;
  cells.reserve(paths.size());
  for (std::size_t i = asksFence ? 1 : 0; i < nodes->size(); ++i) {
    std::optional<Node>& node = (*nodes)[i];
    cells.push_back(node ? Cell{std::move(node->data), node->stat.version} : Cell{});
    keep(asked[i], cells.back());
  }
  return cells;
}

/// Ids come once: to know them for longer than their batch is of no use.
void Store::keep(const std::string& path, Cell cell) {
  if (claimed_ && !path.starts_with(paths_.ids())) cells_.keep(path, std::move(cell));
}

void Store::doubt() noexcept {
  lookahead_.distrust();
  careful_ = carefulFor;
  cells_.clear();
  log_.reset();
}

Result<void> Store::commit(const Changes& changes, const std::vector<std::string>& letters,
                           const std::vector<LogEntry>& logged) {
  TENURE_ASSERT(claimed_.has_value());
  FenceNode next = claimed_->fence;
  std::vector<MultiOp> ops;
  ops.reserve(letters.size() + logged.size() + changes.size() + 2);
  for (const std::string& letter : letters) {
    if (Paths::opensLetterFolder(++next.deadLetters))
      ops.emplace_back(CreateOp{paths_.letterFolder(Paths::letterFolderOf(next.deadLetters))});
    ops.emplace_back(CreateOp{paths_.letter(next.deadLetters), letter});
  }
  std::vector<LogPiece> pieces;
  for (const LogEntry& entry : logged) {
    const LogPiece& piece = pieces.emplace_back(LogPiece{++next.logPieces, entry.lines, entry.consumer});
    if (piece.number == 1) ops.emplace_back(CreateOp{paths_.log});
    if (piece.isFirstOfFolder()) ops.emplace_back(CreateOp{paths_.logFolder(piece.folder())});
    ops.emplace_back(CreateOp{paths_.logPiece(piece), entry.text});
  }
  changes.appendTo(ops);
  if (Result<void> written = write(std::move(next), std::move(ops)); !written) return written;
  changes.forEachWritten([this](const std::string& path, Cell cell) { keep(path, std::move(cell)); });
  for (const LogPiece& piece : pieces)
    if (log_) log_->add(piece);
  return {};
}

Result<void> Store::write(FenceNode next, std::vector<MultiOp> ops) {
  next.by = freshUuid();
  ++next.row.sequence;
  ops.insert(ops.begin(), SetOp{paths_.fence, fenceText(next), claimed_->version});
  if (!claimed_->own.empty()) ops.insert(ops.begin(), CheckOp{claimed_->own});
  if (const std::size_t bytes = bytesOf(ops); bytes > options_.maxTransactionBytes)
    return Error{Errc::payloadTooLarge, "a transaction of " + std::to_string(bytes) + " bytes, at most " +
                                            std::to_string(options_.maxTransactionBytes)};
  Result<void> written = session_->multi(std::move(ops));
  if (!written) {
    doubt();
    if (isConflict(written.error())) return explain(written.error());
    if (isOutcomeUnknown(written.error().code)) claimed_->inDoubt = std::move(next);
    return written;
  }
  claimed_->fence = std::move(next);
  ++claimed_->version;
  return {};
}

Error Store::explain(const Error& refusal) {
  const auto fence = optional(session_->getFresh(paths_.fence));
  if (!fence) return fence.error();
  Error why = judged(*fence, Error{Errc::undone, "a znode is not as it was known: " + refusal.message()});
  if (!why.is(Errc::undone) || claimed_->own.empty()) return why;
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

Result<std::vector<Admission>> Store::known(const ConsumerName& consumer, std::span<const Message> messages) {
  if (messages.empty()) return std::vector<Admission>{};
  const MessageId& first = messages.front().id;
  const bool foreseen = messages.size() == 1 && (assumesFresh(first) || lookahead_.isAbsent(consumer, first));
  if (foreseen) return std::vector{Admission::fresh};
  std::vector<MessageId> ids;
  if (messages.size() == 1) ids = lookahead_.take(first, idsAJourney);
  for (std::size_t i = ids.size(); i < messages.size(); ++i) ids.push_back(messages[i].id);
  const auto keys = readIds(consumer, ids, FenceCheck::skip);
  if (!keys) return keys.error();
  std::vector<Admission> known;
  known.reserve(messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i)
    known.push_back(admissionOf((*keys)[i].value, digestOf(messages[i].body)));
  return known;
}

Result<std::vector<Cell>> Store::readIds(const ConsumerName& consumer, std::span<const MessageId> ids,
                                         FenceCheck check) {
  std::vector<std::string> paths;
  paths.reserve(ids.size());
  for (const MessageId& id : ids) paths.push_back(paths_.id(consumer, id));
  auto keys = read(paths, check);
  if (!keys) return keys;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool isFresh = !(*keys)[i].value;
    if (isFresh) lookahead_.sawAbsent(consumer, ids[i]);
    careful_ = isFresh ? careful_ - std::min<std::size_t>(careful_, 1) : carefulFor;
  }
  return keys;
}

void Store::release() noexcept {
  claimed_.reset();
  lookahead_.clear();
  cells_.clear();
  log_.reset();
  session_.reset();
}

std::unique_ptr<IFencedStore> openStore(const StoreOptions& options, IEventSink& events) {
  return std::make_unique<Store>(options, events);
}

}  // namespace tenure::zookeeper
