/// Performs what a lane asks for, through its context and at a store, and feeds the results back. Decides nothing.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/answer_timer.hpp"
#include "base/emit.hpp"
#include "consumer/answer_desk.hpp"
#include "consumer/supply.hpp"
#include "consumer/work.hpp"
#include "consumer/worker_context.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::consuming {

/// The transaction that a handler gets. It remembers the first call that failed, until the handler accepts that.
///
/// Where source and store are two places, it refuses a send that names no queue: no election consumes the queue that
/// the store was opened for.
class GuardedTransaction final : public Transaction, private ISqlStatements {
 public:
  struct Rules {
    bool namesQueues = false;
  };
  GuardedTransaction(Transaction& inner, Rules rules) : inner_(inner), rules_(rules) {}

  Result<std::optional<std::string>> get(std::string_view key) override { return heard(inner_.get(key)); }
  Result<void> put(std::string_view key, std::string_view value) override { return heard(inner_.put(key, value)); }
  Result<void> erase(std::string_view key) override { return heard(inner_.erase(key)); }
  Result<void> enqueue(const NewMessage& message, std::string_view queue) override {
    return heard(lacksName(queue) ? Result<void>(nameless()) : inner_.enqueue(message, queue));
  }
  Result<ScheduleChange> cancelScheduled(const MessageId& id, std::string_view queue) override {
    return heard(lacksName(queue) ? Result<ScheduleChange>(elsewhere()) : inner_.cancelScheduled(id, queue));
  }
  Result<ScheduleChange> reschedule(const MessageId& id, WallTime at, std::string_view queue) override {
    return heard(lacksName(queue) ? Result<ScheduleChange>(elsewhere()) : inner_.reschedule(id, at, queue));
  }
  ISqlStatements* sql() noexcept override { return inner_.sql() != nullptr ? this : nullptr; }
  void acceptFailures() noexcept override { failure_.reset(); }

  /// The first one that the handler has not accepted.
  const std::optional<Error>& failure() const noexcept { return failure_; }

 private:
  Result<std::vector<SqlRow>> execute(std::string_view sql, std::span<const SqlParameter> parameters) override {
    return heard(inner_.sql()->execute(sql, parameters));
  }
  Result<void> write(std::string_view sql, std::span<const SqlParameter> parameters) override {
    return heard(inner_.sql()->write(sql, parameters));
  }
  Result<std::int64_t> touch(std::string_view sql, std::span<const SqlParameter> parameters) override {
    return heard(inner_.sql()->touch(sql, parameters));
  }
  /// A failed check leaves nothing undone, so that it is not remembered.
  Result<void> check(std::string_view sql, std::span<const SqlParameter> parameters) override {
    return inner_.sql()->check(sql, parameters);
  }

  template <class T>
  Result<T> heard(Result<T> result) {
    if (!result && !failure_) failure_ = result.error();
    return result;
  }
  bool lacksName(std::string_view queue) const noexcept { return rules_.namesQueues && queue.empty(); }
  static Error nameless() {
    return {Errc::invalidArgument,
            "name the queue: messages do not come from this store, and the queue that it was opened for is consumed by "
            "no election"};
  }
  static Error elsewhere() {
    return {Errc::unsupported,
            "the queue is kept elsewhere, and no transaction of this store reaches its messages: use ScheduledMessages "
            "of the queue, or name a queue of this store"};
  }

  Transaction& inner_;
  const Rules rules_;
  std::optional<Error> failure_;
};

/// Threads: one at a time.
class LaneRunner final {
 public:
  /// Borrows all of them. The options are valid and fit the store. `shares`: the source acknowledges inside its
  /// transactions.
  LaneRunner(IWorkerContext& context, Supply& supply, std::shared_ptr<Notes> notes, IFencedStore& store,
             const Handlers& handlers, const ConsumerOptions& options, bool shares, IEventSink& events,
             const IClock& clock);

  void inaugurate(const Term& term);
  Return execute(const Term& term);
  Return handOver(const Term& term);
  /// The same without a word to the store, when others have not left in order.
  void leaveSilently(const Term& term);
  /// Messages have begun that a leader finishes before it leaves.
  bool hasBegun() const noexcept { return lane_ && lane_->hasBegun(); }
  /// Store or source have been away for longer than the limit. From any thread.
  bool isLongAway() const noexcept { return storeIsLongAway_ || sourceIsLongAway_; }
  /// Ends an exchange whose answer is overdue. From any thread.
  void cutOverdue() noexcept;
  /// From any thread: no answer is waited for longer than until then.
  void hurry(BootTime by) noexcept;
  /// Whatever is open is rolled back.
  void release() noexcept;
  std::vector<MessageHistory> takeHistories() { return lane_->takeHistories(); }

