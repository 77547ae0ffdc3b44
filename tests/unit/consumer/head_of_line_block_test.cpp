#include "scene.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// A message that is out of attempts holds up those behind it.
class ConsumerBlocks : public Scene {
 protected:
  ConsumerBlocks() {
    options.onDead = OnDead::block;
    options.maxAttempts = 2;
    options.retryBase = 1s;
    options.retryMax = 10s;
    behaviour = [this](const Delivery& delivery) {
      return delivery.message.id.value == "b" && !mended ? Outcome::failed("no stock") : Outcome::done();
    };
  }

  void workUntilBlocked(ConsumerReplica& leader, std::size_t times = 1) {
    for (int i = 0; i < 500 && events.of<QueueBlocked>().size() < times; ++i) leader.execute();
    ASSERT_THAT(events.of<QueueBlocked>(), SizeIs(times));
  }
  void executeFor(ConsumerReplica& leader, Duration time) {
    for (const BootTime end = clock.now() + time; clock.now() < end;) leader.execute();
  }
  void release(const std::string& id) { ASSERT_TRUE(world.release(ConsumerName{"orders"}, MessageId{id})); }

  bool mended = false;
};

// shows: messages/dead-block-holds
TEST_F(ConsumerBlocks, ThoseBehindItWaitAndItIsSaidForWhom) {
  produce({"a", "b", "c"});
  ConsumerReplica& leader = elect();

  workUntilBlocked(leader);
  executeFor(leader, 60s);

  EXPECT_THAT(doneIds(), ElementsAre("a"));
  EXPECT_THAT(deadIds(), IsEmpty());
  EXPECT_EQ(timesHandled("c"), 0);
  ASSERT_THAT(events.of<QueueBlocked>(), SizeIs(1)) << "once, however often it fails";
  EXPECT_EQ(events.of<QueueBlocked>()[0].message, "b");
  EXPECT_EQ(events.of<QueueBlocked>()[0].attempts, 2);
  EXPECT_EQ(events.of<QueueBlocked>()[0].error, "no stock");
  ASSERT_THAT(found().attempts, SizeIs(1));
  EXPECT_EQ(found().attempts[0].state, AttemptState::blocked);
}

// shows: messages/dead-block-holds
TEST_F(ConsumerBlocks, ItIsTriedAgainAtTheLongestWait) {
  produce({"b"});
  ConsumerReplica& leader = elect();
  workUntilBlocked(leader);
  const auto before = handled.size();

  executeFor(leader, 35s);

  EXPECT_EQ(handled.size(), before + 3);
  EXPECT_EQ(events.of<AttemptFailed>().back().retryIn, 10s);
}

TEST_F(ConsumerBlocks, ItEndsWhenItSucceeds) {
  produce({"a", "b", "c"});
  ConsumerReplica& leader = elect();
  workUntilBlocked(leader);

  mended = true;
  workOff(leader);

  EXPECT_THAT(doneIds(), ElementsAre("a", "b", "c"));
  ASSERT_THAT(events.of<QueueUnblocked>(), SizeIs(1));
  EXPECT_EQ(events.of<QueueUnblocked>()[0].how, "done");
  EXPECT_THAT(found().attempts, IsEmpty());
}

TEST_F(ConsumerBlocks, AnOperatorReleasesItToTheDeadLettersBeforeItsNextAttempt) {
  options.retryMax = 1h;
  produce({"a", "b", "c"});
  ConsumerReplica& leader = elect();
  workUntilBlocked(leader);
  const auto attemptsMade = timesHandled("b");

  release("b");
  executeFor(leader, 5s);

  EXPECT_THAT(doneIds(), ElementsAre("a", "c"));
  ASSERT_THAT(deadIds(), ElementsAre("b"));
  EXPECT_THAT(world.deadLetters()[0].reason, HasSubstr("no stock"));
  EXPECT_EQ(world.deadLetters()[0].attempts, 2);
  EXPECT_EQ(timesHandled("b"), attemptsMade);
  ASSERT_THAT(events.of<QueueUnblocked>(), SizeIs(1));
  EXPECT_EQ(events.of<QueueUnblocked>()[0].how, "dead_lettered");
}

TEST_F(ConsumerBlocks, ItIsReleasedAlsoWhereItIsTriedAgainMoreOftenThanTheQuestionIsAsked) {
  options.retryBase = options.retryMax = 50ms;
  produce({"b", "c"});
  ConsumerReplica& leader = elect();
  workUntilBlocked(leader);

  release("b");
  workOff(leader);

  EXPECT_THAT(deadIds(), ElementsAre("b"));
}

TEST_F(ConsumerBlocks, AnAttemptThatFailsMeanwhileDoesNotTakeTheReleaseBack) {
  produce({"b"});
  ConsumerReplica& leader = elect();
  workUntilBlocked(leader);
  behaviour = [this](const Delivery&) {
    if (!deadIds().empty()) return Outcome::done();
    world.release(ConsumerName{"orders"}, MessageId{"b"});
    return Outcome::failed("no stock");
  };

  executeFor(leader, 30s);

  EXPECT_THAT(deadIds(), ElementsAre("b"));
  EXPECT_EQ(timesHandled("b"), 3);
}

