#include "consumer/supply/throttle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/random.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using supply::Throttle;
using testing::ElementsAre;

constexpr BootTime t0{1h};
const GroupId a{"a"}, b{"b"}, none{""};

Throttle throttled(const RateRules& rules) {
  Throttle throttle;
  throttle.apply(rules);
  return throttle;
}

/// Who asks as soon as the last one has gone: when each of `count` goes, from the first on.
std::vector<Duration> departures(Throttle& throttle, const GroupId& group, int count, BootTime now = t0) {
  std::vector<Duration> at;
  for (int i = 0; i < count; ++i) {
    now = throttle.mayGo(group, now);
    throttle.went(group, now);
    at.push_back(now - t0);
  }
  return at;
}

TEST(Throttle, LetsABurstGoAtOnceAndThenOneAnInterval) {
  Throttle throttle = throttled({.queue = Rate{10, 3}});

  EXPECT_THAT(departures(throttle, none, 5), ElementsAre(0ms, 0ms, 0ms, 100ms, 200ms));
}

TEST(Throttle, SparesUpNoMoreThanItsBurst) {
  Throttle throttle = throttled({.queue = Rate{10, 2}});
  departures(throttle, none, 2);

  EXPECT_THAT(departures(throttle, none, 3, t0 + 1h), ElementsAre(1h, 1h, 1h + 100ms));
}

TEST(Throttle, WithoutRulesEverythingGoesAtOnce) {
  Throttle throttle;

  EXPECT_FALSE(throttle.limitsAnything());
  EXPECT_THAT(departures(throttle, a, 3), ElementsAre(0ms, 0ms, 0ms));
  EXPECT_EQ(throttle.groups(), 0);
}

TEST(Throttle, OneGroupsRateHoldsNoOtherBack) {
  Throttle throttle = throttled({.eachGroup = Rate{1, 1}});
  throttle.went(a, t0);

  EXPECT_EQ(throttle.mayGo(a, t0), t0 + 1s);
  EXPECT_EQ(throttle.mayGo(b, t0), t0);
  EXPECT_EQ(throttle.mayGo(none, t0), t0);
}

TEST(Throttle, TheQueuesRateAndTheGroupsBothCount) {
  Throttle throttle = throttled({.queue = Rate{10, 1}, .eachGroup = Rate{1, 1}});
  throttle.went(a, t0);

  EXPECT_EQ(throttle.mayGo(a, t0), t0 + 1s);
  EXPECT_EQ(throttle.mayGo(b, t0), t0 + 100ms);
}

TEST(Throttle, AGroupMayHaveARateOfItsOwnOrNone) {
  Throttle throttle = throttled({.eachGroup = Rate{1, 1}, .groups = {{a, Rate{100, 1}}, {b, std::nullopt}}});
  throttle.went(a, t0);
  throttle.went(b, t0);

  EXPECT_EQ(throttle.mayGo(a, t0), t0 + 10ms);
  EXPECT_EQ(throttle.mayGo(b, t0), t0);
}

TEST(Throttle, NewRulesHoldAtOnceAndWhatHasGoneStillCounts) {
  Throttle throttle = throttled({.queue = Rate{1, 1}});
  throttle.went(none, t0);

  throttle.apply({.queue = Rate{1, 5}});
  EXPECT_EQ(throttle.mayGo(none, t0), t0) << "four more of the burst";

  throttle.apply({});
  EXPECT_EQ(throttle.mayGo(none, t0), t0);

  throttle.apply({.queue = Rate{1, 1}});
  EXPECT_EQ(throttle.mayGo(none, t0), t0 + 1s);
}

TEST(Throttle, WhatIsMissingFlowsInAtTheNewRate) {
  Throttle throttle = throttled({.queue = Rate{1, 1}});
  throttle.went(none, t0);

  throttle.apply({.queue = Rate{1000, 1}});
  EXPECT_EQ(throttle.mayGo(none, t0), t0 + 1ms);

  throttle.apply({.queue = Rate{0.1, 1}});
  EXPECT_EQ(throttle.mayGo(none, t0), t0 + 10s);
  EXPECT_EQ(throttle.mayGo(none, t0 + 4s), t0 + 10s);
}

