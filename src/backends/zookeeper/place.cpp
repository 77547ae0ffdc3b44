// Where a driver's values are: looking for it, making it, and whom it is open to.
#include "backends/shared/inspection.hpp"
#include "backends/zookeeper/driver.hpp"
#include "coordination/zookeeper.hpp"

namespace tenure::zookeeper {

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
  const bool mayLackSome = made && *made;
  if (made && !*made) {
    if (Result<void> making = make(); !making) return making;
    made = isMade();
  }
  if (!made) return made.error();
  if (mayLackSome)
    if (Result<void> later = makeLaterFolders(); !later) return later;
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

/// Makes the folders that an earlier version lacks. They are made in order: where the last one is there, all are.
Result<void> Driver::makeLaterFolders() {
  const std::vector<std::string> folders = paths_.laterFolders();
  const Result<NodeStat> last = session_->existsFresh(folders.back());
  if (last) return {};
  if (!last.error().is(Errc::notFound)) return last.error();
  for (const std::string& folder : folders)
    if (Result<void> made = makeFolder(folder); !made) return made;
  return {};
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
