/// What is stuck is seen, on any queue with any store, through the real tool.
#include <nlohmann/json.hpp>

#include "places.hpp"
#include "process/tool/cli/replica.hpp"

namespace tenure::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class StuckWork : public ToolInElection, public testing::WithParamInterface<Wired> {
 protected:
  void SetUp() override {
    ToolInElection::SetUp();
    queue_ = place(GetParam().queue);
    if (GetParam().store != nullptr) store_ = place(GetParam().store);
  }

  std::string queueUrl() const { return test::with(queue_->url(), "queue=" + queueName_); }
  Arguments withEnds(Arguments words, const Arguments& more = {}) const {
    words.insert(words.end(), {"--queue", queueUrl()});
    if (store_) words.insert(words.end(), {"--store", store_->url()});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  json stats() {
    const Run run = tenure(withEnds({"queue", "stats", "--json"}));
    EXPECT_EQ(run.exit, 0) << run.output;
    return json::parse(run.output, nullptr, false);
  }
  void produceTo(const std::string& lines) {
    const Run run = tenure({"produce", "--queue", queueUrl(), "--format", "jsonl"}, lines);
    ASSERT_EQ(run.exit, 0) << run.output;
  }

 private:
  std::unique_ptr<Place> place(const std::string& kind) const {
    if (kind == "postgresql") return std::make_unique<PostgresPlace>();
    if (kind == "redis") return std::make_unique<RedisPlace>();
    if (kind == "rabbitmq") return std::make_unique<RabbitPlace>();
    if (kind == "zookeeper") return std::make_unique<ZooKeeperPlace>(std::string("stuck.") + GetParam().name);
    return std::make_unique<SqlitePlace>(at(queue_ ? "store.db" : "queue.db"));
  }

  const std::string queueName_ = freshQueueName();
  std::unique_ptr<Place> queue_;
  std::unique_ptr<Place> store_;
};

INSTANTIATE_TEST_SUITE_P(All, StuckWork,
                         testing::Values(Wired{"Sqlite", "sqlite", nullptr}, Wired{"Postgresql", "postgresql", nullptr},
                                         Wired{"Redis", "redis", nullptr},
                                         Wired{"RabbitmqIntoPostgresql", "rabbitmq", "postgresql"},
                                         Wired{"RabbitmqIntoZooKeeper", "rabbitmq", "zookeeper"},
                                         Wired{"RedisIntoSqlite", "redis", "sqlite"}),
                         [](const auto& each) { return each.param.name; });

// Groups that have nothing to do with each other: one misses its number 2, one is postponed, one is blocked, and one
// has a dead letter.
constexpr const char* messages = R"({"id":"first","group":"g","body":"b","headers":{"tenure-number":"1"}}
{"id":"third","group":"g","body":"b","headers":{"tenure-number":"3"}}
{"id":"bad","group":"d","body":"b"}
{"id":"later","group":"p","body":"b"}
{"id":"blocking","group":"b","body":"b"}
{"id":"behind","group":"b","body":"b"}
)";
constexpr const char* command =
    "case $TENURE_MESSAGE_ID in later) echo no stock >&2; exit 75;; bad) exit 65;; blocking) exit 1;; esac";

