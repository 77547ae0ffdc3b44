/// However a leader dies, its successor leads long before the session timeout, and waits for no barrier.
#include "support/tcp_proxy.hpp"
#include "will_test.hpp"

namespace tenure::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class Death : public WillTest, public testing::WithParamInterface<const char*> {
 protected:
  /// By a signal from outside, or by its own hand.
  void befall(const Program& leader, const std::string& how) const {
    how == "kill" ? leader.signal(SIGKILL) : give(how);
  }
};

// shows: design/last-will-successor
TEST_P(Death, IsFollowedByASuccessorThatWaitsForNothing) {
  Program& leader = startLeader({order()});
  Program& successor = startStandby();

  befall(leader, GetParam());

  ASSERT_TRUE(leader.waitForEnd());
  EXPECT_TRUE(leadsLongBeforeExpiry(successor)) << successor.output();
  EXPECT_FALSE(waitedAtTheBarrier(successor)) << successor.output();
  EXPECT_TRUE(ends(helperOf(leader)));
}

INSTANTIATE_TEST_SUITE_P(Every, Death, testing::Values("kill", "segv", "abort", "exit"),
                         [](const auto& death) { return std::string(death.param); });

using LastWill = WillTest;

// shows: design/last-will-successor
TEST_F(LastWill, ADeathByTheOutOfMemoryKillerIsFollowedAsAnyOther) {
  const std::optional<MemoryGroup> group = MemoryGroup::make(std::size_t{256} << 20U);
  if (!group) GTEST_SKIP() << "needs memory-group: none is ours to make here";
  Program& leader = startLeaderIn(*group, {order()});
  Program& successor = startStandby();

  give("oom");

  EXPECT_EQ(leader.waitForEnd()->signal, SIGKILL) << leader.output();
  EXPECT_TRUE(leadsLongBeforeExpiry(successor)) << successor.output();
  EXPECT_FALSE(waitedAtTheBarrier(successor)) << successor.output();
  EXPECT_TRUE(ends(helperOf(leader)));
}

TEST_F(LastWill, AStandbysDeathTakesItOutOfTheLineAtOnce) {
  startLeader();
  Program& standby = startStandby();
  ASSERT_TRUE(eventually([&] { return hasWord(standby); }));
  ASSERT_THAT(view().candidates, SizeIs(2));

  standby.signal(SIGKILL);

  EXPECT_TRUE(ends(helperOf(standby)));
  EXPECT_THAT(view().candidates, SizeIs(1));
  EXPECT_TRUE(view().marker.busy);
}

// shows: readme/killed
TEST_F(LastWill, FiftyKillsInARowLeaveNoProcessAndNoZnode) {
  std::vector<std::int64_t> helpers;
  Program* leader = &startLeader();
  for (int kills = 0; kills < 50; ++kills) {
    Program& successor = startStandby();
    ASSERT_TRUE(eventually([&] { return hasWord(successor); })) << successor.output();
    helpers.push_back(helperOf(*leader));
    leader->signal(SIGKILL);
    ASSERT_TRUE(leadsLongBeforeExpiry(successor)) << kills << '\n' << successor.output();
    ASSERT_FALSE(waitedAtTheBarrier(successor)) << kills << '\n' << successor.output();
    leader = &successor;
  }
  helpers.push_back(helperOf(*leader));
  leader->signal(SIGKILL);

  for (const std::int64_t helper : helpers) EXPECT_TRUE(ends(helper)) << helper;
  EXPECT_THAT(view().candidates, IsEmpty());
  EXPECT_FALSE(view().marker.busy);
}

/// A leader that was frozen may still hold the store's lock; that is passed on, and nothing else.
TEST_F(LastWill, OneFreezeDoesNotMakeLaterKillsCostTheBarrier) {
  Program& frozen = startLeader({"session-ms=3000", "barrier-ms=1000"});
  Program* leader = &startStandby({"barrier-ms=1200000"});
  frozen.signal(SIGSTOP);
  ASSERT_TRUE(leader->waitForOutput(" inaugurated ")) << leader->output();
  ASSERT_TRUE(waitedAtTheBarrier(*leader)) << leader->output();

  for (int kills = 0; kills < 3; ++kills) {
    Program& successor = startStandby({"barrier-ms=1200000"});
    ASSERT_TRUE(eventually([&] { return hasWord(successor); })) << successor.output();
    leader->signal(SIGKILL);
    ASSERT_TRUE(leadsLongBeforeExpiry(successor)) << kills << '\n' << successor.output();
    EXPECT_FALSE(waitedAtTheBarrier(successor)) << kills << '\n' << successor.output();
    leader = &successor;
  }
}

