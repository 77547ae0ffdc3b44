/// Files, ensembles and rows change under a running replica, and it notices.
#include "process/tool/cli/replica.hpp"
#include "support/postgres_server.hpp"
#include "support/results.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

class ChangedFile : public ToolInElection {
 protected:
  void backUp() { sql(".backup " + at("night.db")); }
  void restore() { fs::rename(at("night.db"), at("q.db")); }
  std::string handled() { return sql("SELECT group_concat(id) FROM (SELECT id FROM ledger ORDER BY n)"); }
  bool handles(const std::string& ids) {
    return eventually([&] { return handled() == ids; });
  }
  void send(const std::string& id) { produce("{\"id\":\"" + id + "\",\"body\":\"b\"}\n"); }
};

// shows: operations/place-replaced
TEST_F(ChangedFile, UnderALiveLeaderIsWorkedOnSoon) {
  send("monday");
  Program replica = consume("a");
  ASSERT_TRUE(handles("monday")) << replica.output();
  backUp();
  send("tuesday");
  ASSERT_TRUE(handles("monday,tuesday")) << replica.output();

  restore();
  send("wednesday");

  EXPECT_TRUE(handles("monday,wednesday")) << replica.output();
  EXPECT_THAT(replica.output(), HasSubstr("q.db is another file now, or gone"));
  EXPECT_EQ(told(replica, SIGTERM), 0);
}

// shows: operations/place-replaced
TEST_F(ChangedFile, InAPauseIsWorkedOnAfterIt) {
  send("monday");
  Program replica = consume("a");
  ASSERT_TRUE(handles("monday")) << replica.output();
  ASSERT_EQ(tenure(inElection("pause", {"--wait"})).exit, 0);
  backUp();
  restore();
  ASSERT_EQ(tenure(inElection("resume")).exit, 0);

  send("tuesday");

  EXPECT_TRUE(handles("monday,tuesday")) << replica.output();
}

class ChangedEnsemble : public ToolInElection {
 protected:
  Program replica(const std::string& id) {
    return start({"consume", "--zookeeper", ensemble_.hosts(), "--election", "orders", "--id", id, "--queue", queue(),
                  "--session-timeout", "4s", "--exec", "true"},
                 id);
  }

  Ensemble ensemble_{{.servers = 1}};
};

// shows: operations/ensemble-emptied
TEST_F(ChangedEnsemble, Row15ThatComesBackEmptyIsRefusedByReplicasThatWereThereBefore) {
  produce(numbered(3));
  Program first = replica("a");
  ASSERT_TRUE(leads(first)) << first.output();
  Program second = replica("b");
  ASSERT_TRUE(second.waitForOutput(" stood_by ")) << second.output();

  ensemble_.comeBackEmpty();

  for (Program* each : {&first, &second}) {
    EXPECT_EQ(exitOf(*each), 78) << each->output();
    EXPECT_THAT(each->output(), HasSubstr("ForeignEnsemble"));
  }
}

class LockedRow : public ToolInElection {
 protected:
  static constexpr int accounts = 10;

  void SetUp() override {
    ToolInElection::SetUp();
    world_.ask(
        "CREATE TABLE account AS SELECT 'g' || i AS id, 0 AS n FROM generate_series(0, 9) AS i; GRANT ALL ON account "
        "TO " +
        world_.role());
  }
  Program replica() {
    const postgresql::Options& options = world_.options();
    const std::string url = "postgresql://" + options.user + "@127.0.0.1:" + std::to_string(options.port) + "/" +
                            options.database + "?queue=" + options.queue;
    return start(inElection("consume", {"--queue", url, "--id", "a", "--lanes", "4", "--sql",
                                        "UPDATE account SET n = n + 1 WHERE id = :group"}),
                 "a");
  }
  void sendToEach() {
    std::vector<NewMessage> messages;
    for (int i = 0; i < accounts; ++i) {
      const std::string group = "g" + std::to_string(i);
      messages.push_back({MessageId{group + "-" + std::to_string(++sent_)}, GroupId{group}, "x", {}});
    }
    ASSERT_THAT(world_.sink()->append(messages), succeeds());
  }
  bool handles(int messages) {
    return eventually([&] { return world_.ask("SELECT sum(n) FROM account") == std::to_string(messages); });
  }

  PostgresWorld world_;

 private:
  int sent_ = 0;
};

// shows: exactly-once/locked-row
TEST_F(LockedRow, OfAnotherProgramHoldsUpItsGroupAlone) {
  Program leader = replica();
  ASSERT_TRUE(leads(leader)) << leader.output();
  auto stranger = world_.session();
  stranger.ask("BEGIN; SELECT 1 FROM account WHERE id = 'g3' FOR UPDATE");

  sendToEach();
  sendToEach();

  EXPECT_TRUE(handles(2 * (accounts - 1))) << leader.output();
  EXPECT_TRUE(leader.waitForOutput(" message_postponed ")) << leader.output();
  stranger.ask("COMMIT");
  EXPECT_TRUE(handles(2 * accounts)) << leader.output();
  EXPECT_THAT(leader.output(), Not(HasSubstr(" term_ended ")));
}

}  // namespace
}  // namespace tenure::test
