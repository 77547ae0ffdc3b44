/// A standby proves itself before it is needed; who cannot lead, or would lead otherwise, is shown and passed over.
#include <fstream>
#include <nlohmann/json.hpp>

#include "replica.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Standbys : public ToolInElection {
 protected:
  Program leader(const Arguments& more = {}) {
    produce(numbered(1));
    Program replica = consume("first", more);
    EXPECT_TRUE(leads(replica)) << replica.output();
    return replica;
  }
  /// One whose statement names a table that is not there.
  Program misled(const std::string& name, const Arguments& more = {}) {
    Arguments arguments{"--queue", queue(), "--id", name, "--sql", "INSERT INTO absent VALUES (:id)"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return start(inElection("consume", arguments), name);
  }
  Run handover(const Arguments& more = {}) { return tenure(inElection("handover", more)); }
  nlohmann::json candidate(const std::string& id) {
    const auto status = nlohmann::json::parse(tenure(inElection("status", {"--json"})).output);
    for (const auto& each : status["candidates"])
      if (each["id"] == id) return each;
    return nlohmann::json::object();
  }
  bool becomes(const std::string& id, const std::string& readiness) {
    return eventually([&] { return candidate(id).value("readiness", "") == readiness; });
  }
};

// shows: L5, operations/standby-looks-credentials
TEST_F(Standbys, OneThatCouldNotLeadSaysSoEverywhere) {
  Program first = leader();
  Program second = misled("second", {"--status-file", at("second.json")});

  EXPECT_TRUE(second.waitForOutput(" not_ready ")) << second.output();
  EXPECT_THAT(second.output(), HasSubstr("no such table: absent"));
  EXPECT_TRUE(becomes("second", "not_ready"));
  EXPECT_THAT(candidate("second")["not_ready"], HasSubstr("no such table: absent"));
  EXPECT_THAT(tenure(inElection("status")).output, HasSubstr("not ready: "));
  EXPECT_TRUE(eventually([&] {
    std::ifstream file(at("second.json"));
    const auto status = nlohmann::json::parse(file, nullptr, false);
    return status.is_object() && status["ready"] == false && !status["not_ready"].is_null();
  }));
  const Run refused = handover({"--wait"});
  EXPECT_EQ(refused.exit, 1) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("nobody in line can follow; \"second\": it is not ready"));
  EXPECT_EQ(handover({"--to", "second"}).exit, 1);
  first.signal(SIGUSR1);
  EXPECT_TRUE(first.waitForOutput(" handover_declined ")) << first.output();
  EXPECT_NE(first.state(), 'Z');
}

// shows: operations/nobody-hands-over
TEST_F(Standbys, OneThatCouldNotLeadDoesNotStandInTheWay) {
  Program first = leader();
  Program second = misled("second");
  EXPECT_TRUE(second.waitForOutput(" not_ready ")) << second.output();
  Program third = consume("third");

  EXPECT_TRUE(second.waitForOutput(" stepped_aside ")) << second.output();
  EXPECT_TRUE(becomes("third", "prepared"));
  first.signal(SIGKILL);

  EXPECT_TRUE(leads(third)) << third.output();
  EXPECT_THAT(second.output(), Not(HasSubstr(" elected ")));
}

// shows: operations/standby-looks-credentials
TEST_F(Standbys, OneThatIsMendedSaysSo) {
  Program first = leader();
  Program second = misled("second");
  EXPECT_TRUE(second.waitForOutput(" not_ready ")) << second.output();

  sql("CREATE TABLE absent(id)");

  EXPECT_TRUE(second.waitForOutput(" ready ")) << second.output();
  EXPECT_TRUE(becomes("second", "prepared"));
  EXPECT_EQ(handover({"--wait"}).exit, 0);
}

// shows: operations/difference-settings-told
TEST_F(Standbys, OneWithOtherSettingsIsToldByBothAndNotHandedTheLeadership) {
  Program first = leader();
  Program second = consume("second", {"--delivery", "at-least-once", "--consumer", "another"});

  for (Program* replica : {&first, &second}) {
    EXPECT_TRUE(replica->waitForOutput(" settings_differ ")) << replica->output();
    EXPECT_THAT(replica->output(), HasSubstr("consumer, delivery"));
  }
  EXPECT_TRUE(becomes("second", "prepared"));
  EXPECT_EQ(candidate("second")["differs"], "consumer, delivery");
  EXPECT_THAT(tenure(inElection("status")).output, HasSubstr("differs from the leader in: consumer, delivery"));
  const Run refused = handover({"--to", "second", "--wait"});
  EXPECT_EQ(refused.exit, 1);
  EXPECT_THAT(refused.output, HasSubstr("its settings differ from the leader's: consumer, delivery"));
  EXPECT_EQ(handover({"--wait"}).exit, 1);

  EXPECT_EQ(told(first, SIGTERM), 0);
  EXPECT_TRUE(leads(second)) << "or a rollout of new settings would stand still: " << second.output();
}

// shows: operations/handover-wait-tells
TEST_F(Standbys, WhoeverIsHandedTheLeadershipMustBeginBeforeTheCommandSucceeds) {
  const Arguments command{"--store", "sqlite:" + at("fence.db"), "--on-exit", "restart"};
  const auto run = [&](const std::string& name) {
    Arguments arguments = command;
    arguments.insert(arguments.end(), {"--id", name, "--", "sleep", "1000"});
    return start(inElection("run", arguments), name);
  };
  Program first = run("first");
  EXPECT_TRUE(leads(first)) << first.output();
  Program second = run("second");
  EXPECT_TRUE(becomes("second", "prepared"));
  // The claim cannot be written for as long as somebody holds the file.
  Program holder({"sqlite3", at("fence.db"), "BEGIN IMMEDIATE", ".shell echo holds; exec sleep 30"}, at("holder"));
  ASSERT_TRUE(holder.waitForOutput("holds")) << holder.output();

  const Run late = handover({"--wait", "--limit", "1s"});

  EXPECT_EQ(late.exit, 1) << late.output;
  EXPECT_THAT(late.output, HasSubstr("has not begun in time"));
  holder.signal(SIGKILL);
  EXPECT_TRUE(eventually([&] {
    return candidate("first").value("readiness", "") == "inaugurated" ||
           candidate("second").value("readiness", "") == "inaugurated";
  }));
}

// shows: operations/handover-wait-tells
TEST_F(Standbys, OneThatIsJustEnrollingIsWaitedFor) {
  Program first = leader();
  Program second = consume("second");
  EXPECT_TRUE(becomes("second", "prepared"));
  Program handover = start(inElection("handover", {"--to", "late", "--wait"}), "handover");
  EXPECT_TRUE(handover.waitForOutput("waits for \"late\"")) << handover.output();

  Program late = consume("late");

  EXPECT_EQ(exitOf(handover), 0) << handover.output();
  EXPECT_THAT(handover.output(), HasSubstr("late leads"));
  EXPECT_THAT(second.output(), Not(HasSubstr(" inaugurated ")));
}

TEST_F(Standbys, WhoeverHasJustHandedOverCanBeAskedForAgainAtOnce) {
  Program first = leader();
  Program second = consume("second");
  EXPECT_TRUE(becomes("second", "prepared"));
  for (int i = 0; i < 5; ++i)
    for (const char* to : {"second", "first"}) {
      const Run run = handover({"--to", to, "--wait"});
      EXPECT_EQ(run.exit, 0) << run.output;
    }
}

}  // namespace
}  // namespace tenure::test
