#include "process/keeper_machine.hpp"

#include <gmock/gmock.h>

namespace tenure {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using enum KeeperAction;

const BootTime t0 = BootTime{1h};

TEST(KeeperMachine, ACommandThatLeavesNothingBehindIsReportedAtOnce) {
  KeeperMachine keeper({.grace = 5s});

  EXPECT_THAT(keeper.on(Reaped{.commandStatus = 0x300, .nothingLeft = true}, t0), ElementsAre(finish));

  EXPECT_EQ(keeper.report().waitStatus, 0x300);
  EXPECT_EQ(keeper.report().cause, EndCause::itself);
  EXPECT_EQ(keeper.wakeAt(), BootTime::max());
}

TEST(KeeperMachine, LeftoversAreTerminatedAndTheCommandIsNotBlamedForThem) {
  KeeperMachine keeper({.grace = 5s});

  EXPECT_THAT(keeper.on(Reaped{.commandStatus = 0, .nothingLeft = false}, t0), ElementsAre(terminateAll));
  EXPECT_THAT(keeper.on(Tick{}, t0 + KeeperMachine::remindAfter), ElementsAre(remindAll));
  EXPECT_EQ(keeper.wakeAt(), t0 + 5s);
  EXPECT_THAT(keeper.on(Tick{}, t0 + 5s), ElementsAre(killAll));
  EXPECT_THAT(keeper.on(Reaped{.commandStatus = {}, .nothingLeft = true}, t0 + 6s), ElementsAre(finish));

  EXPECT_EQ(keeper.report().cause, EndCause::itself);
  EXPECT_TRUE(keeper.report().nothingLeft);
}

TEST(KeeperMachine, AStopTerminatesOnceAndKillsWhenTheGraceIsOver) {
  KeeperMachine keeper({.grace = 5s});

  EXPECT_THAT(keeper.on(StopAsked{}, t0), ElementsAre(terminateAll));
  EXPECT_THAT(keeper.on(StopAsked{}, t0 + 1s), IsEmpty());
  EXPECT_THAT(keeper.on(Tick{}, t0 + 5s - 1ns), IsEmpty());
  EXPECT_THAT(keeper.on(Tick{}, t0 + 5s), ElementsAre(killAll));
  keeper.on(Reaped{.commandStatus = SIGKILL, .nothingLeft = true}, t0 + 5s);

  EXPECT_EQ(keeper.report().cause, EndCause::stopAsked);
}

TEST(KeeperMachine, WhatACommandThatWasAskedToEndHasLeftBehindIsAskedToo) {
  KeeperMachine keeper({.grace = 5s});
  keeper.on(StopAsked{}, t0);

  EXPECT_THAT(keeper.on(Reaped{.commandStatus = {}, .nothingLeft = false}, t0 + 1s), IsEmpty());
  EXPECT_THAT(keeper.on(Reaped{.commandStatus = 0, .nothingLeft = false}, t0 + 2s), ElementsAre(terminateAll));
  EXPECT_THAT(keeper.on(Reaped{.commandStatus = {}, .nothingLeft = false}, t0 + 2s), IsEmpty());

  EXPECT_EQ(keeper.wakeAt(), t0 + 2100ms);
  EXPECT_THAT(keeper.on(Tick{}, t0 + 2100ms), ElementsAre(remindAll));
  EXPECT_EQ(keeper.wakeAt(), t0 + 5s) << "it has the same time as the command had";
}

TEST(KeeperMachine, TheDeadlineKillsWhenItIsNotMovedInTime) {
  KeeperMachine keeper({.until = t0 + 3s, .grace = 5s});

  EXPECT_THAT(keeper.on(DeadlineMoved{t0 + 4s}, t0 + 2s), IsEmpty());
  EXPECT_THAT(keeper.on(Tick{}, t0 + 3s), IsEmpty());
  EXPECT_EQ(keeper.wakeAt(), t0 + 4s);
  EXPECT_THAT(keeper.on(Tick{}, t0 + 4s), ElementsAre(killAll));
  keeper.on(Reaped{.commandStatus = SIGKILL, .nothingLeft = true}, t0 + 4s);

  EXPECT_EQ(keeper.report().cause, EndCause::overdue);
}

TEST(KeeperMachine, ADeadlineInThePastKillsAtOnceWhateverTheGrace) {
  KeeperMachine keeper({.grace = 5s});
  keeper.on(StopAsked{}, t0);

  EXPECT_THAT(keeper.on(DeadlineMoved{BootTime::min()}, t0 + 1s), ElementsAre(killAll));
}

TEST(KeeperMachine, AWarningTerminatesBeforeTheDeadlineKills) {
  KeeperMachine keeper({.until = t0 + 3s, .grace = 5s, .warning = 200ms});

  EXPECT_EQ(keeper.wakeAt(), t0 + 2800ms);
  EXPECT_THAT(keeper.on(Tick{}, t0 + 2800ms), ElementsAre(terminateAll));
  EXPECT_EQ(keeper.wakeAt(), t0 + 3s);
  EXPECT_THAT(keeper.on(Tick{}, t0 + 3s), ElementsAre(killAll));
}

TEST(KeeperMachine, ADeadToolKillsAtOnceAndGetsNoReport) {
  KeeperMachine keeper({.grace = 5s});

  EXPECT_THAT(keeper.on(ToolGone{}, t0), ElementsAre(killAll));

  EXPECT_TRUE(keeper.toolGone());
}

TEST(KeeperMachine, KillsAgainUntilNothingIsLeftAndGivesUpInTheEnd) {
  KeeperMachine keeper({.grace = 0ms});
  keeper.on(StopAsked{}, t0);
  EXPECT_THAT(keeper.on(Tick{}, t0), ElementsAre(killAll));

  EXPECT_THAT(keeper.on(Tick{}, t0 + 20ms), ElementsAre(killAll));
  EXPECT_THAT(keeper.on(Tick{}, t0 + 30ms), IsEmpty());
  EXPECT_THAT(keeper.on(Tick{}, t0 + 40ms), ElementsAre(killAll));
  EXPECT_THAT(keeper.on(Tick{}, t0 + 5s), ElementsAre(finish));

  EXPECT_FALSE(keeper.report().nothingLeft);
}

TEST(KeeperMachine, ACommandWhoseTimeIsUpIsNotStarted) {
  KeeperMachine late({.until = t0, .grace = 5s});
  EXPECT_FALSE(late.mayStart(t0));
  EXPECT_EQ(late.report().cause, EndCause::overdue);
  EXPECT_TRUE(late.report().killed);

  EXPECT_FALSE(KeeperMachine({.until = t0 + 1s, .warning = 1s}).mayStart(t0)) << "it would be asked to go at once";
  EXPECT_TRUE(KeeperMachine({.until = t0 + 1s}).mayStart(t0));
}

TEST(KeeperMachine, TellsWhetherTheCommandHadToBeKilled) {
  KeeperMachine stubborn({.grace = 5s});
  stubborn.on(StopAsked{}, t0);
  stubborn.on(Tick{}, t0 + 5s);
  EXPECT_TRUE(stubborn.report().killed);

  KeeperMachine withLeftovers({.grace = 5s});
  withLeftovers.on(Reaped{.commandStatus = 0, .nothingLeft = false}, t0);
  withLeftovers.on(Tick{}, t0 + 5s);
  EXPECT_FALSE(withLeftovers.report().killed);
}

TEST(KeeperMachine, SaysNothingMoreWhenItIsOver) {
  KeeperMachine keeper({.grace = 5s});
  keeper.on(Reaped{.commandStatus = 0, .nothingLeft = true}, t0);

  EXPECT_THAT(keeper.on(StopAsked{}, t0), IsEmpty());
  EXPECT_THAT(keeper.on(ToolGone{}, t0), IsEmpty());
}

}  // namespace
}  // namespace tenure
