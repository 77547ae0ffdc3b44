// What users' tests are made of: failovers and handovers of real candidates, in virtual time.
#include "tenure/testing/world.hpp"

#include <gmock/gmock.h>

#include "support/events.hpp"
#include "support/results.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::Lt;

class Story final : public ILeaderCareer {
 public:
  explicit Story(const IClock& clock) : clock_(clock) {}
  void inaugurate(const Term&) override { said.push_back("inaugurate"); }
  bool execute(const Term& term) override {
    said.push_back("execute");
    if (onExecute) onExecute(term);
    clock_.waitUntil(clock_.now() + 1s, term.stopToken());
    return true;
  }
  void handOver(const Term& term) override {
    said.push_back(term.valid() ? "hand over" : "clean up");
    end = term.endReason();
  }

  std::vector<std::string> said;
  std::function<void(const Term&)> onExecute;
  EndReason end = EndReason::none;

 private:
  const IClock& clock_;
};

CandidateOptions called(const std::string& id, bool hasWill = false) {
  CandidateOptions options;
  options.election = ElectionName{"orders"};
  options.id = CandidateId{id};
  options.lastWill.use = hasWill;
  return options;
}

class Worlds : public testing::Test {
 protected:
  /// How long until it leads.
  Duration until(const test::Process& replica) {
    const BootTime begin = world_.clock().now();
    EXPECT_TRUE(world_.advanceUntil([&] { return replica.leads(); }));
    return world_.clock().now() - begin;
  }

  test::World world_;
  Story first_{world_.clock()};
  Story second_{world_.clock()};
};

// shows: test-your-code/killed-phase-waits
TEST_F(Worlds, TheSecondLeadsWhenTheSessionOfTheKilledFirstIsOver) {
  test::Process a(world_, called("a"), first_);
  until(a);
  test::Process b(world_, called("b"), second_);
  world_.advance(10s);
  const FencingToken before = a.token();

  a.kill();

  EXPECT_FALSE(a.leads());
  EXPECT_THAT(until(b), AllOf(Ge(5s), Lt(20s)));
  EXPECT_GT(b.token().value, before.value);
  EXPECT_EQ(first_.said.back(), "execute") << "it was killed in the middle";
  EXPECT_EQ(a.exitStatus(), std::nullopt);
}

// shows: test-your-code/killed-phase-waits
TEST_F(Worlds, ALastWillEndsTheSessionAtOnce) {
  test::Process a(world_, called("a", true), first_);
  until(a);
  test::Process b(world_, called("b"), second_);
  world_.advance(10s);

  a.kill();

  EXPECT_LT(until(b), 1s);
}

// shows: test-your-code/killed-phase-waits
TEST_F(Worlds, AProcessThatIsKilledByItsOwnPhaseDoesNotReturnToIt) {
  test::Process a(world_, called("a"), first_);
  bool returned = false;
  first_.onExecute = [&](const Term&) {
    a.kill();
    returned = true;
  };

  EXPECT_TRUE(world_.advanceUntil([&] { return !first_.said.empty() && !a.leads(); }));

  EXPECT_FALSE(returned);
}

TEST_F(Worlds, AProcessMayKillItselfWhileTheTestWaitsByTheClock) {
  test::Process a(world_, called("a"), first_);
  first_.onExecute = [&](const Term&) { a.kill(); };

  world_.clock().waitUntil(world_.clock().now() + 10s, {});

  EXPECT_FALSE(first_.said.empty());
  EXPECT_FALSE(a.leads());
}

// shows: test-your-code/cut-off-stopped
TEST_F(Worlds, AHandoverGoesThroughThePhasesAndOn) {
  test::Process a(world_, called("a"), first_);
  until(a);
  test::Process b(world_, called("b"), second_);
  world_.advance(10s);

  a.handOver();

  EXPECT_LT(until(b), 1s);
  EXPECT_EQ(first_.said.back(), "hand over");
  EXPECT_EQ(first_.end, EndReason::handoverAsked);
  EXPECT_FALSE(a.leads());
}

// shows: test-your-code/cut-off-stopped
TEST_F(Worlds, OneThatIsStoppedLeavesInOrder) {
  test::Process a(world_, called("a"), first_);
  until(a);

  a.stop();

  EXPECT_TRUE(world_.advanceUntil([&] { return a.exitStatus().has_value(); }));
  EXPECT_EQ(a.exitStatus(), ExitStatus::done);
  EXPECT_EQ(first_.said.back(), "hand over");
}

