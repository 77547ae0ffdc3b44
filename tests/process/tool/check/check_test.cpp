/// `tenure check` beside real servers: it tells what they are, changes nothing, and goes on past what is away.
#include <nlohmann/json.hpp>

#include "backends/zookeeper/session_thread.hpp"
#include "process/tool/cli/replica.hpp"
#include "support/postgres_server.hpp"
#include "support/rabbitmq_world.hpp"
#include "support/redis_server.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string urlOf(const rabbitmq::Options& options) {
  return "amqp://" + options.user + "@" + options.host + ":" + std::to_string(options.port) +
         "?password-file=" + options.passwordFile.string() + "&queue=" + options.queue;
}
std::string urlOf(const postgresql::Options& options) {
  return "postgresql://" + options.user + "@" + options.host + ":" + std::to_string(options.port) + "/" +
         options.database;
}
std::string urlOf(const RedisServer& server) { return "redis://127.0.0.1:" + std::to_string(server.port()) + "/0"; }

class Check : public ToolInElection {
 protected:
  Run check(const Arguments& more, const std::vector<std::string>& environment = {}) {
    Arguments words{"check"};
    words.insert(words.end(), more.begin(), more.end());
    return tenure(words, "", environment);
  }
};

// shows: exactly-once/wrong-for-ever
TEST_F(Check, CompilesTheStatementOfAConsumerAndDoesNotRunIt) {
  produce("");
  const auto of = [&](const std::string& statement) { return check({"--queue", queue(), "--sql", statement}); };

  EXPECT_EQ(of("INSERT INTO ledger(id) VALUES (:id)").exit, 0);
  EXPECT_EQ(sql("SELECT count(*) FROM ledger"), "0");
  for (const char* wrong : {"INSRT INTO ledger(id) VALUES (:id)", "INSERT INTO nosuch VALUES (:id)"}) {
    const Run run = of(wrong);
    EXPECT_EQ(run.exit, 78) << run.output;
    EXPECT_THAT(run.output, AllOf(HasSubstr("REFUSED"), HasSubstr("--sql"))) << run.output;
  }
}

// shows: operations/tenure-check-looks, operations/tells-how-message
TEST_F(Check, OfSoundServersExitsZeroAndMakesNothingAnywhere) {
  PostgresWorld postgres;
  RedisServer redis;
  RabbitWorld rabbit;

  const Run first = check({"--zookeeper", Ensemble::shared().hosts(), "--root", "/unmade", "--election", "none",
                           "--queue", urlOf(rabbit.options()), "--store", urlOf(postgres.options())});
  const Run second = check({"--queue", urlOf(redis), "--store", "sqlite:" + at("unmade.db")});

  EXPECT_EQ(first.exit, 0) << first.output;
  EXPECT_EQ(second.exit, 0) << second.output;
  EXPECT_THAT(first.output, AllOf(HasSubstr("3.8.0, leader"), HasSubstr("RabbitMQ"), HasSubstr("synchronous_commit"),
                                  HasSubstr("after the effect's commit"), HasSubstr("all is well")));
  rabbitmq::Options queue = rabbit.options();
  queue.create = false;
  EXPECT_FALSE(rabbitmq::openAdmin(queue).value()->stats().has_value());
  EXPECT_EQ(postgres.ask("SELECT (SELECT count(*) FROM tenure_queue) + (SELECT count(*) FROM tenure_fence)"), "0");
  EXPECT_EQ(redis.ask({"DBSIZE"}), "0");
  EXPECT_FALSE(std::filesystem::exists(at("unmade.db")));
  ZooKeeperOptions ensemble;
  ensemble.hosts = Ensemble::shared().hosts();
  zookeeper::SessionThread session(ensemble, std::chrono::seconds{30});
  const auto root = session.existsFresh("/unmade");
  ASSERT_FALSE(root.has_value());
  EXPECT_TRUE(root.error().is(Errc::notFound)) << root.error().message();
}

// shows: operations/tenure-check-looks
TEST_F(Check, GoesOnPastWhatIsAwayAndExits69) {
  PostgresWorld postgres;

  const Run run = check({"--queue", "redis://127.0.0.1:1/0", "--store", urlOf(postgres.options())});

  EXPECT_EQ(run.exit, 69) << run.output;
  EXPECT_THAT(run.output, AllOf(HasSubstr("NOT SEEN unavailable"), HasSubstr("full_page_writes"),
                                HasSubstr("0 REFUSED, 1 NOT SEEN")));
}

// shows: operations/exit-codes-json
TEST_F(Check, SaysInJsonWhatAReplicaWouldRefuseAndExits78) {
  RedisServer careless({"--appendonly", "no"});

  const Run run = check({"--store", urlOf(careless), "--json"});

  EXPECT_EQ(run.exit, 78) << run.output;
  const auto report = nlohmann::json::parse(run.output);
  EXPECT_EQ(report["refusals"], 1);
  const auto& findings = report["subjects"][0]["findings"];
  const auto refused = std::find_if(findings.begin(), findings.end(),
                                    [](const auto& finding) { return finding["severity"] == "refusal"; });
  ASSERT_NE(refused, findings.end());
  EXPECT_EQ((*refused)["name"], "appendonly");
}

// shows: operations/exit-codes-json
TEST_F(Check, WarnsWithExitOne) {
  RabbitWorld rabbit;
  ASSERT_TRUE(rabbit.sink()->append(std::vector{NewMessage{MessageId{"a"}, {}, "body", {}}}).has_value());

  const Run run = check({"--queue", urlOf(rabbit.options())});

  EXPECT_EQ(run.exit, 1) << run.output;
  EXPECT_THAT(run.output, AllOf(HasSubstr("x-dead-letter-exchange"), HasSubstr("1 messages wait")));
}

