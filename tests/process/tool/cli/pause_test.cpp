/// An operator pauses an election and resumes it.
#include <nlohmann/json.hpp>

#include "replica.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Pausing : public ToolInElection {
 protected:
  /// A leader that has done `m-1` to `m-5`.
  Program leader(const Arguments& more = {}) {
    produce(numbered(5));
    Program replica = consume("first", more);
    EXPECT_TRUE(leads(replica)) << replica.output();
    EXPECT_TRUE(ledgerReaches(5));
    return replica;
  }
  /// A handler that says that it has begun, and ends when the file `go` is there.
  std::string waitingHandler() {
    write("handle", "#!/bin/sh\ntouch '" + at("begun") + "'\nwhile [ ! -e '" + at("go") + "' ]; do sleep 0.02; done\n");
    std::filesystem::permissions(at("handle"), std::filesystem::perms::owner_all);
    return at("handle");
  }
  bool hasBegun() {
    return eventually([&] { return std::filesystem::exists(at("begun")); });
  }
  Program standby() {
    Program replica = consume("second");
    EXPECT_TRUE(replica.waitForOutput(" stood_by ")) << replica.output();
    return replica;
  }
  Run pause(const Arguments& more = {}) { return tenure(inElection("pause", more)); }
  Run resume() { return tenure(inElection("resume")); }
  std::string ledger() { return sql("SELECT count(*) FROM ledger"); }
  nlohmann::json status() { return nlohmann::json::parse(tenure(inElection("status", {"--json"})).output); }
};

// shows: operations/pause-lets-nothing
TEST_F(Pausing, NothingBeginsUntilItIsResumedAlsoAfterAFailover) {
  Program first = leader();
  Program second = standby();

  const Run paused = pause({"--why", "moves the database", "--by", "lena", "--wait"});
  ASSERT_EQ(paused.exit, 0) << paused.output;
  EXPECT_THAT(paused.output, AllOf(HasSubstr("paused by lena since "), HasSubstr("until resumed: moves the database"),
                                   HasSubstr("first leads, and nothing is in hand")));
  produce(numbered(8));
  first.signal(SIGKILL);
  ASSERT_TRUE(second.waitForOutput(" came_to_rest ")) << second.output();
  EXPECT_THAT(second.output(), HasSubstr(" paused "));
  EXPECT_EQ(ledger(), "5");
  Program third = consume("third");
  EXPECT_EQ(told(second, SIGTERM), 0) << second.output();
  ASSERT_TRUE(third.waitForOutput(" came_to_rest ")) << third.output();
  EXPECT_EQ(ledger(), "5");

  const Run resumed = resume();
  EXPECT_EQ(resumed.exit, 0) << resumed.output;
  EXPECT_THAT(resumed.output, HasSubstr("resumed; it was paused by lena since "));
  EXPECT_TRUE(ledgerReaches(8)) << third.output();
  EXPECT_THAT(third.output(), HasSubstr(" resumed "));
}

// shows: operations/pause-wait-returns
TEST_F(Pausing, WaitsForWhatIsInHand) {
  produce(numbered(3));
  sql("CREATE TABLE IF NOT EXISTS ledger(n INTEGER PRIMARY KEY, id)");
  Program first = consume("first", {"--exec", waitingHandler()});
  ASSERT_TRUE(hasBegun()) << first.output();

  const Run early = pause({"--wait", "--limit", "200ms"});
  EXPECT_EQ(early.exit, 1);
  EXPECT_THAT(early.output, HasSubstr("the leader still has something in hand; the pause stands"));
  EXPECT_FALSE(status()["paused"]["at_rest"]);

  write("go", "");
  const Run late = pause({"--wait"});
  EXPECT_EQ(late.exit, 0) << late.output;
  EXPECT_THAT(late.output, HasSubstr("this replaces the pause "));
  EXPECT_TRUE(status()["paused"]["at_rest"]);
  EXPECT_THAT(tenure({"queue", "stats", "--queue", queue()}).output, HasSubstr("waiting       2 "));
}

// shows: operations/pause-until-ends
TEST_F(Pausing, EndsByItselfAtItsTime) {
  Program first = leader();
  ASSERT_EQ(pause({"--until", "+4s", "--wait"}).exit, 0) << first.output();
  produce(numbered(6));
  EXPECT_TRUE(ledgerReaches(6)) << first.output();
  EXPECT_THAT(first.output(), AllOf(HasSubstr(" paused "), HasSubstr(" resumed ")));
  EXPECT_TRUE(status()["paused"].is_null());
  EXPECT_THAT(resume().output, HasSubstr("the election is not paused"));
}

