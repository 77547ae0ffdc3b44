// When idempotency keys are forgotten: the pruner's decisions, and the consumer that carries them out.
#include "consumer/sweeper.hpp"
#include "parts.hpp"
#include "scene.hpp"
#include "support/results.hpp"

namespace tenure::test {
namespace {

using consuming::Pruner;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const BootTime t0{1h};
const WallTime noon{std::chrono::milliseconds{1'700'000'000'000}};

TEST(Pruner, LeavesANewTermInPeace) {
  Pruner pruner({});
  EXPECT_FALSE(pruner.isDue(true, t0));
  pruner.start(t0);

  EXPECT_FALSE(pruner.isDue(true, t0 + 59s));
  EXPECT_TRUE(pruner.isDue(true, t0 + 60s));
}

TEST(Pruner, ForgetsWhatIsOlderThanTheHorizon) {
  const Pruner pruner({.keepIdsFor = 48h});

  EXPECT_EQ(pruner.step(noon).before, noon - 48h);
}

// shows: messages/leader-forgets-older
TEST(Pruner, OnlyCountsForTheAlarmWhenToldToKeep) {
  Pruner pruner({.keepIdsFor = 0h, .keyAlarm = 9});
  pruner.start(t0);

  EXPECT_TRUE(pruner.isDue(true, t0 + 2min));
  EXPECT_EQ(pruner.step(noon).before, WallTime{}) << "nothing is older than that";
  pruner.onPruned({.looked = 10, .removed = 0, .last = ""}, t0 + 2min);

  EXPECT_THAT(pruner.takeNews(), SizeIs(1));
}

TEST(Pruner, DoesNothingWhenToldToKeepAndNotToCount) {
  Pruner pruner({.keepIdsFor = 0h, .keyAlarm = 0});
  pruner.start(t0);

  EXPECT_FALSE(pruner.isDue(true, t0 + 24h));
}

TEST(Pruner, GoesStepByStepAndKeepsItsDistanceWhileMessagesWait) {
  Pruner pruner({});
  pruner.start(t0);
  const BootTime then = t0 + 2min;

  pruner.onPruned({.looked = 10, .removed = 1, .last = "m"}, then);

  EXPECT_EQ(pruner.step(noon).after, "m");
  EXPECT_TRUE(pruner.isDue(true, then));
  EXPECT_FALSE(pruner.isDue(false, then + 249ms));
  EXPECT_TRUE(pruner.isDue(false, then + 250ms));
}

TEST(Pruner, RestsAfterAPassAndTellsWhatItDid) {
  Pruner pruner({});
  pruner.start(t0);
  const BootTime then = t0 + 2min;
  pruner.onPruned({.looked = 10, .removed = 4, .last = "m"}, then);

  pruner.onPruned({.looked = 5, .removed = 1, .last = ""}, then);

  EXPECT_EQ(pruner.step(noon).after, "");
  EXPECT_FALSE(pruner.isDue(true, then + 9min));
  EXPECT_TRUE(pruner.isDue(true, then + 10min));
  const auto news = pruner.takeNews();
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_EQ(consuming::expectA<KeysPruned>(news[0]).removed, 5U);
  EXPECT_EQ(consuming::expectA<KeysPruned>(news[0]).kept, 10U);
}

// shows: messages/leader-forgets-older
TEST(Pruner, TooManyKeysRaiseAnAlarmAndNothingElse) {
  Pruner pruner({.keyAlarm = 9});
  pruner.start(t0);

  pruner.onPruned({.looked = 10, .removed = 0, .last = ""}, t0 + 2min);

  const auto news = pruner.takeNews();
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_EQ(consuming::expectA<KeyAlarmRaised>(news[0]).kept, 10U);
}

class ConsumerPruning : public Scene {
 protected:
  /// Long enough for a pass; a replica that idles.
  void idle(ConsumerReplica& replica, std::chrono::milliseconds time) {
    for (const BootTime until = clock.now() + time; clock.now() < until;) replica.execute();
  }
};

// shows: messages/message-comes-again
TEST_F(ConsumerPruning, AMessageThatComesAgainAfterTheHorizonIsHandledAgainAndNotBefore) {
  options.keepIdsFor = 1h;
  ConsumerReplica& replica = elect();
  produce({"a"});
  workOff(replica);

  idle(replica, 55min);
  produce({"a"});
  workOff(replica);
  EXPECT_EQ(timesHandled("a"), 1);

  idle(replica, 20min);
  produce({"a"});
  workOff(replica);
  EXPECT_EQ(timesHandled("a"), 2);
  EXPECT_EQ(events.of<KeysPruned>()[0].removed, 1U);
}

/// Somebody took the message from its queue: it does not come again.
TEST_F(ConsumerPruning, AttemptsAtAMessageThatVanishedAreForgottenAfterTheHorizon) {
  options.keepIdsFor = 1h;
  memory::Database database(world, noEvents(), clock);
  const TestTerm before(identityWith(++token), 24h, clock);
  ASSERT_THAT(database.store().claim(before), succeeds());
  const ConsumerName consumer{before->identity().election.value};
  const auto transaction = database.store().begin(before).value();
  const auto record = [&](const char* id, WallTime at) {
    const AttemptRecord attempt{
        .id = MessageId{id}, .attempts = 2, .lastError = "no stock", .firstAt = at, .lastAt = at};
    ASSERT_THAT(transaction->recordAttempt(consumer, attempt), succeeds());
  };
  record("vanished", clock.wallNow());
  record("younger", clock.wallNow() + 45min);
  ASSERT_THAT(transaction->commit(), succeeds());
  ConsumerReplica& replica = elect();

  idle(replica, 50min);
  EXPECT_THAT(found().attempts, SizeIs(2));
  idle(replica, 30min);

  ASSERT_THAT(found().attempts, SizeIs(1));
  EXPECT_EQ(found().attempts[0].id.value, "younger");
}

TEST_F(ConsumerPruning, AnUnknownOutcomeOfItIsResolvedBeforeAnythingElse) {
  options.keepIdsFor = 1h;
  ConsumerReplica& replica = elect();
  produce({"a"});
  workOff(replica);
  world.fail(memory::Operation::prune, Errc::outcomeUnknown);

  idle(replica, 80min);
  produce({"b"});
  workOff(replica);

  EXPECT_THAT(doneIds(), ElementsAre("a", "b"));
  EXPECT_EQ(events.of<KeysPruned>().size(), 1U);
}

TEST_F(ConsumerPruning, AFencedOneEndsTheTerm) {
  options.keepIdsFor = 1h;
  ConsumerReplica& replica = elect();
  idle(replica, 30s);
  world.fail(memory::Operation::prune, Errc::staleTerm);

  EXPECT_EQ(replica.endOf(2000), EndReason::fenced);
}

// shows: messages/leader-forgets-older
TEST_F(ConsumerPruning, AMessageOlderThanTheHorizonIsToldOnceATerm) {
  options.keepIdsFor = 1h;
  produce({"a", "b"});
  clock.advance(2h);

  workOff(elect());

  ASSERT_THAT(events.of<BeyondHorizon>(), SizeIs(1));
  EXPECT_EQ(events.of<BeyondHorizon>()[0].message, "a");
}

}  // namespace
}  // namespace tenure::test