 private:
  /// Tells what it hears of the store's answers, or of the source's.
  class Watch final : public IAnswerWatch {
   public:
    Watch(LaneRunner& runner, Side side) : runner_(runner), side_(side) {}
    void onOverdue(BootTime since) override;
    void onAnswered() override;

   private:
    LaneRunner& runner_;
    const Side side_;
  };

  void enter(const Term& term);
  Return run(Action action);
  [[noreturn]] void end(const Return::Ending& ending);
  void holdTimers() noexcept;
  void hold(AnswerTimer& timer, Side side) noexcept;
  Now now() const;
  void tell();
  void leave();

  Action perform(Claim& claim);
  Action perform(Recall& recall);
  Action perform(Attach& attach);
  Action perform(Declare& declaration);
  Action perform(Sweep& sweep);
  Action step(LookAtClock& look);
  Action step(Prune& prune);
  Action step(PruneLog& prune);
  Action perform(Wait& wait);
  Action perform(Return& over);
  Action perform(Take& take);
  Action perform(TakeTurn& turn);
  Action perform(Begin& begin);
  Action perform(Report& report);
  Action perform(Look& look);
  Action perform(Inquire& inquire);
  Action perform(Admit& asked);
  Action perform(Gather& asked);
  Action perform(Handle& asked);
  Action perform(HandleTogether& asked);
  Action perform(WriteDeadLetter& deadLetter);
  Action perform(Commit& commit);
  Action perform(Resolve& resolve);
  Action perform(Abandon& abandon);

  /// False: the store has the message's key already.
  Result<bool> write(const WriteDeadLetter& deadLetter);
  Result<void> write(const Commit& commit);
  Result<void> write(const supply::NumberWrites& numbers);
  Result<void> commitAlone(Result<void> done);
  Result<void> forgetAttempts(const Prune& prune);
  void foretell(std::span<const MessagePtr> messages);
  AnswerDesk::Ways ways();
  Result<StateValues> readState(const std::vector<std::string>& keys);
  Result<std::vector<bool>> areNew(std::span<const MessagePtr> messages);
  Action applied(const Handle& asked);
  void notDone(const MessageId& id) {
    if (desk_) desk_->notDone(id);
  }
  Transaction& handed() noexcept;
  std::optional<Action> reconsider();
  template <class Asked>
  Action ran(Outcome outcome);
  Outcome judged(Outcome outcome, Now& heard) const;
  bool isCut(const Outcome& outcome) const noexcept;
  Result<void> begin();
  void end() noexcept;
  void abandon() noexcept;
  template <class Asked>
  Action answered(const Result<void>& result) {
    return result ? lane_->on(Done<Asked>{}, now()) : failed<Asked>(result.error());
  }
  template <class Asked>
  Action failed(const Error& error) {
    return lane_->on(Failed<Asked>{error}, now());
  }
  /// The store refused: nothing of the transaction may stay.
  template <class Asked>
  Action refused(const Error& error) {
    if (desk_) desk_->undone();
    abandon();
    return failed<Asked>(error);
  }

  IWorkerContext& context_;
  Supply& supply_;
  const std::shared_ptr<Notes> notes_;
  IFencedStore& store_;
  const Handlers& handlers_;
  const ConsumerOptions options_;
  const bool shares_;
  IEventSink& events_;
  const IClock& clock_;
  Random random_;
  Watch storeWatch_{*this, Side::store};
  Watch sourceWatch_{*this, Side::source};
  AnswerTimer storeTimer_;
  AnswerTimer sourceTimer_;
  std::atomic<bool> storeIsLongAway_ = false;
  std::atomic<bool> sourceIsLongAway_ = false;

  // The term, as of the running phase.
  const Term* term_ = nullptr;
  ConsumerName name_;
  std::stop_token stop_;
  bool wasPaused_ = false;  // when it was last called
  std::optional<Emitter> emit_;
  BootTime bootAtEntry_{};
  WallTime wallAtEntry_{};

  std::optional<AnswerDesk> desk_;  // of a handler that answers with values
  std::optional<Lane> lane_;
  LaneTurns::Hold turn_;
  std::unique_ptr<IFencedTransaction> transaction_;
  std::optional<GuardedTransaction> guarded_;
};

}  // namespace tenure::consuming
