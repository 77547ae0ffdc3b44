/// What an operator asks and does: status, handover, fence.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "replica.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Operator : public ToolInElection {};

TEST_F(Operator, StatusOfAnElectionNobodyEnteredIsNo) {
  const Run run = tenure(inElection("status"));
  EXPECT_EQ(run.exit, 1);
  EXPECT_THAT(run.output, HasSubstr("nobody has ever entered"));
}

TEST_F(Operator, StatusOfAnEnsembleThatDoesNotAnswerIsUnavailable) {
  EXPECT_EQ(tenure({"status", "--zookeeper", "127.0.0.1:1", "--election", "orders"}).exit, 69);
}

TEST_F(Operator, StatusShowsTheLeaderTheLineAndTheMarker) {
  produce(numbered(1));
  Program first = consume("first");
  ASSERT_TRUE(ledgerReaches(1)) << first.output();
  Program second = consume("second");
  ASSERT_TRUE(second.waitForOutput(" stood_by "));

  const Run run = tenure(inElection("status", {"--json"}));
  ASSERT_EQ(run.exit, 0) << run.output;
  const auto status = nlohmann::json::parse(run.output);
  EXPECT_EQ(status["leader"]["id"], "first");
  EXPECT_EQ(status["leader"]["token"], sql("SELECT token FROM ledger"));
  EXPECT_EQ(status["marker"]["state"], "busy");
  EXPECT_EQ(status["candidates"][1]["id"], "second");
  EXPECT_THAT(tenure(inElection("status")).output, AllOf(HasSubstr("first"), HasSubstr("second")));

  EXPECT_EQ(told(second, SIGTERM), 0);
  EXPECT_EQ(told(first, SIGTERM), 0);
  EXPECT_EQ(tenure(inElection("status")).exit, 1);
}

// shows: operations/handover-wait-tells
TEST_F(Operator, HandoverTellsWhoFollowsAndHowSoon) {
  produce(numbered(1));
  Program first = consume("first");
  ASSERT_TRUE(leads(first));
  Program second = consume("second");
  ASSERT_TRUE(second.waitForOutput(" stood_by "));

  const Run run = tenure(inElection("handover", {"--wait"}));

  EXPECT_EQ(run.exit, 0);
  EXPECT_THAT(run.output, AllOf(HasSubstr("second leads, token "), HasSubstr(" ms after the request")));
  EXPECT_TRUE(first.waitForOutput("reason=handover_asked"));
  EXPECT_EQ(told(first, SIGTERM), 0);
  EXPECT_EQ(told(second, SIGTERM), 0);
}

TEST_F(Operator, ACommandThatMayBeCutIsEndedAtAHandoverAndItsMessageIsTheSuccessorsFirst) {
  produce(numbered(2));
  const std::string command = "if test ! -e " + at("began") + "; then touch " + at("began") +
                              "; exec sleep 1000; fi; " + R"(echo "$TENURE_MESSAGE_ID $TENURE_ATTEMPT" >>)" +
                              at("done");
  const Arguments cut{"--exec", command, "--when-asked", "cut", "--drain-limit", "10m"};
  Program first = consume("first", cut);
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(at("began")); })) << first.output();
  Program second = consume("second", cut);
  ASSERT_TRUE(second.waitForOutput(" stood_by "));

  EXPECT_EQ(tenure(inElection("handover", {"--wait"})).exit, 0);

  const auto done = [&] {
    std::ifstream in(at("done"));
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  EXPECT_TRUE(eventually([&] { return done() == "m-1 1\nm-2 1\n"; })) << done() << first.output() << second.output();
  for (const char* event : {" elected ", " inaugurated ", " first_commit "})
    EXPECT_THAT(second.output(), testing::ContainsRegex(std::string(event) + ".*since_request_us=")) << event;
  EXPECT_THAT(first.output(), testing::ContainsRegex(" term_ended .*since_request_us="));
  EXPECT_EQ(told(first, SIGTERM), 0);
  EXPECT_EQ(told(second, SIGTERM), 0);
}

