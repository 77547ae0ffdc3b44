/// The helper itself: what it never does, what it touches, and what becomes of a candidate without it.
#include "process/helper.hpp"

#include "support/tcp_proxy.hpp"
#include "will_test.hpp"

namespace tenure::test {
namespace {

using testing::HasSubstr;
using testing::Not;

using LastWillHelper = WillTest;

// shows: design/speaks-replica-lives
TEST_F(LastWillHelper, NeverConnectsWhileTheProcessLivesNotEvenFrozen) {
  TcpProxy proxy(Ensemble::shared().port(0));
  Program& leader = startLeader({"hosts=" + proxy.host(), "session-ms=3000", "barrier-ms=0"});
  Program& successor = startStandby({"session-ms=3000"});
  EXPECT_EQ(proxy.accepted(), 1U);

  leader.signal(SIGSTOP);
  ASSERT_TRUE(successor.waitForOutput(" inaugurated ")) << successor.output();  // after the session's expiry

  EXPECT_EQ(proxy.accepted(), 1U) << "the frozen leader's own connection, and no other";
  leader.signal(SIGKILL);
  EXPECT_TRUE(ends(helperOf(leader)));
  EXPECT_GE(proxy.accepted(), 2U) << "or the proxy would have missed it before, too";
}

// shows: design/found-installed-missing
TEST_F(LastWillHelper, KilledFirstItIsMissedAndTheSessionExpiresAsEver) {
  Program& leader = startLeader({"session-ms=3000"});
  Program& successor = startStandby();
  kill(static_cast<pid_t>(helperOf(leader)), SIGKILL);
  ASSERT_TRUE(leader.waitForOutput(" last_will_lost ")) << leader.output();
  EXPECT_THAT(leader.output(), Not(HasSubstr(" term_ended "))) << "it goes on";

  const auto death = std::chrono::steady_clock::now();
  leader.signal(SIGKILL);

  EXPECT_TRUE(successor.waitForOutput(" inaugurated ")) << successor.output();
  EXPECT_GT(std::chrono::steady_clock::now() - death, 1s) << "nobody can have closed the session";
  EXPECT_TRUE(waitedAtTheBarrier(successor)) << successor.output();
}

// shows: design/found-installed-missing
TEST_F(LastWillHelper, MissingItIsSaidOnceAndTheReplicaLeadsAllTheSame) {
  Program& leader = startLeader({"helper=/nowhere/tenure-last-will"});

  EXPECT_EQ(occurrences(leader.output(), " last_will_lost "), 1U) << leader.output();
  EXPECT_THAT(leader.output(), HasSubstr("/nowhere/tenure-last-will"));
  EXPECT_THAT(leader.output(), HasSubstr("LastWillOptions::program"));
  EXPECT_THAT(leader.output(), HasSubstr("--last-will-helper"));
  leader.signal(SIGTERM);
  EXPECT_EQ(leader.waitForEnd()->exitCode, 0) << leader.output();
}

TEST_F(LastWillHelper, AProgramThatIsNoHelperIsMissedToo) {
  Program& leader = startLeader({"helper=/bin/true"});

  EXPECT_EQ(occurrences(leader.output(), " last_will_lost "), 1U) << leader.output();
}

TEST_F(LastWillHelper, NotWantedItIsNotStarted) {
  Program& leader = start({"helper=none"});
  ASSERT_TRUE(leader.waitForOutput(" inaugurated ")) << leader.output();

  EXPECT_FALSE(hasWord(leader)) << leader.output();
  EXPECT_EQ(occurrences(leader.output(), " last_will_off "), 1U) << leader.output();
}

// shows: design/signals-taken-run
TEST_F(LastWillHelper, WithoutAWordItIsStartedWhereTheSignalsAreTaken) {
  EXPECT_GT(helperOf(startLeader({"use=unsaid"})), 0);
}

// shows: design/signals-taken-run
TEST_F(LastWillHelper, WithoutAWordItIsNotStartedByRunAndThatIsSaid) {
  Program& leader = start({"use=unsaid", "calls=run"});
  ASSERT_TRUE(leader.waitForOutput(" inaugurated ")) << leader.output();

  EXPECT_FALSE(hasWord(leader)) << leader.output();
  EXPECT_THAT(leader.output(), HasSubstr(" last_will_off "));
}

TEST_F(LastWillHelper, WithoutAWordAndNotFoundItIsSaidWhereItWasLookedFor) {
  Program& leader = start({"helper=looked-for"});
  ASSERT_TRUE(leader.waitForOutput(" inaugurated ")) << leader.output();

  EXPECT_THAT(leader.output(), testing::ContainsRegex("info last_will_off [^\n]*/test_programs/tenure-last-will"));
}

// shows: design/signals-taken-run
TEST_F(LastWillHelper, MayBeReapedByAHostThatWaitsForAnyChild) {
  Program& leader = startLeader({"reaps=all"});
  Program& successor = startStandby({"reaps=all"});
  leader.signal(SIGKILL);
  ASSERT_TRUE(leadsLongBeforeExpiry(successor)) << successor.output();
  EXPECT_FALSE(waitedAtTheBarrier(successor)) << successor.output();

  kill(static_cast<pid_t>(helperOf(successor)), SIGKILL);

  EXPECT_TRUE(successor.waitForOutput(" last_will_lost ")) << successor.output();
  successor.signal(SIGTERM);
  EXPECT_EQ(successor.waitForEnd()->exitCode, 0) << successor.output();
}

// Frozen, the old leader cannot take its will back: the write itself has to notice.
TEST_F(LastWillHelper, ANewLeadersMarkerStaysUntouchedWhenOurZnodeWasDeleted) {
  Program& leader = startLeader({"barrier-ms=0"});
  Program& successor = startStandby();
  leader.signal(SIGSTOP);
  ASSERT_TRUE(leader.waitForState('T'));
  ASSERT_TRUE(remove(paths.candidate(view().candidates.front().znode)));
  ASSERT_TRUE(leadsLongBeforeExpiry(successor)) << successor.output();
  const Node before = read(paths.marker);

  leader.signal(SIGKILL);
  ASSERT_TRUE(ends(helperOf(leader)));

  const Node after = read(paths.marker);
  EXPECT_EQ(after.stat.version, before.stat.version);
  EXPECT_EQ(after.data, before.data);
  EXPECT_TRUE(view().marker.busy);
  EXPECT_THAT(successor.output(), Not(HasSubstr(" candidacy_lost ")));
}

TEST_F(LastWillHelper, ForksThatHoldTheCandidatesDescriptorsHideNoDeathButKeepTheMarkerBusy) {
  Program& leader = startLeader({order(), "barrier-ms=100"});
  Program& successor = startStandby();
  give("fork");
  ASSERT_TRUE(leader.waitForOutput("copy ")) << leader.output();
  const std::string output = leader.output();
  const pid_t copy = std::stoi(output.substr(output.find("copy ") + 5));

  leader.signal(SIGKILL);

  EXPECT_TRUE(leadsLongBeforeExpiry(successor)) << successor.output();
  EXPECT_TRUE(waitedAtTheBarrier(successor)) << "what the copy does nobody knows";
  EXPECT_THAT(successor.output(), HasSubstr("a copy of it may live"));
  kill(copy, SIGKILL);
}

// shows: security/command-inherits-socket
TEST_F(LastWillHelper, ACommandOfTheCareerInheritsNothingOfIt) {
  Program& leader = startLeader({order()});
  give("list");
  ASSERT_TRUE(leader.waitForOutput("listed")) << leader.output();

  EXPECT_THAT(leader.output(), HasSubstr("/dev/null"));
  EXPECT_THAT(leader.output(), Not(HasSubstr("socket:")));
  EXPECT_THAT(leader.output(), Not(HasSubstr("pidfd")));
}

TEST_F(LastWillHelper, ByHandItSaysWhatItIs) {
  Program byHand({TENURE_BINARY_DIR "/tenure-last-will"}, at("by-hand"));

  EXPECT_EQ(byHand.waitForEnd()->exitCode, 64);
  EXPECT_THAT(byHand.output(), HasSubstr("started by a candidate, not by hand"));
}

}  // namespace
}  // namespace tenure::test
