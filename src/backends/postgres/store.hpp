/// PostgreSQL as the fenced store.
///
///   claim     BEGIN · wait for its turn, read the queue's owner, lock the fence's row · judge (shared/fence.hpp) ·
///             write · COMMIT; not through within Options::lockLimit, whatever it waited for: for a second more, end
///             the sessions of older terms, and again, by turns with the whole table locked
///   begin     a transaction that passes the fence at its first write (transaction.hpp)
///   resolve   after a COMMIT whose reply was lost: end that session, lock what it counted in, and its `seq` says it
///
/// A lane is another of these, on a session of its own, that joins the claim instead of making it.
///
/// A question is a round trip, so they are asked ahead: one look finds which of the expected messages have no key yet,
/// and their keys are then written without asking. A key that was written meanwhile fails its transaction; for a while
/// every step is asked for by itself then.
///
/// A lost session is replaced without a word to the caller but that the transaction is over: the claim is a row, not a
/// session.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "backends/postgres/fence_rows.hpp"
#include "backends/postgres/log_bound.hpp"
#include "backends/postgres/session.hpp"
#include "backends/postgres/user_statement.hpp"
#include "storage/lookahead.hpp"
#include "tenure/events.hpp"
#include "tenure/store.hpp"

namespace tenure::postgresql {

class Store final : public IFencedStore {
 public:
  /// In a transaction: so many a server remembers for each session; beyond, everybody's snapshots get slower.
  static constexpr std::size_t mostSavepoints = 64;

  /// Borrows both.
  Store(const Options& options, IEventSink& events) : Store(options, events, {}, *this) {}
  ~Store() override { Store::release(); }

  Result<void> prepare(const std::stop_token& stop) override { return session_.prepare(stop); }
  Result<void> checkSql(std::string_view sql, std::span<const SqlParameter> parameters) override;
  Result<void> claim(const Term& term) override;
  Result<std::unique_ptr<IFencedTransaction>> begin(const Term& term) override;
  Result<CommitFate> resolve(const Term& term) override;
  Result<ConsumerState> consumerState(const ConsumerName& consumer) override;
  Result<std::vector<Admission>> known(const ConsumerName& consumer, std::span<const Message> messages) override;
  void expect(std::span<const Message> messages) override { lookahead_.expect(messages); }
  /// A message costs a savepoint at least.
  std::size_t maxBatch() const noexcept override { return mostSavepoints; }
  std::unique_ptr<IFencedStore> openLane(std::int64_t number) override;
  Result<std::optional<WallTime>> clock() override;
  Result<Pruned> prune(const Term& term, const Pruning& step) override;
  bool keepsLog() const noexcept override { return true; }
  Result<std::size_t> pruneLog(const Term& term, const LogPruning& step) override;
  void limitAnswers(AnswerTimer* timer) noexcept override { session_.limitAnswers(timer); }
  void release() noexcept override;

  /// Whose lane this is; itself when it is none.
  const Store& main() const noexcept { return main_; }

  // For its transactions:
  Result<std::shared_ptr<Connection>> session();
  std::vector<Command> passFence() const;
  /// Whether the fence is still that of the term; asks the server.
  bool isStillClaimed(Connection& connection) const;
  /// Why passFence() found no row; asks the server.
  Error fenced(Connection& connection) const;
  void committed() noexcept {
    ++claimed_->sequence;
    if (careful_ > 0) --careful_;
  }
  void commitBecameUnknown() noexcept { claimed_->lastIsUnknown = true; }
  std::int64_t queueNumber() const noexcept { return queue_; }
  Translations& translations() noexcept { return translations_; }
  bool mayGuess() const noexcept { return careful_ == 0; }
  void guessedWrong() noexcept;
  void goCarefully() noexcept { careful_ = 2 * maxBatch(); }
  /// One more message; true when it is foreseen to have no key.
  bool admitUnasked(const ConsumerName& consumer, const MessageId& id);
  bool expects(const MessageId& id) const { return mayGuess() && lookahead_.expects(id); }
  /// The question for the keys of `id` and of those expected after it, and what to make of the answer.
  Command lookAhead(const ConsumerName& consumer, const MessageId& id);
  void lookedAhead(const ConsumerName& consumer, const Answer& keys);
  /// The same question for those that come next, for whoever makes the journey anyway; nothing when it is not known for
  /// whom, or not to be relied on. `keys` is nullptr when there was no answer.
  std::optional<Command> lookOnward();
  void lookedOnward(const Answer* keys);

 private:
  Store(const Options& options, IEventSink& events, Lane lane, const Store& main)
      : options_(options), events_(events), lane_(lane), main_(main), session_(options) {}

  /// What the store knows of the term that claimed it.
  struct Claimed {
    Term term;
    std::int64_t previousToken;  // that had claimed before; 0 for none
    std::int64_t sequence;       // of the last commit that is known to be durable
    bool lastIsUnknown = false;  // a commit after it may or may not have happened
    LogBound logBound{};
  };
  struct Written {
    std::int64_t previousToken;
    std::int64_t sequence;
  };

  Command lookFor(const ConsumerName& consumer) const;
  Result<void> join(const Term& term);
  Result<Written> judgeAndJoin(Connection& connection, const TermIdentity& term);
  Result<Written> claimPatiently(const Term& term);
  enum class Against { queue, everybody };  // those who wait for their turn; those who do not as well
  Result<Written> claimBefore(const Term& term, BootTime deadline, Against whom = Against::queue);
  Result<Written> judgeAndWrite(Connection& connection, const Term& term, std::chrono::milliseconds limit,
                                Against whom);
  bool makeRoom(const Term& term, BootTime since, std::set<std::int64_t>& ended);
  void tellHolder(const Term& term, const Error& why);
  Result<void> isClaimedBy(const Term& term) const;
  Result<void> countSlice(Connection& connection, const LogPruning& step);
  Error refused(const Term& term, Error error);
  template <class Body>
  void emit(const Term& term, Body body);

  const Options& options_;
  IEventSink& events_;
  const Lane lane_;
  const Store& main_;
  Session session_;
  std::optional<Claimed> claimed_;
  std::int64_t queue_ = 0;
  Translations translations_;
  storage::Lookahead lookahead_;
  std::vector<MessageId> lookedFor_;
  std::size_t careful_ = 0;  // for how many messages more
};

/// Deletes messages from the queue, of which there is at least one.
Command deleteByPosition(std::int64_t queue, std::span<const Message> messages);

/// Of a row with id, attempts, last_error, first_at, last_at, standing.
AttemptRecord attemptFrom(const Answer& rows, int row);

}  // namespace tenure::postgresql
