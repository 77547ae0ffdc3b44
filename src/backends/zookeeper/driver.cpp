#include "backends/zookeeper/driver.hpp"

#include <algorithm>
#include <utility>

#include "backends/shared/cut_off.hpp"
#include "backends/shared/inspection.hpp"
#include "coordination/zookeeper.hpp"

namespace tenure::zookeeper {

namespace {

/// Each costs the servers a tenth of a millisecond.
constexpr std::size_t namesALook = 32;
/// A batch and the names of the next one fit into one multi.
constexpr std::size_t messagesABatch = 1024;
/// Of a part, beside its own name and value: what the protocol adds, and folders.
constexpr std::size_t bytesAPart = 120;

bool isConflict(const Error& error) noexcept {
  return error.is(Errc::versionMismatch) || error.is(Errc::alreadyExists) || error.is(Errc::notFound) ||
         error.is(Errc::invalidArgument);
}

bool isClaim(const spi::Batch& batch) {
  return std::ranges::any_of(batch.writes,
                             [](const spi::Write& write) { return write.name.table == spi::Table::owner; });
}

/// Of these only our own term writes, or the next batch finds out.
bool isTold(spi::Table table) noexcept { return table == spi::Table::state || table == spi::Table::key; }

bool isWithin(const spi::Range& range, std::string_view text) noexcept {
  if (!text.starts_with(range.prefix)) return false;
  return range.after.empty() || (range.backward ? text < range.after : text > range.after);
}

/// Whether a name in a folder may be within.
bool mayHold(const spi::Range& range, std::string_view folder) noexcept {
  if (!folder.starts_with(range.prefix) && !std::string_view(range.prefix).starts_with(folder)) return false;
  if (range.after.empty()) return true;
  if (range.backward) return folder < range.after;
  return folder > range.after || std::string_view(range.after).starts_with(folder);
}

}  // namespace

Driver::Driver(const StoreOptions& options, IEventSink& events)
    : options_(options), paths_(options.root, options.name), events_(events) {
  limits_ = {.batchBytes = options.maxTransactionBytes,
             .stateBytes = options.maxTransactionBytes,
             .bytesAWrite = bytesAPart + paths_.base.size(),
             .maxBatch = messagesABatch,
             .namesARead = namesALook,
             .readsAreDear = true};
}

Result<void> Driver::connect(const std::stop_token& stop) {
  if (!session_) session_ = std::make_unique<SessionThread>(options_.zookeeper, options_.replyLimit);
  session_->limitAnswers(timer_);
  const Result<void> connected = session_->awaitConnected(stop);
  if (!connected) return backends::unlessStopped(connected.error(), stop);
  if (session_->ended() != ended_) known_.clear();
  ended_ = session_->ended();
  return {};
}

void Driver::limitAnswers(AnswerTimer* timer) noexcept {
  timer_ = timer;
  if (session_) session_->limitAnswers(timer);
}

void Driver::release() noexcept {
  session_.reset();
  ended_ = 0;
  isMade_ = false;
  isOurs_ = false;
  own_.clear();
  known_.clear();
  trusted_.clear();
}

// --- reading

const Cell* Driver::told(const spi::Name& name, const std::string& path) const {
  if (!isOurs_ || !isTold(name.table)) return nullptr;
  const Cell* cell = known_.find(path);
  return cell != nullptr && cell->value ? cell : nullptr;
}

void Driver::keep(const std::string& path, Cell cell, bool lasts) {
  // Absence is worth keeping only while our term alone could make the znode.
  if (isOurs_ && lasts)
    known_.lasting.keep(path, std::move(cell));
  else if (cell.value)
    known_.passing.keep(path, std::move(cell));
}

Result<spi::Values> Driver::read(std::span<const spi::Name> names) {
  known_.trim();
  const Result<bool> made = isMade();
  if (!made) return made.error();
  spi::Values values(names.size());
  if (!*made) return values;
  std::vector<std::size_t> places;
  std::vector<std::string> asked;
  bool asksTheFence = false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::string path = paths_.of(names[i]);
    if (const Cell* cell = told(names[i], path)) {
      values[i] = cell->value;
      trusted_[std::move(path)] = cell->version;
      continue;
    }
    asksTheFence = asksTheFence || path == paths_.fence;
    places.push_back(i);
    asked.push_back(std::move(path));
  }
  // If only the fence had to be asked for, it is answered from memory too: as our last batch left it.
  const Cell* fence = known_.find(paths_.fence);
  if (asksTheFence && asked.size() == 1 && names.size() > 1 && isOurs_ && fence != nullptr) {
    values[places.front()] = fence->value;
    return values;
  }
  Result<std::vector<Cell>> cells = look(asked, asksTheFence ? Reading::fresh : reading());
  if (!cells) return cells.error();
  for (std::size_t i = 0; i < asked.size(); ++i) {
    values[places[i]] = (*cells)[i].value;
    keep(asked[i], std::move((*cells)[i]), lasts(names[places[i]].table));
  }
  return values;
}

