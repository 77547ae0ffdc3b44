/// Any queue with any store, through the real tool: every message once and in order, across a handover and a kill -9.
#include "places.hpp"
#include "process/tool/cli/replica.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Wiring : public ToolInElection, public testing::WithParamInterface<Wired> {
 protected:
  static constexpr int count = 900;

  void SetUp() override {
    ToolInElection::SetUp();
    queue_ = place(GetParam().queue);
    if (GetParam().store != nullptr) store_ = place(GetParam().store);
    makeLedger();
  }

  std::string queueUrl() const { return test::with(queue_->url(), "queue=" + queueName_); }
  /// What a command needs to find both.
  Arguments ends() const {
    Arguments all{"--queue", queueUrl()};
    if (store_) all.insert(all.end(), {"--store", store_->url()});
    return all;
  }
  Program replica(const std::string& name, const Arguments& more = {}) { return replicaInto("ledger", name, more); }
  Program replicaInto(const std::string& table, const std::string& name, Arguments more = {}) {
    const Arguments both = ends();
    more.insert(more.end(), both.begin(), both.end());
    more.insert(more.end(), {"--id", name, "--sql", "INSERT INTO " + table + "(id, token) VALUES (:id, :token)"});
    return start(inElection("consume", more), name);
  }
  /// A third of all messages: the first, second or last.
  void produceThird(int which) {
    std::string lines;
    for (int i = which * count / 3 + 1; i <= (which + 1) * count / 3; ++i)
      lines += "{\"id\":\"m-" + std::to_string(i) + "\",\"body\":\"b\"}\n";
    const Run run = tenure({"produce", "--queue", queueUrl(), "--format", "jsonl"}, lines);
    ASSERT_EQ(run.exit, 0) << run.output;
  }

  std::string ask(const std::string& query) {
    if (auto* postgres = dynamic_cast<PostgresPlace*>(effects())) return postgres->world().ask(query);
    return sql(query, effects() == queue_.get() ? "queue.db" : "store.db");
  }
  bool ledgerHas(int rows) {
    return eventually([&] { return std::stoi(ask("SELECT count(*) FROM ledger")) >= rows; });
  }
  /// Every message once, in the order of production, under tokens that never go down.
  void expectWholeLedger() {
    EXPECT_EQ(ask("SELECT count(*) FROM ledger"), std::to_string(count));
    EXPECT_EQ(ask("SELECT count(DISTINCT id) FROM ledger"), std::to_string(count));
    EXPECT_EQ(ask("SELECT count(*) FROM (SELECT id, token, lag(token) OVER (ORDER BY n) AS before,"
                  " row_number() OVER (ORDER BY n) AS place FROM ledger) AS rows"
                  " WHERE id <> 'm-' || place OR token < before"),
              "0");
  }

 private:
  Place* effects() const { return store_ ? store_.get() : queue_.get(); }
  std::unique_ptr<Place> place(const std::string& kind) const {
    if (kind == "postgresql") return std::make_unique<PostgresPlace>();
    if (kind == "redis") return std::make_unique<RedisPlace>();
    if (kind == "rabbitmq") return std::make_unique<RabbitPlace>();
    return std::make_unique<SqlitePlace>(at(queue_ ? "store.db" : "queue.db"));
  }
  void makeLedger() {
    if (auto* postgres = dynamic_cast<PostgresPlace*>(effects()))
      postgres->world().ask(
          "CREATE TABLE ledger(n bigserial PRIMARY KEY, id text, token bigint);"
          "GRANT ALL ON ledger TO PUBLIC; GRANT ALL ON SEQUENCE ledger_n_seq TO PUBLIC");
    else
      ask("CREATE TABLE ledger(n INTEGER PRIMARY KEY, id, token)");
  }

  // Servers are shared by the tests of this program, and a queue belongs to one election.
  const std::string queueName_ = freshQueueName();
  std::unique_ptr<Place> queue_;
  std::unique_ptr<Place> store_;
};

INSTANTIATE_TEST_SUITE_P(All, Wiring,
                         testing::Values(Wired{"Postgresql", "postgresql", nullptr},
                                         Wired{"PostgresqlIntoSqlite", "postgresql", "sqlite"},
                                         Wired{"RedisIntoSqlite", "redis", "sqlite"},
                                         Wired{"RedisIntoPostgresql", "redis", "postgresql"},
                                         Wired{"RabbitmqIntoSqlite", "rabbitmq", "sqlite"},
                                         Wired{"RabbitmqIntoPostgresql", "rabbitmq", "postgresql"},
                                         Wired{"SqliteIntoPostgresql", "sqlite", "postgresql"},
                                         Wired{"SqliteIntoAnotherFile", "sqlite", "sqlite"}),
                         [](const auto& each) { return each.param.name; });

