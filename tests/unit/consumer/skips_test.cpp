/// Messages that only say that a number is skipped: it passes, and no handler sees them.
#include "scene.hpp"
#include "tenure/message.hpp"

namespace tenure::test {
namespace {

using testing::AnyOf;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class Skips : public Scene {
 protected:
  Skips() { options.followNumbers = true; }

  static NewMessage numbered(const std::string& id, int number) {
    return {MessageId{id}, GroupId{"g"}, "body of " + id, {{std::string(numberHeader), std::to_string(number)}}};
  }
  void send(int number) { world.deliver({numbered("g" + std::to_string(number), number)}); }
  void sendSkip(int number) {
    NewMessage skip = numbered("g" + std::to_string(number) + "/skip", number);
    skip.body.clear();
    skip.headers.emplace_back(skipHeader, "a dead letter");
    world.deliver({std::move(skip)});
  }
  void runDry(ConsumerReplica& replica) {
    workOff(replica);
    for (int i = 0; i < 20; ++i) replica.execute();
  }
};

// shows: security/skip-by-strangers
TEST_F(Skips, TheHeaderAloneThatAnySenderCanSetDropsNothing) {
  NewMessage withoutGroup = numbered("no-group", 1);
  withoutGroup.group = {};
  NewMessage withoutNumber = numbered("no-number", 1);
  withoutNumber.headers.clear();
  for (NewMessage* each : {&withoutGroup, &withoutNumber}) each->headers.emplace_back(skipHeader, "a stranger's");
  world.deliver({withoutGroup, withoutNumber});
  runDry(elect());
  EXPECT_THAT(handled, ElementsAre("no-group", "no-number"));
  EXPECT_THAT(events.of<MessageSkipped>(), IsEmpty());
}

TEST_F(Skips, WhereNoNumbersAreFollowedASkipIsAMessage) {
  options.followNumbers = false;
  sendSkip(1);
  runDry(elect());
  EXPECT_THAT(handled, ElementsAre("g1/skip"));
}

// shows: numbers/consumer-lets-skipped
TEST_F(Skips, ANumberThatIsSkippedPassesWithoutTheHandlerWhateverIsPromised) {
  for (const Guarantee delivery : {Guarantee::exactlyOnceEffect, Guarantee::atLeastOnce, Guarantee::atMostOnce})
    for (const bool isExternal : {false, true}) {
      const std::string group = std::to_string(static_cast<int>(delivery)) + std::to_string(isExternal ? 1 : 0);
      std::vector<NewMessage> messages{numbered(group + "1", 1), numbered(group + "2", 2), numbered(group + "3", 3)};
      for (NewMessage& message : messages) message.group = GroupId{group};
      messages[1].headers.emplace_back(skipHeader, "a dead letter");
      options.delivery = delivery;
      options.handlerIsExternal = isExternal;
      handled.clear();
      world.deliver(std::move(messages));

      ConsumerReplica& leader = elect();
      runDry(leader);
      leader.handOver();

      EXPECT_THAT(handled, ElementsAre(group + "1", group + "3"));
      ASSERT_THAT(events.of<MessageSkipped>(), testing::Not(IsEmpty()));
      EXPECT_EQ(events.of<MessageSkipped>().back().message, group + "2");
      EXPECT_EQ(events.of<MessageSkipped>().back().reason, "a dead letter");
    }
  EXPECT_THAT(events.of<MessageSkipped>(), SizeIs(6));
  EXPECT_THAT(deadIds(), IsEmpty());
}

// shows: numbers/consumer-lets-skipped
TEST_F(Skips, OneThatComesEarlyIsKeptUntilItsTurn) {
  send(3), sendSkip(2);
  runDry(elect());
  EXPECT_THAT(events.of<MessageSkipped>(), IsEmpty());

  send(1);
  runDry(replicas.back());

  EXPECT_THAT(handled, ElementsAre("g1", "g3"));
  EXPECT_THAT(events.of<MessageSkipped>(), SizeIs(1));
}

// shows: numbers/consumer-lets-skipped
TEST_F(Skips, OneWhoseMessageHasArrivedIsARepeat) {
  send(1), sendSkip(1), send(3), sendSkip(3), send(2), sendSkip(2);

  runDry(elect());

  EXPECT_THAT(handled, ElementsAre("g1", "g2", "g3"));
  EXPECT_THAT(events.of<DuplicateDropped>(), SizeIs(3));
  EXPECT_THAT(events.of<MessageSkipped>(), IsEmpty());
  EXPECT_THAT(deadIds(), IsEmpty());
}

TEST_F(Skips, AHandlerOfManyIsCalledForTheOthers) {
  options.followNumbers = true;
  for (int number = 1; number < 10; ++number) number % 3 == 0 ? sendSkip(number) : send(number);
  std::vector<std::string> together;
  int calls = 0;
  ConsumerReplica& replica = replicas.emplace_back(
      world, identityWith(++token),
      [&](const BatchDelivery& batch) {
        ++calls;
        for (const Message& message : batch.messages) together.push_back(message.id.value);
        return Outcome::done();
      },
      options, events, clock, acknowledging);

  runDry(replica.becomeLeader());
  replica.handOver();

  EXPECT_THAT(together, SizeIs(6));
  EXPECT_THAT(together, Each(testing::Not(testing::EndsWith("/skip"))));
  EXPECT_LT(calls, 6);
  EXPECT_THAT(events.of<MessageSkipped>(), SizeIs(3));
  EXPECT_THAT(world.waiting(), IsEmpty());
}

TEST_F(Skips, OneThatALeaderMayHaveDiedOfIsNotChargedForIt) {
  options.maxAttempts = 1;
  options.maxBatch = 1;
  send(1), sendSkip(2), send(3);
  diesOf(elect(), "g1");
  options.maxAttempts = 5;

  runDry(elect());

  EXPECT_THAT(handled, ElementsAre("g1", "g1", "g3"));
  for (const MessageSuspected& suspected : events.of<MessageSuspected>())
    EXPECT_THAT(suspected.message, AnyOf("g1", "g3"));
}

TEST_F(Skips, ARateLimitCountsNone) {
  const RateLimits limits({.queue = Rate{.perSecond = 0.001, .burst = 2}});
  options.limits = &limits;
  send(1), sendSkip(2), send(3);

  runDry(elect());

  EXPECT_THAT(handled, ElementsAre("g1", "g3"));
}

}  // namespace
}  // namespace tenure::test