/// In the order of the range. Those of a log or of dead letters may be many: only those that may hold something.
Result<std::vector<std::string>> Driver::foldersOf(const spi::Range& range) {
  std::vector<std::string> folders;
  if (Paths::hasShards(range.table)) {
    const bool inShards = Paths::goesByShards(range.table) && !range.after.empty();
    const std::size_t after = inShards ? Paths::shardOf(range.after) : 0;
    for (std::size_t i = 0; i < Paths::shards; ++i)
      if (!inShards || (range.backward ? i <= after : i >= after)) folders.push_back(paths_.shard(range.table, i));
  } else if (Paths::hasFolders(range.table)) {
    const auto names = session_->childrenOfAll({paths_.top(range.table)}, reading());
    if (!names) return names.error();
    std::vector<std::string> texts;
    for (const std::string& name : names->front())
      if (std::string text = decoded(name); mayHold(range, text)) texts.push_back(std::move(text));
    std::ranges::sort(texts);
    for (const std::string& text : texts) folders.push_back(paths_.folder(range.table, text));
  } else {
    folders.push_back(paths_.top(range.table));
  }
  if (range.backward) std::ranges::reverse(folders);
  return folders;
}

/// More folders are listed at a time the less there was in those before. Attempts are few, and wanted in one order.
Result<std::vector<spi::NamedValue>> Driver::scan(const spi::Range& range) {
  std::vector<spi::NamedValue> found;
  const Result<bool> made = isMade();
  if (!made) return made.error();
  if (!*made) return found;
  const Result<std::vector<std::string>> folders = foldersOf(range);
  if (!folders) return folders.error();
  const bool isOneOrder = range.table == spi::Table::attempt;
  std::size_t next = 0;
  for (std::size_t count = isOneOrder ? folders->size() : 1; next < folders->size(); count *= 2) {
    if (found.size() == range.atMost) break;
    const auto begin = folders->begin() + static_cast<std::ptrdiff_t>(next);
    const std::size_t listed = std::min(count, folders->size() - next);
    const auto names = session_->childrenOfAll({begin, begin + static_cast<std::ptrdiff_t>(listed)}, reading());
    if (!names) return names.error();
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < listed; ++i) {
      spi::Range within = range;
      if (Paths::goesByShards(range.table) && next + i > 0) within.after.clear();
      for (const std::string& name : (*names)[i])
        if (std::string text = decoded(name); isWithin(within, text)) texts.push_back(std::move(text));
      if (isOneOrder && i + 1 < listed) continue;
      if (const Result<void> taken = take(std::exchange(texts, {}), range, found); !taken) return taken.error();
    }
    next += listed;
  }
  return found;
}