// shows: readme/leaves-next-takes, exactly-once/any-queue-goes
TEST_P(Wiring, AppliesEveryMessageOnceAndInOrderAcrossAHandoverAndAKill) {
  produceThird(0);
  Program first = replica("first", {"--max-batch", "4"});
  ASSERT_TRUE(leads(first)) << first.output();
  Program second = replica("second", {"--max-batch", "4"});
  ASSERT_TRUE(second.waitForOutput(" stood_by ")) << second.output();
  ASSERT_TRUE(ledgerHas(20)) << first.output();

  first.signal(SIGUSR1);
  ASSERT_TRUE(leads(second)) << second.output();
  produceThird(1);
  ASSERT_TRUE(ledgerHas(count / 3 + 20)) << second.output();
  second.signal(SIGKILL);
  produceThird(2);

  ASSERT_TRUE(ledgerHas(count)) << first.output();
  EXPECT_EQ(told(first, SIGTERM), 0) << first.output();
  expectWholeLedger();
  EXPECT_EQ(ask("SELECT count(DISTINCT token) FROM ledger"), "3");
}

// shows: operations/standby-looks-credentials
TEST_P(Wiring, AStandbyProvesItselfOnItsQueueAndItsStore) {
  produceThird(0);
  Program first = replica("first");
  ASSERT_TRUE(leads(first)) << first.output();
  Program misled = replicaInto("absent", "misled");
  EXPECT_TRUE(misled.waitForOutput(" not_ready ")) << misled.output();
  const auto isTold = [&] { return tenure(inElection("status")).output.find("not ready: ") != std::string::npos; };
  EXPECT_TRUE(eventually(isTold)) << misled.output();
  Program second = replica("second");
  EXPECT_TRUE(second.waitForOutput(" prepared ")) << second.output();
  EXPECT_THAT(second.output(), Not(HasSubstr(" not_ready ")));
  EXPECT_THAT(misled.output(), HasSubstr("absent"));
  ASSERT_TRUE(ledgerHas(count / 3)) << first.output();

  EXPECT_TRUE(misled.waitForOutput(" stepped_aside ")) << misled.output();
  first.signal(SIGKILL);
  EXPECT_TRUE(leads(second)) << second.output();
  EXPECT_THAT(misled.output(), Not(HasSubstr(" elected ")));
}

/// A store without SQL keeps the ids, and what the commands did is told by a file of theirs.
class WithoutSql : public ToolInElection, public testing::WithParamInterface<Wired> {
 protected:
  static std::string expectedLines(int count) {
    std::string lines;
    for (int i = 1; i <= count; ++i) lines += "m-" + std::to_string(i) + "\n";
    return lines;
  }
  std::string storeUrl() const {
    return GetParam().store == std::string_view("zookeeper")
               ? "zookeeper://" + Ensemble::shared().hosts() + "/" + GetParam().name
               : redis_.url();
  }
  std::string queueUrl() const {
    const std::string_view kind = GetParam().queue;
    if (kind == "rabbitmq") return rabbit_.url() + "&queue=shop:" + queueName_;  // a broker takes any name
    if (kind == "postgresql") return postgres_.url() + "?queue=" + queueName_;
    if (kind == "redis") return redis_.url() + "?queue=" + queueName_;
    return "sqlite:" + at("queue.db") + "?queue=" + queueName_;
  }

 private:
  const std::string queueName_ = freshQueueName();
  const RabbitPlace rabbit_;
  const PostgresPlace postgres_;
  const RedisPlace redis_;
};

INSTANTIATE_TEST_SUITE_P(All, WithoutSql,
                         testing::Values(Wired{"Redis", "redis", "redis"},
                                         Wired{"RabbitmqIntoRedis", "rabbitmq", "redis"},
                                         Wired{"PostgresqlIntoRedis", "postgresql", "redis"},
                                         Wired{"SqliteIntoRedis", "sqlite", "redis"},
                                         Wired{"RabbitmqIntoZooKeeper", "rabbitmq", "zookeeper"},
                                         Wired{"PostgresqlIntoZooKeeper", "postgresql", "zookeeper"},
                                         Wired{"RedisIntoZooKeeper", "redis", "zookeeper"},
                                         Wired{"SqliteIntoZooKeeper", "sqlite", "zookeeper"}),
                         [](const auto& each) { return each.param.name; });

