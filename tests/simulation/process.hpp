/// One replica in one incarnation, wired as a candidate wires itself: Election, CareerRunner and Consumer of the
/// library on a loop of their own, with the phases on a fiber, between a client of the simulated ensemble and the
/// simulated store and queue.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "career/career_runner.hpp"
#include "consumer/work.hpp"
#include "coordination.hpp"
#include "coverage.hpp"
#include "election/machine/election.hpp"
#include "mutant.hpp"
#include "source.hpp"
#include "store.hpp"
#include "tenure/consumer.hpp"
#include "tenure/spi/store.hpp"
#include "tenure/testing/memory.hpp"
#include "testing/world/process_loop.hpp"

namespace tenure::simulation {

class Simulation;

/// By which the store dates what it keeps: a server has its own, an embedded one has its process's.
class StoreClock final : public IClock {
 public:
  StoreClock(const ILoop& process, const IClock& server, bool isEmbedded)
      : process_(process), wall_(isEmbedded ? process : server) {}
  BootTime now() const noexcept override { return process_.now(); }
  WallTime wallNow() const noexcept override { return wall_.wallNow(); }
  void waitUntil(BootTime deadline, const std::stop_token& stop) const override { process_.waitUntil(deadline, stop); }

 private:
  const ILoop& process_;
  const IClock& wall_;
};

class Process final : public IEventSink, private IElectionListener, private career::IPhaseWorker {
 public:
  Process(Simulation& simulation, int slot, int number);
  ~Process() override;

  void start();

  // --- what befalls it

  void kill(Task isDown);
  void freeze(bool hard);
  void thaw();
  /// How often so far.
  int freezes() const noexcept { return freezes_; }
  /// By the world's clock.
  BootTime thawedAt() const noexcept { return thawedAt_; }
  void terminate();
  void stepDown();

  /// One-shot troubles of its requests.
  struct Armed {
    std::optional<bool> loseCommit;  // true: it lands
    std::optional<Errc> failWrite;
    bool loseClaim = false;
    bool failAcknowledge = false;
    bool failPromotion = false;
    std::optional<Duration> pausePromoter;  // after a look that finds something due
  };
  Armed armed;

  // --- what is seen of it

  int slot() const noexcept { return slot_; }
  int number() const noexcept { return number_; }
  Stage stage() const noexcept { return stage_; }
  bool dead() const noexcept { return loop_.dead(); }
  bool leading() const noexcept { return leading_; }
  const ProcessIdentity& identity() const noexcept { return identity_; }
  CandidateUuid uuid() const;
  /// It would say yes if it was asked now.
  bool believesInItself() const noexcept;
  /// … though half a session has passed since it sent what was last committed.
  bool believesUnproven() const noexcept;
  /// Its lease is only as good as its clock, and as the rule that nobody takes its znode away.
  bool excused() const noexcept { return excused_ || loop_.clockHasStopped(); }
  void excuse() noexcept { excused_ = true; }
  FencingToken token() const noexcept { return term_ ? term_->identity().token : FencingToken{}; }
  MemoryClient* client() noexcept { return client_.get(); }
  ProcessLoop& loop() noexcept { return loop_; }
  const ProcessLoop& loop() const noexcept { return loop_; }
  bool frozen() const noexcept { return loop_.frozen(); }
  const std::string& znode() const noexcept { return znode_; }
  std::optional<BootTime> terminatedAt() const noexcept { return terminatedAt_; }
  bool wasDisturbed() const noexcept { return disturbed_; }
  void disturb() noexcept { disturbed_ = true; }
  void limit(const RateRules& rules);
  /// What is to be done when it dies.
  const std::optional<Will>& will() const noexcept { return will_; }
  std::string describe() const {
    return runner_.describe() + "; " + election_.describe() + "; threads: " + loop_.describe();
  }

  // --- for its ports

  Simulation& simulation() noexcept { return simulation_; }
  Source& source() noexcept { return source_; }
  Store& store() noexcept { return store_; }
  /// When the leadership was offered to it that it has now; nullopt: it was not elected by baton.
  std::optional<BootTime> followsOffer() const;
  const StoreClock& storeClock() const noexcept { return storeClock_; }
  /// Some message of it has failed or was postponed.
  bool hasParked(const GroupId& group) const { return parked_.contains(group); }
  void enter(Stage stage);
  /// The reply of a request whose operation happens somewhere else, some time later.
  template <class T, class Operation>
  T remotely(Duration most, bool here, Operation operation);
  void trace(const char* what, std::int64_t detail = 0);

 private:
  void on(const Event& event) noexcept override;
  void run(Task phase) override;
  void onElected(std::shared_ptr<TermState> term) override;
  void onHold(Hold hold) override { runner_.onHold(hold); }
  void onTermLost(EndReason reason) override;
  void onHandoverRequested(const std::string& by, BootTime askedAt) override {
    runner_.onHandoverRequested(by, askedAt);
  }
  void onStandby() override { runner_.onStandby(); }
  void onNextInLine(bool next) override { runner_.onNextInLine(next); }
  void onOffered() override;
  void onLeft() override { runner_.onLeft(); }
  void onFatal(const Error& error) override;

  void follow(const EventBody& event);
  void judgeOutages(const EventBody& event);
  void followMessages(const EventBody& event, FencingToken token);
  IFencedStore& storeOf(Simulation& simulation);
  ElectionSettings electionSettings();
  CareerLimits limits() const;
  career::CareerOutlets outlets();
  consuming::Handlers handlers();
  ConsumerOptions consumerOptions() const;
  Duration draw(Duration most);
  void promoteUnasked();

  Simulation& simulation_;
  const int slot_;
  const int number_;
  ProcessIdentity identity_;
  std::optional<Will> will_;
  Random random_;
  ProcessLoop loop_;
  SkewedLoop electionLoop_;
  SkewedLoop consumerLoop_;
  StoreClock storeClock_;
  memory::Database database_;
  std::optional<MutantStore> mutantStore_;
  RateLimits limits_;
  bool limitsAreSet_ = false;
  std::unique_ptr<MemoryClient> client_;
  Coordination coordination_;
  Store store_;
  Source source_;
  std::unique_ptr<ILeaderCareer> work_;
  career::CareerRunner runner_;
  Election election_;

  std::shared_ptr<TermState> term_;
  std::string znode_;
  Stage stage_ = Stage::connecting;
  bool leading_ = false;
  bool excused_ = false;
  bool disturbed_ = false;
  std::set<GroupId> parked_;  // at some time or other
  FencingToken waitsFor_;     // whose barrier
  std::optional<BootTime> terminatedAt_;
  std::optional<BootTime> offeredAt_;
  int freezes_ = 0;
  BootTime thawedAt_{};
};

template <class T, class Operation>
T Process::remotely(Duration most, bool here, Operation operation) {
  std::optional<T> reply;
  loop_.callFromFiber(draw(most), draw(most), here, [&] { reply.emplace(operation()); });
  return std::move(*reply);
}

}  // namespace tenure::simulation
