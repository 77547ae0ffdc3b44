/// Redis as the fenced store.
///
///   claim     read the fence and the queue's owner · judge (backends/shared/fence.hpp) · write it in a script that
///             changes nothing unless both still are what was read
///   begin     a transaction that only collects (transaction.hpp)
///   known     one look finds which of the expected messages have no key yet: they are admitted without asking
///   look      what a transaction reads, under the fence as our last change left it: nobody else can have written since
///   commit    one script: fence, idempotency keys, writes, `seq`; it finds the same fence, or writes nothing
///   resolve   after a lost reply: `by` in the fence says whether the commit is there. When it is not, its number is
///             taken, because the request may be on its way still
///
/// A server that restarted, or a replica that was promoted, is recognised by its run id, and told of. It is claimed
/// anew before anything else is asked of it, and what was foreseen from the old one is forgotten. The fence must hold
/// our very last change, `seq` and `by`, or the term is over (fenceLost): one that holds it holds all that we ever
/// committed, because nothing of ours is written without it. A commit in doubt is resolved first.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/redis/connection.hpp"
#include "backends/redis/fence_hash.hpp"
#include "backends/redis/keys.hpp"
#include "backends/redis/write_set.hpp"
#include "storage/lookahead.hpp"
#include "tenure/store.hpp"

namespace tenure::redis {

class Store final : public IFencedStore {
 public:
  Store(const Options& options, IEventSink& events)
      : link_(options), keys_(options.queue), keepIdsFor_(options.keepIdsFor), events_(events) {}

  std::optional<std::chrono::hours> keepsIdsFor() const noexcept override { return keepIdsFor_; }
  Result<void> prepare(const std::stop_token& stop) override;
  Result<void> claim(const Term& term) override;
  Result<std::unique_ptr<IFencedTransaction>> begin(const Term& term) override;
  Result<CommitFate> resolve(const Term& term) override;
  Result<ConsumerState> consumerState(const ConsumerName& consumer) override;
  Result<std::vector<Admission>> known(const ConsumerName& consumer, std::span<const Message> messages) override;
  /// Only counts: keys expire by themselves, in the hour that they were counted under.
  Result<Pruned> prune(const Term& term, const Pruning& step) override;
  bool keepsLog() const noexcept override { return true; }
  Result<std::size_t> pruneLog(const Term& term, const LogPruning& step) override;
  void expect(std::span<const Message> messages) override { lookahead_.expect(messages); }
  void limitAnswers(AnswerTimer* timer) noexcept override { link_.limitAnswers(timer); }
  void release() noexcept override;

  // For its transactions:
  struct Looked {
    std::vector<std::optional<std::string>> fields;  // of the state
    std::vector<std::optional<std::string>> keys;
  };
  /// Errors: isTermOver() when the fence is not as we left it, those of a read.
  Result<Looked> look(const Arguments& fields, const Arguments& keys);
  Result<void> commit(const WriteSet& writes);
  const Keys& keys() const noexcept { return keys_; }
  storage::Lookahead& lookahead() noexcept { return lookahead_; }

 private:
  /// What the store knows of the term that claimed it.
  struct Claimed {
    Term term;
    std::int64_t previousToken;  // that had claimed before; 0 for none
    std::int64_t sequence;       // of the last change that is known to be there
    ExpectedFence fence;
    std::string runId;      // of the server that has it
    std::string inDoubt{};  // `by` of a commit after it that may have happened
    std::string burning{};  // `by` that takes its number away
  };
  struct Found;

  Result<Found> readFence(Connection& connection) const;
  Result<void> writeClaimOf(const Term& term, Connection& connection);
  Result<bool> tryClaim(const Term& term, Connection& connection);
  Result<void> isClaimedBy(const Term& term) const;
  /// Reads and writes of the claiming term go through here.
  Result<Connection*> connected();
  Result<void> claimAnew(Connection& connection);
  Error fencedBy(ReplyView row) const;
  Result<Reply> runAndLookOnward(Connection& connection, const WriteSet::Encoded& request);
  std::vector<std::string> keysQuestion(const ConsumerName& consumer, std::span<const MessageId> ids) const;
  void noteFresh(const ConsumerName& consumer, std::span<const MessageId> ids, ReplyView values);
  template <class Body>
  void emit(const Term& term, Body body);

  Link link_;
  Keys keys_;
  const std::chrono::hours keepIdsFor_;
  storage::Lookahead lookahead_;
  IEventSink& events_;
  std::optional<Claimed> claimed_;
  bool everClaimed_ = false;  // by this object: from then on an empty server is one that was emptied
};

}  // namespace tenure::redis
