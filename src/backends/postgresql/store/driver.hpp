/// PostgreSQL as a driver of the storage core: what is particular to a server with sessions and locks of rows.
///
///   claim     BEGIN · wait for its turn, read the queue's owner, lock the fence's row · ask what it shall be · write ·
///             COMMIT; not through within Options::lockLimit, whatever it waited for: for a second more, end the
///             sessions of older terms, and again, by turns with the whole table locked
///   commit    BEGIN · turn · pass the fence · one statement for all rows of a kind (row_sets.hpp) · what is in work ·
///             a look at what will be asked for next · COMMIT: one journey, in which nothing is done behind a failure
///   open      the same, with a handler's statements in between (open_transaction.hpp)
///   lanes     each a driver with a session of its own: its claim joins the one of the term, its commits share the
///             fence's row and count in a row of the lane's own (fence_rows.hpp)
///
/// A lost session is replaced without a word to the caller but that the transaction is over: the claim is a row, not a
/// session.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backends/postgresql/rows/fence_rows.hpp"
#include "backends/postgresql/rows/handed_out.hpp"
#include "backends/postgresql/rows/queue_rows.hpp"
#include "backends/postgresql/rows/row_sets.hpp"
#include "backends/postgresql/rows/schema.hpp"
#include "backends/postgresql/store/session.hpp"
#include "backends/postgresql/store/user_statement.hpp"
#include "storage/driver.hpp"
#include "tenure/events.hpp"

namespace tenure::postgresql {

class Driver final : public storage::IStoreDriver {
 public:
  /// Borrows all of them. `handedOut`: the rows of the table that is the queue; nullptr where its messages are ours,
  /// and for operators.
  Driver(const Options& options, IEventSink& events, std::string nameWithoutTerm = "tenure standby", Lane lane = {},
         HandedOut* handedOut = nullptr)
      : options_(options),
        events_(events),
        lane_(lane),
        handedOut_(handedOut),
        which_(whichQueue(options)),
        session_(options, std::move(nameWithoutTerm)) {}
  ~Driver() override { Driver::release(); }

  std::string name() const override;
  std::string queue() const override { return which_.name; }
  const storage::Limits& limits() const noexcept override { return limits_; }
  Result<void> prepare(const std::stop_token& stop) override { return session_.prepare(stop); }
  Result<void> connect(const std::stop_token& stop) override;
  void serve(const QueueIdentity& queue) override { which_.elsewhere = queue; }
  Result<storage::FenceFound> readFence(const ElectionName& election) override;
  Result<std::vector<storage::StoredFence>> fences() override;
  Result<void> claim(const ElectionName& election, const Term* term, const storage::ClaimJudge& judge) override;
  Result<std::optional<storage::Rows>> read(std::span<const storage::RowName> rows,
                                            const storage::Fence* expected) override;
  Result<std::vector<storage::Row>> scan(const storage::Scan& scan) override;
  Result<storage::WaitingPage> waiting(const storage::WaitingScan& scan) override;
  Result<storage::WaitingCounts> countWaiting(std::int64_t atMost) override;
  Result<storage::Committed> commit(const storage::Commit& commit) override;
  Result<void> tryQueue(const std::string& queue) override;
  std::unique_ptr<storage::ISqlTransaction> open() override;
  std::unique_ptr<storage::IStoreDriver> openLane(std::int64_t number) override;
  Result<void> checkSql(std::string_view sql, std::span<const SqlParameter> parameters) override;
  Result<Findings> inspect() override;
  Result<std::optional<WallTime>> clock() override;
  void limitAnswers(AnswerTimer* timer) noexcept override { session_.limitAnswers(timer); }
  void release() noexcept override;

  // For its transactions:
  Result<std::shared_ptr<Connection>> session(const std::stop_token& stop = {});
  std::vector<Command> passFence(const storage::Fence& expected, const storage::Fence& next) const {
    return postgresql::passFence(expected, next, lane_);
  }
  /// What a send failed with that passes the fence: staleTerm where that is the expected one no more.
  Error refusedAtFence(Connection& connection, const Failure& failure, const storage::Fence& expected);
  /// A row of the user's was locked for too long. Says who may have locked it.
  Error rowLocked(Connection& connection, const Failure& failure);
  /// Sends what a handler has kept back and then all of the commit, of which `before` says how many pass the fence.
  Result<storage::Committed> finish(Connection& connection, std::vector<Command> kept, std::size_t fence, bool isGuess,
                                    const storage::Commit& commit);
  Translations& translations() noexcept { return translations_; }
  /// Whether a handler's writes may be kept back.
  bool mayGuess() const noexcept { return pessimistic_ == 0; }
  void goPessimistic() noexcept { pessimistic_ = pessimisticFor; }
  void countMessage() noexcept {
    if (pessimistic_ > 0) --pessimistic_;
  }