TEST_F(LastWill, ACleanExitLeavesNoHelper) {
  Program& leader = startLeader();
  const std::int64_t helper = helperOf(leader);
  ASSERT_FALSE(isGone(helper));

  leader.signal(SIGTERM);

  EXPECT_EQ(leader.waitForEnd()->exitCode, 0) << leader.output();
  EXPECT_TRUE(isGone(helper)) << "the candidate waits for it";
  EXPECT_THAT(leader.output(), Not(HasSubstr(" last_will_lost ")));
}

TEST_F(LastWill, ACleanExitLeavesNotEvenAFrozenHelper) {
  Program& leader = startLeader();
  const std::int64_t helper = helperOf(leader);
  kill(static_cast<pid_t>(helper), SIGSTOP);

  leader.signal(SIGTERM);

  EXPECT_EQ(leader.waitForEnd()->exitCode, 0) << leader.output();
  EXPECT_TRUE(isGone(helper));
}

TEST_F(LastWill, SignalsToTheProcessGroupDoNotReachTheHelper) {
  Program& leader = startLeader({"group=own"});
  Program& successor = startStandby();

  for (const int signal : {SIGHUP, SIGUSR2, SIGKILL}) killpg(leader.pid(), signal);

  ASSERT_TRUE(leader.waitForEnd());
  EXPECT_TRUE(leadsLongBeforeExpiry(successor)) << successor.output();
}

TEST_F(LastWill, TheHelperIsDeafToEverySignalThatCanBeBlocked) {
  Program& leader = startLeader();
  Program& successor = startStandby();
  for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGPIPE, SIGUSR1, SIGTSTP})
    kill(static_cast<pid_t>(helperOf(leader)), signal);

  leader.signal(SIGKILL);

  EXPECT_TRUE(leadsLongBeforeExpiry(successor)) << successor.output();
}

TEST_F(LastWill, AnAbortLeavesTheMarkerBusy) {
  Program& leader = startLeader({order(), "barrier-ms=100"});
  Program& successor = startStandby();
  give("hang");
  ASSERT_TRUE(leader.waitForOutput("hanging")) << leader.output();

  leader.signal(SIGTERM);  // overruns its drain limit, which aborts

  EXPECT_EQ(leader.waitForEnd()->exitCode, 75) << leader.output();
  EXPECT_TRUE(leadsLongBeforeExpiry(successor)) << successor.output();
  EXPECT_TRUE(waitedAtTheBarrier(successor)) << successor.output();
}

TEST_F(LastWill, FollowsASessionThatWasEstablishedAnew) {
  Program& leader = startLeader({"barrier-ms=0"});
  Ensemble::shared().expireSession(lastNumber(leader.output(), "session_connected", "session"));
  ASSERT_TRUE(leader.waitForOutput(" inaugurated ", 2)) << leader.output();
  Program& successor = startStandby();

  leader.signal(SIGKILL);

  EXPECT_TRUE(leadsLongBeforeExpiry(successor)) << successor.output();
}

TEST_F(LastWill, SpeaksWithTheDigestWhereZnodesHaveAnOwner) {
  const Program::Arguments owned{"root=/owned-" + freshUuid(), "digest=owner:s3cret"};
  Program& leader = startLeader(owned);
  Program& successor = startStandby(owned);
  const std::string proc = "/proc/" + std::to_string(helperOf(leader));
  for (const char* shown : {"/cmdline", "/environ"}) {
    std::ifstream file(proc + shown);
    EXPECT_THAT(std::string(std::istreambuf_iterator<char>(file), {}), Not(HasSubstr("s3cret"))) << shown;
  }

  leader.signal(SIGKILL);

  EXPECT_TRUE(leadsLongBeforeExpiry(successor)) << successor.output();
  EXPECT_FALSE(waitedAtTheBarrier(successor)) << "the marker could be written";
}

}  // namespace
}  // namespace tenure::test