// shows: operations/tells-whether-store
TEST_F(Check, SaysWhenTheQueueBelongsToAnotherElectionOrTheFenceToAnotherEnsemble) {
  produce(numbered(3));
  Program replica = consume("first");
  ASSERT_TRUE(ledgerReaches(3)) << replica.output();
  ASSERT_EQ(told(replica, SIGTERM), 0);
  const Arguments same = inElection("check", {"--queue", queue()});

  EXPECT_THAT(tenure(same).output, HasSubstr("knows this ensemble"));

  Arguments other = same;
  other.insert(other.end(), {"--election", "another"});
  other.erase(std::find(other.begin(), other.end(), "--election"), std::find(other.begin(), other.end(), "--queue"));
  const Run owned = tenure(other);
  EXPECT_EQ(owned.exit, 78) << owned.output;
  EXPECT_THAT(owned.output, HasSubstr("expected election another"));

  sql("UPDATE tenure_fence SET ensemble = 'f00d'");
  const Run foreign = tenure(same);
  EXPECT_EQ(foreign.exit, 78) << foreign.output;
  EXPECT_THAT(foreign.output, HasSubstr("tenure fence rebase"));
}

TEST_F(Check, SaysWhenAnElectionOfTheSameNameElsewhereOwnsTheQueue) {
  const RabbitWorld rabbit;
  const Arguments queue{"--queue", urlOf(rabbit.options())};
  Arguments elsewhere = queue;
  elsewhere.insert(elsewhere.end(), {"--root", "/elsewhere", "--store", "sqlite:" + at("store.db"), "--exec", "true"});
  Program owner = start(inElection("consume", elsewhere), "owner");
  ASSERT_TRUE(leads(owner)) << owner.output();
  ASSERT_EQ(told(owner, SIGTERM), 0);

  const Run run = tenure(inElection("check", queue));

  EXPECT_EQ(run.exit, 78) << run.output;
  EXPECT_THAT(run.output, HasSubstr("at /elsewhere/elections/"));
}

TEST_F(Check, NeverShowsAPassword) {
  RedisServer redis({"--requirepass", "wonderland"});
  RabbitWorld rabbit;
  write("password", "rabbit-hole\n");
  rabbit.options().passwordFile = at("password");

  const Run wrong =
      check({"--queue", urlOf(rabbit.options()), "--store", urlOf(redis)}, {"TENURE_REDIS_PASSWORD=looking-glass"});

  EXPECT_EQ(wrong.exit, 77) << wrong.output;
  EXPECT_THAT(wrong.output, AllOf(HasSubstr("0 REFUSED, 2 NOT SEEN"), Not(HasSubstr("rabbit-hole")),
                                  Not(HasSubstr("looking-glass"))));
  EXPECT_EQ(check({"--store", urlOf(redis)}, {"TENURE_REDIS_PASSWORD=wonderland"}).exit, 0);
}

// shows: operations/exit-codes-json
TEST_F(Check, WithoutTheElectionsDigestSaysThatItMayNotLookAndExits77) {
  const std::string right = "TENURE_DIGEST=owner:s3cret";
  produce(numbered(1));
  Program replica = consume("first", {"--root", "/guarded"}, {right});
  ASSERT_TRUE(leads(replica)) << replica.output();
  const auto looked = [&](const std::vector<std::string>& environment) {
    return tenure(inElection("check", {"--root", "/guarded"}), "", environment);
  };

  for (const std::string environment : {"TENURE_DIGEST=owner:wrong", "UNRELATED=1"}) {
    const Run run = looked({environment});
    EXPECT_EQ(run.exit, 77) << run.output;
    EXPECT_THAT(run.output, AllOf(HasSubstr("NOT SEEN permission denied: /guarded/"), Not(HasSubstr("nobody")),
                                  Not(HasSubstr("not known"))));
  }
  const Run allowed = looked({right});
  EXPECT_EQ(allowed.exit, 0) << allowed.output;
  EXPECT_THAT(allowed.output, HasSubstr("first"));
  EXPECT_EQ(told(replica, SIGTERM), 0);
}

TEST_F(Check, OfAStoreOnZooKeeperLooksAtItsServersToo) {
  Ensemble alone({.servers = 1});
  const std::string servers =
      "127.0.0.1:" + std::to_string(alone.port(0)) + ",0.0.0.0:" + std::to_string(alone.port(0));

  const Run run = check({"--store", "zookeeper://" + servers + "/small"}, {"TENURE_DIGEST=owner:s3cret"});

  EXPECT_EQ(run.exit, 1) << run.output;
  EXPECT_THAT(run.output, AllOf(HasSubstr("3.8.0, standalone"), HasSubstr("voters"), HasSubstr("expected 3 or more"),
                                HasSubstr("sent in clear to 0.0.0.0:"), HasSubstr("absent"), Not(HasSubstr("s3cret"))));
}

TEST_F(Check, OfAStoreOnServersThatAreAwaySaysWhichAndExits69) {
  const Run run = check({"--store", "zookeeper://127.0.0.1:1/small"});

  EXPECT_EQ(run.exit, 69) << run.output;
  EXPECT_THAT(run.output, AllOf(HasSubstr("server 127.0.0.1:1"), HasSubstr("does not answer"), HasSubstr("NOT SEEN")));
}

TEST_F(Check, NeedsSomethingToLookAt) { EXPECT_EQ(check({}).exit, 64); }

}  // namespace
}  // namespace tenure::test
