/// A leader that could work and does not hands over by itself; at the same message no other does.
#include "replica.hpp"
#include "support/http.hpp"
#include "tenure/values.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class StuckLeader : public ToolInElection {
 protected:
  Program replica(const std::string& name) {
    return consume(name, {"--stuck-after", "6s", "--http", "unix:" + at(name + ".sock")});
  }
  /// A row behind a leader's place in the queue: the leader never comes back to it, a new one begins in front of it.
  void slipIn(const std::string& id) {
    sql("INSERT INTO tenure_message(n, id, grp, body, enqueued_at) VALUES (" + place_ + ", '" + id +
        "', '', 'b', strftime('%s', 'now') * 1000)");
  }
  /// Leads, and has consumed the one message there was.
  Program behindOneMessage(const std::string& name) {
    produce(numbered(1));
    rememberPlace();
    Program leader = replica(name);
    EXPECT_TRUE(ledgerReaches(1)) << leader.output();
    return leader;
  }
  void rememberPlace() { place_ = sql("SELECT min(n) FROM tenure_message"); }

 private:
  std::string place_;
};

// shows: watch/stuck-leader-says
TEST_F(StuckLeader, HandsOverOnceAndItsSuccessorBlamesTheMessage) {
  produce(numbered(3));
  rememberPlace();
  Program first = replica("first");
  ASSERT_TRUE(ledgerReaches(3)) << first.output();
  Program second = replica("second");
  ASSERT_TRUE(second.waitForOutput(" stood_by ")) << second.output();

  slipIn("late");
  ASSERT_TRUE(first.waitForOutput(" message=late waiting=1 for_ms=")) << first.output();
  EXPECT_THAT(first.output(), HasSubstr(" blamed=false"));
  ASSERT_TRUE(leads(second)) << second.output();
  EXPECT_TRUE(ledgerReaches(4)) << "the successor takes it";
  ASSERT_TRUE(first.waitForOutput(" stood_by ")) << first.output();

  slipIn("late");
  ASSERT_TRUE(second.waitForOutput(" leader_stuck ")) << second.output();
  EXPECT_THAT(second.output(), AllOf(HasSubstr(" message=late "), HasSubstr(" blamed=true")));
  EXPECT_EQ(httpGet(at("second.sock"), "/livez").status, 200) << "another leader would not mend it";
  EXPECT_THAT(second.output(), Not(HasSubstr(" term_ended ")));

  produce("{\"id\":\"next\",\"body\":\"b\"}\n");
  EXPECT_TRUE(ledgerReaches(5)) << "it still works";
  EXPECT_EQ(told(second, SIGTERM), 0) << second.output();
  EXPECT_EQ(told(first, SIGTERM), 0) << first.output();
}

// shows: watch/stuck-leader-says
TEST_F(StuckLeader, AloneBeginsANewTermThatTakesTheMessage) {
  Program only = behindOneMessage("only");
  EXPECT_EQ(httpGet(at("only.sock"), "/livez").status, 200);

  slipIn("late");
  ASSERT_TRUE(only.waitForOutput(" leader_stuck ")) << only.output();
  EXPECT_TRUE(ledgerReaches(2)) << only.output();
  EXPECT_EQ(httpGet(at("only.sock"), "/livez").status, 200);
  EXPECT_EQ(told(only, SIGTERM), 0) << only.output();
}

// shows: watch/stuck-leader-says
TEST_F(StuckLeader, IsNoLongerAliveWhereNoStandbyCouldFollow) {
  Program first = behindOneMessage("first");
  Program other =
      start(inElection("consume", {"--queue", queue(), "--id", "other", "--sql", "INSERT INTO absent VALUES (:id)"}),
            "other");
  ASSERT_TRUE(other.waitForOutput(" not_ready ")) << other.output();

  slipIn("late");
  ASSERT_TRUE(first.waitForOutput(" handover_declined ")) << first.output();
  const HttpAnswer answer = httpGet(at("first.sock"), "/livez");
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, HasSubstr("stuck: messages wait"));
  EXPECT_EQ(told(first, SIGTERM), 0) << first.output();
}

// shows: watch/leader-stuck
TEST_F(StuckLeader, AMessageThatIsKeptForItsNumberDoesNotWaitInTheQueue) {
  produce("{\"id\":\"o-2\",\"group\":\"o\",\"body\":\"b\",\"headers\":{\"tenure-number\":\"2\"}}\n");
  Program only = consume(
      "only", {"--stuck-after", "4s", "--http", "unix:" + at("only.sock"), "--follow-numbers", "--log-level", "debug"});
  ASSERT_TRUE(only.waitForOutput(" message_kept ")) << only.output();
  const std::string none = "\ntenure_queue_waiting{election=\"" + election() + "\"} 0\n";
  EXPECT_TRUE(eventually([&] { return httpGet(at("only.sock"), "/metrics").body.find(none) != std::string::npos; }))
      << httpGet(at("only.sock"), "/metrics").body;
  for (const auto end = BootClock::now() + std::chrono::seconds{8}; BootClock::now() < end;)
    ASSERT_EQ(httpGet(at("only.sock"), "/livez").status, 200) << only.output();
  EXPECT_THAT(only.output(), Not(HasSubstr(" leader_stuck ")));
  EXPECT_EQ(told(only, SIGTERM), 0) << only.output();
}

TEST_F(StuckLeader, ATimeThatIsTooShortIsRefused) {
  const Run run = tenure(inElection("consume", {"--queue", queue(), "--sql", "SELECT 1", "--stuck-after", "200ms"}));
  EXPECT_EQ(run.exit, 78);
  EXPECT_THAT(run.output, AllOf(HasSubstr("--stuck-after"), HasSubstr("0s, or 1s at least")));
}

}  // namespace
}  // namespace tenure::test
