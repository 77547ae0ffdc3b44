#include "lease/watchdog.hpp"

#include <gtest/gtest.h>

#include "times.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;

TEST(Watchdog, LimitsNobodyBetweenPhases) {
  Watchdog watchdog;
  EXPECT_TRUE(watchdog.valid(t0));

  watchdog.begin(t0, 60s, 5s);
  watchdog.end();
  EXPECT_TRUE(watchdog.valid(t0 + 10h));
  EXPECT_TRUE(watchdog.mayBeginWork(t0 + 10h));
}

TEST(Watchdog, APhaseMayBeginWorkForItsLimitAndIsValidForTheGraceMore) {
  Watchdog watchdog;
  watchdog.begin(t0, 60s, 5s);

  EXPECT_TRUE(watchdog.mayBeginWork(t0 + 60s - 1ns));
  EXPECT_FALSE(watchdog.mayBeginWork(t0 + 60s));
  EXPECT_TRUE(watchdog.valid(t0 + 65s - 1ns));
  EXPECT_FALSE(watchdog.valid(t0 + 65s));
}

TEST(Watchdog, ProgressMovesBothLimits) {
  Watchdog watchdog;
  watchdog.begin(t0, 60s, 5s);
  watchdog.feed(t0 + 50s);

  EXPECT_EQ(watchdog.softLimit(), t0 + 110s);
  EXPECT_EQ(watchdog.hardLimit(), t0 + 115s);
  EXPECT_EQ(watchdog.lastProgress(), t0 + 50s);
}

TEST(Watchdog, AStarvedOneHeedsNoProgressInThisPhaseNorTheNext) {
  Watchdog watchdog;
  watchdog.begin(t0, 60s, 5s);
  watchdog.starve();
  watchdog.feed(t0 + 50s);
  EXPECT_EQ(watchdog.softLimit(), t0 + 60s);

  watchdog.begin(t0 + 70s, 20s, 5s);
  watchdog.feed(t0 + 80s);
  EXPECT_EQ(watchdog.softLimit(), t0 + 90s);
}

}  // namespace
}  // namespace tenure