 private:
  static constexpr std::size_t pessimisticFor = 256;
  enum class Against { queue, everybody };  // those who wait for their turn; those who do not as well

  Result<void> claimPatiently(const Term& term, const storage::ClaimJudge& judge);
  Result<void> claimBefore(const Term& term, const storage::ClaimJudge& judge, BootTime deadline,
                           Against whom = Against::queue);
  Result<void> judgeAndWrite(Connection& connection, const TermIdentity& term, const storage::ClaimJudge& judge,
                             std::chrono::milliseconds limit, Against whom);
  bool makeRoom(const Term& term, BootTime since, std::set<std::int64_t>& ended);
  void tellHolder(const Term& term, const Error& why);
  Result<void> join(const Term& term, const storage::ClaimJudge& judge);
  Result<void> claimAsOperator(const ElectionName& election, const storage::ClaimJudge& judge);
  template <class Body>
  void emit(const Term& term, Body body);

  Result<void> findQueue(Connection& connection);
  using QueuePlaces = std::map<std::string, QueuePlace>;  // by name
  /// Whether it becomes a row of the table: a dead letter that is put back. What a leader sends to its own queue is a
  /// skip.
  bool isForTable(const SentMessage& sent, const storage::Commit& commit) const {
    return options_.table && commit.expected == nullptr && (sent.queue.empty() || sent.queue == which_.name);
  }
  std::set<std::string> unknownQueues(const storage::Commit& commit) const;
  Result<void> makeQueues(Connection& connection, const std::set<std::string>& names, QueuePlaces& made);
  /// `made` in the transaction that is open.
  Result<storage::Committed> finishWith(QueuePlaces made, Connection& connection, std::vector<Command> kept,
                                        std::size_t fence, bool isGuess, const storage::Commit& commit);
  Result<std::vector<Command>> rowCommands(const storage::Commit& commit, const QueuePlaces& made,
                                           std::vector<Command> marks);
  Result<void> addSent(const storage::Commit& commit, const QueuePlaces& made, std::vector<Command>& commands);
  /// Looks at rows; where each is among the names.
  struct Look {
    std::vector<Command> commands{};
    std::vector<std::vector<std::size_t>> places{};
  };
  Look lookFor(std::span<const storage::RowName> names);
  static storage::Rows rowsFrom(std::span<const storage::RowName> names, const Look& look,
                                std::span<const Answer> answers);
  /// Where in a commit's journey something failed.
  struct Places {
    std::size_t fence;  // so many pass it
    std::size_t ours;   // from here on the rows, behind what a handler has kept back
    std::size_t commit;
  };
  Result<storage::Committed> failed(Connection& connection, const Failure& failure, const Places& places, bool isGuess,
                                    const storage::Commit& commit, const HandedOut::Marks& marks);
  /// What the failed mark of a row in the user's table means for that row. Nullopt: the row is not the cause.
  std::optional<Error> markFailed(Connection& connection, const Failure& failure, std::size_t mark,
                                  const HandedOut::Marks& marks);

  const Options& options_;
  IEventSink& events_;
  const Lane lane_;
  HandedOut* const handedOut_;
  const storage::Limits limits_{.logHasGaps = true,
                                .keepsQueue = true,
                                .numbersMessages = options_.numbered,
                                .isQueueUsers = options_.table.has_value(),
                                .keepsScheduled = true,
                                .skipsDeadNumbers = options_.skipDeadNumbers && !options_.numbered};
  storage::WhichQueue which_;
  Session session_;
  std::optional<TermIdentity> term_;   // whose the session is
  std::weak_ptr<Connection> checked_;  // without a term: its tables are those of this build
  RowSets::Owner owner_;
  QueuePlaces places_;  // to which messages were sent
  std::size_t numberedAppends_ = 0;
  RowSets rows_{lane_.has_value()};
  Translations translations_;
  bool isInDoubt_ = false;       // the last commit: it may be waiting for a standby
  std::size_t pessimistic_ = 0;  // for how many messages more nothing is kept back
};

}  // namespace tenure::postgresql
