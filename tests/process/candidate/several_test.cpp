/// One process that stands in two elections on a real ensemble.
#include "process/candidate/replicas.hpp"

namespace tenure::test {
namespace {

class SeveralCandidates : public testing::Test {
 protected:
  Program& startLeaderOfBoth(Program::Arguments settings = {}) {
    settings.insert(settings.end(), {root_, also_});
    Program& leader = replicas_.start(std::move(settings));
    EXPECT_TRUE(leader.waitForOutput(" inaugurated ", 2)) << leader.output();
    return leader;
  }

  CandidateReplicas replicas_;
  const std::string root_ = "root=/" + freshUuid();
  const std::string also_ = "also=/" + freshUuid();
};

// shows: cpp/several-candidates-process
TEST_F(SeveralCandidates, SigtermHandsAllOfThemOverToTheNextProcess) {
  Program& leader = startLeaderOfBoth();
  Program& standby = replicas_.start({root_, also_});
  ASSERT_TRUE(standby.waitForOutput(" stood_by ", 2)) << standby.output();

  leader.signal(SIGTERM);

  EXPECT_EQ(leader.waitForEnd()->exitCode, 0) << leader.output();
  EXPECT_EQ(occurrences(leader.output(), "clean=true"), 2U) << leader.output();
  EXPECT_EQ(replicas_.count("handover stop_asked"), 2U);
  EXPECT_TRUE(standby.waitForOutput(" inaugurated ", 2)) << standby.output();
}

// shows: cpp/several-candidates-process
TEST_F(SeveralCandidates, ASecondSigtermAbortsAllOfThem) {
  Program& leader = startLeaderOfBoth({"career=hanging"});
  ASSERT_TRUE(replicas_.waitFor("begin", 2));

  leader.signal(SIGTERM);
  letTheRepeatWindowPass();
  leader.signal(SIGTERM);

  EXPECT_EQ(leader.waitForEnd()->exitCode, 75) << leader.output();
}

// shows: cpp/several-candidates-process
TEST_F(SeveralCandidates, WhenOneIsRefusedAllLeaveWithItsExitCode) {
  replicas_.startLeader({root_, "digest=owner:right"});

  Program& stranger = replicas_.start({root_, also_, "digest=owner:wrong"});

  EXPECT_EQ(stranger.waitForEnd()->exitCode, 77) << stranger.output();
  EXPECT_EQ(occurrences(stranger.output(), " inaugurated "), occurrences(stranger.output(), " term_ended "));
}

}  // namespace
}  // namespace tenure::test
