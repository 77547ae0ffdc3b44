#include "tenure/queue_coordinator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "support/manual_clock.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using State = DedupAutomaton::State;

// --- the automaton, exhaustively

/// What the four states stand for.
struct Request {
  bool inWork = false;
  bool waiting = false;
  bool declined = false;  // somebody, since that one waits

  Entry offer() {
    if (!inWork) return inWork = true, Entry::accept;
    if (!waiting) return waiting = true, Entry::block;
    return declined = true, Entry::decline;
  }
  bool complete() {
    inWork = waiting;
    const bool next = std::exchange(waiting, false);
    declined = false;
    return next;
  }
  bool withdraw() {
    waiting = false;
    return std::exchange(declined, false);
  }
  State state() const {
    if (!inWork) return State::init;
    if (!waiting) return State::process;
    return declined ? State::decline : State::block;
  }
};

/// Every story of so many steps, from any point of it on.
void tellOn(DedupAutomaton automaton, Request request, int steps) {
  ASSERT_EQ(automaton.state(), request.state());
  ASSERT_EQ(automaton.isIdle(), !request.inWork);
  ASSERT_EQ(automaton.hasWaiting(), request.waiting);
  if (steps == 0) return;
  const auto both = [=](auto step) {
    DedupAutomaton next = automaton;
    Request meant = request;
    ASSERT_EQ(step(next), step(meant));
    tellOn(next, meant, steps - 1);
  };
  both([](auto& told) { return told.offer(); });
  both([](auto& told) { return told.complete(); });
  both([](auto& told) { return told.withdraw(); });
}

// shows: S2
TEST(DedupAutomaton, IsWhatItsStatesStandForInEveryStoryOfNineSteps) { tellOn({}, {}, 9); }

// --- the coordinator

using Coordinator = QueueCoordinator<std::string>;

// shows: cpp/queuecoordinator-lets-many
TEST(QueueCoordinator, OneWorksOneWaitsAndTheRestMayGo) {
  Coordinator coordinator;

  auto first = coordinator.enqueue("k");
  auto second = coordinator.enqueue("k");
  auto third = coordinator.enqueue("k");
  auto stranger = coordinator.enqueue("other");

  EXPECT_EQ(first.answer(), Entry::accept);
  EXPECT_EQ(second.answer(), Entry::block);
  EXPECT_EQ(third.answer(), Entry::decline);
  EXPECT_EQ(stranger.answer(), Entry::accept);
  EXPECT_TRUE(first.wait());
  EXPECT_FALSE(third.wait());
}

TEST(QueueCoordinator, WhoWaitsBeginsWhenTheOneInWorkIsDone) {
  Coordinator coordinator;
  auto first = coordinator.enqueue("k");
  auto second = coordinator.enqueue("k");
  bool began = false;
  std::thread waiting([&] { began = second.wait(); });

  EXPECT_TRUE(first.complete());
  waiting.join();

  EXPECT_TRUE(began);
  EXPECT_EQ(coordinator.enqueue("k").answer(), Entry::block) << "the second is in work now";
}

TEST(QueueCoordinator, WorkThatIsReleasedIsComplete) {
  Coordinator coordinator;
  { auto forgotten = coordinator.enqueue("k"); }

  EXPECT_EQ(coordinator.enqueue("k").answer(), Entry::accept);
}

TEST(QueueCoordinator, AStopEndsTheWaitAndGivesThePlaceToTheNext) {
  Coordinator coordinator;
  auto first = coordinator.enqueue("k");
  auto second = coordinator.enqueue("k");
  std::stop_source stop;
  bool began = true;
  std::thread waiting([&] { began = second.wait(stop.get_token()); });

  stop.request_stop();
  waiting.join();

  EXPECT_FALSE(began);
  EXPECT_EQ(coordinator.enqueue("k").answer(), Entry::block);
}

TEST(QueueCoordinator, WhoWaitsAndIsDestroyedLeavesItsPlace) {
  Coordinator coordinator;
  auto first = coordinator.enqueue("k");
  { auto second = coordinator.enqueue("k"); }

  EXPECT_EQ(coordinator.enqueue("k").answer(), Entry::block);
}

struct QueueCoordinatorInTime : testing::Test {
  ManualClock clock;
  QueueCoordinatorOptions options{.headLimit = 10s, .keepIdle = 60s, .maxKeys = 4, .shards = 1};
};

TEST_F(QueueCoordinatorInTime, AHeadThatDoesNotComeBackGivesWayToTheNextOffer) {
  Coordinator coordinator(options, clock);
  auto dead = coordinator.enqueue("k");

  clock.advance(10s);
  auto next = coordinator.enqueue("k");

  EXPECT_EQ(next.answer(), Entry::accept);
  EXPECT_FALSE(dead.complete()) << "it is told that it was taken for dead";
  EXPECT_EQ(coordinator.enqueue("k").answer(), Entry::block) << "and has ended nobody else's work";
}

TEST_F(QueueCoordinatorInTime, AHeadThatDoesNotComeBackGivesWayToWhoWaits) {
  Coordinator coordinator(options, clock);
  auto dead = coordinator.enqueue("k");
  auto waiting = coordinator.enqueue("k");

  clock.advance(10s);

  EXPECT_TRUE(waiting.wait());
  EXPECT_FALSE(dead.complete());
  EXPECT_TRUE(waiting.complete());
}

