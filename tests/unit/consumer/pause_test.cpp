/// A paused consumer finishes what it has begun and begins nothing.
#include "lanes_scene.hpp"
#include "scene.hpp"

namespace tenure::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

class PausedConsumer : public Scene {};

TEST_F(PausedConsumer, BeginsNothingAndComesToRest) {
  produce({"1", "2"});
  ConsumerReplica& leader = elect();
  leader.term().state().hold(Hold::paused);
  leader.rest();
  for (int i = 0; i < 10; ++i) leader.execute();
  EXPECT_THAT(handled, IsEmpty());
  leader.term().state().hold(Hold::none);
  workOff(leader);
  EXPECT_THAT(doneIds(), ElementsAre("1", "2"));
}

// shows: operations/begun-finished-committed
TEST_F(PausedConsumer, FinishesTheMessageInHandAndNoOther) {
  produce({"1", "2", "3"});
  ConsumerReplica& leader = elect();
  behaviour = [&](const Delivery&) {
    leader.term().state().hold(Hold::paused);
    return Outcome::done();
  };
  leader.execute();
  leader.rest();
  EXPECT_THAT(doneIds(), ElementsAre("1")) << "and it is committed";
  EXPECT_THAT(handled, ElementsAre("1"));
}

TEST_F(PausedConsumer, RestsWhileAFailedMessageWaits) {
  produce({"1"});
  ConsumerReplica& leader = elect();
  behaviour = [](const Delivery&) { return Outcome::failed("no"); };
  leader.execute();
  leader.term().state().hold(Hold::paused);
  leader.rest();
  clock.advance(1h);
  for (int i = 0; i < 10; ++i) leader.execute();
  EXPECT_EQ(timesHandled("1"), 1) << "its retry is due, and is not begun";
}

TEST_F(PausedConsumer, HandsOverAtRestWithNothingInWork) {
  produce({"1"});
  ConsumerReplica& leader = elect();
  leader.term().state().hold(Hold::paused);
  leader.rest();
  leader.handOver();
  EXPECT_THAT(inWorkIds(), IsEmpty());
  workOff(elect());
  EXPECT_THAT(doneIds(), ElementsAre("1"));
  EXPECT_THAT(events.of<SuspectsFound>(), IsEmpty());
}

class PausedLanes : public ConsumerLanes, public testing::WithParamInterface<memory::Database::Acknowledging> {
 protected:
  void SetUp() override { acknowledging = GetParam(); }
};

// shows: operations/begun-finished-committed
TEST_P(PausedLanes, FinishWhatTheyHaveBegunAndBeginNothing) {
  produceEvenly(200, {"a", "b", "c", "d"});
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  std::atomic<bool> isHeld{true};
  handler = [&](const Delivery&) {
    ++begun;
    while (isHeld) std::this_thread::yield();
    ++ended;
    return Outcome::done();
  };
  LanedReplica& leader = elect();
  while (begun < 4) leader.execute();
  leader.term().state().hold(Hold::paused);
  isHeld = false;
  leader.rest();
  const int atRest = begun;
  EXPECT_EQ(ended, atRest);
  EXPECT_EQ(world.ledger().size(), static_cast<std::size_t>(atRest)) << "what was done is committed";
  EXPECT_LT(atRest, 200);
  for (int i = 0; i < 5; ++i) leader.execute();
  EXPECT_EQ(begun, atRest) << "nothing has begun since";
  leader.term().state().hold(Hold::none);
  workOff(leader);
  leader.handOver();
  expectEachOnceInOrder();
  EXPECT_EQ(begun, 200);
}

TEST_P(PausedLanes, AreHandedOverAtRest) {
  produceEvenly(200, {"a", "b", "c", "d"});
  std::atomic<int> begun{0};
  handler = [&](const Delivery&) {
    ++begun;
    return Outcome::done();
  };
  LanedReplica& leader = elect();
  while (begun < 4) leader.execute();
  leader.term().state().hold(Hold::paused);
  leader.rest();
  leader.handOver();
  workOff(elect());
  replicas.back()->handOver();
  expectEachOnceInOrder();
  EXPECT_EQ(begun, 200);
  EXPECT_THAT(events.of<SuspectsFound>(), IsEmpty());
}

TEST_P(PausedLanes, ThatArePausedInAnOutageGoOnWhenBothAreOver) {
  produceEvenly(200, {"a", "b", "c", "d"});
  std::atomic<int> begun{0};
  handler = [&](const Delivery&) {
    if (++begun == 20)
      for (const auto operation : {memory::Operation::fetch, memory::Operation::attach})
        world.fail(operation, Errc::unavailable, 1'000'000);
    return Outcome::done();
  };
  LanedReplica& leader = elect();
  const std::jthread operatorOfTheElection([&] {
    while (events.of<OutageBegan>().empty()) std::this_thread::yield();
    leader.term().state().hold(Hold::paused);
  });
  while (!leader.term()->isPaused()) leader.execute();
  leader.rest();
  const int atRest = begun;
  for (int i = 0; i < 5; ++i) leader.execute();
  EXPECT_EQ(begun, atRest);

  world.heal();
  leader.term().state().hold(Hold::none);
  produce("a200", "a");
  workOff(leader);
  leader.handOver();
  EXPECT_EQ(world.ledger().size(), 201U);
  expectEachOnceInOrder();
  EXPECT_EQ(events.of<OutageBegan>().size(), events.of<OutageEnded>().size()) << "or one outage would never end";
  EXPECT_THAT(events.of<OutageEnded>(), testing::SizeIs(1));
}

INSTANTIATE_TEST_SUITE_P(, PausedLanes,
                         testing::Values(memory::Database::Acknowledging::inTransaction,
                                         memory::Database::Acknowledging::afterCommit),
                         [](const auto& each) {
                           return each.param == memory::Database::Acknowledging::afterCommit
                                      ? "AcknowledgedApart"
                                      : "AcknowledgedInTransaction";
                         });

}  // namespace
}  // namespace tenure::test
