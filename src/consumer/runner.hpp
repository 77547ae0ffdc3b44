/// Performs what the consumer's machine asks for, at a source and a store, and feeds the results back. Decides nothing.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/answer_timer.hpp"
#include "base/emit.hpp"
#include "consumer/consumer_machine.hpp"
#include "consumer/guarded_transaction.hpp"
#include "consumer/number_lists.hpp"

namespace tenure::consuming {

/// Where a runner works that is one of several.
class IPost {
 public:
  virtual ~IPost() = default;
  virtual Role role() const noexcept = 0;
  virtual std::stop_token stopToken() const noexcept = 0;
  virtual void reportProgress() noexcept = 0;
  /// Under whose name its record of what is in work is kept.
  virtual ConsumerName recordName(const ConsumerName& consumer) const = 0;
  /// What earlier terms left, as this post is to see it.
  virtual Result<Recollection> recall(const ConsumerName& consumer) = 0;
  virtual Result<Assignment> take(std::size_t max, BootTime until) = 0;
  /// Groups of which nothing is left in its hands are free. Of those that follow numbers: where they stand.
  virtual void release(std::vector<pipeline::Standing> standings) = 0;
  virtual void park(Parked parked, BootTime until) = 0;
  /// Not after now: a token of the rate limits was taken for a start of this group.
  virtual BootTime takeTurn(const GroupId& group) = 0;
  /// For whom else the message's run stands, that is about to begin.
  virtual std::vector<Message> begin(const Message& message) = 0;
  virtual Result<void> acknowledge(const Settled& settled) = 0;
  /// What comes next has to be delivered again first.
  virtual bool mustReadAgain() const { return false; }
  /// It is this one that forgets old keys.
  virtual bool prunes() const noexcept = 0;
  /// Of messages that did not come from the desk.
  virtual std::vector<Past> pastsOf(std::span<const Message> messages) = 0;
  virtual NumberLists& lists() noexcept = 0;
  virtual std::shared_ptr<Notes> notes() const = 0;
  /// To wait for another one is no fault of this one.
  virtual void excuse(bool excused) noexcept = 0;
  /// Of the source, where this post reads from it.
  virtual const AnswerTimer* sourceTimer() const noexcept { return nullptr; }
};

/// For what is under way, and what is still to be written, when a term ends for want of answers: a store that is well
/// needs less.
inline constexpr Duration lastAnswers = std::chrono::milliseconds{500};

struct Handlers {
  Handler one;
  BatchHandler many;  // nullptr: there is none
};

/// Whether a term could begin with these. What the store has opened stays open.
Result<void> isReady(IMessageSource& source, IFencedStore& store, const std::stop_token& stop);

/// Threads: one at a time.
class Runner final : public ILeaderCareer {
 public:
  /// Borrows source, store, events and clock. The options are valid and fit the store.
  Runner(IMessageSource& source, IFencedStore& store, Handlers handlers, const ConsumerOptions& options,
         IEventSink& events, const IClock& clock, IPost* post = nullptr);

  void check(const std::stop_token& stop) override;
  void prepare(const std::stop_token& stop) override;
  void inaugurate(const Term& term) override;
  bool execute(const Term& term) override;
  void handOver(const Term& term) override;
  /// The same without a word to the store, when others have not left in order.
  void leaveSilently(const Term& term);
  /// From any thread: no answer is waited for longer than until then.
  void hurry(BootTime by) noexcept;
  /// Whatever is open is rolled back.
  void letGo() noexcept;
  /// At a lane's post: on its record nothing of this term is in work.
  bool isClosed() const noexcept { return !machine_ || machine_->isClosed(); }
  /// Before the lanes: it has nothing left to do; and where all groups stand, for them.
  bool isIdle() const { return machine_->isIdle(); }
  std::vector<pipeline::Standing> takeStandings() { return machine_->takeAllStandings(); }

 private:
  /// Tells what it hears of the store's answers, or of the source's.
  class Watch final : public IAnswerWatch {
   public:
    Watch(Runner& runner, bool ofSource) : runner_(runner), ofSource_(ofSource) {}
    void onOverdue(BootTime since) override;
    void onAnswered() override;

   private:
    Runner& runner_;
    const bool ofSource_;
  };

  void enter(const Term& term);
  bool run(Action action);
  void holdTimers() noexcept;
  Moment moment() const;
  void readLimits();
  void tell();
  void leave();
  void reportProgress() const noexcept;
  void releaseWhenFree();

  Action perform(const Claim& claim);
  Action perform(const Recall& recall);
  Action perform(const Reopen& reopen);
  Action perform(const Attach& attach);
  Action perform(const Declare& declaration);
  Action perform(const Fetch& fetch);
  Action perform(const TakeTurn& turn);
  Action perform(const Inquire& inquire);
  Action perform(const Consult& consult);
  Action perform(const Load& load);
  void foretell(std::span<const Message> messages);
  Action perform(const Check& check);
  Action perform(const Admit& asked);
  Action perform(const Handle& asked);
  Action perform(const HandleTogether& asked);
  Action perform(const Undo& undo);
  Action perform(const Bury& bury);
  Action perform(const Commit& commit);
  Action perform(const Acknowledge& acknowledge);
  Action perform(const LookAtClock& look);
  Action perform(const Prune& prune);
  Action perform(const PruneLog& prune);
  Action perform(const Resolve& resolve);
  Action perform(const Abandon& abandon);
  Action perform(const Wait& wait);
  Action perform(const Park& park);
  Action perform(const Return& over);
  Action perform(const Quit& quit);

  Result<void> book(const Bury& bury);
  Result<void> book(const Commit& commit);
  Result<void> bookNumbers();
  void leaveLists() noexcept;
  Result<std::optional<std::string>> readAlone(const std::string& key);
  Result<std::vector<std::string>> openPlaces();
  Result<std::vector<Message>> keptMessages(const pipeline::Ready& ready);
  Transaction& handed() noexcept;
  std::span<const MessageId> idsOf(std::span<const Message> messages, std::optional<FencingToken> suspectsOf);
  Action ran(const Outcome& outcome);
  Result<void> begin();
  Result<void> forgetAttempts(WallTime before);
  void abandon() noexcept;
  Action refused(const Error& error);
  Action did(const Result<void>& result);

  IMessageSource& source_;
  IFencedStore& store_;
  const bool shared_;
  const Handlers handlers_;
  const ConsumerOptions options_;
  IEventSink& events_;
  const IClock& clock_;
  IPost* const post_;  // nullptr where it is alone
  Random random_;
  Watch storeWatch_{*this, false};
  Watch sourceWatch_{*this, true};
  AnswerTimer storeTimer_;
  AnswerTimer sourceTimer_;

  // The term, as of the running phase.
  const Term* term_ = nullptr;
  ConsumerName name_;
  ConsumerName recordName_;
  std::stop_token stop_;
  std::optional<Emitter> emit_;
  BootTime bootAtEntry_{};
  WallTime wallAtEntry_{};

  std::optional<ConsumerMachine> machine_;
  std::unique_ptr<IFencedTransaction> transaction_;
  NumberLists::Hold lists_;
  std::optional<GuardedTransaction> guarded_;
  std::optional<std::uint64_t> limitsSeen_;  // which version of them the machine knows
  std::vector<MessageId> ids_;               // kept for its capacity
};

}  // namespace tenure::consuming
