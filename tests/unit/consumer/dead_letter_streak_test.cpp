// Many dead letters in a row stop the consumer. See consumer/dead_letter_streak.hpp.
#include "consumer/dead_letter_streak.hpp"

#include "scene.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class ConsumerStops : public Scene {
 protected:
  void SetUp() override {
    options.maxAttempts = 1;
    options.deadLetterLimit = 3;
  }
  void produceMany(int count) {
    std::vector<std::string> ids;
    for (int i = 1; i <= count; ++i) ids.push_back("m" + std::to_string(i));
    produce(ids);
  }
  /// Goes on for a while.
  void executeFor(ConsumerReplica& replica, Duration duration) {
    for (const BootTime end = clock.now() + duration; clock.now() < end; clock.advance(10ms)) replica.execute();
  }
  bool resume() { return world.resume(ConsumerName{"orders"}); }

  Handler failing = [](const Delivery&) { return Outcome::failed("a slip"); };
  Handler sound = [](const Delivery&) { return Outcome::done(); };
};

TEST_F(ConsumerStops, AfterSoManyInARowAndNoMessageIsTouchedAnyMore) {
  produceMany(10);
  behaviour = failing;
  ConsumerReplica& leader = elect();

  executeFor(leader, 10s);

  EXPECT_THAT(deadIds(), ElementsAre("m1", "m2", "m3"));
  ASSERT_THAT(events.of<ConsumerStopped>(), SizeIs(1));
  EXPECT_EQ(events.of<ConsumerStopped>()[0].deadLetters, 3);
  EXPECT_EQ(events.of<ConsumerStopped>()[0].reason, "a slip");
}

// shows: operations/too-many-dead
TEST_F(ConsumerStops, AndNoSuccessorGoesOn) {
  produceMany(10);
  behaviour = failing;
  ConsumerReplica& first = elect();
  executeFor(first, 1s);
  first.handOver();
  behaviour = sound;

  for (int term = 0; term < 3; ++term) {
    ConsumerReplica& next = elect();
    executeFor(next, 5s);
    next.handOver();
  }

  EXPECT_THAT(doneIds(), IsEmpty());
  EXPECT_THAT(events.of<ConsumerStopped>(), SizeIs(4)) << "each leader says so";
}

TEST_F(ConsumerStops, UntilAnOperatorLetsItGoOn) {
  produceMany(5);
  behaviour = failing;
  ConsumerReplica& leader = elect();
  executeFor(leader, 1s);
  behaviour = sound;

  EXPECT_TRUE(resume());
  executeFor(leader, 3s);

  EXPECT_THAT(doneIds(), ElementsAre("m4", "m5"));
  EXPECT_THAT(events.of<ConsumerResumed>(), SizeIs(1));
  EXPECT_FALSE(found().facts.streak) << "nothing of it is left on record";
}

TEST_F(ConsumerStops, AWordThatComesWhileNobodyLeadsIsHeardByTheNext) {
  produceMany(10);
  behaviour = failing;
  ConsumerReplica& first = elect();
  executeFor(first, 1s);
  first.handOver();

  EXPECT_TRUE(resume());
  executeFor(elect(), 5s);

  EXPECT_THAT(deadIds(), SizeIs(6)) << "it counts anew, and stops again";
  EXPECT_THAT(events.of<ConsumerStopped>(), SizeIs(2));
}

TEST_F(ConsumerStops, OneThatIsDoneBetweenThemBreaksTheRow) {
  produceMany(12);
  behaviour = [](const Delivery& delivery) {
    const int number = std::stoi(delivery.message.id.value.substr(1));
    return number % 3 == 0 ? Outcome::done() : Outcome::reject("bad");
  };

  workOff(elect());

  EXPECT_THAT(deadIds(), SizeIs(8));
  EXPECT_THAT(events.of<ConsumerStopped>(), IsEmpty());
}

