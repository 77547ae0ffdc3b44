// What handovers between sound replicas cost, and what they leave in the log: nothing.
#include <sstream>

#include "replica.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Handovers : public ToolInElection {
 protected:
  void SetUp() override {
    ToolInElection::SetUp();
    produce("");
  }

  /// So many with ids of their own, in a few groups.
  void produceMore(int count) {
    std::string lines;
    for (int i = 0; i < count; ++i, ++produced_)
      lines += R"({"id":"m-)" + std::to_string(produced_) + R"(","group":"g)" + std::to_string(produced_ % 7) +
               R"(","body":"b"})" + "\n";
    produce(lines);
  }

  void startThree(const Arguments& options) {
    Arguments all{"--max-attempts", "3", "--retry-base", "1ms", "--keep-log", "1h"};
    all.insert(all.end(), options.begin(), options.end());
    for (const char* name : {"one", "two", "three"}) replicas_.push_back(consume(name, all));
    terms_.resize(replicas_.size());
  }
  /// Each leads as soon as it can; the first ones before there is a message.
  void handOverInQuickSuccession(int times) {
    for (int term = 1; term <= times; ++term) {
      Program* leader = nullptr;
      ASSERT_TRUE(eventually([&] { return (leader = newLeader()) != nullptr; })) << logs();
      if (term > times / 4) produceMore(20);
      if (term == times / 2) produce("{\"id\":\"bad\",\"group\":\"g3\",\"body\":\"b\"}\n");
      leader->signal(SIGUSR1);
    }
    EXPECT_TRUE(eventually([&] { return newLeader() != nullptr; })) << logs();
  }
  void expectNothingButTheBadOneToHaveFailed() {
    EXPECT_TRUE(eventually([&] {
      return tenure({"queue", "stats", "--queue", queue()}).output.find("waiting       0 ") != std::string::npos;
    })) << logs();
    EXPECT_EQ(runs({"--message", "bad"}), 3U);
    EXPECT_EQ(runs({"--outcome", "failed"}), 3U);
    EXPECT_EQ(runs({"--outcome", "done"}), static_cast<std::size_t>(produced_));
    EXPECT_EQ(runs({}), 3U + static_cast<std::size_t>(produced_));
    EXPECT_THAT(logs(), AllOf(Not(HasSubstr(" suspects_found ")), Not(HasSubstr("clean=false"))));
  }
  std::string logs() const {
    std::string all;
    for (const Program& replica : replicas_) all += replica.output();
    return all;
  }

 private:
  /// Who has been inaugurated since the last look.
  Program* newLeader() {
    for (std::size_t i = 0; i < replicas_.size(); ++i) {
      const std::string told = replicas_[i].output();
      std::size_t terms = 0;
      for (auto at = told.find(" inaugurated "); at != std::string::npos; at = told.find(" inaugurated ", at + 1))
        ++terms;
      if (terms > std::exchange(terms_[i], terms)) return &replicas_[i];
    }
    return nullptr;
  }
  std::size_t runs(const Arguments& choice) {
    Arguments arguments{"queue", "log", "--queue", queue()};
    arguments.insert(arguments.end(), choice.begin(), choice.end());
    const std::string log = tenure(arguments).output;
    return static_cast<std::size_t>(std::count(log.begin(), log.end(), '\n'));
  }

  std::vector<Program> replicas_;
  std::vector<std::size_t> terms_;
  int produced_ = 0;
};

// shows: messages/store-source-ensemble
TEST_F(Handovers, InQuickSuccessionWithLanesSuspectNobodyAndCostNoAttempt) {
  sql("DROP TABLE ledger; CREATE TABLE ledger(n INTEGER PRIMARY KEY, id CHECK(id <> 'bad'), grp, body, token, "
      "attempt)");
  startThree({"--lanes", "4"});

  handOverInQuickSuccession(20);

  expectNothingButTheBadOneToHaveFailed();
}

TEST_F(Handovers, InQuickSuccessionOfACommandSuspectNobodyAndCostNoAttempt) {
  startThree({"--exec", "echo $TENURE_MESSAGE_ID >>" + at("runs") + "; test $TENURE_MESSAGE_ID != bad"});

  handOverInQuickSuccession(20);

  expectNothingButTheBadOneToHaveFailed();
}

/// Everything above info.
std::vector<std::string> warningsIn(const std::string& log) {
  std::vector<std::string> found;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);)
    for (const char* level : {" warn ", " error "})
      if (line.find(level) != std::string::npos && line.find(level) < 40) found.push_back(line);
  return found;
}

/// An ensemble where anybody may change anything is told of, once; nothing else of a sound replica is a warning.
void expectOnlyTheOpenAcl(const Program& replica) {
  EXPECT_THAT(warningsIn(replica.output()), ElementsAre(HasSubstr("can be changed by anybody"))) << replica.output();
}

TEST_F(Handovers, LogNoWarning) {
  produceMore(50);
  Program one = consume("one");
  ASSERT_TRUE(leads(one)) << one.output();
  Program two = consume("two");
  ASSERT_TRUE(two.waitForOutput(" prepared ")) << two.output();

  const Run asked = tenure(inElection("handover", {"--wait"}));
  EXPECT_EQ(asked.exit, 0) << asked.output;
  ASSERT_TRUE(leads(two)) << two.output();
  ASSERT_TRUE(one.waitForOutput(" prepared ", 1)) << one.output();
  produceMore(50);
  two.signal(SIGUSR1);
  ASSERT_TRUE(leads(one, 2)) << one.output();

  EXPECT_TRUE(ledgerReaches(100));
  for (Program* replica : {&one, &two}) {
    EXPECT_EQ(told(*replica, SIGTERM), 0);
    expectOnlyTheOpenAcl(*replica);
  }
}

TEST_F(Handovers, OfAZooKeeperStoreWarnOfTheOpenAclOnceAProcess) {
  produceMore(20);
  const Arguments options{"--store", "zookeeper://" + Ensemble::shared().hosts() + "/handovers", "--exec",
                          "echo $TENURE_MESSAGE_ID >>" + at("done")};
  Program one = consume("one", options);
  ASSERT_TRUE(leads(one)) << one.output();
  Program two = consume("two", options);
  ASSERT_TRUE(two.waitForOutput(" prepared ")) << two.output();
  for (std::size_t term = 2; term <= 3; ++term) {
    one.signal(SIGUSR1);
    ASSERT_TRUE(leads(two, term - 1)) << two.output();
    two.signal(SIGUSR1);
    ASSERT_TRUE(leads(one, term)) << one.output();
  }

  for (Program* replica : {&one, &two}) {
    EXPECT_EQ(told(*replica, SIGTERM), 0);
    expectOnlyTheOpenAcl(*replica);
  }
}

}  // namespace
}  // namespace tenure::test
