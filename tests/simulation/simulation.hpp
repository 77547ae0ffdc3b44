/// One seed's world, from its first replica to its last message.
///
/// There are one to five replicas, and they are the real thing: Election, CareerRunner and Consumer, the very objects
/// of the library, each replica with a loop, clocks, a session and a store connection of its own (process.hpp). Around
/// them nothing is real. Time is virtual and moves from event to event. The ensemble is the library's in-memory one:
/// servers that lag, lead on after they were deposed, lose replies, count sessions in ticks. The store is the
/// library's in-memory one, reached over a way that takes time, fails, and loses replies (store.hpp); the queue is a
/// table beside it, a log, or a broker with an exclusive consumer (source.hpp, broker.hpp). The phases of a career run
/// on a fiber, and so does each of its lanes; they leave it wherever a real one would block: that is where another
/// process gets its turn, and where a kill, a pause or a lost lease may strike. Two leaders' transactions interleave
/// request by request; a frozen one holds the lock, or sits between its fence check and its commit, for as long as the
/// plan says.
///
/// A run has two acts, and some have a third. In the first the plan's faults strike, each at its time or in ambush,
/// when some replica enters some stage (plan.hpp). Then everything is healed, but for one replica that may stay broken,
/// and now somebody must lead within a bounded time, every message must come to its end, and every replica must leave
/// when it is told to. In the third act the ensemble is put back to a backup taken in the first: its tokens may be
/// older now than the store has seen, and then nobody may lead and the replicas give up (restore.cpp).
///
/// Messages fail, ask for later, are rejected and skipped, block their queue until an operator releases them, wait for
/// their bucket while its rate changes, and come under numbers in another order than theirs. Some have a time, wait for
/// it beside the queue, and are cancelled and moved meanwhile, while the clock that they go by is set (schedules.cpp).
/// Some are sent by others, in transactions of their own (strangers.hpp).
///
/// After every event: what the ghost knows of the store and the queue (ghost.hpp), at most one lease that its holder
/// would believe in, as long as nobody broke what leases rest on (a stopped clock, a znode deleted by an operator), no
/// endless activity at one instant. One seed is one history: everything is drawn from it, nothing from the kernel, and
/// the hash of all events is part of the report.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "baton.hpp"
#include "broker.hpp"
#include "coverage.hpp"
#include "ghost.hpp"
#include "mutant.hpp"
#include "plan.hpp"
#include "process.hpp"
#include "strangers.hpp"
#include "tenure/scheduled.hpp"
#include "tenure/spi/store.hpp"
#include "tenure/testing/memory.hpp"
#include "testament.hpp"
#include "testing/ensemble/ensemble.hpp"
#include "testing/world/manual_loop.hpp"

namespace tenure::simulation {

inline constexpr std::chrono::seconds longestDeparture{25};

inline ElectionName electionName() { return ElectionName{"orders"}; }

struct Report {
  std::optional<std::string> violation;
  std::uint64_t hash = 0;
  Coverage coverage;
  std::int64_t events = 0;
  std::int64_t commits = 0;
  std::int64_t claims = 0;
  Duration lasted{};
  bool putBack = false;                // to a backup
  bool nobodyLed = false;              // afterwards, as its tokens were old
  std::deque<std::string> lastEvents;  // only if they were asked for
};

struct Recording {
  std::size_t keep = 0;  // of the last events, as text
  bool print = false;    // all of them, as they happen
};

/// Of a store that is a server: right until it is set.
class ServerClock final : public IClock {
 public:
  explicit ServerClock(const ILoop& world) : world_(world) {}
  BootTime now() const noexcept override { return world_.now(); }
  WallTime wallNow() const noexcept override { return world_.wallNow() + step_; }
  void waitUntil(BootTime deadline, const std::stop_token& stop) const override { world_.waitUntil(deadline, stop); }
  void step(std::chrono::milliseconds by) noexcept { step_ += by; }

 private:
  const ILoop& world_;
  std::chrono::milliseconds step_{};
};

class Simulation {
 public:
  Simulation(Plan plan, Mutant mutant, Recording recording);
  ~Simulation();

  Report run();

  // --- for processes and their ports