TEST_F(Pausing, AWaitEndsWithThePause) {
  produce(numbered(1));
  Program first = consume("first", {"--exec", waitingHandler()});
  ASSERT_TRUE(hasBegun()) << first.output();
  const Run over = pause({"--until", "+300ms", "--wait"});
  EXPECT_EQ(over.exit, 1);
  EXPECT_THAT(over.output, HasSubstr("the pause is over: its time has passed"));
  write("go", "");
}

// shows: operations/pause-wait-returns
TEST_F(Pausing, LanesRestAndGoOn) {
  Program first = leader({"--lanes", "3"});
  ASSERT_EQ(pause({"--wait"}).exit, 0) << first.output();
  produce(numbered(20));
  EXPECT_EQ(ledger(), "5");
  ASSERT_EQ(resume().exit, 0);
  EXPECT_TRUE(ledgerReaches(20)) << first.output();
}

// shows: operations/pause-wait-returns
TEST_F(Pausing, ACommandThatRunsIsInHandUntilItEndsAndIsNotStartedAgain) {
  write("work",
        "#!/bin/sh\necho began >> '" + at("starts") + "'\nwhile [ ! -e '" + at("go") + "' ]; do sleep 0.02; done\n");
  std::filesystem::permissions(at("work"), std::filesystem::perms::owner_all);
  const auto starts = [this] {
    std::ifstream file(at("starts"));
    return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
  };
  Program first = start(inElection("run", {"--on-exit", "restart", "--id", "first", "--", at("work")}), "first");
  ASSERT_TRUE(eventually([&] { return starts() == 1; })) << first.output();

  EXPECT_EQ(pause({"--wait", "--limit", "200ms"}).exit, 1);
  write("go", "");
  const Run late = pause({"--wait"});
  EXPECT_EQ(late.exit, 0) << late.output << first.output();
  EXPECT_EQ(starts(), 1);
  std::filesystem::remove(at("go"));
  ASSERT_EQ(resume().exit, 0);
  EXPECT_TRUE(eventually([&] { return starts() == 2; })) << first.output();
}

// shows: operations/tenure-status-queue
TEST_F(Pausing, IsShownToThoseWhoLook) {
  Program first = leader();
  ASSERT_EQ(pause({"--by", "lena", "--why", "moves it", "--until", "+2h", "--wait"}).exit, 0);

  EXPECT_THAT(tenure(inElection("status")).output,
              AllOf(HasSubstr("PAUSED     by lena since "), HasSubstr("moves it"), HasSubstr("; nothing is in hand")));
  const nlohmann::json paused = status()["paused"];
  EXPECT_EQ(paused["by"], "lena");
  EXPECT_EQ(paused["why"], "moves it");
  EXPECT_TRUE(paused["until"].is_string());
  const Arguments look{"queue", "stats", "--queue", queue(), "--zookeeper", Ensemble::shared().hosts()};
  EXPECT_THAT(tenure(look).output, HasSubstr("PAUSED        by lena since "));
  Arguments asJson = look;
  asJson.emplace_back("--json");
  EXPECT_EQ(nlohmann::json::parse(tenure(asJson).output)["paused"]["by"], "lena");
}

// shows: operations/pause-lets-nothing
TEST_F(Pausing, WithoutALeaderItHoldsForTheNext) {
  {
    Program first = leader();
    EXPECT_EQ(told(first, SIGTERM), 0);
  }
  const Run paused = pause({"--wait"});
  EXPECT_EQ(paused.exit, 0) << paused.output;
  EXPECT_THAT(paused.output, HasSubstr("nobody leads, and nothing is in hand"));
  produce(numbered(6));
  Program second = consume("second");
  ASSERT_TRUE(second.waitForOutput(" came_to_rest ")) << second.output();
  EXPECT_EQ(ledger(), "5");
}

TEST_F(Pausing, IsRefusedWithASentence) {
  const auto refusal = [&](const Arguments& more, int exit) {
    const Run run = pause(more);
    EXPECT_EQ(run.exit, exit) << run.output;
    return run.output;
  };
  EXPECT_THAT(refusal({}, 1), HasSubstr("nobody has ever entered the election"));
  EXPECT_THAT(refusal({"--until", "2001-01-01T00:00:00Z"}, 78), AllOf(HasSubstr("--until"), HasSubstr("has passed")));
  EXPECT_THAT(refusal({"--until", ""}, 78), AllOf(HasSubstr("--until"), HasSubstr("must not be empty")));
  EXPECT_THAT(refusal({"--until", "soon"}, 78), HasSubstr("--until"));
  EXPECT_THAT(refusal({"--why", std::string(501, 'x')}, 78), AllOf(HasSubstr("--why"), HasSubstr("up to 500 bytes")));
  EXPECT_THAT(resume().output, HasSubstr("nobody has ever entered the election"));
}

}  // namespace
}  // namespace tenure::test
