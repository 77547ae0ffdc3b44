/// Rate limits in the consumer, in virtual time: how fast handlers start, and that nothing else changes.
#include "scene.hpp"
#include "tenure/consumer.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

class ConsumerThrottle : public Scene {
 protected:
  ConsumerThrottle() {
    options.limits = &limits;
    behaviour = [this](const Delivery&) {
      starts.push_back(clock.now());
      return Outcome::done();
    };
  }
  void produceMany(int count, const std::string& group = {}) {
    for (int i = 0; i < count; ++i)
      world.deliver({NewMessage{MessageId{group + std::to_string(i)}, GroupId{group}, "body", {}}});
  }
  /// Since the first.
  std::vector<Duration> startsSinceFirst() const {
    std::vector<Duration> since;
    for (const BootTime start : starts) since.push_back(start - starts.front());
    return since;
  }

  RateLimits limits;
  std::vector<BootTime> starts;
};

// shows: urls/rate-limits-hold
TEST_F(ConsumerThrottle, TheQueuesRateIsKept) {
  EXPECT_TRUE(limits.set({.queue = Rate{10, 2}}));
  produceMany(5);

  workOff(elect());

  EXPECT_THAT(startsSinceFirst(), ElementsAre(0ms, 0ms, 100ms, 200ms, 300ms));
}

TEST_F(ConsumerThrottle, WhatIsHeldBackHoldsBackWhatIsBehindIt) {
  EXPECT_TRUE(limits.set({.eachGroup = Rate{1, 1}}));
  produceMany(2, "a");
  produceMany(1, "b");

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("a0", "a1", "b0"));
  EXPECT_THAT(startsSinceFirst(), ElementsAre(0ms, 1s, 1s));
}

TEST_F(ConsumerThrottle, WhatIsDoneIsCommittedWhileTheNextWaits) {
  EXPECT_TRUE(limits.set({.queue = Rate{1, 2}}));
  produceMany(3);
  ConsumerReplica& leader = elect();

  leader.execute();

  EXPECT_THAT(doneIds(), ElementsAre("0", "1"));
  EXPECT_FALSE(world.isWriting());
  ASSERT_THAT(events.of<MessageHeldBack>(), SizeIs(1));
  EXPECT_EQ(events.of<MessageHeldBack>()[0].held, 1s);
}

// shows: urls/rate-limits-hold
TEST_F(ConsumerThrottle, NewRulesHoldWhileItRuns) {
  EXPECT_TRUE(limits.set({.queue = Rate{0.001, 1}}));
  produceMany(4);
  ConsumerReplica& leader = elect();
  leader.execute();
  EXPECT_THAT(handled, SizeIs(1));

  EXPECT_TRUE(limits.set({}));
  leader.execute();

  EXPECT_THAT(handled, SizeIs(4));
}

TEST_F(ConsumerThrottle, NewRulesHoldForMessagesThatAreInHandAlready) {
  options.maxBatch = 1;
  behaviour = [this](const Delivery&) {
    clock.advance(1s);  // each has an execute of its own
    return Outcome::done();
  };
  produceMany(6);
  ConsumerReplica& leader = elect();
  leader.execute();
  ASSERT_THAT(handled, SizeIs(1));

  EXPECT_TRUE(limits.set({.queue = Rate{0.001, 1}}));
  for (int i = 0; i < 5; ++i) leader.execute();

  EXPECT_THAT(handled, SizeIs(2));
}

/// A process that dies meanwhile has not died of it.
TEST_F(ConsumerThrottle, WhatWaitsForItsTokenIsNotInWork) {
  options.handlerIsExternal = true;
  EXPECT_TRUE(limits.set({.queue = Rate{0.001, 1}}));
  produceMany(3);
  ConsumerReplica& leader = elect();

  for (int i = 0; i < 3; ++i) leader.execute();

  ASSERT_THAT(handled, SizeIs(1));
  EXPECT_THAT(inWorkIds(), testing::IsEmpty());
}

TEST_F(ConsumerThrottle, AKnownMessageTakesNoToken) {
  produceMany(3);
  workOff(elect());
  EXPECT_TRUE(limits.set({.queue = Rate{1, 1}}));
  produceMany(3);
  produce({"new"});
  const BootTime before = clock.now();

  workOff(replicas.back());

  EXPECT_EQ(handled.back(), "new");
  EXPECT_EQ(starts.back(), before);
}

TEST_F(ConsumerThrottle, EveryStartOfAHandlerCounts) {
  options.retryBase = options.retryMax = 0ms;
  EXPECT_TRUE(limits.set({.queue = Rate{10, 1}}));
  behaviour = [this](const Delivery& delivery) {
    starts.push_back(clock.now());
    return delivery.attempt < 3 ? Outcome::failed("not yet") : Outcome::done();
  };
  produceMany(1);

  workOff(elect());

  EXPECT_THAT(startsSinceFirst(), ElementsAre(0ms, 100ms, 200ms));
}

TEST_F(ConsumerThrottle, AStopDoesNotWaitForItsTurn) {
  EXPECT_TRUE(limits.set({.queue = Rate{0.001, 1}}));
  produceMany(2);
  ConsumerReplica& leader = elect();
  leader.execute();
  const BootTime before = clock.now();

  leader.term().requestStop();
  leader.execute();
  leader.handOver();

  EXPECT_EQ(clock.now(), before);
  workOff(elect());
  EXPECT_THAT(handled, ElementsAre("0", "1")) << "the next term starts with a full bucket";
}

TEST_F(ConsumerThrottle, AnExternalHandlerIsHeldBackBeforeItRuns) {
  options.handlerIsExternal = true;
  EXPECT_TRUE(limits.set({.queue = Rate{10, 1}}));
  produceMany(3);

  workOff(elect());

  EXPECT_THAT(startsSinceFirst(), ElementsAre(0ms, 100ms, 200ms));
}

TEST_F(ConsumerThrottle, AtMostOnceIsHeldBackBeforeItIsTaken) {
  options.delivery = Guarantee::atMostOnce;
  EXPECT_TRUE(limits.set({.queue = Rate{0.001, 1}}));
  produceMany(2);

  elect().execute();

  EXPECT_THAT(world.waiting(), SizeIs(1));
}

TEST_F(ConsumerThrottle, AtMostOnceWaitsForAnotherTurnWhenItBeginsAgain) {
  EXPECT_TRUE(limits.set({.queue = Rate{1, 1}}));
  options.delivery = Guarantee::atMostOnce;
  produceMany(1);
  behaviour = [this](const Delivery&) {
    starts.push_back(clock.now());
    return starts.size() == 1 ? Outcome::retryLater("not yet", 10ms) : Outcome::done();
  };
  ConsumerReplica& leader = elect();

  for (int i = 0; i < 50 && starts.size() < 2; ++i) leader.execute();

  EXPECT_THAT(startsSinceFirst(), ElementsAre(0ms, 1s));
}

TEST_F(ConsumerThrottle, ASuspectThatTheStoreFailedWaitsForItsTurnAgain) {
  EXPECT_TRUE(limits.set({.queue = Rate{1, 1}}));
  produceMany(1);
  diesOf(elect(), "0");
  behaviour = [this](const Delivery&) {
    starts.push_back(clock.now());
    if (starts.size() == 1) world.fail(memory::Operation::commit, Errc::unavailable);
    return Outcome::done();
  };

  workOff(elect());

  EXPECT_THAT(startsSinceFirst(), ElementsAre(0ms, 1s));
}

}  // namespace
}  // namespace tenure::test