  test::ManualLoop& loop() noexcept { return loop_; }
  MemoryEnsemble& ensemble() noexcept { return ensemble_; }
  memory::World& store() noexcept { return store_; }
  Broker& broker() noexcept { return broker_; }
  Ghost& ghost() noexcept { return ghost_; }
  BrokenFence& brokenFence() noexcept { return brokenFence_; }
  const Plan& plan() const noexcept { return plan_; }
  const IClock& serverClock() const noexcept { return serverClock_; }
  Mutant mutant() const noexcept { return mutant_; }
  /// The limits of the moment.
  const RateRules& rules() const noexcept { return rules_; }
  bool storeDown() const noexcept { return loop_.now() < storeDownUntil_; }
  /// Somebody else has locked the row of this state.
  bool isLocked(std::string_view key) const noexcept { return loop_.now() < lockedUntil_ && key == lockedKey_; }
  bool sourceDown() const noexcept { return loop_.now() < sourceDownUntil_; }
  Coverage& coverage() noexcept { return report_.coverage; }
  Random fork() noexcept { return random_.fork(); }
  bool drawOneIn(std::uint64_t n) noexcept { return random_.below(n) == 0; }
  Duration drawTime(Duration most) noexcept {
    return Duration{static_cast<Duration::rep>(random_.fraction() * static_cast<double>(most.count()))};
  }

  // For messages with a time.

  void promoted(FencingToken by, const std::vector<NewMessage>& messages);
  void sawChange(const Times::Change& change, ScheduleChange answer, bool inHandler = true);

  void pause(Process& process, Duration lasts, bool hard);

  // For messages that others send in transactions of their own.

  Batons& batons() noexcept { return batons_; }
  Strangers& strangers() noexcept { return strangers_; }
  /// Marked as a copy of its own.
  NewMessage make(const MessagePlan& plan);
  /// All that listen hear it.
  void callReaders();

  // For last wills.

  /// What a dead process has started lives on.
  bool isOrphaned(int number) const noexcept { return orphans_.contains(number); }
  void endOrphan(int number);
  void forget(const Testament& over, int number);

  /// The ensemble has gone back in time.
  bool putBack() const noexcept { return report_.putBack; }
  /// Another one than before when the ensemble has gone back to before its beginning.
  EnsembleUuid ensembleForANewMeta() const { return EnsembleUuid{std::string(32, putBack() ? 'f' : 'e')}; }

  void entered(Process& process, Stage stage);
  void exited(Process& process, ExitStatus status, bool careerIsHome);
  Liveness livenessOf(const ProcessIdentity& asker, const ProcessIdentity& asked);
  GroupId groupOf(const MessageId& id) const;
  std::string bodyOf(const MessageId& id, const BodyDigest& digest) const;
  Outcome handle(Process& process, const Delivery& delivery);
  Outcome handleTogether(Process& process, const BatchDelivery& delivery);

  // For handlers that answer with values (answers.cpp).

  /// The message's group, and how long its handler takes.
  std::pair<int, Duration> beginThinking(Process& process, const Message& message);
  int groupNumberOf(const Message& message);
  Outcome verdictOf(const Message& message);
  /// By a mutant.
  void thinkUnrecorded(Process& process, const Message& message);

  /// An operator will see to it.
  void blocked(const MessageId& id);
  void stopped();
  void trace(int process, const char* what, std::int64_t detail);

 private:
  // simulation.cpp: the two acts
  void begin();
  bool chaosIsOver();
  void heal();
  void breakOneForGood();
  void awaitLeader();
  void awaitMessages();
  void awaitDepartures();
  void checkShared();
  void checkEnd();
  bool afterEvent();
  void checkLeases();
  void lookForLostSessions();
  bool runUntil(const std::function<bool()>& condition, Duration limit);
  bool somebodyServes() const;
  std::string stand() const;
  bool queueIsEmpty() const;

  // schedules.cpp: messages with a time
  void beginSchedules();
  const NewMessage& timed(const TimedMessage& one);
  WallTime wallAt(Duration sinceBegin) const;
  WallTime storesNow();
  void stepStoresClock(std::chrono::milliseconds by);
  void sendTimed(const TimedMessage& one);
  void wakePromoter();
  void change(const TimeChange& change);
  bool tryToChange(const TimeChange& change);
  void overtake(const TimeChange& change);
  Outcome leaveSchedules(const Delivery& delivery);
  bool roomIsSettled() { return plan_.timed.empty() || !ghost_.times().isDue(storesNow()); }
  bool isOfStranger(const NewMessage& message);
  void checkRoom();

