// Stores of earlier versions have all attempts in one folder, and all dead letters in another one: a reply that lists
// them grows without a limit. The first claim of this version files them anew, one by one and under the fence; where it
// is interrupted, the next claim goes on.
#include <set>

#include "backends/zookeeper/store.hpp"

namespace tenure::zookeeper {

Result<void> Store::moveFormer() {
  const Result<NodeStat> former = session_->existsFresh(paths_.formerAttempts());
  if (!former) return former.error().is(Errc::notFound) ? Result<void>{} : former.error();
  const auto attempts = session_->children(paths_.formerAttempts());
  if (!attempts) return attempts.error();
  auto letters = session_->children(paths_.formerDead());
  if (!letters && letters.error().is(Errc::notFound)) letters = std::vector<std::string>{};
  if (!letters) return letters.error();

  std::vector<std::string> folders = paths_.failureFolders();
  std::set<std::int64_t> ofLetters{Paths::letterFolderOf(claimed_->fence.deadLetters)};
  for (const std::string& name : *letters)
    if (const auto number = Paths::numberFrom(name)) ofLetters.insert(Paths::letterFolderOf(*number));
  for (const std::int64_t folder : ofLetters)
    if (folder > 0) folders.push_back(paths_.letterFolder(folder));
  for (const std::string& folder : folders)
    if (const Result<void> made = makeFolder(folder); !made) return made;

  for (const std::string& name : *letters)
    if (const auto number = Paths::numberFrom(name))
      if (const auto moved = move(paths_.formerDead() + "/" + name, paths_.letter(*number)); !moved) return moved;
  for (const std::string& name : *attempts)
    if (const auto moved = move(paths_.formerAttempts() + "/" + name, paths_.attempt(name)); !moved) return moved;
  for (const std::string& folder : {paths_.formerDead(), paths_.formerAttempts()}) {
    const Result<void> gone = session_->multi({RemoveOp{folder}});
    if (!gone && !gone.error().is(Errc::notFound)) return gone;
  }
  return {};
}

/// An operator may have been faster.
Result<void> Store::move(const std::string& from, const std::string& to) {
  const Result<Node> node = session_->getFresh(from);
  if (!node) return node.error().is(Errc::notFound) ? Result<void>{} : node.error();
  return write(claimed_->fence, {CreateOp{to, node->data}, RemoveOp{from, node->stat.version}});
}

}  // namespace tenure::zookeeper
