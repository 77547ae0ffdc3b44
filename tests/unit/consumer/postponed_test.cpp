// A handler postpones its message: that is recorded, and raises an alarm when the message is postponed without end.
#include "consumer/values.hpp"
#include "scene.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;

class Postponed : public Scene {
 protected:
  /// Goes on for a while.
  void executeFor(ConsumerReplica& replica, Duration duration) {
    for (const BootTime end = clock.now() + duration; clock.now() < end; clock.advance(10ms)) replica.execute();
  }
  Postponements onRecord(const std::string& id) const {
    for (const AttemptRecord& record : found().attempts)
      if (record.id.value == id) return record.postponements;
    return {};
  }
  static Handler later(std::chrono::milliseconds after) {
    return [after](const Delivery&) { return Outcome::retryLater("the bank is closed", after); };
  }
};

// shows: outbox/failed-says-tried
TEST_F(Postponed, WhenItIsTriedAgainIsOnRecordAndSoForAFailure) {
  ConsumerReplica& leader = elect();
  for (const Outcome& outcome : {Outcome::retryLater("the bank is closed", 7s), Outcome::failed("no stock")}) {
    behaviour = [&](const Delivery&) { return outcome; };
    produce({outcome.reason});
    const WallTime began = clock.wallNow();
    executeFor(leader, 10ms);

    const std::vector<AttemptRecord> records = found().attempts;

    ASSERT_THAT(records, SizeIs(1));
    EXPECT_GT(records[0].nextAt, began);
    EXPECT_LE(records[0].nextAt, began + 8s);
    behaviour = [](const Delivery&) { return Outcome::done(); };
    executeFor(leader, 20s);
    EXPECT_THAT(found().attempts, IsEmpty());
  }
}

TEST_F(Postponed, HowOftenSinceWhenAndWhyIsOnRecordAndCountsNoAttempt) {
  behaviour = later(1s);
  produce({"a"});
  const WallTime began = clock.wallNow();
  ConsumerReplica& leader = elect();

  executeFor(leader, 4500ms);

  EXPECT_EQ(onRecord("a").times, 5);
  EXPECT_LT(onRecord("a").since - began, 1s);
  ASSERT_THAT(found().attempts, SizeIs(1));
  EXPECT_EQ(found().attempts[0].lastError, "the bank is closed");
  EXPECT_EQ(found().attempts[0].attempts, 0);
  EXPECT_EQ(found().attempts[0].state, AttemptState::retrying);
}

TEST_F(Postponed, AFailedAttemptForgetsNeitherHowOftenNorSinceWhen) {
  behaviour = later(1s);
  produce({"a"});
  ConsumerReplica& leader = elect();
  executeFor(leader, 2500ms);
  const Postponements before = onRecord("a");
  ASSERT_GT(before.times, 0);
  behaviour = [](const Delivery&) { return Outcome::failed("no stock"); };

  executeFor(leader, 1s);

  ASSERT_THAT(found().attempts, SizeIs(1));
  EXPECT_GT(found().attempts[0].attempts, 0);
  EXPECT_EQ(onRecord("a"), before);
}

TEST_F(Postponed, ASuccessorCountsOn) {
  behaviour = later(1s);
  produce({"a"});
  ConsumerReplica& first = elect();
  executeFor(first, 2500ms);
  first.handOver();
  const WallTime since = onRecord("a").since;

  executeFor(elect(), 1500ms);

  EXPECT_EQ(onRecord("a").times, 5);
  EXPECT_EQ(onRecord("a").since, since);
}

TEST_F(Postponed, ItsRecordIsForgottenWhenItIsDone) {
  int calls = 0;
  behaviour = [&](const Delivery&) { return ++calls < 4 ? Outcome::retryLater("later", 10ms) : Outcome::done(); };
  produce({"a", "b"});

  workOff(elect());

  EXPECT_THAT(doneIds(), ElementsAre("a", "b"));
  EXPECT_THAT(found().attempts, IsEmpty());
}

TEST_F(Postponed, FailedAttemptsStayCounted) {
  options.maxAttempts = 2;
  int calls = 0;
  behaviour = [&](const Delivery&) {
    return ++calls % 2 == 1 ? Outcome::failed("no") : Outcome::retryLater("later", 10ms);
  };
  produce({"a"});

  workOff(elect());

  EXPECT_THAT(attempts, ElementsAre(1, 2, 2)) << "the second was postponed once";
  EXPECT_THAT(deadIds(), ElementsAre("a"));
}

TEST_F(Postponed, AStopIsNoPostponementOfTheHandlers) {
  produce({"a"});
  ConsumerReplica& leader = elect();
  behaviour = [&](const Delivery&) {
    leader.term().requestStop();
    return Outcome::retryLater("killed: its term was lost");
  };

  leader.execute();

  EXPECT_THAT(found().attempts, IsEmpty());
}

TEST_F(Postponed, ThirtyTimesRaiseAnAlarmOnceATerm) {
  behaviour = later(1s);
  produce({"a"});
  ConsumerReplica& first = elect();

  executeFor(first, 27s);
  EXPECT_THAT(events.of<MessageStuck>(), IsEmpty());
  executeFor(first, 5min);

  ASSERT_THAT(events.of<MessageStuck>(), SizeIs(1));
  EXPECT_EQ(events.of<MessageStuck>()[0].message, "a");
  EXPECT_EQ(events.of<MessageStuck>()[0].times, 30);
  EXPECT_EQ(events.of<MessageStuck>()[0].reason, "the bank is closed");
  first.handOver();
  executeFor(elect(), 3min);
  EXPECT_THAT(events.of<MessageStuck>(), SizeIs(2)) << "each leader says so";
}

TEST_F(Postponed, TenMinutesRaiseAnAlarm) {
  behaviour = later(4min);
  produce({"a"});
  ConsumerReplica& leader = elect();

  executeFor(leader, 9min);
  EXPECT_THAT(events.of<MessageStuck>(), IsEmpty());
  executeFor(leader, 5min);

  ASSERT_THAT(events.of<MessageStuck>(), SizeIs(1));
  EXPECT_GE(events.of<MessageStuck>()[0].age, 10min);
}

TEST_F(Postponed, WithAtMostOnceTheAlarmComesAsWell) {
  options.delivery = Guarantee::atMostOnce;
  behaviour = later(1s);
  produce({"a"});

  executeFor(elect(), 1min);

  EXPECT_THAT(events.of<MessageStuck>(), SizeIs(1));
  EXPECT_THAT(found().attempts, IsEmpty()) << "what is taken is nobody's but its leader's";
}

TEST(StuckAlarm, ManyMessagesAreToldOneAMinuteAndEachOnce) {
  consuming::StuckAlarm alarm;
  const Postponements many{30, WallTime{}};
  std::vector<std::string> told;
  const auto postponeAll = [&](BootTime now) {
    for (const char* id : {"a", "b", "c"})
      if (const auto stuck = alarm.postponed({id}, many, "later", WallTime{} + 1s, now)) told.push_back(stuck->message);
  };

  for (Duration at{}; at < 10min; at += 1s) postponeAll(BootTime{} + at);
  EXPECT_THAT(told, ElementsAre("a", "b", "c"));

  alarm.over({"b"});
  postponeAll(BootTime{} + 11min);
  EXPECT_THAT(told, ElementsAre("a", "b", "c", "b")) << "it came again, and got stuck again";
}

}  // namespace
}  // namespace tenure::test
