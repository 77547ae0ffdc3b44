/// ZooKeeper as the fenced store.
///
///   claim     read fence and owner, behind a sync · judge (backends/shared/fence.hpp) · write both in one multi that
///             expects the versions read · find our own candidacy's znode, where it is on this ensemble
///   begin     a transaction that only collects (transaction.hpp)
///   commit    multi[check(own candidacy), set(fence, version), changes…]
///   resolve   after a lost reply: write the fence once more at the version that the commit expected. When that
///             succeeds the commit is not there and never will be; when it does not, `by` in the fence says whose it is
///
/// A znode's name is never used for another candidacy, so that the check alone fences every commit of a term whose
/// znode is gone. On another ensemble, or under another root, the fence's version does it alone: from the claim on.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backends/zookeeper/changes.hpp"
#include "backends/zookeeper/fence_node.hpp"
#include "backends/zookeeper/paths.hpp"
#include "backends/zookeeper/session_thread.hpp"
#include "tenure/zookeeper_store.hpp"

namespace tenure::zookeeper {

class Store final : public IFencedStore {
 public:
  Store(const StoreOptions& options, IEventSink& events)
      : options_(options), paths_(options.root, options.name), events_(events) {}

  Result<void> claim(const Term& term) override;
  Result<std::unique_ptr<IFencedTransaction>> begin(const Term& term) override;
  Result<CommitFate> resolve(const Term& term) override;
  Result<ConsumerState> consumerState(const ConsumerName& consumer) override;
  Result<std::vector<Admission>> known(const ConsumerName& consumer, std::span<const Message> messages) override;
  Result<Pruned> prune(const Term& term, const Pruning& step) override;
  void release() noexcept override;

  // For its transactions:
  /// Whether the fence is as we left it. Errors: isTermOver(), those of a read.
  Result<void> checkFence();
  Result<Cell> read(const std::string& path);
  /// The letters get the next numbers.
  Result<void> commit(const Changes& changes, const std::vector<std::string>& letters);
  const Paths& paths() const noexcept { return paths_; }
  const StoreOptions& options() const noexcept { return options_; }

 private:
  struct Claimed {
    Term term;
    std::int64_t previousToken;
    FenceNode fence;                     // as our last known change left it
    std::int32_t version = 0;            // of its znode
    std::string own{};                   // our candidacy's znode; empty when it is not on this ensemble
    std::optional<FenceNode> inDoubt{};  // what a commit that may have happened made of it
    std::string burning{};               // `by` of the write that takes its version away
  };
  struct Found;

  Result<void> open();
  Result<void> makeFolders();
  Result<Found> find();
  Result<bool> tryClaim(const Term& term);
  Result<std::string> findCandidacy(const TermIdentity& term);
  Result<void> isClaimedBy(const Term& term) const;
  Result<std::vector<std::string>> idsIn(std::size_t shard, const Pruning& step);
  /// Why the fence was not found as expected. What is in it is judged; if it is ours after all, something else was
  /// changed by a stranger, and trying again is right.
  Error judged(const std::optional<Node>& fence, Error otherwise) const;
  Result<void> explain(const Error& refusal);
  template <class Body>
  void emit(const Term& term, Body body);

  StoreOptions options_;
  Paths paths_;
  IEventSink& events_;
  std::unique_ptr<SessionThread> session_;
  std::optional<Claimed> claimed_;
};

}  // namespace tenure::zookeeper
