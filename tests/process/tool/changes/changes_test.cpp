/// Files, ensembles and rows change under a running replica, and it notices.
#include <sqlite3.h>
#include <unistd.h>

#include <memory>

#include "process/tool/cli/replica.hpp"
#include "support/postgres_server.hpp"
#include "support/results.hpp"
#include "support/tcp_proxy.hpp"

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

/// Three replicas whose ways to the store are one.
class OutageOfAll : public ToolInElection {
 protected:
  void SetUp() override {
    ToolInElection::SetUp();
    world_.ask("CREATE TABLE effects(id text PRIMARY KEY); GRANT ALL ON effects TO " + world_.role());
  }
  std::string url(std::uint16_t port) {
    const postgresql::Options& options = world_.options();
    return "postgresql://" + options.user + "@127.0.0.1:" + std::to_string(port) + "/" + options.database +
           "?queue=" + options.queue;
  }
  Program replica(const std::string& id) {
    return start(inElection("consume", {"--queue", url(way_.port()), "--id", id, "--outage-limit", "1s", "--sql",
                                        "INSERT INTO effects VALUES (:id)"}),
                 id);
  }
  void send(const std::string& id) {
    const std::vector<NewMessage> messages{{MessageId{id}, GroupId{}, "b", {}}};
    ASSERT_THAT(world_.sink()->append(messages), succeeds());
  }
  bool handles(int messages) {
    return eventually([&] { return world_.ask("SELECT count(*) FROM effects") == std::to_string(messages); });
  }

  PostgresWorld world_;
  TcpProxy way_{world_.server().port()};
};

// shows: operations/outage-leader-stays
TEST_F(OutageOfAll, LeavesTheLeaderWhereItIsUntilItsStoreIsBack) {
  Program leader = replica("a");
  ASSERT_TRUE(leads(leader)) << leader.output();
  Program next = replica("b");
  ASSERT_TRUE(next.waitForOutput(" prepared ")) << next.output();
  Program third = replica("c");
  ASSERT_TRUE(third.waitForOutput(" stood_by ")) << third.output();

  way_.cut();
  send("in-the-outage");
  // By then the leader has looked for relief, more than once.
  for (Program* standby : {&next, &third}) EXPECT_TRUE(standby->waitForOutput(" not_ready ", 3)) << standby->output();
  EXPECT_THAT(leader.output(), Not(HasSubstr(" term_ended ")));
  way_.resume();

  EXPECT_TRUE(handles(1)) << leader.output();
  EXPECT_TRUE(leader.waitForOutput(" outage_ended ")) << leader.output();
  for (Program* each : {&leader, &next, &third}) EXPECT_THAT(each->output(), Not(HasSubstr(" term_ended ")));
}

/// A file that other programs write.
class SharedFile : public ChangedFile {
 protected:
  Program replica(const std::string& id) {
    return start(inElection("consume", {"--queue", "sqlite:" + at("shop.db") + "?senders=1&queue=q", "--id", id,
                                        "--sql", "INSERT INTO ledger(id) VALUES (:id)"}),
                 id);
  }
  /// A service's connection, which stays.
  class Service {
   public:
    explicit Service(const std::string& file) {
      EXPECT_EQ(sqlite3_open(file.c_str(), &db_), SQLITE_OK);
      sqlite3_busy_timeout(db_, 5'000);
    }
    ~Service() { sqlite3_close(db_); }
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;
    void run(const std::string& sql) {
      EXPECT_EQ(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    }
    void send(const std::string& id) {
      run("INSERT INTO tenure_waiting(queue, id, body) VALUES('q', '" + id + "', 'b')");
    }

   private:
    sqlite3* db_ = nullptr;
  };
  std::string handled() { return sql("SELECT group_concat(id) FROM (SELECT id FROM ledger ORDER BY n)", "shop.db"); }
};

// shows: send/sender-sets-wal
TEST_F(SharedFile, ThatAProgramPutsIntoWalModeIsToldAndTakenBackOnceItIsFree) {
  if (sqlite3_libversion_number() >= 3'051'003) GTEST_SKIP() << "needs rollback-journal: here WAL is safe";
  ASSERT_EQ(tenure({"schema", "apply", "--store", "sqlite:" + at("shop.db") + "?senders=1"}).exit, 0);
  sql("CREATE TABLE ledger(n INTEGER PRIMARY KEY, id)", "shop.db");
  Program leader = replica("a");
  ASSERT_TRUE(leads(leader)) << leader.output();
  auto service = std::make_unique<Service>(at("shop.db"));

  service->run("PRAGMA journal_mode=WAL");
  service->send("monday");
  EXPECT_TRUE(leader.waitForOutput(" outage_began ")) << leader.output();
  EXPECT_THAT(leader.output(), HasSubstr("process " + std::to_string(getpid()) + " keeps it in WAL mode"));
  Program standby = replica("b");
  EXPECT_TRUE(standby.waitForOutput(" not_ready ")) << standby.output();
  EXPECT_THAT(standby.output(), HasSubstr("process " + std::to_string(getpid()) + " keeps it in WAL mode"));
  service.reset();

  EXPECT_TRUE(eventually([&] { return handled() == "monday"; })) << leader.output();
  EXPECT_EQ(sql("PRAGMA journal_mode", "shop.db"), "delete") << "as a connection of its own sees a rollback journal";
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