// shows: exactly-once/any-queue-goes
TEST_P(WithoutSql, RunsACommandOnceForEachMessageAndDropsWhatIsProducedAgain) {
  const auto produceTwelve = [&] {
    ASSERT_EQ(tenure({"produce", "--queue", queueUrl(), "--format", "jsonl"}, numbered(12)).exit, 0);
  };
  const auto replica = [&](const std::string& name) {
    return start(inElection("consume", {"--queue", queueUrl(), "--store", storeUrl(), "--id", name, "--keep-log", "1h",
                                        "--exec", "echo $TENURE_MESSAGE_ID >> " + at("done")}),
                 name);
  };
  produceTwelve();
  Program first = replica("first");
  ASSERT_TRUE(eventually([&] { return occurrences(contentsOf(at("done")), "\n") >= 4; })) << first.output();
  Program second = replica("second");
  ASSERT_TRUE(second.waitForOutput(" stood_by ")) << second.output();

  first.signal(SIGUSR1);
  ASSERT_TRUE(leads(second)) << second.output();
  produceTwelve();

  ASSERT_TRUE(second.waitForOutput(" duplicate_dropped ", 12)) << second.output();
  EXPECT_EQ(contentsOf(at("done")), expectedLines(12));
  EXPECT_THAT(tenure({"fence", "show", "--queue", queueUrl(), "--store", storeUrl()}).output, HasSubstr("commits "));
  const Run log = tenure({"queue", "log", "--queue", queueUrl(), "--store", storeUrl(), "--outcome", "done"});
  EXPECT_EQ(occurrences(log.output, "\n"), 12U) << log.output;
  EXPECT_EQ(told(first, SIGTERM), 0) << first.output();
  EXPECT_EQ(told(second, SIGTERM), 0) << second.output();
}

class DeadLettersElsewhere : public Wiring {};

INSTANTIATE_TEST_SUITE_P(Some, DeadLettersElsewhere,
                         testing::Values(Wired{"Postgresql", "postgresql", nullptr},
                                         Wired{"RabbitmqIntoSqlite", "rabbitmq", "sqlite"},
                                         Wired{"RedisIntoPostgresql", "redis", "postgresql"}),
                         [](const auto& each) { return each.param.name; });

// shows: exactly-once/any-queue-goes
TEST_P(DeadLettersElsewhere, GoBackToTheirQueueAndAreDoneThen) {
  const std::string itsTurnPasses = R"({"id":"m-1","group":"g","body":"1","headers":{"tenure-number":"1"}})";
  ASSERT_EQ(tenure({"produce", "--queue", queueUrl(), "--format", "jsonl"}, itsTurnPasses + '\n').exit, 0);
  const auto lettersNow = [&](const std::string& verb, const Arguments& more = {}) {
    Arguments words{"dead-letters", verb};
    const Arguments both = ends();
    words.insert(words.end(), both.begin(), both.end());
    words.insert(words.end(), more.begin(), more.end());
    return tenure(words).output;
  };
  Arguments failing = ends();
  failing.insert(failing.end(), {"--id", "a", "--max-attempts", "1", "--log-level", "debug", "--follow-numbers",
                                 "--exec", "test -e " + at("mended")});
  Program consumer = start(inElection("consume", failing), "a");
  ASSERT_TRUE(consumer.waitForOutput(" message_dead_lettered ")) << consumer.output();
  EXPECT_THAT(lettersNow("list"), HasSubstr("m-1  \"g\"  attempts=1"));

  write("mended", "");
  EXPECT_THAT(lettersNow("requeue", {"--all"}), HasSubstr("1 requeued"));

  ASSERT_TRUE(consumer.waitForOutput(" batch_committed ", 2)) << consumer.output();
  EXPECT_EQ(lettersNow("list"), "");
  EXPECT_EQ(told(consumer, SIGTERM), 0) << consumer.output();
}

class CoalescingOnRabbit : public ToolInElection {};

