// What a standby does with the file: it looks whether it could be used, and leaves no trace.
#include <gmock/gmock.h>

#include <fstream>

#include "backends/sqlite/connection.hpp"
#include "support/program.hpp"
#include "support/results.hpp"
#include "support/sqlite_world.hpp"
#include "support/terms.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::sqlite {
namespace {

using test::failsWith;
using test::SqliteWorld;
using test::succeeds;
using testing::HasSubstr;

class SqliteStandby : public testing::Test {
 protected:
  void makeFile() {
    EXPECT_THAT(world.sink()->append(std::vector{NewMessage{MessageId{"m"}, {}, "body", {}}}), succeeds());
  }
  Result<void> prepare() {
    const Result<void> usable = replica.store->prepare({});
    return usable ? replica.source->prepare({}) : usable;
  }
  Result<void> checkSql(const std::string& sql) {
    const SqlParameter parameters[] = {{":id", ""}, {":body", ""}};
    return replica.store->checkSql(sql, parameters);
  }
  /// This process, in whatever descriptor.
  static bool holdsOpen(const std::filesystem::path& file) {
    std::error_code ignored;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd"))
      if (std::filesystem::read_symlink(each.path(), ignored) == std::filesystem::absolute(file)) return true;
    return false;
  }
  static std::string contentOf(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  SqliteWorld world;
  test::Replica replica = world.open();
};

TEST_F(SqliteStandby, MakesNoFile) {
  EXPECT_THAT(prepare(), succeeds());
  EXPECT_FALSE(std::filesystem::exists(world.options().file));
}

// shows: operations/sqlite-next-line, operations/sqlite-reads-waits
TEST_F(SqliteStandby, ChangesNothing) {
  makeFile();
  const std::string before = contentOf(world.options().file);

  EXPECT_THAT(prepare(), succeeds());

  EXPECT_EQ(contentOf(world.options().file), before);
}

// shows: operations/sqlite-next-line, operations/sqlite-reads-waits
TEST_F(SqliteStandby, WaitsForNoLockAndHoldsNone) {
  makeFile();
  sqlite3* leader = nullptr;
  ASSERT_EQ(sqlite3_open(world.options().file.c_str(), &leader), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(leader, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_THAT(prepare(), succeeds()) << "a leader that commits is no fault of ours";
  EXPECT_THAT(checkSql("SELECT :id"), succeeds());

  EXPECT_EQ(sqlite3_exec(leader, "ROLLBACK; BEGIN EXCLUSIVE; COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(leader);
}

TEST_F(SqliteStandby, ClaimsInTheFileThatIsThereThen) {
  makeFile();
  const std::filesystem::path file = world.options().file;
  const std::string before = contentOf(file);
  EXPECT_THAT(prepare(), succeeds());
  std::filesystem::rename(file, file.string() + ".old");
  std::ofstream(file, std::ios::binary) << before;  // restored from a backup

  ASSERT_THAT(replica.store->claim(test::TestTerm(7)), succeeds());

  EXPECT_NE(contentOf(file), before);
  EXPECT_EQ(contentOf(file.string() + ".old"), before);
}

TEST_F(SqliteStandby, LooksAtTheSchemaOnceMoreWhenItClaims) {
  makeFile();
  EXPECT_THAT(prepare(), succeeds());
  world.meddle("UPDATE tenure_schema SET version = 999");
  EXPECT_THAT(replica.store->claim(test::TestTerm(7)), failsWith(Errc::configurationRefused));
}

// shows: operations/sqlite-next-line
TEST_F(SqliteStandby, KeepsTheFileOpenForItsClaim) {
  makeFile();
  EXPECT_THAT(prepare(), succeeds());
  EXPECT_TRUE(holdsOpen(world.options().file));
  replica.store->release();
  EXPECT_FALSE(holdsOpen(world.options().file)) << "it is not the next in line any more";
}

// shows: operations/sqlite-reads-waits
TEST_F(SqliteStandby, LeavesItsOwnProcessTheLocksOfATransaction) {
  makeFile();
  sqlite3* leader = nullptr;  // of another election, in this process
  ASSERT_EQ(sqlite3_open(world.options().file.c_str(), &leader), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(leader, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);

  EXPECT_THAT(prepare(), succeeds());

  const test::TemporaryFolder folder;
  test::Program other({"sqlite3", world.options().file, "BEGIN IMMEDIATE"}, folder / "output");
  ASSERT_TRUE(other.waitForEnd());
  EXPECT_THAT(other.output(), HasSubstr("database is locked"));
  sqlite3_close(leader);
}

TEST_F(SqliteStandby, LeavesAnUnfinishedJournalToTheLeader) {
  makeFile();
  world.meddle("CREATE TABLE big(x); INSERT INTO big VALUES (zeroblob(200000))");
  // The state that a leader leaves which dies while it writes: its pages in the file, the old ones in the journal.
  sqlite3* dying = nullptr;
  ASSERT_EQ(sqlite3_open(world.options().file.c_str(), &dying), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(dying,
                         "PRAGMA cache_size=1; BEGIN; UPDATE big SET x = randomblob(200000); "
                         "UPDATE big SET x = randomblob(190000)",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  const test::TemporaryFolder left;
  Options options = world.options();
  options.file = left / "queue.db";
  std::filesystem::copy_file(world.options().file, options.file);
  std::filesystem::copy_file(world.options().file.string() + "-journal", options.file.string() + "-journal");
  sqlite3_close(dying);
  const std::string journal = contentOf(options.file.string() + "-journal");
  ASSERT_FALSE(journal.empty());

  Database standby(options, noEvents());
  EXPECT_THAT(standby.store().prepare({}), succeeds());

  EXPECT_EQ(contentOf(options.file.string() + "-journal"), journal);
}

TEST_F(SqliteStandby, SaysThatTheFenceIsLost) {
  makeFile();
  world.meddle("DROP TABLE tenure_fence");
  EXPECT_THAT(prepare(), failsWith(Errc::fenceLost));
}

TEST_F(SqliteStandby, SaysThatItsFolderIsNotThere) {
  Options options = world.options();
  options.file = "/nobody/has/made/queue.db";
  Database standby(options, noEvents());
  EXPECT_FALSE(standby.store().prepare({}));
}

TEST_F(SqliteStandby, RefusesTheSchemaOfAnotherBuild) {
  makeFile();
  for (const char* version : {"1", "999"}) {
    world.meddle(std::string("UPDATE tenure_schema SET version = ") + version);
    EXPECT_THAT(prepare(), failsWith(Errc::configurationRefused)) << version;
  }
}

// shows: operations/sqlite-next-line
TEST_F(SqliteStandby, RehearsesStatementsAndRunsNone) {
  makeFile();
  const auto connection = Connection::open(world.options()).value();
  {
    const Connection::Rehearsal rehearsal(*connection);
    EXPECT_THAT(connection->run("BEGIN IMMEDIATE"), succeeds());
    EXPECT_FALSE(connection->inTransaction());
    EXPECT_FALSE(connection->query("SELECT 1 FROM tenure_message").next().value());
    EXPECT_THAT(connection->run("DELETE FROM tenure_message"), succeeds());
    EXPECT_THAT(connection->run("DELETE FROM absent"), failsWith(Errc::storeFailed));
  }
  EXPECT_TRUE(connection->query("SELECT 1 FROM tenure_message").next().value());
}

TEST_F(SqliteStandby, CompilesAStatementAndRunsNothing) {
  makeFile();
  world.meddle("CREATE TABLE ledger(id)");

  EXPECT_THAT(checkSql("INSERT INTO ledger VALUES (:id)"), succeeds());
  EXPECT_EQ(world.ask("SELECT count(*) FROM ledger"), "0");

  const Result<void> absent = checkSql("INSERT INTO absent VALUES (:id)");
  ASSERT_FALSE(absent);
  EXPECT_THAT(absent.error().detail, HasSubstr("no such table: absent"));
  EXPECT_THAT(checkSql("DELETE FROM tenure_fence"), failsWith(Errc::invalidArgument));
}

}  // namespace
}  // namespace tenure::sqlite