// shows: test-your-code/frozen-goes-too
TEST_F(Worlds, AFrozenLeaderFindsItsTermOverWhenItIsThawed) {
  test::Process a(world_, called("a"), first_);
  until(a);
  test::Process b(world_, called("b"), second_);
  world_.advance(10s);

  a.freeze();
  until(b);
  a.thaw();

  EXPECT_TRUE(world_.advanceUntil([&] { return first_.end != EndReason::none; }));
  EXPECT_EQ(first_.said.back(), "clean up");
  EXPECT_TRUE(b.leads());
}

// shows: test-your-code/cut-off-stopped
TEST_F(Worlds, OneThatIsCutOffLosesItsLeaseAndContendsAgainWhenItIsBack) {
  test::Process a(world_, called("a"), first_);
  until(a);

  a.cutOff();

  EXPECT_TRUE(world_.advanceUntil([&] { return !a.leads(); }));
  EXPECT_EQ(first_.said.back(), "clean up");
  a.reconnect();
  until(a);
}

// shows: test-your-code/cut-off-stopped
TEST_F(Worlds, WithoutServersNobodyLeadsAndWithThemSomebodyDoesAgain) {
  test::Process a(world_, called("a"), first_);
  until(a);

  world_.stopServers();
  EXPECT_TRUE(world_.advanceUntil([&] { return !a.leads(); }));
  world_.startServers();

  until(a);
}

// shows: test-your-code/time-test-seed
TEST_F(Worlds, AnHourPassesForACareerThatWaits) {
  test::Process a(world_, called("a"), first_);
  until(a);

  world_.advance(1h);

  EXPECT_THAT(first_.said.size(), AllOf(Ge(3590U), Lt(3610U)));
}

TEST_F(Worlds, OptionsAreCheckedAsACandidateChecksThem) {
  CandidateOptions wrong = called("a");
  wrong.election = ElectionName{"no/name"};

  EXPECT_THROW(test::Process(world_, wrong, first_), std::system_error);
}

// --- observers

TEST_F(Worlds, AnObserverHearsOfEachTermOnce) {
  std::vector<std::string> heard;
  const auto observation = world_.observe(ElectionName{"orders"}, [&](const Leadership& now) {
    heard.push_back(now.leader ? now.leader->id.value : std::string(toString(now.state)));
  });
  world_.advance(1s);
  EXPECT_THAT(heard, ElementsAre("nobody"));
  test::Process a(world_, called("a"), first_);
  until(a);
  world_.advance(1s);
  EXPECT_EQ(observation->now().leader->token, a.token());
  test::Process b(world_, called("b"), second_);
  world_.advance(10s);

  a.handOver();
  until(b);
  world_.advance(10s);

  EXPECT_EQ(heard.front(), "nobody");
  EXPECT_EQ(heard.back(), "b");
  EXPECT_EQ(std::count(heard.begin(), heard.end(), "a"), 1);
  EXPECT_EQ(std::count(heard.begin(), heard.end(), "b"), 1) << testing::PrintToString(heard);
}

// shows: cpp/observer-told-term
TEST_F(Worlds, AnObserverHearsThatAKilledLeaderIsGoneWhenItsSessionIs) {
  const auto observation = world_.observe(ElectionName{"orders"}, {});
  test::Process a(world_, called("a"), first_);
  until(a);
  world_.advance(10s);

  a.kill();
  world_.advance(1s);

  EXPECT_EQ(observation->now().state, Leadership::State::led) << "nobody can know it yet";
  EXPECT_TRUE(world_.advanceUntil([&] { return observation->now().state == Leadership::State::nobody; }));
}

// shows: cpp/observer-told-term
TEST_F(Worlds, AnObserverWithoutServersKnowsNothingAndAfterwardsWhoLeads) {
  const auto observation = world_.observe(ElectionName{"orders"}, {});
  test::Process a(world_, called("a"), first_);
  until(a);
  world_.advance(10s);

  world_.stopServers();
  EXPECT_TRUE(world_.advanceUntil([&] { return observation->now().state == Leadership::State::unknown; }));
  world_.startServers();

  EXPECT_TRUE(world_.advanceUntil([&] { return observation->now().state == Leadership::State::led; }));
  EXPECT_EQ(observation->now().leader->id.value, "a");
}

// --- consumers

class Consumption : public testing::TestWithParam<std::size_t> {
 protected:
  ConsumerOptions options() {
    ConsumerOptions options;
    if (GetParam() > 1) options.ordering = Ordering::perGroup(GetParam());
    return options;
  }
  Handler handler() {
    return [this](const Delivery& delivery) {
      world_.clock().waitUntil(world_.clock().now() + 10ms, {});
      const Result<void> put = delivery.transaction.put(delivery.message.id.value, "seen");
      return put ? Outcome::done() : Outcome::failed(put.error().message());
    };
  }
  void deliver(int count) {
    std::vector<NewMessage> messages;
    for (int i = 0; i < count; ++i)
      messages.push_back({MessageId{std::to_string(i)}, GroupId{std::to_string(i % 5)}, "x", {}});
    world_.database().deliver(std::move(messages));
  }

