/// A relay whose broker goes away, or is cut off right when it confirms.
#include "process/tool/cli/replica.hpp"
#include "process/tool/wiring/places.hpp"
#include "support/tcp_proxy.hpp"

namespace tenure::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class RelayOutage : public ToolInElection {
 protected:
  std::string outbox() const { return "sqlite:" + at("outbox.db"); }
  std::string broker(std::uint16_t port) const {
    return "amqp://tenure@127.0.0.1:" + std::to_string(port) + "?confirm-limit=1s&heartbeat=1s&queue=" + name_ +
           "&password-file=" + broker_->passwordFile(RabbitServer::password).string();
  }
  void produce(int first, int last) {
    std::string lines;
    for (int i = first; i <= last; ++i)
      lines += "{\"id\":\"m-" + std::to_string(i) + "\",\"group\":\"g" + std::to_string(i % 5) + "\",\"body\":\"" +
               std::to_string(i) + "\"}\n";
    ASSERT_EQ(tenure({"produce", "--queue", outbox(), "--format", "jsonl"}, lines).exit, 0);
  }
  Program relay(std::uint16_t port, const std::string& name = "relay") {
    return start(
        inElection("relay", {"--from", outbox(), "--to", broker(port), "--max-attempts", "1", "--max-batch", "16"}),
        name);
  }
  Program receiver() {
    sql("CREATE TABLE seen(n INTEGER PRIMARY KEY, id, grp, body)", "seen.db");
    return start({"consume", "--zookeeper", Ensemble::shared().hosts(), "--election", election() + ".r", "--queue",
                  broker(broker_->port()), "--store", "sqlite:" + at("seen.db"), "--sql",
                  "INSERT INTO seen(id, grp, body) VALUES (:id, :group, :body)"},
                 "receiver");
  }
  int seen() { return std::stoi(sql("SELECT count(*) FROM seen", "seen.db")); }
  void expectEachOnce(int messages) {
    EXPECT_TRUE(eventually([&] { return seen() >= messages; }));
    EXPECT_EQ(sql("SELECT count(*) || ' ' || count(DISTINCT id) FROM seen", "seen.db"),
              std::to_string(messages) + " " + std::to_string(messages));
  }
  void expectOneTermWithoutAFailedAttempt(Program& relay) {
    EXPECT_THAT(relay.output(), Not(HasSubstr(" attempt_failed ")));
    EXPECT_THAT(relay.output(), Not(HasSubstr(" message_dead_lettered ")));
    EXPECT_EQ(told(relay, SIGTERM), 0) << relay.output();
    EXPECT_FALSE(relay.waitForOutput(" inaugurated ", 2, std::chrono::milliseconds{0})) << relay.output();
  }

  /// A broker takes seconds to start, so all tests share one.
  static void SetUpTestSuite() { broker_ = std::make_unique<RabbitServer>(); }
  static void TearDownTestSuite() { broker_.reset(); }

  inline static std::unique_ptr<RabbitServer> broker_;
  const std::string name_ = freshQueueName();
};

// shows: outbox/target-away-attempt
TEST_F(RelayOutage, OfTheBrokerCostsNoAttemptNoTermAndNoMessage) {
  produce(1, 100);
  Program publisher = relay(broker_->port());
  ASSERT_TRUE(leads(publisher)) << publisher.output();
  broker_->kill();
  produce(101, 300);
  ASSERT_TRUE(publisher.waitForOutput(" outage_began ")) << publisher.output();
  broker_->start();
  ASSERT_TRUE(publisher.waitForOutput(" outage_ended ")) << publisher.output();
  Program consumer = receiver();
  expectEachOnce(300);
  expectOneTermWithoutAFailedAttempt(publisher);
}

/// TENURE_OUTAGE says for how many seconds; without it three. Meanwhile messages come, and the leader is killed.
// shows: outbox/target-away-attempt
TEST_F(RelayOutage, OfMinutesLosesNothingThoughTheLeaderDiesInIt) {
  const char* asked = std::getenv("TENURE_OUTAGE");
  const std::chrono::seconds lasts{asked == nullptr ? 3 : std::stoi(asked)};
  produce(1, 20);
  Program first = relay(broker_->port());
  ASSERT_TRUE(leads(first)) << first.output();
  Program second = relay(broker_->port(), "second");
  ASSERT_TRUE(second.waitForOutput(" stood_by ")) << second.output();
  broker_->kill();
  const auto begun = std::chrono::steady_clock::now();
  int last = 20;
  for (bool isKilled = false; std::chrono::steady_clock::now() < begun + lasts; last += 20) {
    produce(last + 1, last + 20);
    if (isKilled || std::chrono::steady_clock::now() < begun + lasts / 2) continue;
    first.signal(SIGKILL);
    isKilled = true;
  }
  broker_->start();
  ASSERT_TRUE(leads(second)) << second.output();
  Program consumer = receiver();
  expectEachOnce(last);
  EXPECT_EQ(sql("SELECT count(*) FROM (SELECT CAST(body AS INTEGER) AS b, lag(CAST(body AS INTEGER)) OVER "
                "(PARTITION BY grp ORDER BY n) AS before FROM seen) WHERE before > b",
                "seen.db"),
            "0");
  expectOneTermWithoutAFailedAttempt(second);
}

// shows: outbox/confirm-lost-makes
TEST_F(RelayOutage, BetweenAPublishAndItsConfirmPublishesAgainUnderTheSameIds) {
  TcpProxy proxy(broker_->port());
  Program publisher = relay(proxy.port());
  ASSERT_TRUE(leads(publisher)) << publisher.output();
  Program consumer = receiver();
  for (int round = 0; round < 3; ++round) {
    const int before = 100 * round;
    produce(before + 1, before + 50);
    ASSERT_TRUE(eventually([&] { return seen() >= before + 50; })) << publisher.output();
    proxy.drop(Direction::toClient);  // the broker gets them, and its confirms are lost
    produce(before + 51, before + 100);
    ASSERT_TRUE(publisher.waitForOutput(" outage_began ", static_cast<std::size_t>(round) + 1)) << publisher.output();
    proxy.resume();
    ASSERT_TRUE(publisher.waitForOutput(" outage_ended ", static_cast<std::size_t>(round) + 1)) << publisher.output();
  }
  expectEachOnce(300);
  expectOneTermWithoutAFailedAttempt(publisher);
}

}  // namespace
}  // namespace tenure::test