// shows: urls/coalescing-run-stands
TEST_F(CoalescingOnRabbit, IsShownFarMoreThanOthersAre) {
  const RabbitPlace rabbit;
  const std::string url = rabbit.url() + "&queue=refreshes";
  const auto request = [](const std::string& id, const std::string& group) {
    return R"({"id":")" + id + R"(","group":")" + group + R"(","body":"x"})" + '\n';
  };
  std::string requests;
  for (int i = 1; i <= 3000; ++i) requests += request("r-" + std::to_string(i), "page");
  requests += request("end", "another");
  ASSERT_EQ(tenure({"produce", "--queue", url, "--format", "jsonl"}, requests).exit, 0);
  const Arguments ends{"--queue", url, "--store", "sqlite:" + at("effects.db")};
  Arguments refresh = ends;
  refresh.insert(refresh.end(),
                 {"--coalesce", "group", "--exec",
                  "echo $TENURE_MESSAGE_ID >>" + at("runs") + "; until [ -e " + at("go") + " ]; do sleep 0.1; done"});
  const Arguments stats{"queue", "stats", "--queue", url};

  Program replica = start(inElection("consume", refresh), "a");
  ASSERT_TRUE(eventually([&] { return !contentsOf(at("runs")).empty(); })) << replica.output();
  ASSERT_TRUE(eventually([&] { return tenure(stats).output.find("waiting       0 ") != std::string::npos; }))
      << tenure(stats).output << "the broker hands them all out";
  write("go", "");

  EXPECT_TRUE(eventually([&] { return contentsOf(at("runs")).ends_with("end\n"); })) << contentsOf(at("runs"));
  EXPECT_LE(occurrences(contentsOf(at("runs")), "\n"), 5U) << "of 256 at a time it would be a dozen";
  EXPECT_EQ(told(replica, SIGTERM), 0) << replica.output();
}

class OversizeOnRabbit : public ToolInElection {};

