#include <gtest/gtest.h>

#include "storage/scheduled/promoter.hpp"

namespace tenure::scheduled {
namespace {

using namespace std::chrono_literals;

/// A store's clock and the machine's count of time.
class DueClockTest : public testing::Test {
 protected:
  void pass(std::chrono::milliseconds time) { stores_ += time, now_ += time; }
  WallTime reckon() { return clock_.reckon(stores_, now_); }

  DueClock clock_;
  WallTime stores_{std::chrono::hours{500'000}};
  BootTime now_{1h};
};

TEST_F(DueClockTest, GoesByTheStoresClockWhileThatGoesOnEvenly) {
  EXPECT_EQ(reckon(), stores_);
  for (int i = 0; i < 100; ++i) {
    pass(1h);
    stores_ += 30s;  // as an NTP daemon slews and steps
    EXPECT_EQ(reckon(), stores_);
  }
  EXPECT_TRUE(clock_.isTrusted());
}

// shows: safety/message-time-comes
TEST_F(DueClockTest, AClockThatJumpsAheadMakesNothingDue) {
  reckon();
  pass(1s);
  const WallTime before = stores_;
  stores_ += 24h;

  EXPECT_EQ(reckon(), before);
  EXPECT_FALSE(clock_.isTrusted());
  pass(9min);
  EXPECT_EQ(reckon(), before + 9min);
}

TEST_F(DueClockTest, AClockThatJumpsBackMakesNothingDueEarly) {
  reckon();
  pass(1s);
  stores_ -= 2h;

  EXPECT_EQ(reckon(), stores_);
  EXPECT_FALSE(clock_.isTrusted());
}

// shows: scheduled/clock-jumps-told
TEST_F(DueClockTest, IsTrustedAgainAfterTenEvenMinutes) {
  reckon();
  stores_ += 24h;
  reckon();
  for (int i = 0; i < 10; ++i) pass(1min), reckon();

  EXPECT_TRUE(clock_.isTrusted());
  EXPECT_EQ(reckon(), stores_);
}

TEST_F(DueClockTest, ASecondJumpBeginsTheTenMinutesAnew) {
  reckon();
  const WallTime begin = stores_;
  stores_ += 24h;
  reckon();
  pass(9min);
  stores_ += 24h;
  EXPECT_EQ(reckon(), begin + 9min);
  pass(9min);
  EXPECT_EQ(reckon(), begin + 18min);
  EXPECT_FALSE(clock_.isTrusted());
}

TEST_F(DueClockTest, AClockThatJumpsBackToWhereItWasIsTrustedAtOnce) {
  reckon();
  stores_ += 24h;
  reckon();
  pass(1min);
  stores_ -= 24h;

  EXPECT_EQ(reckon(), stores_);
  EXPECT_TRUE(clock_.isTrusted());
}

}  // namespace
}  // namespace tenure::scheduled
