/// A leader that lost its term and lives: nobody waits for it, itself least of all, once its command is proven dead.
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "process/run/will/will_test.hpp"
#include "process/tool/cli/replica.hpp"

namespace tenure::test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

/// Their barrier is longer than any test.
class FormerLeaderOfCommands : public ToolInElection {
 protected:
  Program replica(const std::string& name) {
    return consume(
        name, {"--exec", "exec sleep 600", "--barrier", "20m", "--session-timeout", "30s", "--max-attempts", "1000"});
  }
  static void loseItsSession(const Program& leader) {
    Ensemble::shared().expireSession(lastNumber(leader.output(), "session_connected", "session"));
  }
};

TEST_F(FormerLeaderOfCommands, LeadsAgainWithoutWaitingForItself) {
  produce(numbered(1));
  Program alone = replica("alone");
  ASSERT_TRUE(leads(alone)) << alone.output();

  loseItsSession(alone);

  EXPECT_TRUE(leads(alone, 2)) << alone.output();
  EXPECT_EQ(occurrences(alone.output(), " barrier_began "), 0U) << alone.output();
}

// shows: design/barrier-waits-long
TEST_F(FormerLeaderOfCommands, EndsTheBarrierOfItsSuccessor) {
  produce(numbered(1));
  Program former = replica("former");
  ASSERT_TRUE(leads(former)) << former.output();
  Program successor = replica("successor");
  ASSERT_TRUE(successor.waitForOutput(" stood_by ")) << successor.output();

  loseItsSession(former);

  EXPECT_TRUE(leads(successor)) << successor.output();
  // The news of its znode may be faster than that of its session.
  EXPECT_THAT(former.output(), AnyOf(HasSubstr(" reason=session_expired "), HasSubstr(" reason=znode_deleted ")));
  EXPECT_EQ(occurrences(successor.output(), " barrier_began "), occurrences(successor.output(), " how=nothing_runs "));
}

/// What still runs for a frozen one is not known to anybody.
// shows: design/barrier-began-tenure
TEST_F(FormerLeaderOfCommands, ThatIsFrozenIsWaitedForAndStatusSaysWhy) {
  produce(numbered(1));
  Program frozen = consume("frozen", {"--exec", "exec sleep 600", "--barrier", "20m", "--session-timeout", "3s"});
  ASSERT_TRUE(leads(frozen)) << frozen.output();
  Program successor = replica("successor");
  ASSERT_TRUE(successor.waitForOutput(" stood_by ")) << successor.output();

  frozen.signal(SIGSTOP);

  ASSERT_TRUE(successor.waitForOutput(" barrier_began ")) << successor.output();
  EXPECT_THAT(successor.output(), HasSubstr("nobody has said that its term is over, and what it started may outlive"));
  std::string status;
  EXPECT_TRUE(eventually([&] {
    status = tenure(inElection("status")).output;
    return status.find(" of frozen, successor waits since 2") != std::string::npos;
  })) << status;
  EXPECT_THAT(status, HasSubstr(" at the latest: nobody has said that its term is over"));
  const auto barrier = nlohmann::json::parse(tenure(inElection("status", {"--json"})).output)["barrier"];
  EXPECT_EQ(barrier["of"], "frozen");
  EXPECT_EQ(barrier["waiting"], "successor");
  const auto since = parseWallTime(barrier["since"].get<std::string>());
  EXPECT_EQ(parseWallTime(barrier["until"].get<std::string>()).value() - since.value(), std::chrono::minutes{20});
  frozen.signal(SIGCONT);
  EXPECT_TRUE(leads(successor)) << successor.output();
  EXPECT_THAT(successor.output(), HasSubstr(" how=nothing_runs "));
  EXPECT_TRUE(eventually(
      [&] { return nlohmann::json::parse(tenure(inElection("status", {"--json"})).output)["barrier"].is_null(); }));
}

}  // namespace
}  // namespace tenure::test
