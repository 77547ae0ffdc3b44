/// The consumer with lanes: groups are handled beside each other, each of them serially.
///
///     source ─► reader (the career thread) ─► desk ─► lane 1: runner, store ─┐
///                   ▲                             ├─► lane 2: runner, store ─┤ commits under the one claim
///                   └──── acknowledge after ◄─────┴─► …                     ─┘
///
///   prepare      the main store and those of the lanes connect
///   inaugurate   the main runner claims, recalls and attaches
///   execute      first the main runner alone, with what a dead predecessor may have had in work; then the lanes, each
///                on a thread of its own, while this one reads and acknowledges
///   handOver     the lanes finish what they have in hand, then the main runner writes that nothing is in work
///
/// What a lane may have in work beyond the desk's front is on a record of its own; what is in the front needs none, as
/// the main record says for the whole term that the front may be in work.
///
/// Rate limits are the desk's, which counts what it hands out, and no longer what was done without a start: a
/// duplicate, or a number that is early. A message that begins a second time takes another token. Before the lanes
/// begin only the queue's rate holds anybody up, or all groups would wait for the slowest one: what its suspects took
/// is missing in a group's bucket afterwards.
///
/// A store that cannot be used from several threads at once stands behind a gate (gate.hpp), and so does a source that
/// shares its connection: the reader then only looks while a lane is at work, and waits when all rest.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "consumer/gate.hpp"
#include "consumer/runner.hpp"
#include "consumer/shared_desk.hpp"

namespace tenure::consuming {

/// Threads: its phases, one at a time; starts and joins those of its lanes.
class Lanes final : public ILeaderCareer {
 public:
  /// Borrows source, store, events, clock and threads. The options are valid and fit the store.
  Lanes(IMessageSource& source, IFencedStore& store, Handlers handlers, const ConsumerOptions& options,
        IEventSink& events, const IClock& clock, IThreads& threads = systemThreads());
  ~Lanes() override;

  void check(const std::stop_token& stop) override;
  void prepare(const std::stop_token& stop) override;
  void inaugurate(const Term& term) override;
  bool execute(const Term& term) override;
  void handOver(const Term& term) override;

 private:
  class Recovery;
  class Post;
  /// Of the source's answers, which the reader waits for.
  class Watch final : public IAnswerWatch {
   public:
    explicit Watch(Lanes& lanes) : lanes_(lanes) {}
    void onOverdue(BootTime since) override;
    void onAnswered() override;

   private:
    Lanes& lanes_;
  };
  struct Lane {
    std::unique_ptr<IFencedStore> store;
    std::unique_ptr<Post> post;
    std::unique_ptr<Runner> runner;
    std::unique_ptr<IThread> thread;
    bool failed = false;  // read after its thread has ended
  };

  void openStores();
  bool recover(const Term& term);
  void open(const Term& term);
  void work(Lane& lane, const Term& term) noexcept;
  void fail(std::exception_ptr why) noexcept;
  bool read(const Term& term);
  Result<void> acknowledge();
  Result<void> readOnce(const Term& term, BootTime until, const std::stop_token& stop);
  Result<void> look(const std::stop_token& stop);
  Result<void> watchGaps(const Term& term, const std::stop_token& stop);
  Result<bool> isDry(const std::stop_token& stop);
  Result<void> readAgain(const Term& term);
  Result<void> rest(const Term& term, const std::function<Result<void>()>& each);
  Result<std::vector<Message>> fetch(BootTime until, const std::stop_token& stop);
  void sourceFailed(const Term& term, const Error& error);
  /// Ends the term: nobody is to wait for answers any longer.
  [[noreturn]] void giveUp(const Error& error);
  void hurry() noexcept;
  void tell(EventBody body);
  void settleDown(const Term& term);
  void reportProgress(const Term& term);
  void readLimits();
  void join();
  Gate::Pass passFor(bool needed) { return needed ? gate_.enter() : Gate::Pass{}; }

  IMessageSource& source_;
  IFencedStore& store_;
  const bool shared_;
  const Handlers handlers_;
  const ConsumerOptions options_;
  IEventSink& events_;
  const IClock& clock_;
  IThreads& threads_;

  Watch watch_{*this};
  AnswerTimer sourceTimer_;

  std::vector<std::unique_ptr<IFencedStore>> laneStores_;  // of the next term's lanes; nullptr behind the gate

  // Of the term.
  ElectionName election_;
  FencingToken token_;
  std::optional<BootTime> overdueSince_;  // the source's answer, and told
  std::optional<NumberLists> lists_;
  std::shared_ptr<Notes> notes_;
  std::optional<SharedDesk> desk_;
  std::unique_ptr<Recovery> recovery_;
  std::optional<Runner> main_;
  Gate gate_{clock_, threads_};  // a lane that was not handed over may still be behind it
  std::vector<std::unique_ptr<Lane>> lanes_;
  bool gated_ = false;  // the store is behind the gate
  bool recovered_ = false;
  std::stop_source stop_;
  BootTime lastProgress_{};
  std::optional<std::uint64_t> limitsSeen_;
  BootTime nextTelling_{};
  BootTime nextGapCheck_{};

  std::mutex failureMutex_;
  std::exception_ptr failure_;
};

}  // namespace tenure::consuming
