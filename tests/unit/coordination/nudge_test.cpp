// When something is sent behind a request that gets no answer.
#include "coordination/nudge.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tenure::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr BootTime start{10s};

struct NudgeTest : testing::Test {
  Nudge nudge;
};

TEST_F(NudgeTest, IsNotDueWhileNothingIsUnderWay) { EXPECT_FALSE(nudge.due()); }

TEST_F(NudgeTest, IsDueWhenTheOldestRequestHasWaited) {
  nudge.sent(start);
  nudge.sent(start + 50ms);

  EXPECT_EQ(nudge.due(), start + Nudge::first);
}

TEST_F(NudgeTest, WaitsTwiceAsLongAfterEachUpToALimit) {
  nudge.sent(start);
  BootTime last = *nudge.due();
  std::vector<Duration> waits;
  for (int i = 0; i < 6; ++i) {
    nudge.nudged(last);
    waits.push_back(*nudge.due() - last);
    last = *nudge.due();
  }

  EXPECT_EQ(waits, (std::vector<Duration>{200ms, 400ms, 800ms, 1'600ms, 1'600ms, 1'600ms}));
}

TEST_F(NudgeTest, BeginsAnewWithAnAnswerWhileMoreAreDue) {
  nudge.sent(start);
  nudge.nudged(start + 100ms);

  nudge.answered(start + 150ms, true);

  EXPECT_EQ(nudge.due(), start + 150ms + Nudge::first);
}

TEST_F(NudgeTest, IsOverWithTheLastAnswerAndWithTheConnection) {
  nudge.sent(start);
  nudge.answered(start + 1ms, false);
  EXPECT_FALSE(nudge.due());

  nudge.sent(start);
  nudge.lost();
  EXPECT_FALSE(nudge.due());
}

}  // namespace
}  // namespace tenure::zookeeper
