#include "scene.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class ConsumerOrder : public Scene {};

TEST_F(ConsumerOrder, HandlesEachMessageOnceInSourceOrder) {
  produce({"a", "b", "c"});

  workOff(elect());

  EXPECT_THAT(doneIds(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(handled, ElementsAre("a", "b", "c"));
}

// shows: urls/batch-committed-full
TEST_F(ConsumerOrder, ConsecutiveMessagesShareATransaction) {
  options.maxBatch = 2;
  produce({"a", "b", "c", "d", "e"});

  workOff(elect());

  std::vector<std::size_t> sizes;
  for (const auto& batch : events.of<BatchCommitted>()) sizes.push_back(batch.messages);
  EXPECT_THAT(sizes, ElementsAre(2, 2, 1));
}

TEST_F(ConsumerOrder, ABatchIsCommittedAtOnceWhenTheSourceHasNothingMore) {
  produce({"a", "b"});
  const BootTime before = clock.now();

  ConsumerReplica& leader = elect();
  leader.execute();

  EXPECT_THAT(doneIds(), ElementsAre("a", "b"));
  EXPECT_LE(clock.now() - before, options.idleWait);  // spent after the commit, waiting for more
}

// shows: urls/batch-committed-full
TEST_F(ConsumerOrder, ABatchEndsBeforeItsFirstMessageWaitsLongerThanTheLatencyTarget) {
  options.latencyTarget = 20ms;
  behaviour = [this](const Delivery&) {
    clock.advance(8ms);
    return Outcome::done();
  };
  produce({"a", "b", "c", "d", "e"});

  workOff(elect());

  // A third one would be done after 24 ms. The first batch of a term ends at once.
  std::vector<std::size_t> sizes;
  for (const auto& batch : events.of<BatchCommitted>()) sizes.push_back(batch.messages);
  EXPECT_THAT(sizes, ElementsAre(1, 2, 2));
}

TEST_F(ConsumerOrder, AKnownMessageIsDroppedAndAcknowledged) {
  produce({"a"});
  workOff(elect());
  produce({"a", "b"});

  workOff(replicas.front());

  EXPECT_THAT(handled, ElementsAre("a", "b"));
  ASSERT_THAT(events.of<DuplicateDropped>(), SizeIs(1));
  EXPECT_EQ(events.of<DuplicateDropped>()[0].message, "a");
}

TEST_F(ConsumerOrder, AMessageThatComesTwiceInOneBatchIsHandledOnce) {
  produce({"a", "a"});

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("a"));
  EXPECT_THAT(doneIds(), ElementsAre("a"));
}

// shows: S5, exactly-once/apart-message-acknowledged
TEST_F(ConsumerOrder, AForeignSourceIsAcknowledgedAfterTheCommit) {
  acknowledging = memory::Database::Acknowledging::afterCommit;
  produce({"a", "b"});

  workOff(elect());

  EXPECT_THAT(doneIds(), ElementsAre("a", "b"));
  EXPECT_THAT(handled, ElementsAre("a", "b"));
}

TEST_F(ConsumerOrder, AnIdleExecuteWaitsItsTimeAndAsksToBeCalledAgain) {
  ConsumerReplica& leader = elect();
  leader.execute();
  const BootTime before = clock.now();

  EXPECT_TRUE(leader.execute());

  EXPECT_EQ(clock.now() - before, options.idleWait);
}

TEST_F(ConsumerOrder, WithoutAnIdleWaitTheRunnersIntervalIsAskedFor) {
  options.idleWait = 0ms;
  ConsumerReplica& leader = elect();

  EXPECT_FALSE(leader.execute());
}

// shows: design/commit-writes-down
TEST_F(ConsumerOrder, EveryCommitRecordsWhichMessagesAreInWorkNext) {
  options.maxBatch = 2;
  std::vector<std::vector<std::string>> seen;
  behaviour = [&](const Delivery&) {
    seen.push_back(inWorkIds());
    return Outcome::done();
  };
  produce({"a", "b", "c", "d"});

  workOff(elect());

  EXPECT_THAT(seen, ElementsAre(IsEmpty(), IsEmpty(), ElementsAre("c", "d"), ElementsAre("c", "d")));
  EXPECT_THAT(inWorkIds(), IsEmpty());
  EXPECT_TRUE(found().inWork.more);  // whatever comes next
}

TEST_F(ConsumerOrder, AMessageThatArrivesWhileABatchRunsJoinsIt) {
  behaviour = [this](const Delivery& delivery) {
    if (delivery.message.id.value == "a") produce({"b"});
    return Outcome::done();
  };
  produce({"a"});

  workOff(elect());

  ASSERT_THAT(events.of<BatchCommitted>(), SizeIs(1));
  EXPECT_EQ(events.of<BatchCommitted>()[0].messages, 2);
}

}  // namespace
}  // namespace tenure::test