TEST_F(ConsumerStops, ARowGoesOnAcrossTerms) {
  options.maxBatch = 1;
  produceMany(10);
  behaviour = failing;
  for (int term = 0; term < 3; ++term) {
    ConsumerReplica* leader = nullptr;
    behaviour = [&](const Delivery&) {
      leader->term().requestStop();
      return Outcome::failed("a slip");
    };
    leader = &elect();
    executeFor(*leader, 100ms);
    leader->handOver();
  }

  executeFor(elect(), 1s);

  EXPECT_THAT(deadIds(), SizeIs(3));
}

TEST_F(ConsumerStops, WhatDidNotCommitDoesNotCount) {
  produceMany(2);
  behaviour = [&](const Delivery&) {
    if (handled.size() < 5) world.fail(memory::Operation::commit, Errc::unavailable);
    return Outcome::failed("a slip");
  };

  executeFor(elect(), 8s);

  EXPECT_THAT(deadIds(), ElementsAre("m1", "m2"));
  EXPECT_THAT(events.of<ConsumerStopped>(), IsEmpty());
}

TEST_F(ConsumerStops, WhatAnOperatorReleasesDoesNotCount) {
  options.onDead = OnDead::block;
  options.deadLetterLimit = 1;
  produceMany(2);
  behaviour = [](const Delivery& delivery) {
    return delivery.message.id.value == "m1" ? Outcome::failed("bad") : Outcome::done();
  };
  ConsumerReplica& leader = elect();
  executeFor(leader, 1s);

  EXPECT_TRUE(world.release(ConsumerName{"orders"}, MessageId{"m1"}));
  executeFor(leader, 3s);

  EXPECT_THAT(deadIds(), ElementsAre("m1"));
  EXPECT_THAT(doneIds(), ElementsAre("m2"));
}

TEST_F(ConsumerStops, WithoutALimitNothingStopsIt) {
  options.deadLetterLimit = 0;
  produceMany(60);
  behaviour = failing;

  workOff(elect());

  EXPECT_THAT(deadIds(), SizeIs(60));
  EXPECT_FALSE(found().facts.streak);
}

TEST_F(ConsumerStops, AStopHoldsForAReplicaWithoutALimitToo) {
  produceMany(10);
  behaviour = failing;
  ConsumerReplica& first = elect();
  executeFor(first, 1s);
  first.handOver();
  options.deadLetterLimit = 0;

  executeFor(elect(), 3s);

  EXPECT_THAT(deadIds(), SizeIs(3));
}

TEST_F(ConsumerStops, NoMessageIsTakenForTheRecordWhateverItsId) {
  options.maxAttempts = 2;
  const std::string odd = "tenure: dead letters in a row";
  produce({odd, "m1"});
  behaviour = [&](const Delivery& delivery) {
    return delivery.attempt == 1 ? Outcome::failed("not yet") : Outcome::done();
  };

  workOff(elect());

  EXPECT_THAT(doneIds(), ElementsAre(odd, "m1"));
}

TEST_F(ConsumerStops, WhatIsOnRecordSaysHowManyAndSinceWhen) {
  produceMany(2);
  behaviour = failing;
  const WallTime began = clock.wallNow();

  workOff(elect());

  const std::optional<DeadLetterStreakRecord> streak = found().facts.streak;
  ASSERT_TRUE(streak);
  EXPECT_EQ(streak->deaths, 2);
  EXPECT_EQ(streak->lastReason, "a slip");
  EXPECT_EQ(streak->state, DeadLetterStreakRecord::State::counting);
  EXPECT_GE(streak->firstAt, began);
  EXPECT_LE(streak->firstAt, streak->lastAt);
}

TEST(Streak, CountsTheSameMessageOnceAndForgetsWhatWasUndone) {
  ConsumerOptions options;
  options.deadLetterLimit = 2;
  consuming::DeadLetterStreak streak(options);

  EXPECT_TRUE(streak.died(MessageId{"a"}, "x", {}).counted);
  EXPECT_FALSE(streak.died(MessageId{"a"}, "x", {}).counted);
  EXPECT_TRUE(streak.died(MessageId{"b"}, "x", {}).stops);
  streak.undone(1);
  EXPECT_FALSE(streak.isStopped());
  EXPECT_TRUE(streak.died(MessageId{"b"}, "x", {}).stops);
}

}  // namespace
}  // namespace tenure::test
