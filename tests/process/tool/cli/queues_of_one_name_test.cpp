/// Two queues of one name in one store, as operators meet them.
#include "replica.hpp"
#include "support/rabbitmq_world.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Its own queue in the file `store`, and another one of that name in the file `elsewhere`, whose effects go there too.
class QueuesOfOneName : public ToolInElection {
 protected:
  void SetUp() override {
    ToolInElection::SetUp();
    for (const std::string& queue : {own_, elsewhere_}) {
      const Run run = tenure({"produce", "--queue", queue, "--format", "jsonl"}, "{\"id\":\"m\",\"body\":\"b\"}\n");
      ASSERT_EQ(run.exit, 0) << run.output;
    }
  }
  /// Rejects what waits.
  void lead(const std::string& election, const Arguments& wiring, const std::string& file) {
    Arguments arguments{"consume",
                        "--zookeeper",
                        Ensemble::shared().hosts(),
                        "--election",
                        election,
                        "--exec",
                        "echo of-" + election + " >&2; exit 65"};
    arguments.insert(arguments.end(), wiring.begin(), wiring.end());
    Program replica = start(arguments, file);
    ASSERT_TRUE(replica.waitForOutput("message_dead_lettered")) << replica.output();
    ASSERT_EQ(told(replica, SIGTERM), 0);
  }
  void leadBoth() {
    lead(election() + ".own", {"--queue", own_}, "own");
    lead(election() + ".foreign", {"--queue", elsewhere_, "--store", store_}, "foreign");
  }
  Run letters(const std::string& queue) {
    return tenure({"dead-letters", "list", "--json", "--queue", queue, "--store", store_});
  }

  const std::string store_ = "sqlite:" + at("store.db");
  const std::string own_ = store_ + "?queue=orders";
  const std::string elsewhere_ = "sqlite:" + at("elsewhere.db") + "?queue=orders";
};

TEST_F(QueuesOfOneName, HaveDeadLettersAndAFenceOfTheirOwn) {
  leadBoth();

  EXPECT_THAT(tenure({"dead-letters", "list", "--json", "--queue", own_}).output,
              AllOf(HasSubstr(".own"), Not(HasSubstr(".foreign"))));
  EXPECT_THAT(letters(elsewhere_).output, AllOf(HasSubstr(".foreign"), Not(HasSubstr(".own"))));

  EXPECT_EQ(tenure({"dead-letters", "requeue", "--all", "--queue", elsewhere_, "--store", store_}).exit, 0);

  EXPECT_THAT(tenure({"queue", "stats", "--json", "--queue", elsewhere_}).output, HasSubstr("\"waiting\":1,"));
  EXPECT_THAT(tenure({"queue", "stats", "--json", "--queue", own_}).output,
              AllOf(HasSubstr("\"waiting\":0,"), HasSubstr("\"dead_letters\":1")));
}

TEST_F(QueuesOfOneName, AreJudgedApartByCheck) {
  lead(election() + ".foreign", {"--queue", elsewhere_, "--store", store_}, "foreign");
  const auto check = [&](const Arguments& wiring) {
    Arguments arguments{"check", "--zookeeper", Ensemble::shared().hosts(), "--election", election() + ".own"};
    arguments.insert(arguments.end(), wiring.begin(), wiring.end());
    return tenure(arguments);
  };

  EXPECT_THAT(check({"--queue", own_}).output, HasSubstr(" 0 REFUSED")) << "no election has consumed it";
  const Run refused = check({"--queue", elsewhere_, "--store", store_});
  EXPECT_EQ(refused.exit, 78) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("queue, in the store"));
}

TEST_F(QueuesOfOneName, AQueueThatCannotBeAskedIsKnownByItsName) {
  leadBoth();
  write("password", "guest\n");

  const Run found = letters("amqp://guest@127.0.0.1:1/?queue=orders&password-file=" + at("password"));

  EXPECT_EQ(found.exit, 0) << found.output;
  EXPECT_THAT(found.output, AllOf(HasSubstr(".foreign"), Not(HasSubstr(".own"))));
}

}  // namespace
}  // namespace tenure::test
