// What handovers between sound replicas cost, and what they leave in the log: nothing.
#include "replica.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
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

}  // namespace
}  // namespace tenure::test