TEST_P(StuckWork, IsShownByStatsAndByStatus) {
  produceTo(messages);
  Program leader =
      start(inElection("consume", withEnds({}, {"--id", "a", "--exec", command, "--lanes", "2", "--follow-numbers",
                                                "--on-dead", "block", "--max-attempts", "1", "--retry-base", "10ms"})),
            "a");
  const auto isAll = [](const json& all) {
    return all.is_object() && all["kept"].size() == 1 && all["postponed"].size() == 1 && all["blocked"].size() == 1 &&
           all["dead_letters"] == 1 && all["postponed"][0]["times"] >= 3;
  };
  ASSERT_TRUE(eventually([&] { return isAll(stats()); })) << stats() << leader.output();

  const json all = stats();
  EXPECT_EQ(all["kept"][0]["group"], "g");
  EXPECT_EQ(all["kept"][0]["missing"], 2);
  EXPECT_EQ(all["kept"][0]["waiting"], 1);
  EXPECT_EQ(all["postponed"][0]["id"], "later");
  EXPECT_THAT(all["postponed"][0]["reason"].get<std::string>(), HasSubstr("no stock"));
  EXPECT_EQ(all["blocked"][0]["id"], "blocking");
  EXPECT_EQ(all["election"], election());
  EXPECT_TRUE(all["in_work"].is_object());
  EXPECT_EQ(all["retrying"], 0);
  const std::string status = tenure(inElection("status", withEnds({}))).output;
  EXPECT_THAT(status, AllOf(HasSubstr("\npostponed     1\n  later  "), HasSubstr("no stock"),
                            HasSubstr("\nkept          1 in 1 group\n  group \"g\" waits for number 2 since "),
                            HasSubstr("\nblocked       1\n  blocked  blocking  "), HasSubstr("\ndead letters  1\n")));
  EXPECT_EQ(told(leader, SIGTERM), 0) << leader.output();
}

class StuckWorkOnRabbit : public StuckWork {};

INSTANTIATE_TEST_SUITE_P(All, StuckWorkOnRabbit,
                         testing::Values(Wired{"IntoPostgresql", "rabbitmq", "postgresql"},
                                         Wired{"IntoZooKeeper", "rabbitmq", "zookeeper"}),
                         [](const auto& each) { return each.param.name; });

TEST_P(StuckWorkOnRabbit, IsNotSaidToBeNoneWhereNobodyCanKnow) {
  produceTo(messages);

  const Run run = tenure({"queue", "stats", "--queue", queueUrl()});

  EXPECT_EQ(run.exit, 0);
  EXPECT_THAT(run.output,
              AllOf(HasSubstr("waiting       6 (- bytes), and those that the leader has been handed\n"
                              "oldest        not known: the broker does not tell\n"),
                    HasSubstr("postponed     not known: name the store with --store\n"), Not(HasSubstr(" 0\n"))));
  const json all = json::parse(tenure({"queue", "stats", "--json", "--queue", queueUrl()}).output);
  for (const char* unknown :
       {"oldest", "in_work", "retrying", "postponed", "kept", "blocked", "stopped", "dead_letters"})
    EXPECT_TRUE(all[unknown].is_null()) << unknown;
  EXPECT_THAT(tenure(withEnds({"queue", "stats"})).output, HasSubstr("postponed     not known: "))
      << "no leader has ever claimed the store";
}

TEST_P(StuckWork, PeekShowsWhatWaitsAndTakesNothing) {
  produceTo(messages);
  const Run run = tenure({"queue", "peek", "--queue", queueUrl(), "--limit", "4"});

  if (GetParam().queue == std::string_view("rabbitmq")) {
    EXPECT_EQ(run.exit, 78);
    EXPECT_THAT(run.output, HasSubstr("RabbitMQ shows a message only to who takes it"));
    return;
  }
  EXPECT_EQ(run.exit, 0);
  EXPECT_EQ(occurrences(run.output, "  bytes=1  "), 4U) << run.output;
  EXPECT_THAT(run.output, HasSubstr("these are the first 4 messages, and there are more"));
  EXPECT_THAT(run.output, AllOf(HasSubstr("first  group=g  age="), HasSubstr("later  group=p  age="),
                                HasSubstr("  bytes=1  \"b\"\n"), Not(HasSubstr("blocking"))));
  const std::string lines = tenure({"queue", "peek", "--queue", queueUrl(), "--json"}).output;
  EXPECT_EQ(occurrences(lines, "\n"), 6U) << lines;
  const json first = json::parse(lines.substr(0, lines.find('\n')));
  EXPECT_EQ(first["id"], "first");
  EXPECT_EQ(first["headers"]["tenure-number"], "1");
  EXPECT_EQ(first["body"], "b");
  EXPECT_EQ(tenure({"queue", "stats", "--json", "--queue", queueUrl()}).output.find("\"waiting\":6"), 1U);
}

}  // namespace
}  // namespace tenure::test
