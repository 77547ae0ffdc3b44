/// The consumer: one engine for 1..N lanes.
///
///     source ─► reading         as it comes, or in the order of its numbers
///                 └► supply          who is next: suspects first, limits, coalescing; one line or groups
///                      └► delivery × lanes   one message: look up, handle, settle, fail, reject
///                           └► committer         batches, commit, resolve, acknowledge
///
///     one line      one lane, on the career thread, which reads the source itself
///     per group     lanes on threads of their own, which the career thread reads for
///
/// Each part is a pure machine. lane.hpp puts those of a lane together, and says what comes next; lane_runner.hpp
/// performs that, at the supply (supply.hpp) and the store. The engine makes them:
///
///   prepare      the main store and those of the lanes connect
///   inaugurate   the main runner claims, recalls and attaches
///   execute      first the main runner alone, with what a dead predecessor may have had in work. It goes on with the
///                one line; or the lanes begin, each on a thread of its own, while this one reads and acknowledges
///
///   rest         the election is paused: the lanes finish what they have begun, and keep the rest in hand
///   handOver     the lanes finish what they have in hand, then the main runner writes that nothing is in work
///
/// What a lane may have in work beyond the front is on a record of its own; what is in the front needs none, as the
/// main record says for the whole term that the front may be in work.
///
/// A store that cannot be used from several threads at once is used by one at a time (serialized_store.hpp), and so
/// does a source that shares its connection: the reader then only looks while a lane is at work, and waits when all
/// rest.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "consumer/errors.hpp"
#include "consumer/lane_runner.hpp"
#include "consumer/reading.hpp"
#include "consumer/serialized_store.hpp"
#include "consumer/supply.hpp"
#include "tenure/spi/source.hpp"

namespace tenure::consuming {

/// Threads: its phases, one at a time; starts and joins those of its lanes.
class Engine final : public ILeaderCareer {
 public:
  /// Borrows source, store, events, clock and threads. The options are valid and fit the store.
  Engine(IMessageSource& source, IFencedStore& store, Handlers handlers, const ConsumerOptions& options,
         IEventSink& events, const IClock& clock, IThreads& threads);
  ~Engine() override;

  void check(const std::stop_token& stop) override;
  void prepare(const std::stop_token& stop) override;
  void confirm(const std::stop_token& stop) override;
  void inaugurate(const Term& term) override;
  bool execute(const Term& term) override;
  void rest(const Term& term) override;
  void handOver(const Term& term) override;

 private:
  class MainContext;
  class LaneContext;
  /// Of the source's answers, which the reader waits for.
  class Watch final : public IAnswerWatch {
   public:
    explicit Watch(Engine& engine) : engine_(engine) {}
    void onOverdue(BootTime since) override;
    void onAnswered() override;

   private:
    Engine& engine_;
  };
  /// Watches the reader's use of the store beside lanes.
  class StoreWatch final : public IAccessWatch, public IAnswerWatch {
   public:
    explicit StoreWatch(Engine& engine) : engine_(engine) {}
    void waitsForStore(bool) noexcept override {}
    void onOverdue(BootTime since) override {
      engine_.storeFails(since, noAnswer(false, engine_.setting_.clock.now() - since));
    }
    void onAnswered() override {}  // the outage is over when it has what it is to have

   private:
    Engine& engine_;
  };
  /// Settings that all workers of a term share.
  struct Setting {
    IMessageSource& source;
    IFencedStore& store;
    const bool shares;
    const Handlers handlers;
    const ConsumerOptions options;
    IEventSink& events;
    const IClock& clock;
    IThreads& threads;

    bool isOneLine() const noexcept { return options.ordering.lanes == 0; }
    Result<QueueIdentity> identity(const std::stop_token& stop) const {
      return shares ? QueueIdentity{} : source.identity(stop);
    }
    /// Where the commit did not, and then brings to the queue what is due.
    Result<void> acknowledge(const Reported& reported) const;
  };
  struct LaneThread {
    std::unique_ptr<IFencedStore> store;
    std::unique_ptr<LaneContext> context;
    std::unique_ptr<LaneRunner> runner;
    std::unique_ptr<IThread> thread;
    bool failed = false;  // read after its thread has ended
  };
  /// The term, on the career thread.
  struct TermState {
    ElectionName election;
    FencingToken token;
    std::optional<BootTime> overdueSince{};  // the source's answer, and told
    bool sourceIsAway = false;               // since it has failed, and that is told
    bool lanesWork = false;
    BootTime lastProgress{};
    std::optional<std::uint64_t> limitsSeen{};
    std::optional<BootTime> storeFailsSince{};  // for the reader
    std::optional<Error> sourceTrouble{};       // met while paused: dealt with when work goes on
  };

  void openStores();
  void open(const Term& term);
  void readBesideLanes();
  void work(LaneThread& lane, const Term& term) noexcept;
  void fail(std::exception_ptr why) noexcept;
  bool read(const Term& term);
  void restWithLanes(const Term& term);
  Result<void> acknowledge();
  Result<void> readOnce(BootTime until, const std::stop_token& stop);
  Result<void> look(const std::stop_token& stop);
  Result<void> giveUpOldGaps(const std::stop_token& stop);
  Result<void> attach(const Term& term);
  Result<void> readAgain(const Term& term);
  Result<bool> awaitRest(const Term& term, const std::function<Result<void>()>& each);
  Result<supply::Arrivals> fetch(BootTime until, const std::stop_token& stop);
  void sourceFailed(const Term& term, const Error& error);
  void storeFailed(const Term& term, const Error& error);
  void storeFails(BootTime since, std::string why);
  void postpone(const Error& error);
  /// Ends the term: no thread may wait for answers any longer.
  [[noreturn]] void giveUp(const Error& error);
  void hurry() noexcept;
  bool isLongAway() const noexcept;
  void leave() noexcept;
  void tell(EventBody body);
  /// The end of an outage that began then.
  void tellEnd(BootTime since);
  void settleDown(const Term& term);
  void reportProgress(const Term& term);
  void readLimits();
  void join();
  bool readsInTurn() const noexcept { return isSerialized_ && setting_.shares; }
  SerialAccess::Pass passForReading() { return readsInTurn() ? access_.enter() : SerialAccess::Pass{}; }

  const Setting setting_;
  Watch watch_{*this};
  AnswerTimer sourceTimer_;
  StoreWatch storeWatch_{*this};
  AnswerTimer storeTimer_;                                 // for the reader's questions to the store, beside lanes
  std::vector<std::unique_ptr<IFencedStore>> laneStores_;  // of the next term's lanes; nullptr used by one at a time

  // State of the present term.
  TermState termState_;
  std::shared_ptr<Notes> notes_;
  std::optional<Supply> supply_;
  std::unique_ptr<MainContext> context_;  // the main runner's
  std::optional<LaneRunner> main_;
  LaneTurns turns_;
  SerialAccess access_;                         // a lane that was not handed over may still be behind it
  std::unique_ptr<IFencedStore> readersStore_;  // beside lanes, where numbers are followed
  std::optional<Reading> reading_;
  std::vector<std::unique_ptr<LaneThread>> lanes_;
  bool isSerialized_ = false;  // the store is used by one at a time
  std::stop_source stop_;
  std::atomic<bool> sourceIsLongAway_ = false;
  std::mutex failureMutex_;
  std::exception_ptr failure_;
};

}  // namespace tenure::consuming