TEST_F(Operator, HandoverOfAnElectionWithoutALeaderIsNo) {
  EXPECT_EQ(tenure(inElection("handover", {"--wait"})).exit, 1);
}

// shows: security/signal-another-user
TEST_F(Operator, Row39AStrangersHandoverIsRefusedByTheServersAndTheLeaderStays) {
  write("owner", "tenure:correct-horse\n");
  write("stranger", "somebody:else\n");
  produce(numbered(1));
  const Arguments owned{"--root", "/row39", "--digest-file", at("owner")};
  Program leader = consume("leader", owned);
  ASSERT_TRUE(leads(leader)) << leader.output();
  const auto handOverAs = [&](const Arguments& who) {
    Arguments arguments{"--root", "/row39", "--limit", "2s"};
    arguments.insert(arguments.end(), who.begin(), who.end());
    return tenure(inElection("handover", arguments));
  };

  EXPECT_EQ(handOverAs({}).exit, 77);
  const Run refused = handOverAs({"--digest-file", at("stranger")});
  EXPECT_EQ(refused.exit, 77);
  EXPECT_THAT(refused.output, Not(HasSubstr("somebody:else")));
  EXPECT_THAT(leader.output(), Not(HasSubstr(" handover_asked ")));

  EXPECT_EQ(handOverAs({"--digest-file", at("owner")}).exit, 0);
  EXPECT_TRUE(leader.waitForOutput(" handover_asked ")) << leader.output();
  EXPECT_EQ(told(leader, SIGTERM), 0);
}

// shows: security/signal-another-user
TEST_F(Operator, Row39ASignalOfAnotherUserIsRefusedByTheKernel) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: only root can become somebody else";
  produce(numbered(1));
  Program leader = consume("leader");
  ASSERT_TRUE(leads(leader)) << leader.output();

  const pid_t nobody = fork();
  if (nobody == 0) _exit(setuid(65534) == 0 && kill(leader.pid(), SIGUSR1) == -1 && errno == EPERM ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(nobody, &status, 0), nobody);

  EXPECT_EQ(status, 0);
  EXPECT_EQ(told(leader, SIGTERM), 0);
  EXPECT_THAT(leader.output(), Not(HasSubstr(" handover_asked ")));
}

// shows: fence/tenure-fence-show
TEST_F(Operator, AStoreRefusesAnotherPathUntilItsFenceIsRebased) {
  produce(numbered(1));
  Program before = consume("before");
  ASSERT_TRUE(ledgerReaches(1)) << before.output();
  EXPECT_EQ(tenure(inElection("fence", {})).exit, 64);
  EXPECT_EQ(told(before, SIGTERM), 0);
  produce("{\"id\":\"m-2\",\"body\":\"b\"}\n");

  Program moved = consume("moved", {"--root", "/moved"});
  EXPECT_EQ(exitOf(moved), 78) << moved.output();
  EXPECT_THAT(moved.output(), HasSubstr("ForeignPath"));

  Arguments rebase = inElection("rebase", {"--root", "/moved", "--queue", queue()});
  rebase.insert(rebase.begin(), "fence");
  const Run rebased = tenure(rebase);
  ASSERT_EQ(rebased.exit, 0) << rebased.output;
  EXPECT_THAT(tenure({"fence", "show", "--queue", queue()}).output, HasSubstr("path /moved/elections/"));

  Program after = consume("after", {"--root", "/moved"});
  EXPECT_TRUE(ledgerReaches(2)) << after.output();
  EXPECT_EQ(tenure(rebase).exit, 78) << "somebody leads";
  EXPECT_EQ(told(after, SIGTERM), 0);
}

TEST_F(Operator, FenceShowOfAStoreThatNobodyClaimedIsNo) {
  produce(numbered(1));
  EXPECT_EQ(tenure({"fence", "show", "--queue", queue()}).exit, 1);
}

}  // namespace
}  // namespace tenure::test
