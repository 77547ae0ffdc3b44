/// Coalescing and rate limits, as an operator asks for them.
#include <gmock/gmock.h>

#include <fstream>

#include "replica.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Flow : public ToolInElection {
 protected:
  static std::string requests(int from, int to) {
    std::string lines;
    for (int i = from; i <= to; ++i)
      lines += R"({"id":"r-)" + std::to_string(i) + R"(","group":"page","body":"refresh"})" + '\n';
    return lines;
  }
  std::vector<std::string> linesOf(const std::string& file) const {
    std::ifstream in(at(file));
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
};

TEST_F(Flow, ARunThatIsKilledIsRepeatedOnceForAllWhoWaitByThen) {
  produce(requests(1, 2000));
  const Arguments refresh{"--coalesce", "group", "--exec",
                          "echo $TENURE_MESSAGE_ID >>" + at("runs") + "; [ -e " + at("go") + " ] || exec sleep 600"};
  Program killed = consume("killed", refresh);
  ASSERT_TRUE(eventually([&] { return !linesOf("runs").empty(); })) << killed.output();
  produce(requests(2001, 5000));

  killed.signal(SIGKILL);
  write("go", "");
  Program next = consume("next", refresh);

  ASSERT_TRUE(next.waitForOutput("messages=4999")) << next.output();
  EXPECT_EQ(told(next, SIGTERM), 0);
  EXPECT_THAT(linesOf("runs"), ElementsAre("r-1", "r-1"));
  EXPECT_EQ(sql("SELECT count(*) FROM tenure_message"), "0");
}

// shows: operations/sighup-reads-log
TEST_F(Flow, TheLimitsFileIsReadAgainOnSighup) {
  write("limits", "queue 1/h\n");
  produce(numbered(3));
  Program leader = consume("leader", {"--limits", at("limits"), "--log-level", "debug"});
  ASSERT_TRUE(leader.waitForOutput(" message_held_back ")) << leader.output();
  EXPECT_EQ(sql("SELECT count(*) FROM ledger"), "1");

  write("limits", "queue fast\n");
  leader.signal(SIGHUP);
  ASSERT_TRUE(leader.waitForOutput("SIGHUP changed no limits: --limits: line 1: ")) << leader.output();

  write("limits", "queue 1000/s\n");
  leader.signal(SIGHUP);
  EXPECT_TRUE(leader.waitForOutput(" what=limits")) << leader.output();
  EXPECT_TRUE(ledgerReaches(3)) << leader.output();
  EXPECT_EQ(told(leader, SIGTERM), 0);
}

TEST_F(Flow, WhatCannotBeReadIsRefusedByName) {
  const auto complaint = [this](const Arguments& arguments) {
    Arguments all{"--queue", queue(), "--sql", "SELECT 1"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return tenure(inElection("consume", all)).output;
  };
  EXPECT_THAT(complaint({"--rate", "fast"}), HasSubstr("--rate"));
  EXPECT_THAT(complaint({"--coalesce", "header:"}), HasSubstr("--coalesce"));
  EXPECT_THAT(complaint({"--limits", at("absent")}), HasSubstr("--limits: cannot read"));
  EXPECT_THAT(complaint({"--coalesce", "group", "--delivery", "at-most-once"}), HasSubstr("--coalesce = byKey"));
}

}  // namespace
}  // namespace tenure::test
