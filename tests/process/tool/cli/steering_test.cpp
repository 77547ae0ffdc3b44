/// An operator decides who follows, and when; replicas say whether they want to.
#include <nlohmann/json.hpp>

#include "replica.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Steering : public ToolInElection {
 protected:
  /// One that stands by, or looks on, when this returns.
  Program standby(const std::string& name, const Arguments& more = {}, const std::string& sign = " stood_by ") {
    Program replica = consume(name, more);
    EXPECT_TRUE(replica.waitForOutput(sign)) << replica.output();
    return replica;
  }
  Program namesakeOf(const std::string& name) {
    Program replica =
        start(inElection("consume", {"--queue", queue(), "--sql", "SELECT 1", "--id", name}), "namesake of " + name);
    EXPECT_TRUE(replica.waitForOutput(" stood_by ")) << replica.output();
    return replica;
  }
  Program leader(const std::string& name, const Arguments& more = {}) {
    produce(numbered(1));
    Program replica = consume(name, more);
    EXPECT_TRUE(leads(replica)) << replica.output();
    return replica;
  }
  Run handover(const Arguments& more) { return tenure(inElection("handover", more)); }
  nlohmann::json status() { return nlohmann::json::parse(tenure(inElection("status", {"--json"})).output); }
};

// shows: operations/handover-wait-tells, operations/those-between-back
TEST_F(Steering, HandoverToGoesToTheOneThatIsNamedAndToNobodyBetween) {
  Program first = leader("first");
  Program second = standby("second");
  Program third = standby("third");
  Program fourth = standby("fourth");

  const Run run = handover({"--to", "third", "--wait"});

  EXPECT_EQ(run.exit, 0) << run.output;
  EXPECT_THAT(run.output,
              AllOf(HasSubstr("passed to third\n"), HasSubstr("third leads, token "), HasSubstr(": nobody led for ")));
  EXPECT_EQ(status()["baton"]["state"], "passed");
  EXPECT_EQ(status()["baton"]["token"], status()["leader"]["token"]);
  EXPECT_THAT(tenure(inElection("status")).output, HasSubstr("baton      passed to third at "));
  EXPECT_TRUE(second.waitForOutput(" stood_by ", 2)) << second.output();
  EXPECT_THAT(second.output(), AllOf(HasSubstr("candidacy_lost"), Not(HasSubstr(" inaugurated "))));
  EXPECT_THAT(fourth.output(), Not(HasSubstr("candidacy_lost")));
  EXPECT_THAT(first.output(), AllOf(HasSubstr("candidate_sent_back"), HasSubstr("reason=handover_asked")));
}

// shows: operations/next-line-answer
TEST_F(Steering, AFrozenNextInLineIsOfferedTheLeadershipAndTheOneBehindItGetsIt) {
  Program first = leader("first");
  Program second = standby("second");
  Program third = standby("third");
  second.signal(SIGSTOP);
  ASSERT_TRUE(second.waitForState('T'));

  const Run run = handover({"--wait"});
  second.signal(SIGCONT);

  EXPECT_EQ(run.exit, 0) << run.output;
  EXPECT_THAT(run.output, AllOf(HasSubstr("offered to second\n"), HasSubstr("passed to third\n"),
                                HasSubstr("third leads, token ")));
  EXPECT_TRUE(second.waitForOutput(" stood_by ", 2)) << second.output();
}

TEST_F(Steering, HandoverToIsRefusedWithASentence) {
  Program first = leader("first");
  Program twin = standby("twin");
  Program other = namesakeOf("twin");
  Program watcher = standby("watcher", {"--preference", "never"}, " enrolled_as_observer ");

  const auto refusal = [&](const std::string& id) {
    const Run run = handover({"--to", id, "--wait", "--limit", "300ms"});
    EXPECT_EQ(run.exit, 1) << run.output;
    return run.output;
  };
  EXPECT_THAT(refusal("nobody"), HasSubstr("no candidate is called \"nobody\""));
  EXPECT_THAT(refusal("twin"), HasSubstr("2 candidates are called \"twin\"; say which, by its uuid"));
  EXPECT_THAT(refusal("watcher"), HasSubstr("\"watcher\" is an observer and does not contend"));
  EXPECT_THAT(refusal("first"), HasSubstr("\"first\" leads already"));
  EXPECT_THAT(first.output(), Not(HasSubstr("handover_")));
}

