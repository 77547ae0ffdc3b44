// When a session that finds no way back is replaced by a fresh one.
#include "coordination/replacement.hpp"

#include <gtest/gtest.h>

namespace tenure::zookeeper {
namespace {

using namespace std::chrono_literals;
using Step = Replacement::Step;

constexpr BootTime loss{10s};
constexpr Duration sessionTimeout = 12s;

struct ReplacementTest : testing::Test {
  Replacement replacement;
};

TEST_F(ReplacementTest, NothingIsDueWhileThereIsAConnection) {
  EXPECT_FALSE(replacement.due());
  EXPECT_EQ(replacement.step(loss), Step::none);
}

TEST_F(ReplacementTest, AFreshSessionIsTriedWhenTheOldOneHasBeenAwayForItsTimeout) {
  replacement.lost(loss, sessionTimeout);

  EXPECT_EQ(replacement.due(), loss + sessionTimeout);
  EXPECT_EQ(replacement.step(loss + sessionTimeout - 1ms), Step::none);
  EXPECT_EQ(replacement.step(loss + sessionTimeout), Step::tryFresh);
  EXPECT_EQ(replacement.step(loss + sessionTimeout), Step::none) << "once";
}

TEST_F(ReplacementTest, TheFreshOneTakesOverAThirdOfTheTimeoutAfterItIsConnected) {
  replacement.lost(loss, sessionTimeout);
  replacement.step(loss + sessionTimeout);

  replacement.freshConnected(loss + 20s);

  EXPECT_EQ(replacement.step(loss + 23s), Step::none);
  EXPECT_EQ(replacement.step(loss + 24s), Step::replace);
  EXPECT_FALSE(replacement.due());
}

TEST_F(ReplacementTest, TheOldOneIsPreferredUntilThen) {
  replacement.lost(loss, sessionTimeout);
  replacement.step(loss + sessionTimeout);
  replacement.freshConnected(loss + 20s);

  replacement.connected();

  EXPECT_FALSE(replacement.due());
  EXPECT_EQ(replacement.step(loss + 1min), Step::none);
}

TEST_F(ReplacementTest, AFreshOneThatIsLostIsFollowedByAnother) {
  replacement.lost(loss, sessionTimeout);
  replacement.step(loss + sessionTimeout);
  replacement.freshConnected(loss + 20s);

  replacement.lost(loss + 21s, sessionTimeout);

  EXPECT_EQ(replacement.step(loss + 33s), Step::tryFresh);
}

}  // namespace
}  // namespace tenure::zookeeper