TEST(Throttle, GroupsWhoseBucketIsFullAgainAreForgotten) {
  Throttle throttle = throttled({.eachGroup = Rate{10, 1}});
  for (int i = 0; i < 100; ++i) throttle.went(GroupId{std::to_string(i)}, t0);
  EXPECT_EQ(throttle.groups(), 100);

  for (int i = 0; i < 100; ++i) throttle.went(a, t0 + 1h);

  EXPECT_EQ(throttle.groups(), 1);
}

TEST(Throttle, AtItsBoundItForgetsWhoWentLongestAgo) {
  Throttle throttle(2);
  throttle.apply({.eachGroup = Rate{1, 1}});
  throttle.went(a, t0);
  throttle.went(b, t0);
  throttle.went(a, t0 + 1s - 1ns);

  throttle.went(GroupId{"c"}, t0 + 1s - 1ns);

  EXPECT_EQ(throttle.groups(), 2);
  EXPECT_GT(throttle.mayGo(a, t0 + 1s - 1ns), t0 + 1s - 1ns);
  EXPECT_EQ(throttle.mayGo(b, t0 + 1s - 1ns), t0 + 1s - 1ns);
}

TEST(Throttle, TheHighestRateAndTheLowestKeepWithinTime) {
  Throttle fast = throttled({.queue = Rate{1e9, 1e9}});
  Throttle slow = throttled({.queue = Rate{1e-9, 1}});

  EXPECT_EQ(departures(fast, none, 1000).back(), 0ns);
  slow.went(none, t0);
  EXPECT_GT(slow.mayGo(none, t0), t0 + 24h * 365);
}

/// Any rate, any arrivals: no stretch of time sees more than its share, and who is always there gets all of it.
TEST(Throttle, NoStretchOfTimeSeesMoreThanItsShare) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    const Rate rate{0.5 + static_cast<double>(random.below(1000)), 1 + static_cast<double>(random.below(20))};
    Throttle throttle = throttled({.eachGroup = rate});
    std::vector<Duration> gone;
    for (BootTime now = t0; gone.size() < 100;) {
      if (random.below(4) == 0) now += Duration{static_cast<std::int64_t>(random.below(5'000'000'000))};
      now = throttle.mayGo(a, now);
      throttle.went(a, now);
      gone.push_back(now - t0);
    }
    for (std::size_t i = 0; i < gone.size(); ++i)
      for (std::size_t j = i; j < gone.size(); ++j) {
        const double share = rate.burst + rate.perSecond * std::chrono::duration<double>(gone[j] - gone[i]).count();
        ASSERT_LE(static_cast<double>(j - i + 1), share + 1e-3) << "seed " << seed;
      }
  }
}

TEST(Throttle, WhoIsAlwaysThereGetsItsWholeRate) {
  Throttle throttle = throttled({.eachGroup = Rate{250, 10}});

  EXPECT_EQ(departures(throttle, a, 1010).back(), 4s);
}

TEST(RateLimits, RefusesWhatIsOutOfRangeAndStaysAsItIs) {
  RateLimits limits({.queue = Rate{5, 2}});

  for (const Rate& bad : {Rate{0, 1}, Rate{-1, 1}, Rate{1, 0.5}, Rate{2e9, 1}, Rate{1e-9, 2}, Rate{std::nan(""), 1}})
    EXPECT_FALSE(limits.set({.groups = {{a, bad}}}));

  EXPECT_EQ(limits.version(), 0);
  EXPECT_EQ(limits.rules().queue, (Rate{5, 2}));
  EXPECT_THROW(RateLimits({.queue = Rate{0, 1}}), std::system_error);
}

TEST(RateLimits, MayBeChangedWhileItIsRead) {
  RateLimits limits;
  std::atomic<bool> over = false;
  std::thread reader([&] {
    std::uint64_t seen = 0;
    while (!over) {
      const std::uint64_t version = limits.version();
      const RateRules rules = limits.rules();
      EXPECT_GE(version, std::exchange(seen, version));
      EXPECT_TRUE(!rules.queue || rules.queue->burst == rules.queue->perSecond);
    }
  });

  for (int i = 1; i <= 2000; ++i) EXPECT_TRUE(limits.set({.queue = Rate{double(i), double(i)}}));
  over = true;
  reader.join();

  EXPECT_EQ(limits.version(), 2000);
}

}  // namespace
}  // namespace tenure::test