// shows: operations/request-later-shown
TEST_F(Steering, AHandoverForLaterIsShownAndCanBeTakenBack) {
  Program first = leader("first");
  Program second = standby("second");

  const Run asked = handover({"--to", "second", "--at", "+1h"});
  EXPECT_EQ(asked.exit, 0) << asked.output;
  EXPECT_THAT(asked.output, AllOf(HasSubstr(" to second at "), HasSubstr("lapses with its term")));
  EXPECT_TRUE(first.waitForOutput(" handover_scheduled ")) << first.output();
  EXPECT_EQ(status()["handover"]["to"], status()["candidates"][1]["uuid"]);
  EXPECT_THAT(tenure(inElection("status")).output, HasSubstr("to second at "));

  const Run cancelled = handover({"--cancel"});
  EXPECT_EQ(cancelled.exit, 0) << cancelled.output;
  EXPECT_THAT(cancelled.output, HasSubstr("took back the handover to second at "));
  EXPECT_TRUE(first.waitForOutput(" handover_cancelled ")) << first.output();
  EXPECT_TRUE(status()["handover"].is_null());
  EXPECT_EQ(handover({"--cancel"}).exit, 1);
}

// shows: operations/request-later-shown
TEST_F(Steering, AHandoverForLaterHappensAtItsTime) {
  Program first = leader("first");
  Program second = standby("second");

  const Run run = handover({"--at", "+700ms", "--wait"});

  EXPECT_EQ(run.exit, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("second leads"));
  EXPECT_THAT(first.output(), HasSubstr(" handover_scheduled "));
}

TEST_F(Steering, ATimeThatHasPassedOrIsNoneIsRefused) {
  EXPECT_EQ(handover({"--at", "2020-01-01T00:00:00Z"}).exit, 78);
  EXPECT_EQ(handover({"--at", "tomorrow"}).exit, 78);
  EXPECT_EQ(handover({"--at", "+tomorrow"}).exit, 78);
  EXPECT_EQ(handover({"--cancel", "--to", "x"}).exit, 64);
}

TEST_F(Steering, AVariableThatNobodySetMovesNobody) {
  Program first = leader("first");
  for (const char* option : {"--to", "--at"}) {
    const Run run = handover({option, ""});
    EXPECT_EQ(run.exit, 78) << run.output;
    EXPECT_THAT(run.output, HasSubstr("must not be empty"));
  }
  EXPECT_THAT(first.output(), Not(HasSubstr("handover_")));
}

TEST_F(Steering, APreferredReplicaIsHandedTheLeadershipAndKeepsIt) {
  Program first = leader("first");
  Program second = standby("second");
  Program preferred = standby("preferred", {"--preference", "preferred", "--preferred-after", "400ms"});

  EXPECT_TRUE(leads(preferred)) << first.output();
  EXPECT_THAT(first.output(), HasSubstr("handover_asked"));
  EXPECT_THAT(second.output(), Not(HasSubstr(" inaugurated ")));
  EXPECT_EQ(status()["leader"]["preference"], "preferred");
}

// shows: operations/preference-preferred-handed
TEST_F(Steering, AnObserverIsShownAndNeverLeads) {
  Program watcher = standby("watcher", {"--preference", "never"}, " enrolled_as_observer ");
  EXPECT_EQ(tenure(inElection("status")).exit, 1) << "nobody leads";

  Program first = leader("first");
  EXPECT_EQ(status()["observers"][0]["id"], "watcher");
  EXPECT_EQ(status()["candidates"].size(), 1U);
  EXPECT_THAT(tenure(inElection("status")).output, HasSubstr("observers"));

  EXPECT_EQ(told(first, SIGTERM), 0);
  EXPECT_EQ(told(watcher, SIGTERM), 0);
  EXPECT_THAT(watcher.output(), Not(HasSubstr(" elected ")));
}

TEST_F(Steering, AWishThatIsNoneIsRefused) {
  EXPECT_EQ(tenure(inElection("consume", {"--queue", queue(), "--sql", "SELECT 1", "--preference", "always"})).exit,
            78);
}

// shows: operations/empty-a-machine
TEST_F(Steering, AMachineIsEmptiedOnlyWhereAReplicaElsewhereCanFollow) {
  Program first = leader("first");
  Program second = standby("second");
  const auto allOf = [&](const std::string& host) {
    return tenure({"handover", "--zookeeper", Ensemble::shared().hosts(), "--all-of", host});
  };

  const Run here = allOf(status()["leader"]["host"].get<std::string>());

  EXPECT_EQ(here.exit, 1);
  EXPECT_THAT(here.output, HasSubstr(election() + ": no replica on another host can follow\n"));
  const Run nowhere = allOf("nowhere");
  EXPECT_EQ(nowhere.exit, 1);
  EXPECT_THAT(nowhere.output, HasSubstr("no replica of any election is on nowhere"));
  EXPECT_TRUE(leads(first));
}

}  // namespace
}  // namespace tenure::test
