/// ZooKeeper as the fenced store.
///
///   claim     read fence and owner, behind a sync · judge (backends/shared/fence.hpp) · write both in one multi that
///             expects the versions read · find our own candidacy's znode, where it is on this ensemble
///   begin     a transaction that only collects (transaction.hpp)
///   commit    multi[check(own candidacy), set(fence, version), changes…]; what it writes and nobody has read yet is
///             read right before, all of it in one journey
///   resolve   after a lost reply: write the fence once more at the version that the commit expected. When that
///             succeeds the commit is not there and never will be; when it does not, `by` in the fence says whose it is
///
/// A znode's name is never used for another candidacy, so that the check alone fences every commit of a term whose
/// znode is gone. On another ensemble, or under another root, the fence's version does it alone: from the claim on.
///
/// A batch is one journey. What our own commits have left is known (cells.hpp), and ids that were said to come next are
/// taken for new: one look at an id costs the servers as much as a whole multi, and the multi, which makes them, finds
/// out. Where a guess is wrong nothing is changed, and the batch is handled again (Errc::undone) with a look at each.
/// So are the first messages of a term, among which are those that its predecessor did not acknowledge any more.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backends/zookeeper/cells.hpp"
#include "backends/zookeeper/changes.hpp"
#include "backends/zookeeper/fence_node.hpp"
#include "backends/zookeeper/paths.hpp"
#include "backends/zookeeper/session_thread.hpp"
#include "storage/lookahead.hpp"
#include "tenure/zookeeper_store.hpp"

namespace tenure::zookeeper {

/// How many ids one look asks about: each costs the servers a tenth of a millisecond.
inline constexpr std::size_t idsAJourney = 32;

class Store final : public IFencedStore {
 public:
  Store(const StoreOptions& options, IEventSink& events)
      : options_(options), paths_(options.root, options.name), events_(events) {}

  Result<void> prepare(const std::stop_token& stop) override;
  Result<void> claim(const Term& term) override;
  Result<std::unique_ptr<IFencedTransaction>> begin(const Term& term) override;
  Result<CommitFate> resolve(const Term& term) override;
  Result<ConsumerState> consumerState(const ConsumerName& consumer) override;
  Result<std::vector<Admission>> known(const ConsumerName& consumer, std::span<const Message> messages) override;
  void expect(std::span<const Message> messages) override { lookahead_.expect(messages); }
  /// A batch and the names of the next one fit into one multi.
  std::size_t maxBatch() const noexcept override { return 1024; }
  Result<Pruned> prune(const Term& term, const Pruning& step) override;
  bool keepsLog() const noexcept override { return true; }
  Result<std::size_t> pruneLog(const Term& term, const LogPruning& step) override;
  void limitAnswers(AnswerTimer* timer) noexcept override {
    timer_ = timer;
    if (session_) session_->limitAnswers(timer);
  }
  void release() noexcept override;

  // For its transactions:
  enum class FenceCheck { pass, skip };
  /// All of them in one journey, and by the way whether the fence is as we left it. Errors: isTermOver(), a read's.
  Result<std::vector<Cell>> read(const std::vector<std::string>& paths, FenceCheck check);
  /// The keys of messages; those that are absent are foreseen to be fresh.
  Result<std::vector<Cell>> readIds(const ConsumerName& consumer, std::span<const MessageId> ids, FenceCheck check);
  /// What is known without asking; nullptr where nothing is.
  const Cell* kept(std::string_view path) const { return cells_.find(path); }
  storage::Lookahead& lookahead() noexcept { return lookahead_; }
  /// It is expected, and nothing speaks against its being new.
  bool assumesFresh(const MessageId& id) const { return careful_ == 0 && lookahead_.expects(id); }
  /// The letters and what is logged get the next numbers. Nothing of the changes is unread.
  Result<void> commit(const Changes& changes, const std::vector<std::string>& letters,
                      const std::vector<LogEntry>& logged);
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
  struct Cut {
    LogPiece piece;
    std::size_t lines = 0;
    std::string rest{};
  };

  Result<void> open(const std::stop_token& stop = {});
  Result<void> makeFolder(const std::string& path);
  Result<void> makeFolders();
  Result<void> moveFormer();
  Result<void> move(const std::string& from, const std::string& to);
  Result<void> lookAtAcl(const Term& term);
  bool electionIsAsOpen(const TermIdentity& term);
  Result<Found> find();
  Result<bool> tryClaim(const Term& term);
  Result<std::string> findCandidacy(const TermIdentity& term);
  Result<void> isClaimedBy(const Term& term) const;
  Result<std::vector<AttemptRecord>> attemptsOf(const ConsumerName& consumer);
  void keep(const std::string& path, Cell cell);
  /// What was foreseen or kept may be wrong.
  void doubt() noexcept;
  /// Under the fence, which becomes `next`.
  Result<void> write(FenceNode next, std::vector<MultiOp> ops);
  Result<void> knowLog();
  Result<std::vector<Cut>> cutsFor(const LogPruning& step);
  std::vector<MultiOp> opsFor(const std::vector<Cut>& cuts) const;
  Result<std::vector<std::string>> idsIn(std::size_t shard, const Pruning& step);
  /// Why the fence was not found as expected. What is in it is judged; if it is ours after all, it is `otherwise`.
  Error judged(const std::optional<Node>& fence, Error otherwise) const;
  /// Why a multi met a conflict.
  Error explain(const Error& refusal);
  template <class Body>
  void emit(const Term& term, Body body);

  StoreOptions options_;
  Paths paths_;
  IEventSink& events_;
  AnswerTimer* timer_ = nullptr;
  std::unique_ptr<SessionThread> session_;
  std::optional<Claimed> claimed_;
  bool aclWarned_ = false;
  storage::Lookahead lookahead_;
  std::size_t careful_ = 0;  // how many more ids are looked at, whatever is expected
  Cells cells_;
  std::optional<LogIndex> log_;  // once it was looked at
};

}  // namespace tenure::zookeeper
