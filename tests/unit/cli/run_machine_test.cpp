#include "cli/handlers/run_machine.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;
using Step = RunMachine::Step;

ChildEnd exited(int code) { return {.exitCode = code, .signal = 0}; }
ChildEnd killedBy(int signal) { return {.exitCode = {}, .signal = signal}; }
ChildEnd endedBecause(EndCause cause, bool killed) {
  return {.exitCode = {}, .signal = killed ? SIGKILL : SIGTERM, .cause = cause, .killed = killed};
}

ChildEnd after(Duration ran, ChildEnd end) {
  end.ran = ran;
  return end;
}

TEST(RunMachine, ResignsAndBacksOffOnlyAfterAFailure) {
  RunMachine machine(OnExit::resign);

  const RunMachine::Next failure = machine.commandEnded(after(1h, exited(3)), EndReason::none);
  EXPECT_EQ(failure.step, Step::resign);
  EXPECT_TRUE(failure.failed);
  const RunMachine::Next success = machine.commandEnded(after(1h, exited(0)), EndReason::none);
  EXPECT_EQ(success.step, Step::resign);
  EXPECT_FALSE(success.failed);
  EXPECT_EQ(machine.exitCode(ExitStatus::done), 0);
}

TEST(RunMachine, TakesACommandThatEndsAtOnceForAFailureWhateverItsCode) {
  RunMachine machine(OnExit::resign);

  EXPECT_TRUE(machine.commandEnded(after(RunMachine::soonest - 1ms, exited(0)), EndReason::none).failed);
}

// shows: singleton/exit-resign-restart
TEST(RunMachine, RestartsAfterAWaitThatDoublesUpToALimit) {
  RunMachine machine(OnExit::restart);

  for (const Duration expected : {200ms, 400ms, 800ms, 1'600ms, 3'200ms, 6'400ms, 12'800ms, 25'600ms, 30'000ms}) {
    const RunMachine::Next next = machine.commandEnded(after(1ms, exited(0)), EndReason::none);
    EXPECT_EQ(next.step, Step::startAgain);
    EXPECT_EQ(next.wait, expected);
  }
}

TEST(RunMachine, RestartsSoonAgainAfterARunThatLastedAndInANewTerm) {
  RunMachine machine(OnExit::restart);
  for (int i = 0; i < 5; ++i) machine.commandEnded(after(1ms, exited(1)), EndReason::none);

  EXPECT_EQ(machine.commandEnded(after(RunMachine::lasted, exited(1)), EndReason::none).wait, RunMachine::firstWait);
  machine.termEnded(EndReason::handoverAsked);
  EXPECT_EQ(machine.commandEnded(after(1ms, exited(1)), EndReason::none).wait, RunMachine::firstWait);
}

TEST(RunMachine, LeavesWithTheCommandsOwnCode) {
  RunMachine own(OnExit::exit);
  EXPECT_EQ(own.commandEnded(after(1ms, exited(7)), EndReason::none).step, Step::leave);
  EXPECT_EQ(own.exitCode(ExitStatus::done), 7);

  RunMachine killed(OnExit::exit);
  killed.commandEnded(after(1ms, killedBy(SIGSEGV)), EndReason::none);
  EXPECT_EQ(killed.exitCode(ExitStatus::done), 128 + SIGSEGV);
}

TEST(RunMachine, ACommandThatKilledItsShimHasCrashed) {
  const ChildEnd end = endedBecause(EndCause::shimLost, true);

  const RunMachine::Next next = RunMachine(OnExit::resign).commandEnded(after(1h, end), EndReason::none);
  EXPECT_EQ(next.step, Step::resign);
  EXPECT_TRUE(next.failed);
  RunMachine leaving(OnExit::exit);
  EXPECT_FALSE(leaving.commandEnded(after(1h, end), EndReason::none).mayStillRun);
  EXPECT_EQ(leaving.exitCode(ExitStatus::done), 128 + SIGKILL);
}

TEST(RunMachine, ACommandThatEndsWithItsTermDecidesNothing) {
  for (const OnExit onExit : {OnExit::resign, OnExit::restart, OnExit::exit}) {
    RunMachine machine(onExit);
    EXPECT_EQ(machine.commandEnded(after(1h, exited(7)), EndReason::stopAsked).step, Step::comeHome);
    EXPECT_EQ(machine.commandEnded(after(1h, endedBecause(EndCause::stopAsked, false)), EndReason::handoverAsked).step,
              Step::comeHome);
    EXPECT_EQ(machine.exitCode(ExitStatus::done), 0);
  }
}

TEST(RunMachine, AStopThatHadToKillIsAnAbortAndAHandoverThatHadToIsNot) {
  RunMachine machine(OnExit::resign);

  machine.commandEnded(after(1h, endedBecause(EndCause::stopAsked, true)), EndReason::handoverAsked);
  EXPECT_FALSE(machine.termEnded(EndReason::handoverAsked));
  EXPECT_EQ(machine.exitCode(ExitStatus::done), 0);
  machine.commandEnded(after(1h, endedBecause(EndCause::stopAsked, true)), EndReason::stopAsked);
  EXPECT_EQ(machine.exitCode(ExitStatus::done), 75);
}

TEST(RunMachine, ALostTermLeavesWith76) {
  for (const EndReason reason :
       {EndReason::leaseLost, EndReason::sessionExpired, EndReason::znodeDeleted, EndReason::fenced}) {
    RunMachine machine(OnExit::restart);
    machine.commandEnded(after(1h, endedBecause(EndCause::overdue, true)), reason);
    EXPECT_TRUE(machine.termEnded(reason));
    EXPECT_EQ(machine.exitCode(ExitStatus::done), 76);
  }
}

TEST(RunMachine, ACommandThatItsLeaseEndedMeansALossBeforeTheTermSaysSo) {
  RunMachine machine(OnExit::restart);

  EXPECT_EQ(machine.commandEnded(after(1h, endedBecause(EndCause::overdue, false)), EndReason::none).step, Step::lose);
}

TEST(RunMachine, WhatMayStillRunIsLeftWith70AndNotAsClean) {
  RunMachine survived(OnExit::restart);
  ChildEnd end = killedBy(SIGKILL);
  end.nothingLeft = false;
  EXPECT_TRUE(survived.commandEnded(after(1h, end), EndReason::none).mayStillRun);
  EXPECT_EQ(survived.exitCode(ExitStatus::done), 70);

  RunMachine silent(OnExit::restart);
  EXPECT_TRUE(silent.commandFailed(Errc::timedOut).mayStillRun);
  RunMachine unguarded(OnExit::restart);
  EXPECT_FALSE(unguarded.commandFailed(Errc::unsupported).mayStillRun);
  EXPECT_EQ(unguarded.exitCode(ExitStatus::done), 70);
}

TEST(RunMachine, TheCandidatesOwnEndSaysMore) {
  RunMachine machine(OnExit::exit);
  machine.commandEnded(after(1h, exited(7)), EndReason::none);

  EXPECT_EQ(machine.exitCode(ExitStatus::configuration), 78);
}

}  // namespace
}  // namespace tenure::cli
