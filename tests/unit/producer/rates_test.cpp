#include "producer/rates.hpp"

#include <gtest/gtest.h>

namespace tenure::producing {
namespace {

using namespace std::chrono_literals;

BootTime at(std::chrono::milliseconds since) { return BootTime{1'000s + since}; }

// shows: sending/time-overflow-reckoned
TEST(RateTest, IsThatOfTheLastTenFullSeconds) {
  Rate rate;
  EXPECT_EQ(rate.perSecond(at(0ms)), 0);
  for (int second = 0; second < 20; ++second) rate.add(second < 10 ? 100 : 200, at(second * 1s));

  EXPECT_EQ(rate.perSecond(at(20s)), 200);
  EXPECT_EQ(rate.perSecond(at(25s)), 100) << "five of the ten seconds had none";
  EXPECT_EQ(rate.perSecond(at(40s)), 0);
}

TEST(RateTest, OfTheFirstSecondIsWhatHasCome) {
  Rate rate;
  rate.add(5, at(0ms));
  rate.add(7, at(900ms));

  EXPECT_EQ(rate.perSecond(at(950ms)), 12);
  EXPECT_EQ(rate.perSecond(at(1s)), 12);
}

// shows: sending/time-overflow-reckoned
TEST(RateTest, TheTimeToFillIsNeverWhereAsMuchGoesAsComes) {
  EXPECT_EQ(timeToFill(1'000, 10, 10), std::nullopt);
  EXPECT_EQ(timeToFill(1'000, 10, 20), std::nullopt);
  EXPECT_EQ(timeToFill(1'000, 20, 10), 100s);
  EXPECT_EQ(timeToFill(-5, 20, 10), 0s);
  EXPECT_EQ(timeToFill(1e18, 2, 1), 365 * 24h) << "no number of seconds overflows";
}

}  // namespace
}  // namespace tenure::producing
