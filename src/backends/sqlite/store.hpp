/// SQLite as the fenced store.
///
///   prepare   a look for reading, which is let go at once (standby.hpp)
///   claim     BEGIN IMMEDIATE · read the fence row and the queue's owner · judge (fence.hpp) · write · COMMIT
///   begin     a transaction that passes the fence at its first write (transaction.hpp)
///   resolve   after a COMMIT that broke in the middle: the row's `seq` says whether it is there
///
/// Every wait for the file's lock is bounded by Options::lockLimit. When it passes, the holder is looked up, and killed
/// if it is proven to be a predecessor whose term is over, and to be frozen (lock_holder.hpp).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backends/sqlite/fence_rows.hpp"
#include "backends/sqlite/lock_holder.hpp"
#include "backends/sqlite/open_file.hpp"
#include "backends/sqlite/standby.hpp"
#include "tenure/events.hpp"
#include "tenure/store.hpp"

namespace tenure::sqlite {

class Store final : public IFencedStore {
 public:
  Store(OpenFile& file, IEventSink& events) : file_(file), events_(events) {}
  ~Store() override { Store::release(); }

  Result<void> prepare(const std::stop_token&) override { return lookAsStandby(file_.options()); }
  Result<void> checkSql(std::string_view sql, std::span<const SqlParameter> parameters) override;
  Result<void> claim(const Term& term) override;
  Result<std::unique_ptr<IFencedTransaction>> begin(const Term& term) override;
  Result<CommitFate> resolve(const Term& term) override;
  Result<ConsumerState> consumerState(const ConsumerName& consumer) override;
  Result<std::vector<Admission>> known(const ConsumerName& consumer, std::span<const Message> messages) override;
  Result<Pruned> prune(const Term& term, const Pruning& step) override;
  bool keepsLog() const noexcept override { return true; }
  Result<std::size_t> pruneLog(const Term& term, const LogPruning& step) override;
  void release() noexcept override;

  // For its transactions:
  Result<void> passFence(Connection& connection);
  Result<void> commit(Connection& connection);
  std::int64_t queueNumber() const noexcept { return queue_; }

 private:
  /// What the store knows of the term that claimed it.
  struct Claimed {
    Term term;
    std::int64_t previousToken;  // that had claimed before; 0 for none
    std::int64_t sequence;       // of the last commit that is known to be durable
    bool lastIsUnknown = false;  // a commit after it may or may not have happened
  };
  struct Written {
    std::int64_t previousToken;
    std::int64_t sequence;
  };

  Result<void> open(const Term& term);
  Result<Written> writeClaimOf(const Term& term);
  Result<void> suspectStoredHolder(const Term& term);
  Result<void> isClaimedBy(const Term& term) const;
  bool makeRoom(const Term& term);
  Error refused(const Term& term, Error error);
  template <class Body>
  void emit(const Term& term, Body body);

  OpenFile& file_;
  IEventSink& events_;
  std::shared_ptr<Connection> connection_;
  std::optional<Claimed> claimed_;
  std::int64_t queue_ = 0;
  std::vector<ProcessIdentity> suspects_;
  std::optional<HolderLook> firstLook_;  // at a holder of the lock that may be frozen
};

/// Of a row with id, attempts, last_error, first_at, last_at, standing.
AttemptRecord attemptFrom(const Query& row);

/// Deletes messages from the queue; runs of neighbours at once.
Result<void> deleteByPosition(Connection& connection, std::span<const Message> messages);

}  // namespace tenure::sqlite
