// Forgetting idempotency keys: shard by shard, each in the order of its names; a step ends in the middle of one.
#include <algorithm>

#include "backends/zookeeper/store.hpp"
#include "backends/zookeeper/transaction.hpp"

namespace tenure::zookeeper {
namespace {

// Read in one journey and removed in one multi; the career thread has messages to see to.
constexpr std::size_t keysAStep = 500;

}  // namespace

/// `step.after` is "<shard>/<name>", as below the folder of ids.
Result<Pruned> Store::prune(const Term& term, const Pruning& step) {
  if (const Result<void> ours = isClaimedBy(term); !ours) return ours.error();
  if (claimed_->inDoubt) return Error{Errc::outcomeUnknown, "the last commit is not resolved"};
  const std::size_t atMost = std::min(step.atMost, keysAStep);
  std::string last;
  std::vector<std::string> paths;
  for (std::size_t shard = 0; shard < Paths::shards && last.empty(); ++shard) {
    if (Paths::shardName(shard) < step.after.substr(0, step.after.find('/'))) continue;
    const auto names = idsIn(shard, step);
    if (!names) return names.error();
    for (const std::string& name : *names) {
      paths.push_back(paths_.ids() + "/" + name);
      if (paths.size() < atMost) continue;
      last = name;
      break;
    }
  }
  FencedTransaction transaction(*this, term);
  Result<Pruned> pruned = transaction.forget(paths, step);
  if (!pruned) return pruned;
  pruned->last = std::move(last);
  if (pruned->removed == 0) return pruned;
  const Result<void> committed = transaction.commit();
  return committed ? pruned : Result<Pruned>(committed.error());
}

/// The consumer's, after `step.after`, in order.
Result<std::vector<std::string>> Store::idsIn(std::size_t shard, const Pruning& step) {
  const std::string folder = Paths::shardName(shard) + "/";
  const auto all = session_->children(paths_.ids() + "/" + Paths::shardName(shard));
  if (!all) return all.error();
  const std::string prefix = Paths::prefix(step.consumer);
  std::vector<std::string> names;
  for (const std::string& name : *all)
    if (name.starts_with(prefix) && folder + name > step.after) names.push_back(folder + name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tenure::zookeeper
