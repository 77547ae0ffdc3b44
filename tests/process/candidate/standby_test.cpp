/// What a standby does before it is elected.
#include "process/candidate/replicas.hpp"

namespace tenure::test {
namespace {

// shows: cpp/prepare-called-next
TEST(CandidateStandby, TheNextInLinePreparesWhileAnotherLeads) {
  CandidateReplicas replicas;
  Program& leader = replicas.startLeader({"career=preparing"});
  Program& standby = replicas.startStandby({"career=preparing"});

  ASSERT_TRUE(replicas.waitFor("prepared")) << standby.output();
  EXPECT_EQ(replicas.count("prepared"), 1U) << "the leadership came to the leader at once";
  EXPECT_EQ(replicas.count("inaugurate"), 1U);

  leader.signal(SIGUSR1);
  EXPECT_TRUE(standby.waitForOutput(" inaugurated ")) << standby.output();
  EXPECT_TRUE(replicas.waitFor("prepared", 2)) << "who has stepped down is the next in line: " << leader.output();
}

// shows: cpp/prepare-called-next
TEST(CandidateStandby, AnElectionOvertakesAPreparation) {
  CandidateReplicas replicas;
  Program& leader = replicas.startLeader();
  Program& standby = replicas.startStandby({"career=dawdling"});
  ASSERT_TRUE(replicas.waitFor("dawdling")) << standby.output();

  leader.signal(SIGTERM);

  EXPECT_TRUE(standby.waitForOutput(" inaugurated ")) << standby.output();
  EXPECT_EQ(replicas.count("overtaken"), 1U);
}

TEST(CandidateStandby, APreparationThatNeverReturnsEndsTheStandbyAndNotTheTerm) {
  CandidateReplicas replicas;
  Program& leader = replicas.startLeader();
  Program& stuck = replicas.startStandby({"career=stuck", "prepare_ms=300", "grace_ms=100"});

  EXPECT_EQ(stuck.waitForEnd()->exitCode, 70) << stuck.output();
  const std::size_t before = replicas.count("end");
  EXPECT_TRUE(replicas.waitFor("end", before + 3)) << leader.output();
  EXPECT_EQ(replicas.count("handover"), 0U);
}

}  // namespace
}  // namespace tenure::test
