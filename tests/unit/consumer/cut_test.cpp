// A handler that runs while its leader is asked to leave (ConsumerOptions::whenAsked), and the first commit after it.
#include <stdexcept>

#include "lanes_scene.hpp"
#include "scene.hpp"
#include "support/results.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class CutHandler : public Scene {
 protected:
  void SetUp() override {
    options.whenAsked = WhenAsked::cut;
    produce({"a", "b", "c"});
  }
  /// The leader is asked to leave while it handles b, which ends so.
  void isAskedIn(Handler end, EndReason why = EndReason::handoverAsked) {
    ConsumerReplica& leader = elect();
    behaviour = [&leader, end, why](const Delivery& delivery) {
      if (delivery.message.id.value != "b") return Outcome::done();
      leader.term().requestStop(why);
      return end(delivery);
    };
    for (int i = 0; i < 10 && !leader.term()->stopToken().stop_requested(); ++i) leader.execute();
    leader.handOver();
  }
  std::vector<std::string> handledByTheNext() {
    handled.clear();
    attempts.clear();
    behaviour = [](const Delivery&) { return Outcome::done(); };
    workOff(elect());
    return handled;
  }
};

// shows: operations/handler-declared-cut
TEST_F(CutHandler, LeavesItsMessageToTheSuccessorAsItsFirst) {
  isAskedIn([](const Delivery&) { return Outcome::failed("interrupted"); });
  EXPECT_THAT(doneIds(), ElementsAre("a")) << "what was done before it is kept";
  EXPECT_THAT(found().attempts, IsEmpty());
  EXPECT_THAT(inWorkIds(), IsEmpty());

  EXPECT_THAT(handledByTheNext(), ElementsAre("b", "c"));
  EXPECT_THAT(attempts, ElementsAre(1, 1));
}

TEST_F(CutHandler, MayThrowAsWell) {
  isAskedIn([](const Delivery&) -> Outcome { throw std::runtime_error("interrupted"); });
  EXPECT_THAT(found().attempts, IsEmpty());
  EXPECT_THAT(handledByTheNext(), ElementsAre("b", "c"));
}

// shows: operations/handler-declared-cut
TEST_F(CutHandler, OfAnExternalCommandIsNoAttemptEither) {
  options.handlerIsExternal = true;
  isAskedIn([](const Delivery&) { return Outcome::failed("killed by SIGTERM"); }, EndReason::stopAsked);
  EXPECT_THAT(found().attempts, IsEmpty());
  EXPECT_THAT(handledByTheNext(), ElementsAre("b", "c"));
  EXPECT_THAT(attempts, ElementsAre(1, 1));
}

TEST_F(CutHandler, ThatIsDoneAllTheSameIsDone) {
  isAskedIn([](const Delivery&) { return Outcome::done(); });
  EXPECT_THAT(handledByTheNext(), ElementsAre("c"));
}

TEST_F(CutHandler, ThatRejectsItsMessageIsHeard) {
  isAskedIn([](const Delivery&) { return Outcome::reject("no such order"); });
  EXPECT_THAT(deadIds(), ElementsAre("b"));
}

// shows: operations/handler-declared-cut
TEST_F(CutHandler, ThatOverranItsLimitHasFailed) {
  isAskedIn([](const Delivery&) { return Outcome::failed("too long"); }, EndReason::hung);
  ASSERT_THAT(found().attempts, SizeIs(1));
  EXPECT_EQ(found().attempts[0].attempts, 1);
}

TEST_F(CutHandler, FailsByDefault) {
  options.whenAsked = WhenAsked::finish;
  isAskedIn([](const Delivery&) { return Outcome::failed("interrupted"); });
  ASSERT_THAT(found().attempts, SizeIs(1));
  EXPECT_EQ(found().attempts[0].lastError, "interrupted");
}

TEST_F(CutHandler, DoesNotGoWithAtMostOnce) {
  options.delivery = Guarantee::atMostOnce;
  try {
    elect();
    FAIL() << "it was taken";
  } catch (const std::system_error& refused) {
    EXPECT_THAT(refused.what(), testing::HasSubstr("consumer.whenAsked"));
  }
}

class CutHandlerInLanes : public ConsumerLanes {};

// shows: operations/handler-declared-cut
TEST_F(CutHandlerInLanes, LeavesItsMessageToTheSuccessor) {
  options.whenAsked = WhenAsked::cut;
  produceEvenly(4, {"a", "b"});
  LanedReplica& leader = elect();
  std::atomic<int> began = 0;
  handler = [&](const Delivery& delivery) {
    ++began;
    while (!delivery.term.stopToken().stop_requested()) std::this_thread::yield();
    return Outcome::failed("interrupted");
  };
  std::thread asks([&] {
    while (began == 0) std::this_thread::yield();
    leader.term().requestStop(EndReason::handoverAsked);
  });
  while (leader.execute()) {
  }
  asks.join();
  leader.handOver();
  EXPECT_THAT(world.consumerState(options.name).attempts, IsEmpty());

  std::atomic<int> repeated = 0;
  handler = [&](const Delivery& delivery) {
    if (delivery.attempt > 1) ++repeated;
    return Outcome::done();
  };
  LanedReplica& next = elect();
  workOff(next);
  next.handOver();
  EXPECT_EQ(repeated, 0);
  EXPECT_THAT(deadIds(), IsEmpty());
  EXPECT_THAT(world.ledger(), SizeIs(4));
  expectEachOnceInOrder();
}

class TheFirstCommit : public Scene {};

// shows: operations/log-tells-how
TEST_F(TheFirstCommit, OfATermTellsHowLongAgoTheLeaderBeforeWasAsked) {
  options.maxBatch = 1;
  produce({"a", "b"});
  ConsumerReplica& leader = enrol();
  leader.term().state().followsRequest(clock.now() - 1500us);
  leader.becomeLeader();
  workOff(leader);

  ASSERT_THAT(events.of<FirstCommit>(), SizeIs(1));
  EXPECT_EQ(events.of<FirstCommit>()[0].messages, 1U);
  EXPECT_EQ(events.of<FirstCommit>()[0].sinceRequest, 1500us);
}

TEST_F(TheFirstCommit, AfterALeaderThatDiedTellsOfNoRequest) {
  produce({"a"});
  workOff(elect());
  ASSERT_THAT(events.of<FirstCommit>(), SizeIs(1));
  EXPECT_EQ(events.of<FirstCommit>()[0].sinceRequest, std::nullopt);
}

}  // namespace
}  // namespace tenure::test
