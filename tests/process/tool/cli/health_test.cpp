/// `--http`: what load balancers, Kubernetes and people ask a replica.
#include <nlohmann/json.hpp>

#include "replica.hpp"
#include "support/http.hpp"

namespace tenure::test {
namespace {

using testing::HasSubstr;

class HealthChecks : public ToolInElection {
 protected:
  std::string socketOf(const std::string& name) const { return at(name + ".sock"); }
  Program serve(const std::string& name) { return consume(name, {"--http", "unix:" + socketOf(name)}); }
  HttpAnswer ask(const std::string& name, const std::string& target) { return httpGet(socketOf(name), target); }
  bool becomes(const std::string& name, const std::string& target, int status) {
    return eventually([&] { return ask(name, target).status == status; });
  }
};

// shows: watch/leader-200-leader, watch/consume-run-relay
TEST_F(HealthChecks, TellLeaderAndStandbyApartAndFollowAFailover) {
  produce(numbered(2));
  Program first = serve("first");
  ASSERT_TRUE(becomes("first", "/leader", 200)) << first.output();
  EXPECT_THAT(first.output(), HasSubstr(" http_served "));
  Program second = serve("second");
  ASSERT_TRUE(becomes("second", "/standby", 200)) << second.output();
  for (const char* name : {"first", "second"}) {
    EXPECT_EQ(ask(name, "/livez").status, 200);
    EXPECT_TRUE(becomes(name, "/readyz", 200)) << ask(name, "/readyz").body;
  }
  EXPECT_EQ(ask("second", "/leader").status, 503);
  EXPECT_EQ(ask("first", "/standby").status, 503);

  first.signal(SIGKILL);
  EXPECT_TRUE(becomes("second", "/leader", 200)) << second.output();
  EXPECT_EQ(ask("first", "/livez").status, 0);
  Program again = serve("first");
  EXPECT_TRUE(becomes("first", "/standby", 200)) << "the socket of the killed process is in nobody's way";
}

// shows: watch/leader-200-leader
TEST_F(HealthChecks, TellAFrozenLeaderWhenItWakesUp) {
  produce(numbered(1));
  Program first = serve("first");
  ASSERT_TRUE(becomes("first", "/leader", 200)) << first.output();
  Program second = serve("second");
  ASSERT_TRUE(becomes("second", "/standby", 200)) << second.output();
  first.freeze();
  ASSERT_TRUE(becomes("second", "/leader", 200)) << second.output();
  first.signal(SIGCONT);
  EXPECT_TRUE(becomes("first", "/leader", 503));
  EXPECT_EQ(ask("second", "/leader").status, 200);
}

TEST_F(HealthChecks, ReadyIsNotOneThatCouldNotLead) {
  produce(numbered(1));
  Program first = serve("first");
  ASSERT_TRUE(becomes("first", "/leader", 200)) << first.output();
  Program unable =
      start(inElection("consume", {"--queue", queue(), "--id", "unable", "--http", "unix:" + socketOf("unable"),
                                   "--sql", "INSERT INTO absent VALUES (:id)"}),
            "unable");
  ASSERT_TRUE(unable.waitForOutput(" not_ready ")) << unable.output();
  EXPECT_EQ(ask("unable", "/readyz").status, 503);
  EXPECT_THAT(ask("unable", "/readyz").body, HasSubstr("not ready to lead: "));
  EXPECT_EQ(ask("unable", "/livez").status, 200);
}

TEST_F(HealthChecks, AnswerWithoutZooKeeper) {
  produce(numbered(1));
  Program alone = start({"consume", "--zookeeper", "127.0.0.1:1", "--election", election(), "--queue", queue(), "--sql",
                         "SELECT 1", "--http", "unix:" + socketOf("alone")},
                        "alone");
  ASSERT_TRUE(becomes("alone", "/livez", 200)) << alone.output();
  EXPECT_THAT(ask("alone", "/readyz").body, HasSubstr("not connected to ZooKeeper"));
  const HttpAnswer status = ask("alone", "/status");
  EXPECT_EQ(status.status, 503);
  EXPECT_EQ(nlohmann::json::parse(status.body)["replica"]["state"], "connecting");
  EXPECT_EQ(told(alone, SIGTERM), 0) << alone.output();
}

// shows: watch/status-json-tenure
TEST_F(HealthChecks, StatusIsThatOfTheToolAndOfTheReplica) {
  produce(numbered(2));
  Program first = serve("first");
  ASSERT_TRUE(becomes("first", "/leader", 200)) << first.output();
  ASSERT_EQ(tenure(inElection("pause", {"--by", "lena", "--wait"})).exit, 0);

  const auto shown = nlohmann::json::parse(ask("first", "/status").body);
  const auto told = nlohmann::json::parse(tenure(inElection("status", {"--json"})).output);
  for (const char* key : {"election", "leader", "candidates", "marker", "paused", "ensemble"})
    EXPECT_EQ(shown.at(key), told.at(key)) << key;
  EXPECT_EQ(shown["replica"]["state"], "leading");
  EXPECT_EQ(shown["replica"]["paused"], true);
  EXPECT_THAT(ask("first", "/leader").body, HasSubstr(", paused"));
}

// shows: watch/metrics-every-series
TEST_F(HealthChecks, MetricsAreThoseOfWhatTheReplicaDoes) {
  produce(numbered(5));
  Program first = serve("first");
  ASSERT_TRUE(becomes("first", "/leader", 200)) << first.output();
  const std::string label = "{election=\"" + election() + "\"";
  const std::string done = "\ntenure_messages_total" + label + ",outcome=\"committed\"} 5\n";
  EXPECT_TRUE(eventually([&] { return ask("first", "/metrics").body.find(done) != std::string::npos; }))
      << ask("first", "/metrics").body;
  const std::string ofLeader = ask("first", "/metrics").body;
  EXPECT_THAT(ofLeader, HasSubstr("\ntenure_leader" + label + "} 1\n"));
  EXPECT_THAT(ofLeader, testing::ContainsRegex("\ntenure_handler_seconds_count[^ ]+ [1-9]"));
  EXPECT_THAT(ofLeader, testing::ContainsRegex("\ntenure_backend_round_trips_total[^ ]+ [1-9]"));
  EXPECT_THAT(ofLeader, HasSubstr("\ntenure_backend_errors_total" + label + "} "));
  EXPECT_THAT(ofLeader, HasSubstr("\ntenure_handover_gap_seconds_count" + label + "} "));
  Program second = serve("second");
  ASSERT_TRUE(becomes("second", "/standby", 200)) << second.output();
  const std::string ofStandby = ask("second", "/metrics").body;
  EXPECT_THAT(ofStandby, HasSubstr("\ntenure_leader" + label + "} 0\n"));
  EXPECT_THAT(ofStandby, testing::Not(HasSubstr("tenure_term_token")));

  EXPECT_EQ(told(first, SIGTERM), 0) << first.output();
  const std::string none = "\ntenure_handover_gap_seconds_count" + label + "} 0\n";
  EXPECT_TRUE(eventually([&] {
    const std::string metrics = ask("second", "/metrics").body;
    return metrics.find("\ntenure_leader" + label + "} 1\n") != std::string::npos &&
           metrics.find(none) == std::string::npos;
  })) << ask("second", "/metrics").body;
}

// shows: watch/waits-queue-told
TEST_F(HealthChecks, FiguresOfTheQueueAreShownByTheLeaderAlone) {
  produce(numbered(2));
  Program former = serve("former");
  ASSERT_TRUE(ledgerReaches(2)) << former.output();
  ASSERT_EQ(tenure(inElection("pause", {"--wait"})).exit, 0);  // so that messages wait
  EXPECT_EQ(told(former, SIGTERM), 0) << former.output();
  produce(numbered(5));

  Program first = serve("first");
  const std::string waiting = "\ntenure_queue_waiting{election=\"" + election() + "\"} 5\n";
  EXPECT_TRUE(eventually([&] { return ask("first", "/metrics").body.find(waiting) != std::string::npos; }))
      << ask("first", "/metrics").body;
  EXPECT_THAT(ask("first", "/metrics").body,
              testing::AllOf(HasSubstr("\ntenure_queue_oldest_age_seconds{"), HasSubstr("\ntenure_scheduled_waiting{"),
                             HasSubstr("\ntenure_queue_dead_letters{")));
  Program second = serve("second");
  ASSERT_TRUE(becomes("second", "/standby", 200)) << second.output();
  EXPECT_THAT(ask("second", "/metrics").body, testing::Not(HasSubstr("tenure_queue_waiting")));
}

// shows: watch/metrics-file-replica
TEST_F(HealthChecks, AMetricsFileLastsAsLongAsItsReplica) {
  produce(numbered(1));
  const auto metrics = [&] {
    std::ifstream file(at("tenure.prom"));
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  Program first = consume("first", {"--metrics-file", at("tenure.prom")});
  EXPECT_TRUE(eventually([&] { return metrics().find("\ntenure_connected{") != std::string::npos; })) << metrics();
  ASSERT_TRUE(leads(first)) << first.output();
  EXPECT_EQ(told(first, SIGTERM), 0) << first.output();
  EXPECT_FALSE(std::filesystem::exists(at("tenure.prom")));

  const Run wrong = tenure(inElection("consume", {"--queue", queue(), "--sql", "SELECT 1", "--metrics-file", "m.txt"}));
  EXPECT_EQ(wrong.exit, 78);
  EXPECT_THAT(wrong.output, testing::AllOf(HasSubstr("--metrics-file"), HasSubstr("a path that ends in .prom")));
  Program unwritable = consume("unwritable", {"--metrics-file", at("missing") + "/tenure.prom"});
  EXPECT_TRUE(unwritable.waitForOutput(" warned ")) << unwritable.output();
  EXPECT_THAT(unwritable.output(), HasSubstr("/tenure.prom cannot be written: "));
  EXPECT_TRUE(leads(unwritable)) << "the work goes on";
}

// shows: watch/consume-run-relay
TEST_F(HealthChecks, AreAnsweredByTheOtherReplicasAsWell) {
  produce(numbered(1));
  Program command =
      start(inElection("run", {"--http", "unix:" + socketOf("command"), "--", "sleep", "1000"}), "command");
  EXPECT_TRUE(becomes("command", "/leader", 200)) << command.output();
}

TEST_F(HealthChecks, AnAddressThatCannotBeHadEndsTheReplicaBeforeItContends) {
  produce(numbered(1));
  Program first = consume("first", {"--http", "unix:" + at("missing") + "/http.sock"});
  EXPECT_NE(exitOf(first), 0);
  EXPECT_THAT(first.output(), HasSubstr("--http"));
  EXPECT_THAT(first.output(), testing::Not(HasSubstr(" enrolled ")));
  const Run wrong = tenure(inElection("consume", {"--queue", queue(), "--sql", "SELECT 1", "--http", "db1:80"}));
  EXPECT_EQ(wrong.exit, 78) << wrong.output;
  EXPECT_THAT(wrong.output, HasSubstr("--http"));
}

}  // namespace
}  // namespace tenure::test
