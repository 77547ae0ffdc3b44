/// Leaders that hang while their session is healthy, and leaders that are only slow.
#include "process/candidate/replicas.hpp"

namespace tenure::test {
namespace {

constexpr auto session = 30s;  // what a failover would take if only the session told
const Program::Arguments patient{"session_ms=30000"};

Program::Arguments impatientAnd(Program::Arguments more) {
  more.insert(more.end(), {"session_ms=30000", "execute_ms=1500", "grace_ms=200"});
  return more;
}

bool keptItsSession(const Program& replica) {
  const std::string log = replica.output();
  return log.find(" session_suspended ") == std::string::npos && log.find(" session_expired ") == std::string::npos;
}

// shows: L3, readme/hangs
TEST(CandidateWatchdog, ADeadlockedHandlerIsFollowedThoughItsSessionIsHealthy) {
  CandidateReplicas replicas;
  Program& deadlocked = replicas.start(impatientAnd({"career=deadlocked"}));
  ASSERT_TRUE(replicas.waitFor("begin")) << deadlocked.output();
  const auto began = std::chrono::steady_clock::now();
  Program& standby = replicas.start(patient);

  EXPECT_TRUE(standby.waitForOutput(" inaugurated ")) << standby.output();

  EXPECT_LT(std::chrono::steady_clock::now() - began, session);
  EXPECT_EQ(deadlocked.waitForEnd()->exitCode, 70) << deadlocked.output();
  EXPECT_NE(deadlocked.output().find(" phase_overran "), std::string::npos) << deadlocked.output();
  EXPECT_TRUE(keptItsSession(deadlocked)) << deadlocked.output();
  EXPECT_EQ(replicas.count("handover"), 0U) << "a career that is out cannot hand over";
}

// shows: operations/candidate-takes-signals
TEST(CandidateWatchdog, AHandlerThatIgnoresItsStopTokenFindsItsTermInvalidAndIsFollowed) {
  CandidateReplicas replicas;
  Program& deaf = replicas.start(impatientAnd({"career=deaf", "signals=no"}));
  ASSERT_TRUE(replicas.waitFor("begin")) << deaf.output();
  Program& standby = replicas.start(patient);

  EXPECT_TRUE(replicas.waitFor("noticed")) << deaf.output();
  EXPECT_TRUE(standby.waitForOutput(" inaugurated ")) << standby.output();

  EXPECT_EQ(deaf.waitForEnd()->exitCode, 70) << deaf.output();
  EXPECT_EQ(replicas.count("handover hung"), 1U) << "it came home after all";
  EXPECT_TRUE(keptItsSession(deaf)) << deaf.output();
}

TEST(CandidateWatchdog, ASlowInaugurationThatReportsProgressIsNoHang) {
  CandidateReplicas replicas;
  Program& laborious = replicas.startLeader({"career=laborious", "inaugurate_ms=900"});

  EXPECT_TRUE(replicas.waitFor("end")) << laborious.output();
  EXPECT_EQ(laborious.output().find(" phase_overran "), std::string::npos) << laborious.output();
}

TEST(CandidateWatchdog, AnInaugurationHasALimitOfItsOwn) {
  CandidateReplicas replicas;
  Program& laborious = replicas.startLeader({"career=laborious", "inaugurate_ms=900", "execute_ms=200"});

  EXPECT_TRUE(replicas.waitFor("end")) << laborious.output();
  EXPECT_EQ(laborious.output().find(" phase_overran "), std::string::npos) << laborious.output();
}

}  // namespace
}  // namespace tenure::test
