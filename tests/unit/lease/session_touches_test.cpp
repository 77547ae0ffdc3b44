#include "lease/session_touches.hpp"

#include <gtest/gtest.h>

#include "times.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;

// T = 12 s: the word of a server goes out every 3 s, asking every 2 s is often enough, 5 s are there to spend.
SessionTouches greetedAt(BootTime at) {
  SessionTouches touches;
  touches.greeted(at, 12s);
  return touches;
}

TEST(SessionTouches, NothingCountsBeforeAServerWasGreeted) {
  EXPECT_EQ(SessionTouches{}.countsFrom(t0), BootTime{});
  EXPECT_FALSE(SessionTouches{}.suffice(t0));
}

TEST(SessionTouches, AGreetingIsKnownToTheLeadingServerAtOnce) {
  const SessionTouches touches = greetedAt(t0);
  EXPECT_EQ(touches.countsFrom(t0), t0);
  EXPECT_EQ(touches.countsFrom(t0 + 5s), t0 + 5s);
  EXPECT_EQ(touches.countsFrom(t0 + 6s), t0 + 5s);
}

TEST(SessionTouches, WhoeverAsksEverySixthOfTheTimeoutLosesNothing) {
  SessionTouches touches = greetedAt(t0);
  for (BootTime asked = t0; asked < t0 + 1min; asked += 2s) {
    EXPECT_EQ(touches.countsFrom(asked), asked);
    touches.touched(asked, asked);
  }
}

TEST(SessionTouches, WhatWasAnsweredAMomentAgoMayNotBeKnownYet) {
  SessionTouches touches = greetedAt(t0);
  touches.touched(t0 + 8s, t0 + 8s);
  EXPECT_EQ(touches.countsFrom(t0 + 11s - 1ns), t0 + 5s) << "only the greeting is sure to have come";
  EXPECT_EQ(touches.countsFrom(t0 + 11s), t0 + 11s);
}

TEST(SessionTouches, AnAnswerSaysWhenItHadComeTheQuestionSinceWhenItCounts) {
  SessionTouches touches = greetedAt(t0);
  touches.touched(t0 + 6s, t0 + 9s);
  EXPECT_EQ(touches.countsFrom(t0 + 11s), t0 + 5s);
  EXPECT_EQ(touches.countsFrom(t0 + 12s), t0 + 11s);
}

TEST(SessionTouches, PingsEveryThirdAreTooFewForAWholeLease) {
  SessionTouches touches = greetedAt(t0);
  for (BootTime asked = t0; asked <= t0 + 1min; asked += 4s) touches.touched(asked, asked);
  // Sent just as the word of a server left that did not yet tell of the last of them.
  EXPECT_EQ(touches.countsFrom(t0 + 63s - 1ns), t0 + 61s);
}

TEST(SessionTouches, AnotherServerKnowsNothingOfWhatTheOneBeforeHeard) {
  SessionTouches touches = greetedAt(t0);
  touches.touched(t0 + 6s, t0 + 6s);
  touches.greeted(t0 + 2s, 12s);
  EXPECT_EQ(touches.countsFrom(t0 + 10s), t0 + 7s);
}

TEST(SessionTouches, AfterASilenceSufficeAgainAQuarterAfterAnAnswer) {
  SessionTouches touches = greetedAt(t0);
  const BootTime late = t0 + 1h;
  EXPECT_FALSE(touches.suffice(late));
  EXPECT_FALSE(touches.countMoreAt(late));
  touches.touched(late, late + 1ms);
  ASSERT_EQ(touches.countMoreAt(late + 1ms), late + 3s + 1ms);
  EXPECT_FALSE(touches.suffice(late + 3s));
  EXPECT_TRUE(touches.suffice(late + 3s + 1ms));
  EXPECT_FALSE(touches.countMoreAt(late + 3s + 1ms));
}

}  // namespace
}  // namespace tenure
