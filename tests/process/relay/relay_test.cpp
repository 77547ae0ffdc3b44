/// From any queue of a database to any place, through the real tool: every message is seen once and in its group's
/// order behind the target, across a handover and a kill -9.
#include "process/tool/cli/replica.hpp"
#include "process/tool/wiring/places.hpp"
#include "support/http.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class RelayTool : public ToolInElection {
 protected:
  static constexpr int count = 900;
  static constexpr int groups = 9;

  std::unique_ptr<Place> place(const std::string& kind, const std::string& file) const {
    if (kind == "postgresql" || kind == "table") return std::make_unique<PostgresPlace>();
    if (kind == "redis") return std::make_unique<RedisPlace>();
    if (kind == "rabbitmq") return std::make_unique<RabbitPlace>();
    return std::make_unique<SqlitePlace>(at(file));
  }
  void connect(const std::string& from, const std::string& to) {
    from_ = place(from, "from.db");
    to_ = place(to, "to.db");
    if (from != "table") return;
    isTable_ = true;
    const std::string schema = shop().role();
    shop().ask("SET ROLE " + schema + "; SET search_path = " + schema + "; " +
               postgresql::outboxSql(schema + ".outbox").value());
  }
  PostgresWorld& shop() { return dynamic_cast<PostgresPlace&>(*from_).world(); }
  std::string from() {
    std::string url = from_->url();
    if (!database_.empty()) url.replace(url.rfind('/') + 1, std::string::npos, database_);
    return with(url, isTable_ ? "table=" + shop().role() + ".outbox" : "queue=" + name_ + "-outbox");
  }
  std::string to() const { return with(to_->url(), "queue=" + name_ + "-in"); }

  /// m-1 to m-count, over the groups in turns; some of them. The target refuses the poisoned one.
  void produce(int first, int last, int poisoned = 0) {
    if (isTable_)
      return void(shop().ask("INSERT INTO " + shop().role() +
                             ".outbox(id, group_key, body, headers) SELECT 'm-' || n, 'g' || n % " +
                             std::to_string(groups) + ", n::text, CASE WHEN n = " + std::to_string(poisoned) +
                             " THEN '{\"tenure-priority\": \"many\"}'::jsonb END FROM generate_series(" +
                             std::to_string(first) + ", " + std::to_string(last) + ") AS n"));
    std::string lines;
    for (int i = first; i <= last; ++i)
      lines += "{\"id\":\"m-" + std::to_string(i) + "\",\"group\":\"g" + std::to_string(i % groups) + "\",\"body\":\"" +
               std::to_string(i) + "\"" + (i == poisoned ? ",\"headers\":{\"tenure-priority\":\"many\"}" : "") + "}\n";
    const Run run = tenure({"produce", "--queue", from(), "--format", "jsonl"}, lines);
    ASSERT_EQ(run.exit, 0) << run.output;
  }
  Program relay(const std::string& name, const Arguments& more = {}) {
    Arguments all{"--from", from(), "--to", to(), "--id", name};
    all.insert(all.end(), more.begin(), more.end());
    return start(inElection("relay", all), name);
  }
  /// The consumer at the other end, into a table of its own.
  Program receiver(const Arguments& more = {}) {
    sql("CREATE TABLE IF NOT EXISTS seen(n INTEGER PRIMARY KEY, id, grp, body)", "seen.db");
    Arguments all{"consume",
                  "--zookeeper",
                  Ensemble::shared().hosts(),
                  "--election",
                  election() + ".r",
                  "--queue",
                  to(),
                  "--store",
                  "sqlite:" + at("seen.db"),
                  "--sql",
                  "INSERT INTO seen(id, grp, body) VALUES (:id, :group, :body)"};
    all.insert(all.end(), more.begin(), more.end());
    return start(std::move(all), "receiver");
  }
  bool seen(int messages) {
    return eventually([&] { return std::stoi(sql("SELECT count(*) FROM seen", "seen.db")) >= messages; });
  }
  void expectEachOnceInItsGroupsOrder(int messages) {
    EXPECT_EQ(sql("SELECT count(*) FROM seen", "seen.db"), std::to_string(messages));
    EXPECT_EQ(sql("SELECT count(DISTINCT id) FROM seen", "seen.db"), std::to_string(messages));
    EXPECT_EQ(sql("SELECT count(*) FROM (SELECT CAST(body AS INTEGER) AS b, lag(CAST(body AS INTEGER)) OVER "
                  "(PARTITION BY grp ORDER BY n) AS before FROM seen) WHERE before > b",
                  "seen.db"),
              "0");
  }
  bool isSent() {
    return eventually([&] {
      const Run run = tenure({"queue", "stats", "--queue", from(), "--json"});
      return run.output.find("\"waiting\":0,") != std::string::npos;
    });
  }

  bool isTable_ = false;
  std::string database_;  // in place of the source's own
  std::unique_ptr<Place> from_;
  std::unique_ptr<Place> to_;
  const std::string name_ = freshQueueName();
};