/// What goes meanwhile is not there.
Result<void> Driver::take(std::vector<std::string> texts, const spi::Range& range,
                          std::vector<spi::NamedValue>& found) {
  std::ranges::sort(texts);
  if (range.backward) std::ranges::reverse(texts);
  for (std::size_t next = 0; next < texts.size() && found.size() < range.atMost;) {
    const std::size_t end = std::min(texts.size(), next + range.atMost - found.size());
    std::vector<std::string> paths;
    for (std::size_t i = next; i < end; ++i) paths.push_back(paths_.of({range.table, texts[i]}));
    Result<std::vector<Cell>> cells = look(paths, reading());
    if (!cells) return cells.error();
    for (std::size_t i = 0; i < paths.size(); ++i, ++next) {
      Cell& cell = (*cells)[i];
      if (cell.value) found.push_back({std::move(texts[next]), *cell.value});
      if (isOurs_) keep(paths[i], std::move(cell), lasts(range.table));
    }
  }
  return {};
}

Result<std::vector<Cell>> Driver::look(const std::vector<std::string>& paths, Reading reading) {
  auto nodes = session_->getAll(paths, reading);
  if (!nodes) return nodes.error();
  std::vector<Cell> cells;
  cells.reserve(paths.size());
  for (std::optional<Node>& node : *nodes)
    cells.push_back(node ? Cell{std::move(node->data), node->stat.version, node->stat.childCount} : Cell{});
  return cells;
}

// --- writing

Result<spi::Applied> Driver::apply(const spi::Batch& batch) {
  known_.trim();
  const bool claims = isClaim(batch);
  if (claims) {
    isOurs_ = false;
    own_.clear();
    trusted_.clear();
    if (const Result<void> ready = makeReady(); !ready) return ready.error();
  }
  const std::vector<std::string> unknown = Parts::unknown(paths_, known_, batch.writes);
  if (!unknown.empty()) {
    Result<std::vector<Cell>> cells = look(unknown, reading());
    if (!cells) return cells.error();
    for (std::size_t i = 0; i < unknown.size(); ++i) known_.renew(unknown[i], std::move((*cells)[i]));
  }
  const Trusted trusted = std::exchange(trusted_, {});
  Parts parts(paths_, known_, batch.writes, own_, trusted);
  if (parts.unmet()) return refused(*parts.unmet());
  known_.passing.clear();
  if (const std::size_t bytes = parts.bytes(); bytes > options_.maxTransactionBytes)
    return Error{Errc::payloadTooLarge, "a transaction of " + std::to_string(bytes) + " bytes, at most " +
                                            std::to_string(options_.maxTransactionBytes)};
  const Result<void> written = session_->multi(parts.takeOps());
  if (!written) {
    const auto part = refusedPart(written.error());
    if (part && isConflict(written.error())) return refused(parts.writeOf(*part));
    known_.clear();
    return written.error();
  }
  if (!isOurs_) known_.clear();
  if (isOurs_ || claims)
    for (auto& [path, cell] : parts.after()) (isOurs_ ? known_.lasting : known_.passing).keep(path, std::move(cell));
  return spi::Applied{};
}

Result<spi::Applied> Driver::refused(std::size_t write) {
  known_.clear();
  if (write == Parts::candidacy) return Error{Errc::leaseLost, "our candidacy is gone"};
  return spi::Applied{write};
}

// The place of a driver's values: looking for it, making it, and its access rights.
Result<bool> Driver::isMade() {
  if (isMade_) return true;
  const Result<Node> base = session_->getFresh(paths_.base);
  if (!base && !base.error().is(Errc::notFound)) return base.error();
  if (!base && !options_.create) return Error{Errc::notFound, "there is no store " + paths_.base};
  if (base && base->data != Paths::layout)
    return Error{Errc::configurationRefused, paths_.base + " is not a store as this version lays it out (\"" +
                                                 std::string(Paths::layout) + "\"): take another name, or remove it"};
  return isMade_ = base.has_value();
}

/// For a claim. All that is below was made with the same rights. What we may not even read is not open to the world.
Result<void> Driver::makeReady() {
  Result<bool> made = isMade();
  if (made && !*made) {
    if (Result<void> making = make(); !making) return making;
    made = isMade();
  }
  if (!made) return made.error();
  const Result<bool> open = session_->isWorldWritable(paths_.base);
  if (!open && !open.error().is(Errc::permissionDenied)) return open.error();
  isOpenToAll_ = open && *open;
  if (isOpenToAll_ && options_.zookeeper.strictAcl)
    return Error{Errc::configurationRefused, paths_.base + " can be changed by anybody who reaches the ensemble"};
  return {};
}

