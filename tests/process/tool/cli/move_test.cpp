// A queue that goes over to another election, with replicas of the real tool on both sides.
#include "replica.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Moves : public ToolInElection {
 protected:
  std::string heir() const { return election() + ".new"; }
  Run move(const Arguments& more = {}) {
    Arguments arguments{"queue", "move-to", heir(), "--queue", queue(), "--zookeeper", Ensemble::shared().hosts()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return tenure(arguments);
  }
  Program consumeAsHeir(const Arguments& more = {}) {
    Arguments all{"--election", heir()};
    all.insert(all.end(), more.begin(), more.end());
    Arguments arguments{"consume", "--zookeeper", Ensemble::shared().hosts(), "--queue", queue(), "--id", "heir"};
    arguments.insert(arguments.end(), all.begin(), all.end());
    arguments.insert(arguments.end(), {"--sql",
                                       "INSERT INTO ledger(id, grp, body, token, attempt)"
                                       " VALUES (:id, :group, :body, :token, :attempt)"});
    return start(arguments, "heir." + std::to_string(++heirs_));
  }

 private:
  int heirs_ = 0;
};

// shows: operations/queue-refused-another
TEST_F(Moves, AreRefusedWhileTheOldElectionHasALeaderAndThenTheNewOneConsumesOn) {
  produce(numbered(3));
  Program old = consume("old");
  ASSERT_TRUE(ledgerReaches(3)) << old.output();
  Program stranger = consumeAsHeir();
  EXPECT_EQ(exitOf(stranger), 78);
  EXPECT_THAT(stranger.output(), HasSubstr("a second service gets each message in a queue of its own"));

  const Run refused = move();
  EXPECT_EQ(refused.exit, 78) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("old leads: stop all replicas first"));
  produce("{\"id\":\"m-4\",\"body\":\"b\"}\n");
  EXPECT_TRUE(ledgerReaches(4)) << "the refusal disturbs nobody: " << old.output();
  EXPECT_EQ(told(old, SIGTERM), 0);

  const Run moved = move();
  EXPECT_EQ(moved.exit, 0) << moved.output;
  EXPECT_THAT(moved.output, AllOf(HasSubstr("is election " + heir() + "'s now"), HasSubstr("--consumer"),
                                  Not(HasSubstr("did not end in order"))));
  const Run again = move();
  EXPECT_EQ(again.exit, 0) << again.output;
  EXPECT_THAT(again.output, HasSubstr("already"));

  produce("{\"id\":\"m-1\",\"body\":\"b\"}\n{\"id\":\"m-5\",\"body\":\"b\"}\n");
  Program heirs = consumeAsHeir({"--consumer", election()});
  EXPECT_TRUE(ledgerReaches(5)) << heirs.output();
  EXPECT_EQ(sql("SELECT group_concat(id, ' ') FROM ledger"), "m-1 m-2 m-3 m-4 m-5");
  Program back = consume("back");
  EXPECT_EQ(exitOf(back), 78) << back.output();
  EXPECT_EQ(told(heirs, SIGTERM), 0);
}

// shows: operations/queue-refused-another
TEST_F(Moves, ALeaderThatWasFrozenMeanwhileCommitsNothingAnyMore) {
  produce(numbered(1));
  Program old = consume("old", {"--session-timeout", "4s", "--exec",
                                "echo $TENURE_MESSAGE_ID >>" + at("starts") + "; until test -e " + at("go") +
                                    "; do sleep 0.05; done; echo $TENURE_MESSAGE_ID >>" + at("ledger")});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(at("starts")); })) << old.output();
  old.signal(SIGSTOP);
  Run moved;
  ASSERT_TRUE(eventually([&] { return (moved = move()).exit == 0; })) << moved.output;
  EXPECT_THAT(moved.output, HasSubstr("did not end in order"));

  Program heirs = consumeAsHeir();
  EXPECT_TRUE(ledgerReaches(1)) << heirs.output();
  std::ofstream(at("go")) << "yes";
  old.signal(SIGCONT);

  EXPECT_EQ(exitOf(old), 78) << old.output();
  EXPECT_THAT(old.output(), HasSubstr("the queue belongs to another election"));
  EXPECT_EQ(sql("SELECT count(*) FROM tenure_key"), "1");
  EXPECT_EQ(told(heirs, SIGTERM), 0);
}

TEST_F(Moves, NameWhatIsMissing) {
  const Run absent = move();
  EXPECT_NE(absent.exit, 0);
  EXPECT_THAT(absent.output, HasSubstr("--queue"));

  produce(numbered(1));
  const Run unowned = move();
  EXPECT_EQ(unowned.exit, 1) << unowned.output;
  EXPECT_THAT(unowned.output, HasSubstr("no election consumes that queue yet"));

  Program old = consume("old");
  ASSERT_TRUE(ledgerReaches(1)) << old.output();
  EXPECT_EQ(told(old, SIGTERM), 0);
  const Run elsewhere = move({"--root", "/elsewhere"});
  EXPECT_EQ(elsewhere.exit, 78) << elsewhere.output;
  EXPECT_THAT(elsewhere.output, HasSubstr("say so with --root"));
}

}  // namespace
}  // namespace tenure::test