class RelayBetween : public RelayTool, public testing::WithParamInterface<Wired> {};

INSTANTIATE_TEST_SUITE_P(
    All, RelayBetween,
    testing::Values(Wired{"PostgresqlToRabbitmq", "postgresql", "rabbitmq"},
                    Wired{"PostgresqlToRedis", "postgresql", "redis"},
                    Wired{"PostgresqlToPostgresql", "postgresql", "postgresql"},
                    Wired{"PostgresqlToSqlite", "postgresql", "sqlite"}, Wired{"TableToRabbitmq", "table", "rabbitmq"},
                    Wired{"TableToRedis", "table", "redis"}, Wired{"TableToPostgresql", "table", "postgresql"},
                    Wired{"TableToSqlite", "table", "sqlite"}, Wired{"SqliteToRabbitmq", "sqlite", "rabbitmq"},
                    Wired{"SqliteToRedis", "sqlite", "redis"}, Wired{"SqliteToPostgresql", "sqlite", "postgresql"},
                    Wired{"SqliteToAnotherFile", "sqlite", "sqlite"}),
    [](const auto& each) { return each.param.name; });

// shows: outbox/queue-database-place
TEST_P(RelayBetween, EveryMessageIsSeenOnceAndInOrderAcrossAHandoverAndAKill) {
  connect(GetParam().queue, GetParam().store);
  produce(1, count / 3);
  Program first = relay("first", {"--max-batch", "8"});
  ASSERT_TRUE(leads(first)) << first.output();
  Program second = relay("second", {"--max-batch", "8"});
  ASSERT_TRUE(second.waitForOutput(" stood_by ")) << second.output();
  Program consumer = receiver();
  ASSERT_TRUE(leads(consumer)) << consumer.output();
  ASSERT_TRUE(seen(20)) << first.output();

  first.signal(SIGUSR1);
  ASSERT_TRUE(leads(second)) << second.output();
  produce(count / 3 + 1, 2 * count / 3);
  ASSERT_TRUE(seen(count / 3 + 20)) << second.output();
  second.signal(SIGKILL);
  produce(2 * count / 3 + 1, count);
  ASSERT_TRUE(seen(count)) << first.output();
  ASSERT_TRUE(isSent()) << first.output();
  EXPECT_EQ(told(first, SIGTERM), 0) << first.output();
  EXPECT_EQ(told(consumer, SIGTERM), 0) << consumer.output();
  expectEachOnceInItsGroupsOrder(count);
}

class NumberingRelay : public RelayTool, public testing::WithParamInterface<std::string> {};

INSTANTIATE_TEST_SUITE_P(From, NumberingRelay, testing::Values("postgresql", "sqlite", "table"),
                         [](const auto& each) { return each.param; });

/// With a table the first relay is not killed but stands still, and wakes up when the second one has published.
// shows: numbers/numbered-message-dies
TEST_P(NumberingRelay, AFollowerSeesAllOthersOnceAndInOrderWhenAMessageDiesAndARelayIsStruck) {
  connect(GetParam(), "rabbitmq");
  produce(1, count / 3, 40);
  const Arguments numbering{"--number", "--max-batch", "8", "--session-timeout", "4s"};
  Program first = relay("first", numbering);
  ASSERT_TRUE(leads(first)) << first.output();
  Program second = relay("second", numbering);
  ASSERT_TRUE(second.waitForOutput(" stood_by ")) << second.output();
  Program consumer = receiver({"--follow-numbers"});
  ASSERT_TRUE(leads(consumer)) << consumer.output();
  ASSERT_TRUE(seen(20)) << first.output();

  first.signal(isTable_ ? SIGSTOP : SIGKILL);
  produce(count / 3 + 1, count);
  ASSERT_TRUE(leads(second)) << second.output();
  ASSERT_TRUE(seen(count - 1)) << consumer.output();
  if (isTable_) {
    first.signal(SIGCONT);
    ASSERT_TRUE(first.waitForOutput(" term_ended ")) << first.output();
  }

  ASSERT_TRUE(isSent()) << second.output();
  EXPECT_EQ(told(second, SIGTERM), 0) << second.output();
  EXPECT_EQ(told(consumer, SIGTERM), 0) << consumer.output();
  expectEachOnceInItsGroupsOrder(count - 1);
  EXPECT_EQ(sql("SELECT count(*) FROM seen WHERE id = 'm-40'", "seen.db"), "0");
  EXPECT_THAT(consumer.output(), HasSubstr(" message_skipped ")) << "the number of m-40 is not waited for";
  EXPECT_THAT(tenure({"dead-letters", "list", "--queue", from()}).output, HasSubstr("m-40"));
}

