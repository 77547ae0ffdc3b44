/// Careers that fail, hang or crash, and settings that cannot work, on a real ensemble.
#include "process/candidate/replicas.hpp"

namespace tenure::test {
namespace {

TEST(CandidateFaults, AThrowingCareerBacksOffAndContendsAgain) {  // row 32
  CandidateReplicas replicas;
  Program& unlucky = replicas.startLeader({"career=unlucky"});

  ASSERT_TRUE(replicas.waitFor("end")) << unlucky.output();

  EXPECT_EQ(replicas.count("handover failed"), 2U);
  EXPECT_EQ(occurrences(unlucky.output(), " phase_failed "), 2U) << unlucky.output();
}

TEST(CandidateFaults, AThrowingLeaderGivesWayToItsSuccessor) {  // row 32
  CandidateReplicas replicas;
  Program& throwing = replicas.startLeader({"career=throwing"});
  Program& steady = replicas.start();

  EXPECT_TRUE(steady.waitForOutput(" inaugurated ")) << steady.output();
  EXPECT_TRUE(throwing.waitForOutput(" stood_by ")) << throwing.output();
}

// shows: L3
TEST(CandidateFaults, Row32AHungExecuteExitsWith70AndTheSuccessorLeads) {  // row 32
  CandidateReplicas replicas;
  Program& hung = replicas.startLeader({"career=hanging", "execute_ms=300", "grace_ms=100"});
  Program& standby = replicas.start();

  EXPECT_EQ(hung.waitForEnd()->exitCode, 70) << hung.output();
  EXPECT_NE(hung.output().find(" phase_overran "), std::string::npos) << hung.output();
  EXPECT_TRUE(standby.waitForOutput(" inaugurated ")) << standby.output();
}

// shows: readme/killed
TEST(CandidateFaults, ACrashedLeaderIsFollowedByItsSuccessor) {  // row 32
  CandidateReplicas replicas;
  Program& crashing = replicas.startLeader({"career=crashing", "session_ms=3000"});
  Program& standby = replicas.start();

  EXPECT_EQ(crashing.waitForEnd()->signal, SIGSEGV) << crashing.output();
  EXPECT_TRUE(standby.waitForOutput(" inaugurated ")) << standby.output();
}

// shows: L5
TEST(CandidateFaults, AWrongDigestIsFatalWithStatus77AndNeverShown) {  // row 18
  CandidateReplicas replicas;
  const std::string root = "root=/" + freshUuid();
  replicas.startLeader({root, "digest=owner:right"});

  Program& stranger = replicas.start({root, "digest=owner:wrong-password"});

  EXPECT_EQ(stranger.waitForEnd()->exitCode, 77) << stranger.output();
  EXPECT_EQ(stranger.output().find("wrong-password"), std::string::npos) << stranger.output();
}

TEST(CandidateFaults, OptionsThatCannotWorkAreRefusedWithStatus78) {
  CandidateReplicas replicas("");
  Program& refused = replicas.start({"root=relative"});

  EXPECT_EQ(refused.waitForEnd()->exitCode, 78);
  EXPECT_NE(refused.output().find("root = relative"), std::string::npos) << refused.output();
}

}  // namespace
}  // namespace tenure::test