TEST_F(ConsumerBlocks, AfterAHandoverItStillStands) {
  produce({"a", "b", "c"});
  ConsumerReplica& first = elect();
  workUntilBlocked(first);
  first.handOver();

  ConsumerReplica& second = elect();
  workUntilBlocked(second, 2);
  executeFor(second, 30s);

  EXPECT_THAT(doneIds(), ElementsAre("a"));
  EXPECT_EQ(timesHandled("c"), 0);
}

TEST_F(ConsumerBlocks, WhatWasReleasedBetweenTermsIsNotTriedAgain) {
  produce({"b", "c"});
  ConsumerReplica& first = elect();
  workUntilBlocked(first);
  first.handOver();
  const auto before = timesHandled("b");

  release("b");
  workOff(elect());

  EXPECT_EQ(timesHandled("b"), before);
  EXPECT_THAT(deadIds(), ElementsAre("b"));
  EXPECT_THAT(doneIds(), ElementsAre("c"));
}

TEST_F(ConsumerBlocks, ASuccessorThatSkipsSetsItAside) {
  produce({"b", "c"});
  ConsumerReplica& first = elect();
  workUntilBlocked(first);
  first.handOver();

  options.onDead = OnDead::skip;
  workOff(elect());

  EXPECT_THAT(deadIds(), ElementsAre("b"));
  EXPECT_THAT(doneIds(), ElementsAre("c"));
}

TEST_F(ConsumerBlocks, ARejectedMessageBlocksNobody) {
  behaviour = [](const Delivery& delivery) {
    return delivery.message.id.value == "b" ? Outcome::reject("no such order") : Outcome::done();
  };
  produce({"a", "b", "c"});

  workOff(elect());

  EXPECT_THAT(deadIds(), ElementsAre("b"));
  EXPECT_THAT(events.of<QueueBlocked>(), IsEmpty());
}

TEST_F(ConsumerBlocks, WhatTheStoreRefusesBlocksToo) {
  behaviour = [this](const Delivery& delivery) {
    if (delivery.message.id.value == "b" && !mended) world.fail(memory::Operation::commit, Errc::invalidArgument);
    return Outcome::done();
  };
  options.maxBatch = 1;
  produce({"a", "b", "c"});
  ConsumerReplica& leader = elect();
  for (int i = 0; i < 100 && timesHandled("b") < 5; ++i) leader.execute();
  EXPECT_THAT(doneIds(), ElementsAre("a"));

  mended = true;
  world.heal();
  workOff(leader);

  EXPECT_THAT(doneIds(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(deadIds(), IsEmpty());
}

TEST_F(ConsumerBlocks, AKillerIsTriedAgainOnlyAfterTheLongestWait) {
  produce({"b", "c"});
  for (int death = 0; death < 3; ++death) diesOf(elect(), "b");  // in work, then its two attempts
  ConsumerReplica& fourth = elect();
  workUntilBlocked(fourth);
  const auto before = timesHandled("b");

  executeFor(fourth, 9s);

  EXPECT_EQ(timesHandled("b"), before);
  ASSERT_THAT(found().attempts, SizeIs(1));
  EXPECT_EQ(found().attempts[0].state, AttemptState::blocked);
  EXPECT_EQ(found().attempts[0].lastError, "its process died");
  mended = true;
  workOff(fourth);
  EXPECT_THAT(doneIds(), ElementsAre("b", "c"));
}

TEST_F(ConsumerBlocks, AKillerIsReleasedWithoutAnotherDeath) {
  produce({"b", "c"});
  for (int death = 0; death < 3; ++death) diesOf(elect(), "b");
  ConsumerReplica& fourth = elect();
  workUntilBlocked(fourth);
  const auto before = timesHandled("b");

  release("b");
  workOff(fourth);

  EXPECT_EQ(timesHandled("b"), before);
  EXPECT_THAT(deadIds(), ElementsAre("b"));
}

TEST_F(ConsumerBlocks, AStoreThatIsAwayIsAskedNoMoreThanWithoutIt) {
  produce({"b"});
  ConsumerReplica& leader = elect();
  workUntilBlocked(leader);
  world.fail(memory::Operation::state, Errc::unavailable, 2);

  executeFor(leader, 8s);

  EXPECT_THAT(events.of<OutageBegan>(), SizeIs(1));
  EXPECT_THAT(events.of<OutageEnded>(), SizeIs(1));
}

TEST_F(ConsumerBlocks, AtMostOnceHasNothingToHoldUpWith) {
  options.delivery = Guarantee::atMostOnce;

  EXPECT_THROW(elect(), std::system_error);
}

}  // namespace
}  // namespace tenure::test