// shows: outbox/check-looks-both
TEST_F(RelayTool, ChecksBothEndsAndSendsNothing) {
  connect("sqlite", "sqlite");
  produce(1, 3);
  const Run run = tenure({"relay", "--check", "--from", from(), "--to", to()});
  EXPECT_EQ(run.exit, 0) << run.output;
  EXPECT_EQ(run.output,
            "target: absent, a relay makes it\nwaiting: 3\n"
            "m-1 group=g1 bytes=1\nm-2 group=g2 bytes=1\nm-3 group=g3 bytes=1\n");
  EXPECT_FALSE(std::filesystem::exists(at("to.db")));
}

// shows: outbox/check-looks-both
TEST_F(RelayTool, RefusesPlacesThatItCannotUse) {
  connect("sqlite", "sqlite");
  const auto refused = [&](const std::string& source, const std::string& target) {
    return tenure(inElection("relay", {"--from", source, "--to", target}));
  };
  const Run same = refused(from(), from());
  EXPECT_EQ(same.exit, 78);
  EXPECT_THAT(same.output, HasSubstr("--to: it is the queue that --from names"));
  const Run cache = refused("redis://localhost/0?queue=a", to());
  EXPECT_EQ(cache.exit, 78);
  EXPECT_THAT(cache.output, HasSubstr("--from: expected a queue in PostgreSQL or SQLite"));
}

// shows: outbox/status-queue-queue
TEST_F(RelayTool, StatusRaisesAnAlarmWhereMessagesWaitAndNobodyLeads) {
  connect("sqlite", "sqlite");
  produce(1, 3);
  Program only = relay("only");
  ASSERT_TRUE(leads(only)) << only.output();
  ASSERT_TRUE(isSent()) << only.output();
  EXPECT_EQ(tenure(inElection("status", {"--queue", from()})).output.find("ALARM"), std::string::npos);
  EXPECT_EQ(told(only, SIGTERM), 0) << only.output();
  produce(4, 5);
  const Run status = tenure(inElection("status", {"--queue", from()}));
  EXPECT_EQ(status.exit, 1);
  EXPECT_THAT(status.output, HasSubstr("ALARM      messages wait, and nobody leads: 2\n"));
  EXPECT_THAT(tenure(inElection("status", {"--queue", from(), "--json"})).output, HasSubstr("\"unattended\": 2"));
}

// shows: outbox/status-queue-queue
TEST_F(RelayTool, StatsRaiseTheSameAlarmWhereTheyAreToldOfTheEnsemble) {
  connect("sqlite", "sqlite");
  produce(1, 1);
  Program only = relay("only");
  ASSERT_TRUE(leads(only)) << only.output();
  ASSERT_TRUE(isSent()) << only.output();
  const std::vector<std::string> stats{"queue", "stats", "--queue", from(), "--zookeeper", Ensemble::shared().hosts()};
  const Run led = tenure(stats);
  EXPECT_EQ(led.exit, 0);
  EXPECT_THAT(led.output, HasSubstr("leader        only\n"));
  EXPECT_EQ(told(only, SIGTERM), 0) << only.output();
  produce(2, 4);

  const Run left = tenure(stats);

  EXPECT_EQ(left.exit, 0);
  EXPECT_THAT(left.output, HasSubstr("leader        nobody\nALARM         messages wait, and nobody leads: 3\n"));
}

