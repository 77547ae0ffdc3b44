/// What signals do to a replica on a real ensemble.
#include "process/candidate/replicas.hpp"

namespace tenure::test {
namespace {

// shows: operations/sigterm-sigint-finish
TEST(CandidateSignals, SigtermFinishesTheStepHandsOverAndExitsWithZero) {
  CandidateReplicas replicas;
  Program& leader = replicas.startLeader({"career=slow"});
  ASSERT_TRUE(replicas.waitFor("begin"));

  leader.signal(SIGTERM);

  EXPECT_EQ(leader.waitForEnd()->exitCode, 0) << leader.output();
  EXPECT_EQ(replicas.count("end"), 1U);
  EXPECT_EQ(replicas.count("handover stop_asked"), 1U);
  EXPECT_NE(leader.output().find("clean=true"), std::string::npos) << leader.output();
}

// shows: operations/asked-leave-leader
TEST(CandidateSignals, SigtermPassesTheBatonToTheStandby) {
  CandidateReplicas replicas;
  Program& leader = replicas.startLeader();
  Program& standby = replicas.startStandby();

  leader.signal(SIGTERM);

  EXPECT_EQ(leader.waitForEnd()->exitCode, 0) << leader.output();
  EXPECT_NE(leader.output().find(" baton_passed "), std::string::npos) << leader.output();
  EXPECT_TRUE(standby.waitForOutput(" inaugurated ")) << standby.output();
}

TEST(CandidateSignals, AStandbyLeavesOnSigterm) {
  CandidateReplicas replicas;
  replicas.startLeader();
  Program& standby = replicas.startStandby();

  standby.signal(SIGTERM);

  EXPECT_EQ(standby.waitForEnd()->exitCode, 0) << standby.output();
  EXPECT_EQ(replicas.count("inaugurate"), 1U);
}

// shows: L4, operations/sigterm-sigint-finish
TEST(CandidateSignals, ASecondSigtermAbortsAStepThatDoesNotHeedTheFirst) {
  CandidateReplicas replicas;
  Program& leader = replicas.startLeader({"career=hanging"});
  Program& standby = replicas.startStandby();
  ASSERT_TRUE(replicas.waitFor("begin"));

  leader.signal(SIGTERM);
  letTheRepeatWindowPass();
  leader.signal(SIGTERM);

  EXPECT_EQ(leader.waitForEnd()->exitCode, 75) << leader.output();
  EXPECT_TRUE(standby.waitForOutput(" inaugurated ")) << standby.output();
}

// shows: L4, operations/message-beyond-drain
TEST(CandidateSignals, ADrainThatReachesItsLimitAborts) {
  CandidateReplicas replicas;
  Program& leader = replicas.startLeader({"career=hanging", "drain_ms=100"});
  ASSERT_TRUE(replicas.waitFor("begin"));

  leader.signal(SIGINT);

  EXPECT_EQ(leader.waitForEnd()->exitCode, 75) << leader.output();
}

// shows: operations/message-beyond-drain
TEST(CandidateSignals, ADrainThatReachesItsLimitAbortsAHandoverToo) {
  CandidateReplicas replicas;
  Program& leader = replicas.startLeader({"career=hanging", "drain_ms=100"});
  ASSERT_TRUE(replicas.waitFor("begin"));

  leader.signal(SIGUSR1);

  EXPECT_EQ(leader.waitForEnd()->exitCode, 75) << leader.output();
}

TEST(CandidateSignals, Sigusr1HandsOverAndALoneReplicaLeadsAgainUnderALargerToken) {
  CandidateReplicas replicas;
  Program& leader = replicas.startLeader();
  ASSERT_TRUE(replicas.waitFor("end"));

  leader.signal(SIGUSR1);

  ASSERT_TRUE(replicas.waitFor("inaugurate", 2)) << leader.output();
  const auto tokens = replicas.tokens();
  EXPECT_LT(tokens[0], tokens[1]);
  EXPECT_EQ(replicas.count("handover handover_asked"), 1U);
}

// shows: operations/sigusr1-hands-over
TEST(CandidateSignals, Sigusr1PutsTheLeaderAtTheBack) {
  CandidateReplicas replicas;
  Program& leader = replicas.startLeader();
  Program& standby = replicas.startStandby();

  leader.signal(SIGUSR1);

  EXPECT_TRUE(standby.waitForOutput(" inaugurated ")) << standby.output();
  EXPECT_TRUE(leader.waitForOutput(" stood_by ")) << leader.output();
  EXPECT_EQ(occurrences(leader.output(), " inaugurated "), 1U);
}

// shows: operations/sigusr1-hands-over
TEST(CandidateSignals, Sigusr2ReportsTheStatus) {
  CandidateReplicas replicas;
  Program& leader = replicas.startLeader();
  leader.signal(SIGUSR2);
  EXPECT_TRUE(leader.waitForOutput(" status_reported ")) << leader.output();
}

TEST(CandidateSignals, SighupEndsNoTerm) {
  CandidateReplicas replicas;
  Program& leader = replicas.startLeader();
  const std::size_t before = replicas.count("end");

  leader.signal(SIGHUP);

  EXPECT_TRUE(replicas.waitFor("end", before + 3));
  EXPECT_EQ(replicas.count("handover"), 0U);
}

TEST(CandidateSignals, Row39AHundredSigtermsAtOnceAreOneOrderlyStop) {  // row 39
  CandidateReplicas replicas;
  Program& leader = replicas.startLeader();

  for (int i = 0; i < 100; ++i) leader.signal(SIGTERM);

  EXPECT_EQ(leader.waitForEnd()->exitCode, 0) << leader.output();
  EXPECT_EQ(replicas.count("handover stop_asked"), 1U);
}

TEST(CandidateSignals, Row39AStormOfSigusr1HandsEachTermOverOnce) {  // row 39: during barrier, commit and drain
  CandidateReplicas replicas;
  Program& one = replicas.startLeader();
  Program& other = replicas.startStandby();

  for (int i = 0; i < 100; ++i) {
    one.signal(SIGUSR1);
    other.signal(SIGUSR1);
  }
  one.signal(SIGTERM);
  other.signal(SIGTERM);

  EXPECT_EQ(one.waitForEnd()->exitCode, 0) << one.output();
  EXPECT_EQ(other.waitForEnd()->exitCode, 0) << other.output();
  EXPECT_EQ(replicas.count("inaugurate"), replicas.count("handover"));
  const auto tokens = replicas.tokens();
  EXPECT_TRUE(std::is_sorted(tokens.begin(), tokens.end()));
}

// shows: operations/candidate-takes-signals
TEST(CandidateSignals, ACandidateTakesNoSignalsUnlessItIsAskedTo) {
  CandidateReplicas replicas;
  Program& leader = replicas.startLeader({"signals=no"});

  leader.signal(SIGTERM);

  EXPECT_EQ(leader.waitForEnd()->signal, SIGTERM) << leader.output();
}

TEST(CandidateSignals, AReplicaWithoutServersKeepsTryingAndStopsOnSigterm) {
  CandidateReplicas replicas("127.0.0.1:" + std::to_string(freePorts(1).front()));
  Program& lonely = replicas.start();
  ASSERT_TRUE(eventually([&] { return handles(lonely, SIGTERM); }));

  lonely.signal(SIGTERM);

  EXPECT_EQ(lonely.waitForEnd()->exitCode, 0) << lonely.output();
}

}  // namespace
}  // namespace tenure::test
