/// A transaction in which a handler's own statements run.
///
///   idle ──first statement──▶ kept ──first answer──▶ open ──commit / rollback / a failure──▶ over
///
/// The first send begins, and passes the fence under the term's own token: when that is not there any more, a newer
/// term has claimed, and nothing else in the same send is done. Before it, no lock is held and the server has heard
/// nothing.
///
/// What needs no answer is kept back and travels with the next question or with the commit, so that a batch whose
/// handlers ask nothing is one round trip. A kept write that fails there cannot be told apart from its neighbours any
/// more: the transaction is undone, and for a while nothing is kept back (Driver::goPessimistic).
///
/// A mark is a place in what is kept back; it becomes a savepoint when something behind it is sent before the commit.
/// PostgreSQL undoes everything back to a savepoint when a statement fails, so a statement that is asked for needs one
/// right before it: the mark itself while nothing came after it, else one of its own. After an error a handler finds
/// the transaction as it was before that statement.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "backends/postgresql/session/connection.hpp"
#include "storage/driver.hpp"

namespace tenure::postgresql {

class Driver;

class OpenTransaction final : public storage::ISqlTransaction {
 public:
  /// In a transaction: so many a server remembers for each session; beyond, everybody's snapshots get slower.
  static constexpr std::size_t mostSavepoints = 64;

  explicit OpenTransaction(Driver& driver) : driver_(driver) {}
  ~OpenTransaction() override { OpenTransaction::rollback(); }

  Result<storage::Outcome> begin(const storage::Fence& expected, const storage::Fence& next) override;
  bool hasBegun() const noexcept override { return isSent_ || !kept_.empty(); }
  bool isLocked() const noexcept override { return isSent_; }
  Result<void> status() const override;
  bool isFull() const noexcept override { return savepoints_ >= mostSavepoints; }

  Result<std::vector<SqlRow>> execute(std::string_view sql, std::span<const SqlParameter> parameters) override;
  Result<void> write(std::string_view sql, std::span<const SqlParameter> parameters) override;
  Result<std::int64_t> touch(std::string_view sql, std::span<const SqlParameter> parameters) override;
  Result<void> check(std::string_view sql, std::span<const SqlParameter> parameters) override;
  Result<void> mark() override;
  Result<void> rollbackToMark() override;

  Result<storage::Committed> commit(const storage::Commit& commit) override;
  void rollback() noexcept override;

 private:
  enum class Mark {
    none,
    wanted,  // nothing was said behind it
    held,    // what was is kept back, all of it
    placed,  // it is a savepoint
  };

  /// Before every statement: what is said from here on lies behind the mark.
  void ready();
  bool isRightBehindMark() const noexcept { return mark_ >= Mark::held && isNothingBehindMark_; }
  void placeMark();
  void placeStatementPoint();
  /// Sends what was kept back, and `question` behind it.
  Exchange send(std::optional<Command> question);
  /// The place of a command among those that were kept back; negative: it passes the fence.
  std::int64_t placeOf(const Failure& failure) const noexcept;
  Result<void> flush();
  /// Asks what types the parameters of a statement have. Errors as judgeTypes(), and as the statement itself.
  Result<void> probe(const Command& statement);
  Result<void> requireConnection();
  /// The transaction cannot go on: from here on everybody hears `why`.
  Error end(Error why);
  Error endBy(const Failure& failure);
  Error undoStatement(const Failure& failure);

  Driver& driver_;
  std::shared_ptr<Connection> connection_;
  std::optional<storage::Fence> expected_;
  std::optional<storage::Fence> next_;
  bool isOver_ = false;
  bool isSent_ = false;  // the server knows of it
  Error why_{Errc::storeFailed, "the transaction is over"};
  std::vector<Command> kept_;
  std::size_t keptBytes_ = 0;
  bool isGuess_ = false;        // a handler's writes are among them
  std::size_t fence_ = 0;       // so many at the front of what was sent last pass the fence
  std::size_t savepoints_ = 0;  // released ones among them
  Mark mark_ = Mark::none;
  std::size_t markAt_ = 0;    // where in kept_ is what lies behind it
  std::int64_t touched_ = 0;  // rows, by the last statement that was sent by itself
  bool isNothingBehindMark_ = false;
  bool hasSavepoint_ = false;  // of this mark or an earlier one
  bool hasStatementPoint_ = false;
  bool isWithoutPoint_ = false;  // the last statement
};

}  // namespace tenure::postgresql