// shows: outbox/queue-takes-dead
TEST_F(RelayTool, WhatNoQueueTakesIsADeadLetterAndIsPublishedOnceItIsPutBack) {
  connect("sqlite", "rabbitmq");
  RabbitServer& broker = RabbitServer::shared();
  broker.declareExchange(name_, "direct");
  const std::string exchange = with(to_->url(), "exchange=" + name_ + "&routing-key=new");
  produce(1, 2);
  Program only =
      start(inElection("relay", {"--from", from(), "--to", exchange, "--id", "only", "--max-attempts", "1"}), "only");
  ASSERT_TRUE(only.waitForOutput(" message_dead_lettered ", 2)) << only.output();
  const Run list = tenure({"dead-letters", "list", "--queue", from()});
  EXPECT_THAT(list.output, AllOf(HasSubstr("m-1"), HasSubstr("m-2"), HasSubstr("NO_ROUTE")));

  tenure({"produce", "--queue", to()}, "made the queue\n");
  broker.bind(name_, "new", name_ + "-in");
  EXPECT_EQ(tenure({"dead-letters", "requeue", "--queue", from(), "--all"}).exit, 0);
  ASSERT_TRUE(isSent()) << only.output();
  EXPECT_THAT(tenure({"queue", "stats", "--queue", to(), "--json"}).output, HasSubstr("\"waiting\":3,"));
  EXPECT_EQ(told(only, SIGTERM), 0) << only.output();
}

// shows: watch/relay-tells-target
TEST_F(RelayTool, AnswersHealthChecksAndTellsWhatWaits) {
  connect("sqlite", "sqlite");
  produce(1, 5);
  const std::string socket = at("http.sock");
  const auto shows = [&](const std::string& series, const std::string& rest) {
    const std::string line = "\n" + series + "{election=\"" + election() + "\"" + rest + "\n";
    return eventually([&] { return httpGet(socket, "/metrics").body.find(line) != std::string::npos; });
  };
  Program only = relay("only", {"--http", "unix:" + socket});
  EXPECT_TRUE(eventually([&] { return httpGet(socket, "/leader").status == 200; })) << only.output();
  EXPECT_TRUE(shows("tenure_messages_total", ",outcome=\"committed\"} 5")) << httpGet(socket, "/metrics").body;
  EXPECT_TRUE(shows("tenure_relay_published_total", "} 5")) << httpGet(socket, "/metrics").body;
  EXPECT_TRUE(shows("tenure_relay_refused_total", "} 0")) << httpGet(socket, "/metrics").body;
  ASSERT_EQ(tenure(inElection("pause", {"--wait"})).exit, 0);
  produce(6, 8);
  EXPECT_TRUE(shows("tenure_queue_waiting", "} 3")) << httpGet(socket, "/metrics").body;
  EXPECT_EQ(told(only, SIGTERM), 0) << only.output();
}

// shows: outbox/check-looks-both
TEST_F(RelayTool, RefusesAnExchangeThatIsNotThere) {
  connect("sqlite", "rabbitmq");
  const Run run = tenure(inElection("relay", {"--from", from(), "--to", with(to_->url(), "exchange=absent")}));
  EXPECT_EQ(run.exit, 78);
  EXPECT_THAT(run.output, AllOf(HasSubstr("--to"), HasSubstr("absent")));
}

// shows: outbox/table-user-own
TEST_F(RelayTool, PublishesATableOfTheUsersOwnToTheExchangeOfEachRow) {
  connect("table", "rabbitmq");
  shop().ask("SET ROLE " + shop().role() + "; CREATE TABLE " + shop().role() +
             ".events(\"No\" bigserial PRIMARY KEY, customer text, event jsonb, topic text, key text, state int"
             " DEFAULT 0)");
  RabbitServer& broker = RabbitServer::shared();
  broker.declareExchange(name_, "direct");
  tenure({"produce", "--queue", to()}, "made the queue\n");
  broker.bind(name_, "paid", name_ + "-in");
  const std::string table = with(from_->url(), "table=" + shop().role() + ".events&states=0,1,2");
  const std::string columns = "id=\"No\",group=customer,body=event,exchange=topic,routing_key=key,status=state";
  shop().ask("INSERT INTO " + shop().role() + ".events(customer, event, topic, key) VALUES ('ada', '{\"a\": 1}', '" +
             name_ + "', 'paid'), ('bob', '{}', '" + name_ + "', 'unknown')");
  Program only = start(
      inElection("relay", {"--from", table, "--columns", columns, "--to", to(), "--id", "only", "--max-attempts", "1"}),
      "only");
  ASSERT_TRUE(only.waitForOutput(" message_dead_lettered ")) << only.output();
  EXPECT_TRUE(eventually([&] {
    return shop().ask("SELECT string_agg(state::text, ',' ORDER BY \"No\") FROM " + shop().role() + ".events") == "1,2";
  })) << only.output();
  EXPECT_THAT(tenure({"queue", "stats", "--queue", to(), "--json"}).output, HasSubstr("\"waiting\":2,"));
  EXPECT_EQ(told(only, SIGTERM), 0) << only.output();

  const Run wrong = tenure(inElection("relay", {"--from", table, "--columns", "id=nothing,body=event", "--to", to()}));
  EXPECT_EQ(wrong.exit, 78);
  EXPECT_THAT(wrong.output, AllOf(HasSubstr("--from"), HasSubstr("nothing"), HasSubstr("customer")));
}

