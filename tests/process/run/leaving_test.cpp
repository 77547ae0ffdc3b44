/// How a command ends when its replica is told to leave or to hand over, or dies.
#include "running.hpp"

namespace tenure::test {
namespace {

using testing::HasSubstr;

class RunLeaving : public Running {
 protected:
  /// Says "here TOKEN", and "asked" when it is asked to end; then it ends.
  const std::string polite = "trap 'echo asked; exit 9' TERM; echo here $TENURE_TOKEN; tail -f /dev/null & wait";
  const std::string deaf = "trap '' TERM; echo here $TENURE_TOKEN; exec tail -f /dev/null";

  std::string status() { return tenure(inElection("status", {"--json"})).output; }
};

// shows: singleton/ends-term-started
TEST_F(RunLeaving, SigtermEndsTheCommandHandsOverAndExitsZero) {
  Program replica = run("a", polite);
  ASSERT_TRUE(replica.waitForOutput("here ")) << replica.output();

  EXPECT_EQ(told(replica, SIGTERM), 0) << replica.output();

  EXPECT_THAT(replica.output(), HasSubstr("\nasked\n"));
  EXPECT_THAT(replica.output(), HasSubstr("reason=stop_asked"));
  EXPECT_THAT(status(), HasSubstr("\"state\": \"idle\""));
}

// shows: singleton/ends-term-started
TEST_F(RunLeaving, ACommandThatDoesNotGoIsKilledAfterTheDrainTimeoutAndThatIs75) {
  Program replica = run("a", deaf, {"--drain-limit", "200ms"});
  ASSERT_TRUE(replica.waitForOutput("here ")) << replica.output();

  EXPECT_EQ(told(replica, SIGTERM), 75) << replica.output();

  EXPECT_THAT(replica.output(), HasSubstr("killed by SIGKILL, killed at the end of the term"));
  EXPECT_THAT(status(), HasSubstr("\"state\": \"idle\"")) << "nothing of it is left: the successor need not wait";
}

TEST_F(RunLeaving, ASecondSignalKillsAtOnce) {
  Program replica = run("a", deaf, {"--drain-limit", "1h"});
  ASSERT_TRUE(replica.waitForOutput("here ")) << replica.output();
  replica.signal(SIGTERM);
  ASSERT_TRUE(eventually([&] {
    if (!replica.waitForEnd(std::chrono::milliseconds{400})) replica.signal(SIGTERM);  // repeats within 300ms are one
    return replica.waitForEnd(std::chrono::milliseconds{1}).has_value();
  }));

  EXPECT_EQ(exitOf(replica), 75) << replica.output();
}

TEST_F(RunLeaving, AStandbyLeavesAtOnceAndHasRunNothing) {
  Program leader = run("leader", polite);
  ASSERT_TRUE(leader.waitForOutput("here ")) << leader.output();
  Program standby = run("standby", polite);
  ASSERT_TRUE(standby.waitForOutput(" stood_by ")) << standby.output();

  EXPECT_EQ(told(standby, SIGTERM), 0) << standby.output();

  EXPECT_EQ(occurrences(standby.output(), "here "), 0U);
  EXPECT_EQ(told(leader, SIGTERM), 0) << leader.output();
}

TEST_F(RunLeaving, Sigusr1Rotates) {
  Program first = run("first", polite);
  ASSERT_TRUE(first.waitForOutput("here ")) << first.output();
  Program second = run("second", polite);
  ASSERT_TRUE(second.waitForOutput(" stood_by ")) << second.output();

  first.signal(SIGUSR1);
  ASSERT_TRUE(second.waitForOutput("here ")) << second.output();
  ASSERT_TRUE(first.waitForOutput(" stood_by ")) << first.output();
  second.signal(SIGUSR1);
  EXPECT_TRUE(first.waitForOutput("here ", 2)) << first.output();

  EXPECT_EQ(told(first, SIGTERM), 0) << first.output();
  EXPECT_EQ(told(second, SIGTERM), 0) << second.output();
}

TEST_F(RunLeaving, ARotationThatHasToKillStandsByAgain) {
  Program alone = run("alone", deaf, {"--drain-limit", "100ms"});
  ASSERT_TRUE(alone.waitForOutput("here ")) << alone.output();

  EXPECT_EQ(tenure(inElection("handover", {"--wait"})).exit, 0);

  EXPECT_TRUE(alone.waitForOutput("here ", 2)) << alone.output();
  EXPECT_EQ(told(alone, SIGTERM), 75) << alone.output();
}

// shows: singleton/ends-term-started
TEST_F(RunLeaving, WhatTheCommandDaemonizedIsGoneBeforeTheLeadershipIs) {
  Program first = run("first",
                      "(setsid nohup " + std::string(TENURE_BINARY_DIR) + "/test_programs/presence " + at("presence") +
                          " deaf > /dev/null 2>&1 &); exec tail -f /dev/null",
                      {"--drain-limit", "100ms"});
  ASSERT_TRUE(presencesReach(1)) << first.output();
  Program second = runPresence("second");
  ASSERT_TRUE(second.waitForOutput(" stood_by ")) << second.output();

  first.signal(SIGUSR1);

  ASSERT_TRUE(presencesReach(2)) << second.output();
  EXPECT_EQ(told(second, SIGTERM), 0) << second.output();
  expectNoOverlap();
  EXPECT_EQ(told(first, SIGTERM), 0) << first.output();
}

TEST_F(RunLeaving, AKilledReplicaTakesItsCommandWithItAndIsFollowedWithoutWaitingForItsSession) {
  Program first = runPresence("first", {"--session-timeout", "60s"}, true);
  ASSERT_TRUE(presencesReach(1)) << first.output();
  ASSERT_TRUE(first.waitForOutput(" last_will_ready ")) << first.output();
  Program second = runPresence("second");
  ASSERT_TRUE(second.waitForOutput(" stood_by ")) << second.output();

  first.signal(SIGKILL);

  ASSERT_TRUE(presencesReach(2)) << second.output();
  EXPECT_EQ(told(second, SIGTERM), 0) << second.output();
  expectNoOverlap();
}

TEST_F(RunLeaving, AKilledReplicaWithoutALastWillTakesItsCommandWithItToo) {
  Program first = runPresence("first", {"--session-timeout", "3s", "--no-last-will"}, true);
  ASSERT_TRUE(presencesReach(1)) << first.output();
  Program second = runPresence("second");
  ASSERT_TRUE(second.waitForOutput(" stood_by ")) << second.output();

  first.signal(SIGKILL);

  ASSERT_TRUE(presencesReach(2)) << second.output();
  EXPECT_EQ(told(second, SIGTERM), 0) << second.output();
  expectNoOverlap();
}

}  // namespace
}  // namespace tenure::test