TEST(QueueCoordinator, WhoSleepsWakesAtTheLimitOfADeadHead) {
  Coordinator coordinator({.headLimit = 20ms});
  auto dead = coordinator.enqueue("k");
  auto waiting = coordinator.enqueue("k");

  EXPECT_TRUE(waiting.wait());
}

TEST_F(QueueCoordinatorInTime, WhoDiesWaitingDelaysTheNextByItsLimitOnly) {
  Coordinator coordinator(options, clock);
  auto first = coordinator.enqueue("k");
  auto dead = coordinator.enqueue("k");
  first.complete();

  clock.advance(10s);

  EXPECT_EQ(coordinator.enqueue("k").answer(), Entry::accept);
  EXPECT_FALSE(dead.wait());
}

TEST_F(QueueCoordinatorInTime, KeysThatNobodyAsksForAreForgotten) {
  Coordinator coordinator(options, clock);
  for (const auto* key : {"a", "b", "c"}) coordinator.enqueue(key);
  EXPECT_EQ(coordinator.keys(), 3);

  clock.advance(60s);
  for (int i = 0; i < 3; ++i) coordinator.enqueue("d");

  EXPECT_EQ(coordinator.keys(), 1);
}

TEST_F(QueueCoordinatorInTime, AtTheBoundTheLongestIdleGoesAndNobodyInWorkDoes) {
  Coordinator coordinator(options, clock);
  auto busy = coordinator.enqueue("busy");
  for (const auto* key : {"a", "b", "c", "d"}) coordinator.enqueue(key);

  EXPECT_EQ(coordinator.keys(), 4);
  EXPECT_EQ(coordinator.enqueue("busy").answer(), Entry::block);
}

TEST_F(QueueCoordinatorInTime, WhereEveryKeyIsInWorkAStrangerIsTurnedAway) {
  Coordinator coordinator(options, clock);
  std::vector<Coordinator::Place> busy;
  for (const auto* key : {"a", "b", "c", "d"}) busy.push_back(coordinator.enqueue(key));

  auto stranger = coordinator.enqueue("e");

  EXPECT_EQ(stranger.answer(), Entry::full);
  EXPECT_FALSE(stranger.wait());
  busy.clear();
  EXPECT_EQ(coordinator.enqueue("e").answer(), Entry::accept);
}

// shows: security/hostile-message-crashes
TEST(QueueCoordinator, AMillionRequestsOfManyKeysStayWithinTheBound) {
  QueueCoordinator<int> coordinator({.maxKeys = 1000, .shards = 8});
  for (int i = 0; i < 1'000'000; ++i) coordinator.enqueue(i);

  EXPECT_LE(coordinator.keys(), 1000);
}

// --- whatever the schedule

/// One seed: a few threads that ask for a few keys, all as often as not at the same time. Each request notes what had
/// begun of its key before it; it is served when a run begins after that.
class Requests {
 public:
  explicit Requests(std::uint64_t seed) : seed_(seed), coordinator_({.maxKeys = 64, .shards = 1U << (seed % 3)}) {}

  void run() {
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < 2 + seed_ % 4; ++i) threads.emplace_back([this, i] { ask(Random(seed_ * 31 + i)); });
    for (std::thread& thread : threads) thread.join();
  }

  bool twoAtOnce() const { return twoAtOnce_; }
  bool everybodyWasServed() const {
    for (std::size_t key = 0; key < keys; ++key)
      if (begun_[key] < wanted_[key]) return false;
    return !unserved_;
  }

 private:
  static constexpr std::size_t keys = 3;

  void ask(Random random) {
    for (int i = 0; i < 12; ++i) {
      const std::size_t key = random.below(1 + seed_ % keys);
      if (random.below(3) == 0) std::this_thread::yield();
      const int before = begun_[key];
      auto place = coordinator_.enqueue(key);
      if (place.answer() == Entry::decline) want(key, before + 1);
      if (place.wait())
        work(key, random);
      else if (place.answer() != Entry::decline)
        unserved_ = true;
    }
  }
  void want(std::size_t key, int run) {
    int known = wanted_[key];
    while (known < run && !wanted_[key].compare_exchange_weak(known, run)) continue;
  }
  void work(std::size_t key, Random& random) {
    ++begun_[key];
    if (inWork_[key]++ != 0) twoAtOnce_ = true;
    ++unguarded_[key];
    if (random.below(3) == 0) std::this_thread::yield();
    --inWork_[key];
  }

  const std::uint64_t seed_;
  QueueCoordinator<std::size_t> coordinator_;
  std::atomic<int> begun_[keys]{};
  std::atomic<int> wanted_[keys]{};  // runs that must have begun in the end
  std::atomic<int> inWork_[keys]{};
  int unguarded_[keys]{};  // on purpose: one works at a time, or the thread sanitizer tells
  std::atomic<bool> twoAtOnce_ = false;
  std::atomic<bool> unserved_ = false;
};

// shows: cpp/queuecoordinator-lets-many
TEST(QueueCoordinator, NeverWorksTwiceAtOnceAndServesEverybodyWhateverTheSchedule) {
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    Requests requests(seed);
    requests.run();
    ASSERT_FALSE(requests.twoAtOnce()) << "seed " << seed;
    ASSERT_TRUE(requests.everybodyWasServed()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tenure::test