/// Else the relay would publish the row again and again.
// shows: outbox/row-without-body
TEST_F(RelayTool, EndsWithARowThatNoMarkChanges) {
  connect("table", "sqlite");
  const std::string schema = shop().role();
  shop().ask("SET ROLE " + schema + "; SET search_path = " + schema +
             "; CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
             "CREATE TRIGGER keep BEFORE UPDATE ON outbox FOR EACH ROW EXECUTE FUNCTION keep()");
  produce(1, 1);

  Program only = relay("only");

  const auto ended = only.waitForEnd();
  ASSERT_TRUE(ended) << only.output();
  EXPECT_EQ(ended->exitCode, 78) << only.output();
  EXPECT_THAT(only.output(), HasSubstr("row m-1 was delivered, and the UPDATE that follows changes nothing"));
  EXPECT_THAT(tenure({"queue", "stats", "--queue", to(), "--json"}).output, HasSubstr("\"waiting\":1,"));
}

// shows: outbox/check-looks-both
TEST_F(RelayTool, ChecksWhatOtherProgramsHaveSentBeforeTheFirstLeader) {
  connect("postgresql", "postgresql");
  shop().ask("SELECT tenure_send('" + name_ +
             "-outbox', 'body ' || n, 'm-' || n, 'g') FROM generate_series(1, 22) AS n");

  const Run run = tenure({"relay", "--check", "--from", from(), "--to", to()});

  EXPECT_EQ(run.exit, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("target: absent, a relay makes it\n"));
  EXPECT_THAT(run.output, HasSubstr("sent by other programs, not yet in the queue: 22\n"));
  EXPECT_THAT(run.output, HasSubstr("m-20 group=g bytes=7\nand 2 more\n"));
  EXPECT_EQ(dynamic_cast<PostgresPlace&>(*to_).world().ask("SELECT count(*) FROM tenure_queue"), "0");
}

// shows: outbox/check-looks-both
TEST_F(RelayTool, RefusesItsOwnQueueUnderAnotherName) {
  connect("postgresql", "sqlite");
  produce(1, 1);
  std::string other = from();
  other.replace(other.find("127.0.0.1"), 9, "localhost");

  const Run run = tenure(inElection("relay", {"--from", from(), "--to", other}));

  EXPECT_EQ(run.exit, 78);
  EXPECT_THAT(run.output, HasSubstr("--to: it is the queue that --from names"));
}

// shows: outbox/dump-restored-another
TEST_F(RelayTool, GoesOnWhereItsDatabaseWasDumpedAndRestored) {
  connect("postgresql", "sqlite");
  produce(1, 300);
  Program consumer = receiver();
  {
    Program before = relay("before", {"--max-batch", "8"});
    ASSERT_TRUE(seen(100)) << before.output();
    EXPECT_EQ(told(before, SIGTERM), 0) << before.output();
  }
  const postgresql::Options& options = shop().options();
  const std::string restored = "restored_" + shop().role();
  PostgresServer::shared().session().ask("CREATE DATABASE " + restored);
  const std::string server = " -h " + options.host + " -p " + std::to_string(options.port) + " -U superuser ";
  Program dump({"/bin/sh", "-c",
                "pg_dump" + server + "-n " + shop().role() + " " + options.database + " | psql -q -v ON_ERROR_STOP=1" +
                    server + restored},
               at("dump"));
  ASSERT_EQ(exitOf(dump), 0) << dump.output();

  database_ = restored;
  produce(301, 400);
  Program after = relay("after", {"--max-batch", "8"});
  ASSERT_TRUE(seen(400)) << after.output();
  ASSERT_TRUE(isSent()) << after.output();
  EXPECT_EQ(told(after, SIGTERM), 0) << after.output();
  EXPECT_EQ(told(consumer, SIGTERM), 0) << consumer.output();
  expectEachOnceInItsGroupsOrder(400);
}

}  // namespace
}  // namespace tenure::test