  test::World world_;
};

TEST_P(Consumption, EveryMessageIsHandledOnceThoughOneLeaderAfterTheOtherIsKilled) {
  deliver(200);
  std::size_t handled = 0;

  for (int life = 0; life < 20 && !world_.database().waiting().empty(); ++life) {
    const auto consumer = world_.consumer(handler(), options());
    test::Process replica(world_, called("replica"), *consumer);
    world_.advanceUntil([&] { return world_.database().waiting().size() + 30 < 200 - handled; }, 60s);
    handled = 200 - world_.database().waiting().size();
  }

  const std::vector<memory::LedgerEntry> ledger = world_.database().ledger();
  EXPECT_EQ(ledger.size(), 200U);
  std::map<int, int> lastOf;
  for (const memory::LedgerEntry& entry : ledger) {
    const int number = std::stoi(entry.message.value);
    const auto [last, isFirst] = lastOf.try_emplace(number % 5, -1);
    EXPECT_GT(number, last->second);
    last->second = number;
  }
}

// shows: test-your-code/frozen-goes-too
TEST_P(Consumption, WhatAFrozenLeaderHadBegunIsNotCommittedAfterItsSuccessorCame) {
  deliver(1);
  const auto slow = world_.consumer(
      [this](const Delivery& delivery) {
        world_.clock().waitUntil(world_.clock().now() + 100ms, {});
        static_cast<void>(delivery.transaction.put("by", "the frozen one"));
        return Outcome::done();
      },
      options());
  const auto quick = world_.consumer(
      [](const Delivery& delivery) {
        static_cast<void>(delivery.transaction.put("by", "its successor"));
        return Outcome::done();
      },
      options());
  test::Process a(world_, called("a"), *slow);
  ASSERT_TRUE(world_.advanceUntil([&] { return a.leads(); }));
  world_.advance(50ms);
  test::Process b(world_, called("b"), *quick);

  a.freeze();
  ASSERT_TRUE(world_.advanceUntil([&] { return b.leads() && world_.database().waiting().empty(); }));
  a.thaw();
  world_.advance(60s);

  EXPECT_EQ(world_.database().value("by"), "its successor");
  EXPECT_EQ(world_.database().ledger().size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Lanes, Consumption, testing::Values(1, 4), testing::PrintToStringParamName());

// shows: test-your-code/time-test-seed
TEST(WorldOfOneSeed, HasOneHistory) {
  const auto history = [](std::uint64_t seed) {
    test::World world(seed);
    test::RecordedEvents events;
    Story career(world.clock());
    test::Process a(world, called("a"), career, events);
    test::Process b(world, called("b"), career, events);
    world.advance(30s);
    a.kill();
    world.advance(30s);
    std::vector<std::int64_t> times;
    for (const Event& event : events.all()) times.push_back(event.at.time_since_epoch().count());
    return times;
  };

  EXPECT_EQ(history(7), history(7));
}

// shows: scheduled/under-virtual-time
TEST(ScheduledInAWorld, ATimeoutOfHalfAnHourTakesMilliseconds) {
  test::World world;
  std::vector<std::string> handled;
  const auto handle = [&](const Delivery& delivery) {
    const WallTime now = world.clock().wallNow();
    if (delivery.message.body == "created")
      delivery.transaction.enqueue({.id = MessageId{"timeout"}, .body = "timeout", .deliverAt = now + 30min}).value();
    if (delivery.message.body == "paid")
      handled.push_back(delivery.transaction.cancelScheduled(MessageId{"timeout"}).value() == ScheduleChange::done
                            ? "paid in time"
                            : "paid too late");
    if (delivery.message.body != "paid") handled.push_back(delivery.message.body);
    return Outcome::done();
  };
  const auto consumer = world.consumer(handle);
  test::Process leader(world, called("a"), *consumer);
  world.database().deliver({{.id = MessageId{"created"}, .body = "created"}});
  ASSERT_TRUE(world.advanceUntil([&] { return !handled.empty(); }));
  const WallTime created = world.clock().wallNow();

  ASSERT_TRUE(world.advanceUntil([&] { return handled.size() == 2; }, 1h));
  EXPECT_GE(world.clock().wallNow() - created, 30min - 1s);
  EXPECT_LE(world.clock().wallNow() - created, 30min + 2s);
  world.database().deliver({{.id = MessageId{"paid"}, .body = "paid"}});
  ASSERT_TRUE(world.advanceUntil([&] { return handled.size() == 3; }));
  EXPECT_THAT(handled, ElementsAre("created", "timeout", "paid too late"));
}

}  // namespace
}  // namespace tenure
