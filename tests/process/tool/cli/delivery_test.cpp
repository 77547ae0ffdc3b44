// What each guarantee makes of a leader that is killed while it handles a message, seen from outside.
#include "replica.hpp"

namespace tenure::test {
namespace {

using testing::HasSubstr;

class Delivered : public ToolInElection {
 protected:
  /// Messages 1 to 3; the leader is killed in the middle of the second, and another one goes on.
  std::string startsAcrossAKill(const std::string& guarantee) {
    produce(numbered(3));
    const std::string dwell = R"(echo "$TENURE_MESSAGE_ID" >>)" + at("starts") +
                              R"(; test "$TENURE_MESSAGE_ID" != m-2 )" + "|| test -e " + at("killed") +
                              " || sleep 1000";
    Program victim = consume("a", {"--delivery", guarantee, "--exec", dwell});
    EXPECT_TRUE(eventually([&] { return starts() == "m-1 m-2 "; })) << victim.output();
    std::ofstream(at("killed")) << "yes";
    victim.signal(SIGKILL);

    Program successor = consume("b", {"--delivery", guarantee, "--exec", dwell});
    EXPECT_TRUE(eventually([&] { return starts().ends_with("m-3 "); })) << successor.output();
    EXPECT_EQ(told(successor, SIGTERM), 0);
    return starts();
  }

 private:
  std::string starts() const {
    std::ifstream in(at("starts"));
    std::string all;
    for (std::string id; in >> id;) all += id + ' ';
    return all;
  }
};

// shows: messages/exactly-once-effect
TEST_F(Delivered, ExactlyOnceStartsTheHandlerAgain) {
  EXPECT_EQ(startsAcrossAKill("exactly-once"), "m-1 m-2 m-2 m-3 ");
}

TEST_F(Delivered, AtLeastOnceStartsTheHandlerAgain) {
  EXPECT_EQ(startsAcrossAKill("at-least-once"), "m-1 m-2 m-2 m-3 ");
}

TEST_F(Delivered, AtMostOnceDoesNot) { EXPECT_EQ(startsAcrossAKill("at-most-once"), "m-1 m-2 m-3 "); }

TEST_F(Delivered, AtLeastOnceLeavesNoKeys) {
  produce(numbered(2));
  Program replica = consume("a", {"--delivery", "at-least-once"});
  ASSERT_TRUE(ledgerReaches(2)) << replica.output();
  EXPECT_EQ(told(replica, SIGTERM), 0);

  EXPECT_EQ(sql("SELECT count(*) FROM tenure_key"), "0");
}

TEST_F(Delivered, AGuaranteeThatIsNoneIsRefusedAndNamesTheThree) {
  const Run run = tenure(inElection("consume", {"--queue", queue(), "--sql", "SELECT 1", "--delivery", "at-will"}));

  EXPECT_EQ(run.exit, 78);
  EXPECT_THAT(run.output, HasSubstr("--delivery"));
  EXPECT_THAT(run.output, HasSubstr("exactly-once, at-least-once or at-most-once"));
}

}  // namespace
}  // namespace tenure::test
