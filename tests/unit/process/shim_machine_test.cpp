#include "process/shim_machine.hpp"

#include <gmock/gmock.h>

namespace tenure {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using enum ShimAction;

const BootTime t0 = BootTime{1h};

TEST(ShimMachine, ACommandThatLeavesNothingBehindIsReportedAtOnce) {
  ShimMachine shim({.grace = 5s});

  EXPECT_THAT(shim.on(Reaped{.commandStatus = 0x300, .nothingLeft = true}, t0), ElementsAre(finish));

  EXPECT_EQ(shim.report().waitStatus, 0x300);
  EXPECT_EQ(shim.report().cause, EndCause::itself);
  EXPECT_EQ(shim.wakeAt(), BootTime::max());
}

TEST(ShimMachine, LeftoversAreTerminatedAndTheCommandIsNotBlamedForThem) {
  ShimMachine shim({.grace = 5s});

  EXPECT_THAT(shim.on(Reaped{.commandStatus = 0, .nothingLeft = false}, t0), ElementsAre(terminateAll));
  EXPECT_THAT(shim.on(Tick{}, t0 + ShimMachine::remindAfter), ElementsAre(remindAll));
  EXPECT_EQ(shim.wakeAt(), t0 + 5s);
  EXPECT_THAT(shim.on(Tick{}, t0 + 5s), ElementsAre(killAll));
  EXPECT_THAT(shim.on(Reaped{.commandStatus = {}, .nothingLeft = true}, t0 + 6s), ElementsAre(finish));

  EXPECT_EQ(shim.report().cause, EndCause::itself);
  EXPECT_TRUE(shim.report().nothingLeft);
}

TEST(ShimMachine, AStopTerminatesOnceAndKillsWhenTheGraceIsOver) {
  ShimMachine shim({.grace = 5s});

  EXPECT_THAT(shim.on(StopAsked{}, t0), ElementsAre(terminateAll));
  EXPECT_THAT(shim.on(StopAsked{}, t0 + 1s), IsEmpty());
  EXPECT_THAT(shim.on(Tick{}, t0 + 5s - 1ns), IsEmpty());
  EXPECT_THAT(shim.on(Tick{}, t0 + 5s), ElementsAre(killAll));
  shim.on(Reaped{.commandStatus = SIGKILL, .nothingLeft = true}, t0 + 5s);

  EXPECT_EQ(shim.report().cause, EndCause::stopAsked);
}

TEST(ShimMachine, WhatACommandThatWasAskedToEndHasLeftBehindIsAskedToo) {
  ShimMachine shim({.grace = 5s});
  shim.on(StopAsked{}, t0);

  EXPECT_THAT(shim.on(Reaped{.commandStatus = {}, .nothingLeft = false}, t0 + 1s), IsEmpty());
  EXPECT_THAT(shim.on(Reaped{.commandStatus = 0, .nothingLeft = false}, t0 + 2s), ElementsAre(terminateAll));
  EXPECT_THAT(shim.on(Reaped{.commandStatus = {}, .nothingLeft = false}, t0 + 2s), IsEmpty());

  EXPECT_EQ(shim.wakeAt(), t0 + 2100ms);
  EXPECT_THAT(shim.on(Tick{}, t0 + 2100ms), ElementsAre(remindAll));
  EXPECT_EQ(shim.wakeAt(), t0 + 5s) << "it has the same time as the command had";
}

TEST(ShimMachine, TheDeadlineKillsWhenItIsNotMovedInTime) {
  ShimMachine shim({.until = t0 + 3s, .grace = 5s});

  EXPECT_THAT(shim.on(DeadlineMoved{t0 + 4s}, t0 + 2s), IsEmpty());
  EXPECT_THAT(shim.on(Tick{}, t0 + 3s), IsEmpty());
  EXPECT_EQ(shim.wakeAt(), t0 + 4s);
  EXPECT_THAT(shim.on(Tick{}, t0 + 4s), ElementsAre(killAll));
  shim.on(Reaped{.commandStatus = SIGKILL, .nothingLeft = true}, t0 + 4s);

  EXPECT_EQ(shim.report().cause, EndCause::overdue);
}

TEST(ShimMachine, ADeadlineInThePastKillsAtOnceWhateverTheGrace) {
  ShimMachine shim({.grace = 5s});
  shim.on(StopAsked{}, t0);

  EXPECT_THAT(shim.on(DeadlineMoved{BootTime::min()}, t0 + 1s), ElementsAre(killAll));
}

TEST(ShimMachine, AWarningTerminatesBeforeTheDeadlineKills) {
  ShimMachine shim({.until = t0 + 3s, .grace = 5s, .warning = 200ms});

  EXPECT_EQ(shim.wakeAt(), t0 + 2800ms);
  EXPECT_THAT(shim.on(Tick{}, t0 + 2800ms), ElementsAre(terminateAll));
  EXPECT_EQ(shim.wakeAt(), t0 + 3s);
  EXPECT_THAT(shim.on(Tick{}, t0 + 3s), ElementsAre(killAll));
}

TEST(ShimMachine, ADeadToolKillsAtOnceAndGetsNoReport) {
  ShimMachine shim({.grace = 5s});

  EXPECT_THAT(shim.on(ToolGone{}, t0), ElementsAre(killAll));

  EXPECT_TRUE(shim.toolGone());
}

TEST(ShimMachine, KillsAgainUntilNothingIsLeftAndGivesUpInTheEnd) {
  ShimMachine shim({.grace = 0ms});
  shim.on(StopAsked{}, t0);
  EXPECT_THAT(shim.on(Tick{}, t0), ElementsAre(killAll));

  EXPECT_THAT(shim.on(Tick{}, t0 + 20ms), ElementsAre(killAll));
  EXPECT_THAT(shim.on(Tick{}, t0 + 30ms), IsEmpty());
  EXPECT_THAT(shim.on(Tick{}, t0 + 40ms), ElementsAre(killAll));
  EXPECT_THAT(shim.on(Tick{}, t0 + 5s), ElementsAre(finish));

  EXPECT_FALSE(shim.report().nothingLeft);
}

TEST(ShimMachine, ACommandWhoseTimeIsUpIsNotStarted) {
  ShimMachine late({.until = t0, .grace = 5s});
  EXPECT_FALSE(late.mayStart(t0));
  EXPECT_EQ(late.report().cause, EndCause::overdue);
  EXPECT_TRUE(late.report().killed);

  EXPECT_FALSE(ShimMachine({.until = t0 + 1s, .warning = 1s}).mayStart(t0)) << "it would be asked to go at once";
  EXPECT_TRUE(ShimMachine({.until = t0 + 1s}).mayStart(t0));
}

TEST(ShimMachine, TellsWhetherTheCommandHadToBeKilled) {
  ShimMachine stubborn({.grace = 5s});
  stubborn.on(StopAsked{}, t0);
  stubborn.on(Tick{}, t0 + 5s);
  EXPECT_TRUE(stubborn.report().killed);

  ShimMachine withLeftovers({.grace = 5s});
  withLeftovers.on(Reaped{.commandStatus = 0, .nothingLeft = false}, t0);
  withLeftovers.on(Tick{}, t0 + 5s);
  EXPECT_FALSE(withLeftovers.report().killed);
}

TEST(ShimMachine, SaysNothingMoreWhenItIsOver) {
  ShimMachine shim({.grace = 5s});
  shim.on(Reaped{.commandStatus = 0, .nothingLeft = true}, t0);

  EXPECT_THAT(shim.on(StopAsked{}, t0), IsEmpty());
  EXPECT_THAT(shim.on(ToolGone{}, t0), IsEmpty());
}

}  // namespace
}  // namespace tenure
