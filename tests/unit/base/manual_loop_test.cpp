#include "testing/world/manual_loop.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenure {
namespace {

using namespace std::chrono_literals;
using test::ManualLoop;
using testing::ElementsAre;

struct ManualLoopTest : testing::Test {
  ManualLoop loop{BootTime{1h}};
  std::vector<std::string> ran;

  Task note(std::string what) {
    return [this, what = std::move(what)] { ran.push_back(what); };
  }
};

TEST_F(ManualLoopTest, PostedTasksRunInOrderAndWithoutMovingTime) {
  loop.post(note("first"));
  loop.post(note("second"));
  EXPECT_THAT(ran, ElementsAre());

  loop.runDue();

  EXPECT_THAT(ran, ElementsAre("first", "second"));
  EXPECT_EQ(loop.now(), BootTime{1h});
}

TEST_F(ManualLoopTest, EachTimerSeesItsOwnTimeAndEqualTimesKeepTheirOrder) {
  std::vector<BootTime> seen;
  const auto look = [&] { seen.push_back(loop.now()); };
  loop.after(2s, look);
  loop.after(1s, look);
  loop.after(3s, note("a"));
  loop.after(3s, note("b"));

  loop.advance(3s);

  EXPECT_THAT(seen, ElementsAre(BootTime{1h} + 1s, BootTime{1h} + 2s));
  EXPECT_THAT(ran, ElementsAre("a", "b"));
  EXPECT_EQ(loop.now(), BootTime{1h} + 3s);
}

TEST_F(ManualLoopTest, APostMadeByATimerRunsBeforeTheNextTimer) {
  loop.after(1s, [&] { loop.post(note("posted")); });
  loop.after(1s, note("timer"));

  loop.advance(1s);

  EXPECT_THAT(ran, ElementsAre("posted", "timer"));
}

TEST_F(ManualLoopTest, ACancelledTimerDoesNotRunAndALateCancelIsHarmless) {
  const TimerId cancelled = loop.after(1s, note("cancelled"));
  const TimerId ran1 = loop.after(1s, note("ran"));
  loop.cancel(cancelled);

  loop.advance(2s);
  loop.cancel(ran1);

  EXPECT_THAT(ran, ElementsAre("ran"));
}

TEST_F(ManualLoopTest, AdvanceUntilStopsAtTheConditionOrAtItsLimit) {
  loop.after(5s, note("five"));
  loop.after(9s, note("nine"));

  EXPECT_TRUE(loop.advanceUntil([&] { return !ran.empty(); }, 6s));
  EXPECT_EQ(loop.now(), BootTime{1h} + 5s);
  EXPECT_FALSE(loop.advanceUntil([&] { return ran.size() == 2; }, 3s));
  EXPECT_TRUE(loop.runUntilIdle());
  EXPECT_EQ(loop.now(), BootTime{1h} + 9s);
}

TEST_F(ManualLoopTest, ATimerThatSetsItselfAnewIsNeverIdle) {
  std::function<void()> again = [&] { loop.after(1s, again); };
  again();
  EXPECT_FALSE(loop.runUntilIdle(10s));
}

TEST_F(ManualLoopTest, WhatCameDueWhileSuspendedRunsLate) {
  BootTime seen;
  loop.after(1s, [&] { seen = loop.now(); });
  loop.suspend(10s);

  loop.runDue();

  EXPECT_EQ(seen, BootTime{1h} + 10s);
}

TEST_F(ManualLoopTest, AStepOfTheCalendarLeavesBootTimeAlone) {
  const WallTime before = loop.wallNow();
  loop.stepWallClock(-1h);
  EXPECT_EQ(loop.wallNow(), before - 1h);
  EXPECT_EQ(loop.now(), BootTime{1h});
}

}  // namespace
}  // namespace tenure
