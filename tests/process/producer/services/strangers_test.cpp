/// What other programs' transactions do to a leader beside them: they hold it up at most, and end nothing.
#include <sqlite3.h>
#include <unistd.h>

#include "process/tool/cli/replica.hpp"
#include "support/postgres_server.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

constexpr auto longHold = 10s;

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t times = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++times;
  return times;
}

class AnOpenTransaction : public ToolInElection {
 protected:
  /// Until the time has passed that others would have to wait.
  static void hold(BootTime since) {
    EXPECT_TRUE(eventually([&] { return BootClock::now() - since > longHold; }));
  }
  /// It has led all the time, and no message has failed.
  void expectOneTermAndNoAttempt(Program& replica, const std::string& place) {
    EXPECT_EQ(count(replica.output(), " inaugurated "), 1U) << replica.output();
    EXPECT_EQ(count(replica.output(), "attempt_failed"), 0U) << replica.output();
    const Run failing = tenure({"queue", "failing", "--queue", place});
    EXPECT_EQ(failing.exit, 1) << failing.output;
    EXPECT_EQ(told(replica, SIGTERM), 0) << replica.output();
  }
};

// shows: send/transaction-stays-open
TEST_F(AnOpenTransaction, ThatHoldsTheFileForTenSecondsHoldsItsLeaderUpAndNoMore) {
  produce("");
  Program replica = consume("a");
  ASSERT_TRUE(leads(replica));
  sqlite3* shop = nullptr;
  ASSERT_EQ(sqlite3_open(at("q.db").c_str(), &shop), SQLITE_OK);
  const auto run = [&](const std::string& statement) {
    ASSERT_EQ(sqlite3_exec(shop, statement.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(shop);
  };
  // It is due while the file is held, so the leader has to wait for the file's lock.
  run("PRAGMA busy_timeout = 30000;"
      "INSERT INTO tenure_waiting(queue, id, body, due) VALUES ('orders', 'due', 'b', " +
      std::to_string((systemClock().wallNow() + 3s).time_since_epoch().count()) +
      ");"
      "BEGIN IMMEDIATE; INSERT INTO tenure_waiting(queue, id, body) VALUES ('orders', 'held', 'b')");
  const BootTime since = BootClock::now();

  hold(since);
  run("COMMIT");
  EXPECT_EQ(sqlite3_close(shop), SQLITE_OK);

  ASSERT_TRUE(ledgerReaches(2)) << replica.output();
  EXPECT_EQ(sql("SELECT group_concat(id) FROM (SELECT id FROM ledger ORDER BY id)"), "due,held");
  EXPECT_THAT(replica.output(), testing::ContainsRegex("store_busy .*holder_pid=" + std::to_string(getpid()) + " "));
  expectOneTermAndNoAttempt(replica, queue());
}

class OnPostgres : public AnOpenTransaction {
 protected:
  void SetUp() override {
    ToolInElection::SetUp();
    world_.ask("CREATE TABLE handled(n int GENERATED ALWAYS AS IDENTITY, id text); GRANT ALL ON handled TO " +
               world_.role());
  }
  std::string place() const {
    return "postgresql://" + world_.role() + "@127.0.0.1:" + std::to_string(PostgresServer::shared().port()) +
           "/postgres?queue=orders";
  }
  Program consumer(const std::string& name) {
    return start(
        inElection("consume", {"--queue", place(), "--id", name, "--sql", "INSERT INTO handled(id) VALUES (:id)"}),
        name);
  }
  static std::string send(const std::string& id, const std::string& group) {
    return "SELECT tenure_send('orders', 'b', '" + id + "', '" + group + "')";
  }
  bool isHandled(const std::string& id) {
    return eventually([&] { return world_.ask("SELECT count(*) FROM handled WHERE id = '" + id + "'") == "1"; });
  }

  PostgresWorld world_;
};

// shows: send/transaction-stays-open
TEST_F(OnPostgres, ThatHoldsARowForTenSecondsHoldsUpItsGroupForALimitedTimeAndNoOther) {
  world_.ask(send("held", "g"));
  world_.ask(send("behind", "g"));
  world_.ask(send("other", "h"));
  PostgresSession shop = world_.session();
  shop.ask("BEGIN; SELECT tenure_cancel('orders', 'held')");
  const BootTime since = BootClock::now();
  Program replica = consumer("a");

  EXPECT_TRUE(isHandled("other")) << replica.output();
  EXPECT_TRUE(isHandled("behind")) << replica.output();
  hold(since);
  EXPECT_EQ(world_.ask("SELECT count(*) FROM handled WHERE id = 'held'"), "0");
  shop.ask("ROLLBACK");

  EXPECT_TRUE(isHandled("held")) << replica.output();
  expectOneTermAndNoAttempt(replica, place());
}

// shows: send/transaction-stays-open
TEST_F(OnPostgres, ThatIsSentWhenTheLeaderHasDiedAsleepComesFromItsSuccessor) {
  Program dying = consumer("a");
  ASSERT_TRUE(eventually([&] {
    return world_.ask(
               "SELECT coalesce(max(asleep_until), 0) > extract(epoch FROM clock_timestamp()) * 1000"
               " FROM tenure_reader") == "t";
  })) << dying.output();
  dying.signal(SIGKILL);
  dying.waitForEnd();
  world_.ask(send("orphan", "g"));
  EXPECT_EQ(world_.ask("SELECT count(*) FROM handled"), "0");

  Program successor = consumer("b");

  EXPECT_TRUE(isHandled("orphan")) << successor.output();
  world_.ask(send("next", "g"));
  EXPECT_TRUE(isHandled("next")) << successor.output();
  expectOneTermAndNoAttempt(successor, place());
}

}  // namespace
}  // namespace tenure::test