  // quiet.cpp
  void passTime();

  // restore.cpp: the third act
  void restoreBackup();
  void checkWhoLed(FencingToken newest);

  // lives.cpp
  void start(int slot);
  void startLater(int slot, Duration delay);
  void lose(Process& process, Duration restartAfter, bool inOrder = false);
  void carryOut(const Process& process);
  void loseConnection(int number);
  Process* alive(int number);
  Process* inSlot(int slot);
  Process* leader();

  // strikes.cpp
  void schedule(const Fault& fault);
  void strike(const Fault& fault, int number);
  void strike(const Fault& fault, Process& process);
  void strikeNetwork(const Fault& fault, Process& process);
  using Ways = std::set<std::pair<MemoryEnsemble::MachineId, MemoryEnsemble::MachineId>>;
  void flap(int number, BootTime until, Ways cut);
  void strikeRequest(const Fault& fault, Process& process);
  void strikeServer(const Fault& fault);
  void strikeWorld(const Fault& fault);
  void terminate(Process& process, int times, Duration apart);
  void markEverywhere(Column column);
  void deleteCandidates(int attempts);
  void steer(const Fault& fault);
  void restartStore(bool landed);
  void closeQueue(Duration lasts);
  void lockRow(const Fault& fault);

  // script.cpp: what producers, operators and handlers do
  void produce(const MessagePlan& message);
  void limit(const RateRules& rules);
  void operate(const std::function<bool()>& act);
  struct Part {
    MessagePlan plan;
    std::string body;
    int failures = 0;
    int postponements = 0;
    int kills = 0;
    bool hung = false;
  };
  Outcome heard(const Outcome& outcome) const;
  Outcome act(Process& process, const Delivery& delivery, Part& part);
  Outcome actTogether(Process& process, const BatchDelivery& delivery);
  Part& partOf(const NewMessage& message) { return parts_.at({message.id.value, message.body}); }
  void takeAlong(Process& process, Part& part);
  void killIn(Process& process, Part& part);
  Outcome leaveEffect(const Delivery& delivery, int group);

  const Plan plan_;
  const Mutant mutant_;
  const Recording recording_;
  Random random_;
  test::ManualLoop loop_;
  MemoryEnsemble ensemble_;
  memory::World store_;
  Broker broker_;
  Ghost ghost_;
  BrokenFence brokenFence_;
  RateRules rules_;
  ServerClock serverClock_;
  std::unique_ptr<IMessageSink> sink_;
  std::unique_ptr<ScheduledMessages> scheduled_;
  const WallTime began_;
  Strangers strangers_{*this};
  Batons batons_{ElectionPaths("/tenure", electionName())};
  std::map<int, NewMessage> timed_;  // by the numbers in their ids
  std::unique_ptr<MemoryClient> operator_;
  std::map<int, std::unique_ptr<Process>> processes_;  // by number; the dead whose last request is still under way, too
  std::map<int, int> slots_;                           // slot to number
  std::map<int, ProcessIdentity> orphans_;             // the dead whose commands live on
  std::map<int, std::unique_ptr<Testament>> wills_;    // by number
  std::map<std::pair<std::string, std::string>, Part> parts_;  // by id and body
  int lastNumber_ = 0;

  std::optional<MemoryEnsemble::Snapshot> backup_;
  int gaveUp_ = 0;  // since that was put back
  bool healed_ = false;
  bool departing_ = false;
  BootTime storeDownUntil_{};
  BootTime sourceDownUntil_{};
  std::string lockedKey_;
  BootTime lockedUntil_{};
  int serversTroubled_ = 0;
  std::set<int> crashedServers_;
  std::map<Stage, int> entries_;
  std::map<int, std::int64_t> lostSessions_;
  BootTime sessionsSeen_{};

  Report report_;
  BootTime instant_{};
  int eventsAtInstant_ = 0;
};

}  // namespace tenure::simulation