Result<void> Driver::make() {
  if (options_.zookeeper.strictAcl && options_.zookeeper.digest.empty())
    return Error{Errc::configurationRefused,
                 "without a digest (digest-file) anybody could change " + paths_.base + ": it is not made"};
  for (const std::string& shared : paths_.above())
    if (Result<void> made = makeFolder(shared); !made) return made;
  std::vector<MultiOp> ops{CreateOp{paths_.base, std::string(Paths::layout)}};
  for (const std::string& folder : paths_.madeFolders()) ops.emplace_back(CreateOp{folder});
  const Result<void> made = session_->multi(std::move(ops));
  return !made && made.error().is(Errc::alreadyExists) ? Result<void>{} : made;
}

/// Looked at first: where it is there already, we may well have no right to create it.
Result<void> Driver::makeFolder(const std::string& path) {
  const Result<NodeStat> found = session_->existsFresh(path);
  if (found) return {};
  if (!found.error().is(Errc::notFound)) return found.error();
  const Result<CreatedNode> made = session_->create(path);
  if (made || made.error().is(Errc::alreadyExists)) return {};
  return made.error();
}

Result<void> Driver::claimed(const FenceRow& fence) {
  Result<std::string> own = findCandidacy(fence);
  if (!own) return own.error();
  own_ = std::move(*own);
  isOurs_ = true;
  warn(fence);
  return {};
}

/// The znode that the term's token is the czxid of.
Result<std::string> Driver::findCandidacy(const FenceRow& fence) {
  const std::string folder = fence.path + "/candidates";
  const auto names = session_->children(folder);
  if (!names && !names.error().is(Errc::notFound)) return names.error();
  if (!names) return std::string{};
  for (const std::string& name : *names) {
    if (!name.starts_with(fence.candidate.value)) continue;
    std::string path = folder;
    path.append("/").append(name);
    const Result<NodeStat> stat = session_->existsFresh(path);
    if (stat && stat->czxid == fence.token.value) return path;
    if (!stat && !stat.error().is(Errc::notFound)) return stat.error();
  }
  return std::string{};
}

void Driver::warn(const FenceRow& fence) {
  const auto emit = [&](std::string what) {
    events_.on({systemClock().wallNow(), fence.election, fence.token, Warned{std::move(what)}});
  };
  if (isOpenToAll_ && !std::exchange(hasWarned_, true)) {
    // Where the election is as open on the same ensemble, the candidate has said so.
    const Result<bool> open = own_.empty() ? Result<bool>(false) : session_->isWorldWritable(fence.path);
    if (!open || !*open) emit(paths_.base + " can be changed by anybody who reaches the ensemble");
  }
  if (const auto clear = digestTravelsInClear(options_.zookeeper))
    emit(name() + ": the digest travels in clear to " + *clear + "; put a TLS tunnel in between");
}

Result<Findings> Driver::inspect() {
  backends::Inspection found;
  const Result<bool> made = isMade();
  if (!made && !made.error().is(Errc::notFound)) return made.error();
  if (!made) {
    found.fact("store", "absent", "the first leader makes " + paths_.base);
    return found.take();
  }
  const Result<bool> open = session_->isWorldWritable(paths_.fence);
  if (!open && !open.error().is(Errc::notFound)) return open.error();
  if (open)
    found.expectSafe(!*open, "ACL of " + paths_.fence, *open ? "anybody may change it" : "not open to all",
                     "a digest (digest-file) from the first leader on: whoever may write there can let a stale leader "
                     "commit");
  return found.take();
}

std::unique_ptr<IFencedStore> openStore(const StoreOptions& options, IEventSink& events) {
  return spi::openStore(std::make_unique<Driver>(options, events), events);
}

std::unique_ptr<IStoreAdmin> openStoreAdmin(const StoreOptions& options) {
  StoreOptions existing = options;
  existing.create = false;
  return spi::openAdmin(std::make_unique<Driver>(existing, noEvents()));
}

}  // namespace tenure::zookeeper
