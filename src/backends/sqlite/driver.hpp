/// SQLite as a driver of the storage core: what is particular to a file, its one lock and its one connection.
///
///   prepare   a look for reading (open_file.hpp); then the file is opened for the claim
///   claim     BEGIN IMMEDIATE · read the fence row and the queue's owner · ask what it shall be · write · COMMIT
///   commit    BEGIN IMMEDIATE · raise the fence row under its own token · write · COMMIT
///   open      the same in pieces, with a handler's statements in between
///
/// Every wait for the file's lock is bounded by Options::lockLimit. When it passes, the holder is looked up, and killed
/// if it is proven to be a predecessor whose term is over, and to be frozen (lock_holder.hpp).
///
/// A savepoint precedes what a handler writes first behind a mark; but for ISqlStatements::write, which is mostly all
/// that a handler does: when it is not, the transaction is undone, and has points for a while.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/sqlite/fence_rows.hpp"
#include "backends/sqlite/lock_holder.hpp"
#include "backends/sqlite/open_file.hpp"
#include "backends/sqlite/row_tables.hpp"
#include "backends/sqlite/schema.hpp"
#include "storage/driver.hpp"
#include "tenure/events.hpp"

namespace tenure::sqlite {

class Driver final : public storage::IStoreDriver {
 public:
  /// Borrows both.
  Driver(OpenFile& file, IEventSink& events)
      : file_(file), events_(events), limits_(limitsFor(file.options())), which_(whichQueue(file.options())) {}
  ~Driver() override { Driver::release(); }

  std::string name() const override { return std::filesystem::absolute(file_.options().file).string(); }
  std::string queue() const override { return which_.name; }
  const storage::Limits& limits() const noexcept override { return limits_; }
  Result<void> prepare(const std::stop_token& stop) override;
  Result<void> connect(const std::stop_token& stop) override;
  void serve(const QueueIdentity& queue) override { which_.elsewhere = queue; }
  Result<storage::FenceFound> readFence(const ElectionName& election) override;
  Result<std::vector<StoredFence>> fences() override;
  Result<void> claim(const ElectionName& election, const Term* term, const storage::ClaimJudge& judge) override;
  Result<std::optional<storage::Rows>> read(std::span<const storage::RowName> rows,
                                            const storage::Fence* expected) override;
  Result<std::vector<storage::Row>> scan(const storage::Scan& scan) override;
  Result<storage::WaitingPage> waiting(const storage::WaitingScan& scan) override;
  Result<storage::WaitingCounts> countWaiting(std::int64_t atMost) override;
  Result<storage::Committed> commit(const storage::Commit& commit) override;
  std::unique_ptr<storage::ISqlTransaction> open() override;
  Result<void> checkSql(std::string_view sql, std::span<const SqlParameter> parameters) override;
  Result<Findings> inspect() override;
  void limitAnswers(AnswerTimer* timer) noexcept override { timer_ = timer; }
  void release() noexcept override;

  // For its transactions:
  Result<storage::Outcome> begin(const storage::Fence& expected, const storage::Fence& next);
  /// What is left to do of one that has begun.
  Result<storage::Committed> finish(const storage::Commit& commit);
  Connection& connection() noexcept { return *connection_; }
  /// Whether marks are to be savepoints whatever comes; counts a message.
  bool isPessimistic() noexcept { return pessimistic_ > 0 && pessimistic_-- > 0; }
  void goPessimistically() noexcept { pessimistic_ = 256; }

 private:
  void rehearse(Connection& connection);
  Result<void> openFor(const Term& term);
  Result<void> writeFence(const ElectionName& election, const Queue& queue, const storage::Fence& next,
                          const Term* term);
  static storage::Limits limitsFor(const Options& options);
  Result<void> commitPatiently();
  Result<bool> writeAll(const storage::Commit& commit);
  Result<void> addSent(const storage::Commit& commit);
  Result<std::optional<storage::Rows>> readAll(std::span<const storage::RowName> rows, const storage::Fence* expected);
  Result<void> findQueue();
  bool makeRoom(const Term& term);
  template <class Body>
  void emit(const Term& term, Body body);

  OpenFile& file_;
  IEventSink& events_;
  const storage::Limits limits_;
  storage::WhichQueue which_;
  std::shared_ptr<Connection> connection_;
  RowTables tables_;
  RowTables::Owner owner_;
  std::size_t pessimistic_ = 0;
  std::optional<Term> term_;  // that has claimed
  AnswerTimer* timer_ = nullptr;
  std::vector<ProcessIdentity> suspects_;
  std::optional<HolderLook> firstLook_;  // at a holder of the lock that may be frozen
};

}  // namespace tenure::sqlite
