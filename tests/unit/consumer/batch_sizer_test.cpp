#include "consumer/batch_sizer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tenure/consumer.hpp"

namespace tenure::consuming {
namespace {

using namespace std::chrono_literals;

/// A store and a handler as they might be: what each message and each commit takes.
struct Machinery {
  Duration handler{};
  Duration commitFixed{};
  Duration commitEach{};

  Duration work(std::size_t messages) const { return handler * messages; }
  Duration commit(std::size_t messages) const { return commitFixed + commitEach * messages; }
  Duration batch(std::size_t messages) const { return work(messages) + commit(messages); }
};

/// Full batches, one after the other; how long the last one took.
Duration settleDown(BatchSizer& sizer, const Machinery& machinery, int batches = 60) {
  Duration last{};
  for (int i = 0; i < batches; ++i) {
    const std::size_t size = sizer.size();
    last = machinery.batch(size);
    sizer.committed(size, machinery.work(size), machinery.commit(size));
  }
  return last;
}

TEST(BatchSizer, BeginsWithTheMaximum) { EXPECT_EQ(BatchSizer(64, 20ms, false).size(), 64); }

TEST(BatchSizer, KeepsTheMaximumWhileTheTargetHolds) {
  BatchSizer sizer(64, 20ms, false);

  settleDown(sizer, {.handler = 100us, .commitFixed = 5ms});

  EXPECT_EQ(sizer.size(), 64);
}

TEST(BatchSizer, ShrinksUntilHandlersAndCommitTogetherHoldTheTarget) {
  BatchSizer sizer(1024, 20ms, false);

  const Duration took = settleDown(sizer, {.handler = 100us, .commitFixed = 5ms});

  EXPECT_LE(took, 21ms);
  EXPECT_GE(sizer.size(), 140) << "and no more than that takes";
}

TEST(BatchSizer, FindsWhatACommitTakesForEachMessage) {
  BatchSizer sizer(1024, 20ms, false);

  const Duration took = settleDown(sizer, {.handler = 1us, .commitFixed = 2ms, .commitEach = 500us});

  EXPECT_LE(took, 22ms);
  EXPECT_GE(sizer.size(), 30);
}

TEST(BatchSizer, GrowsAgainWhenCommitsGetFaster) {
  BatchSizer sizer(256, 20ms, false);
  settleDown(sizer, {.handler = 10us, .commitFixed = 1ms, .commitEach = 2ms});
  ASSERT_LE(sizer.size(), 12);

  settleDown(sizer, {.handler = 10us, .commitFixed = 1ms, .commitEach = 5us});

  EXPECT_EQ(sizer.size(), 256);
}

TEST(BatchSizer, ADiskThatMissesTheTargetAloneGetsNoMoreCommitsThanHalfTheTargetOfWorkEach) {
  BatchSizer sizer(1024, 20ms, false);

  settleDown(sizer, {.handler = 100us, .commitFixed = 50ms});

  EXPECT_NEAR(static_cast<double>(sizer.size()), 100, 2);
}

/// With the default options. As many share a commit as wait, and fit; its work ends with its time.
TEST(BatchSizer, BatchesGrowWithABacklogAndShrinkWhenItIsGoneAndTheTargetHolds) {
  const ConsumerOptions options;
  BatchSizer sizer(options.maxBatch, options.latencyTarget, options.fixedBatch);
  const Machinery quick{.handler = 15us, .commitFixed = 4ms, .commitEach = 4us};
  const Machinery slow{.handler = 200us, .commitFixed = 4ms, .commitEach = 50us};
  const auto workOff = [&](std::size_t waiting, const Machinery& machinery) {
    std::vector<std::size_t> batches;
    while (waiting > 0) {
      std::size_t batch = std::min(sizer.size(), waiting);
      while (machinery.work(batch) > sizer.workLimit(batch)) --batch;
      sizer.committed(batch, machinery.work(batch), machinery.commit(batch));
      batches.push_back(batch);
      waiting -= batch;
    }
    return batches;
  };

  for (int quiet = 0; quiet < 30; ++quiet) EXPECT_EQ(workOff(1, quick), std::vector<std::size_t>{1});
  EXPECT_EQ(workOff(20'000, quick)[10], options.maxBatch) << "a backlog of quick ones has all that a batch may have";

  const std::vector<std::size_t> late = workOff(20'000, slow);
  for (std::size_t i = 10; i < late.size(); ++i) EXPECT_LE(slow.batch(late[i]), options.latencyTarget * 11 / 10);
  EXPECT_GE(late[10], 55U) << "and no more commits than the target takes";

  EXPECT_EQ(workOff(20'000, quick)[20], options.maxBatch);
  for (int quiet = 0; quiet < 30; ++quiet) EXPECT_EQ(workOff(1, quick), std::vector<std::size_t>{1});
}

TEST(BatchSizer, OneSlowCommitAtMostHalvesTheBatch) {
  BatchSizer sizer(64, 20ms, false);
  settleDown(sizer, {.handler = 100us, .commitFixed = 1ms});

  sizer.committed(64, 6ms, 3s);

  EXPECT_GE(sizer.size(), 32);
}

TEST(BatchSizer, SmallBatchesOfAQuietQueueDoNotShrinkTheNextLargeOne) {
  BatchSizer sizer(64, 20ms, false);

  for (int i = 0; i < 100; ++i) sizer.committed(1, 100us, 2ms);

  EXPECT_EQ(sizer.size(), 64);
}

TEST(BatchSizer, WorkEndsSoEarlyThatTheCommitIsInTime) {
  BatchSizer sizer(1024, 20ms, false);
  EXPECT_EQ(sizer.workLimit(1), 2ms) << "a term's first commit comes soon";

  settleDown(sizer, {.handler = 100us, .commitFixed = 5ms});

  EXPECT_NEAR(std::chrono::duration<double>(sizer.workLimit(1)).count(), 0.015, 0.0005);
}

TEST(BatchSizer, TheFirstBatchOfAShortTargetEndsWithIt) {
  EXPECT_EQ(BatchSizer(64, 1ms, false).workLimit(1), 1ms);
  EXPECT_EQ(BatchSizer(64, 0ms, false).workLimit(1), 0ms);
}

// shows: urls/batch-committed-full
TEST(BatchSizer, AFixedSizeStays) {
  BatchSizer sizer(64, 20ms, true);

  settleDown(sizer, {.handler = 10ms, .commitFixed = 50ms});

  EXPECT_EQ(sizer.size(), 64);
  EXPECT_EQ(sizer.workLimit(64), 20ms);
}

TEST(BatchSizer, IsNeverBelowOneMessageNorAboveTheMaximum) {
  BatchSizer slow(64, 0ms, false);
  settleDown(slow, {.handler = 1s, .commitFixed = 1s});
  EXPECT_EQ(slow.size(), 1);

  BatchSizer instant(64, 20ms, false);
  settleDown(instant, {});
  EXPECT_EQ(instant.size(), 64);
}

TEST(BatchSizer, KnowsHowManyAreHandledDuringACommit) {
  BatchSizer sizer(64, 20ms, false);
  EXPECT_EQ(sizer.quickOnes(), 0) << "nothing is known";

  settleDown(sizer, {.handler = 500us, .commitFixed = 5ms});
  EXPECT_NEAR(static_cast<double>(sizer.quickOnes()), 10, 1);

  settleDown(sizer, {.handler = 1us, .commitFixed = 5ms});
  EXPECT_EQ(sizer.quickOnes(), 64);

  settleDown(sizer, {.handler = 20ms, .commitFixed = 5ms});
  EXPECT_EQ(sizer.quickOnes(), 0);
}

TEST(BatchSizer, KnowsThatOfAFixedSizeToo) {
  BatchSizer sizer(64, 20ms, true);

  settleDown(sizer, {.handler = 500us, .commitFixed = 5ms});

  EXPECT_NEAR(static_cast<double>(sizer.quickOnes()), 10, 1);
}

}  // namespace
}  // namespace tenure::consuming