TEST_F(OversizeOnRabbit, IsADeadLetterThatNobodyRequeuesWithoutItsBody) {
  const RabbitPlace rabbit;
  const std::string queue = freshQueueName();
  const Arguments ends{"--queue", rabbit.url() + "&queue=" + queue + "&largest-body=1048576", "--store",
                       "sqlite:" + at("effects.db")};
  const auto with = [&](Arguments words, const Arguments& more = {}) {
    words.insert(words.end(), ends.begin(), ends.end());
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const std::string fine = R"({"id":"fine","body":"1"})" + std::string("\n");
  ASSERT_EQ(tenure({"produce", "--queue", ends[1], "--format", "jsonl"}, fine).exit, 0);
  RabbitServer::shared().evaluate("rabbit_basic:publish(rabbit_misc:r(<<\"/\">>, exchange, <<>>), <<\"" + queue +
                                  "\">>, [{message_id, <<\"huge\">>}], binary:copy(<<\"x\">>, 1048577))");

  Program consumer = start(inElection("consume", with({}, {"--id", "a", "--exec", "cat"})), "a");
  ASSERT_TRUE(consumer.waitForOutput(" message_dead_lettered ")) << consumer.output();
  EXPECT_EQ(told(consumer, SIGTERM), 0) << consumer.output();

  EXPECT_THAT(tenure(with({"dead-letters", "list"})).output,
              AllOf(HasSubstr("huge"), HasSubstr("body of 1048577 bytes")));
  const Run all = tenure(with({"dead-letters", "requeue", "--all"}));
  EXPECT_THAT(all.output, AllOf(HasSubstr("not kept whole"), HasSubstr("0 requeued")));
  const Run named = tenure(with({"dead-letters", "requeue", "1"}));
  EXPECT_THAT(named.output, HasSubstr("dead letter 1 was not kept whole"));
  EXPECT_NE(named.exit, 0);
  EXPECT_THAT(tenure(with({"dead-letters", "list"})).output, HasSubstr("huge"));
}

class StoreOnTheElectionsServers : public ToolInElection {};

// shows: operations/digest-created-zookeeper
TEST_F(StoreOnTheElectionsServers, BelongsToTheElectionsDigest) {
  write("owner", "owner:s3cret\n");
  ASSERT_EQ(tenure({"produce", "--queue", queue()}, "a\n").exit, 0);
  const std::string store = "zookeeper://" + Ensemble::shared().hosts() + "/small?root=/owned-store";
  const Arguments wired{"--root", "/owned-store", "--digest-file", at("owner"), "--queue", queue(), "--store", store};
  Arguments words = wired;
  words.insert(words.end(), {"--exec", "true", "--log-level", "debug"});

  Program replica = start(inElection("consume", words), "a");

  EXPECT_TRUE(replica.waitForOutput(" batch_committed ")) << replica.output();
  EXPECT_THAT(replica.output(), Not(HasSubstr(" phase_failed ")));
  const auto status = tenure(inElection("status", wired));
  EXPECT_EQ(status.exit, 0) << status.output << "who blocks is looked up there as well";
  EXPECT_EQ(told(replica, SIGTERM), 0) << replica.output();
}

/// What a command finds in its environment, when `tenure consume` has a password for PostgreSQL in its own.
class Inheritance : public ToolInElection {
 protected:
  std::string environmentOfACommand(const std::string& queueUrl) {
    EXPECT_EQ(tenure({"produce", "--queue", queueUrl, "--format", "jsonl"}, numbered(1)).exit, 0);
    Program replica =
        start(inElection("consume", {"--queue", queueUrl, "--exec", "env > " + at("seen"), "--log-level", "debug"}),
              "replica", {"PGPASSWORD=s3cret", "PGPASSFILE=/etc/tenure/passwords"});
    EXPECT_TRUE(replica.waitForOutput(" batch_committed ")) << replica.output();
    EXPECT_EQ(told(replica, SIGTERM), 0) << replica.output();
    return contentsOf(at("seen"));
  }
};

// shows: operations/command-inherit-our
TEST_F(Inheritance, Row40ThePasswordOfOurDatabaseIsNotHandedToCommands) {
  const PostgresPlace database;

  EXPECT_THAT(environmentOfACommand(database.url() + "?queue=" + freshQueueName()),
              AllOf(Not(HasSubstr("s3cret")), HasSubstr("PGPASSFILE=/etc/tenure/passwords\n")));
}

TEST_F(Inheritance, ThatOfADatabaseWhichIsNotOursIs) {
  EXPECT_THAT(environmentOfACommand(queue()), HasSubstr("PGPASSWORD=s3cret\n"));
}

/// A statement that is right for every message but one.
class CastOfTheBody : public ToolInElection {
 protected:
  void SetUp() override {
    ToolInElection::SetUp();
    place_.world().ask("CREATE TABLE ledger(id text, v int); GRANT ALL ON ledger TO PUBLIC");
  }
  std::string queueUrl() const { return place_.url() + "?queue=" + queueName_; }
  void produce(const std::vector<std::string>& bodies) {
    std::string lines;
    for (const std::string& body : bodies) lines += body + "\n";
    const Run run = tenure({"produce", "--queue", queueUrl()}, lines);
    ASSERT_EQ(run.exit, 0) << run.output;
  }
  Program replica(const std::string& name) {
    return start(inElection("consume", {"--queue", queueUrl(), "--max-attempts", "1", "--id", name, "--sql",
                                        "INSERT INTO ledger VALUES(:id, :body::int)"}),
                 name);
  }
  bool ledgerHas(const std::string& values) {
    return eventually(
        [&] { return place_.world().ask("SELECT string_agg(v::text, ',' ORDER BY v) FROM ledger") == values; });
  }

  PostgresPlace place_;
  const std::string queueName_ = freshQueueName();
};

// shows: exactly-once/body-fit-failed
TEST_F(CastOfTheBody, KillsOneMessageAndNoReplicaBeforeAFailoverAndAfterIt) {
  produce({"1", "2", "three", "4", "5"});
  Program first = replica("first");
  ASSERT_TRUE(leads(first)) << first.output();
  Program second = replica("second");
  ASSERT_TRUE(second.waitForOutput(" stood_by ")) << second.output();
  EXPECT_TRUE(ledgerHas("1,2,4,5")) << first.output();
  EXPECT_EQ(place_.world().ask("SELECT count(*) FROM tenure_dead_letter"), "1");

  first.signal(SIGKILL);
  produce({"6"});

  EXPECT_TRUE(ledgerHas("1,2,4,5,6")) << second.output();
  EXPECT_EQ(told(second, SIGTERM), 0) << second.output();
}

TEST(Schema, IsAppliedAndPrintedByTheTool) {
  PostgresServer& server = PostgresServer::shared();
  server.session().ask("CREATE ROLE bare LOGIN; CREATE SCHEMA bare AUTHORIZATION bare");
  const std::string url = "postgresql://bare@127.0.0.1:" + std::to_string(server.port()) + "/postgres";
  const TemporaryFolder folder;
  auto tool = [&, runs = 0](Program::Arguments words) mutable {
    words.insert(words.begin(), std::string(TENURE_BINARY_DIR) + "/tenure");
    Program program(words, folder.path() / std::to_string(++runs));
    EXPECT_EQ(program.waitForEnd().value_or(Ending{}).exitCode, 0) << program.output();
    return program.output();
  };

  EXPECT_THAT(tool({"schema", "print", "--store", url}), HasSubstr("CREATE TABLE tenure_lane"));
  EXPECT_THAT(tool({"schema", "apply", "--store", url}), HasSubstr("the tables are there"));
  EXPECT_THAT(tool({"schema", "apply", "--store", url}), HasSubstr("the tables are there")) << "again";

  EXPECT_EQ(server.session("bare").ask("SELECT version FROM tenure_schema"), "9");
}

}  // namespace
}  // namespace tenure::test
