// How the file is kept: journal, file system, who may open it.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "backends/sqlite/connection.hpp"
#include "backends/sqlite/file_system.hpp"
#include "support/results.hpp"
#include "support/sqlite_world.hpp"
#include "support/terms.hpp"

namespace tenure::sqlite {
namespace {

using test::failsWith;
using test::SqliteWorld;
using test::succeeds;
using testing::HasSubstr;

std::string answer(Connection& connection, std::string_view sql) {
  Query query = connection.query(sql);
  return query.next().value() ? query.text(0) : "none";
}

/// Another program's connection.
class Stranger {
 public:
  explicit Stranger(const std::filesystem::path& file) { EXPECT_EQ(sqlite3_open(file.c_str(), &db_), SQLITE_OK); }
  ~Stranger() { close(); }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  void run(const char* sql) { EXPECT_EQ(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr), SQLITE_OK); }
  void close() { sqlite3_close(std::exchange(db_, nullptr)); }

 private:
  sqlite3* db_ = nullptr;
};

class JournalOfASharedFile : public testing::Test {
 protected:
  void SetUp() override {
    if (journalPlan(sqlite3_libversion_number()).bearsWal)
      GTEST_SKIP() << "needs rollback-journal: the write-ahead log is safe in this library";
    ours_ = Connection::open(world_.options()).value();
  }

  const SqliteWorld world_;
  std::unique_ptr<Connection> ours_;
};

// shows: operations/below-sqlite-rollback
TEST(JournalPlan, AvoidsWalWhereTheLibraryCanCorruptIt) {
  EXPECT_EQ(journalPlan(3'040'001).mode, "truncate");
  EXPECT_EQ(journalPlan(3'040'001).synchronous, "EXTRA");
  EXPECT_EQ(journalPlan(3'051'002).mode, "truncate");
}

TEST(JournalPlan, UsesWalWhereItIsRepaired) {
  EXPECT_EQ(journalPlan(3'051'003).mode, "wal");
  EXPECT_EQ(journalPlan(3'051'003).synchronous, "FULL");
}

// shows: send/file-programs-write
TEST(JournalPlan, StaysWithARollbackJournalWhereOthersWriteTheFile) {
  EXPECT_EQ(journalPlan(3'051'003, true).mode, "truncate");
  EXPECT_EQ(journalPlan(3'051'003, true).synchronous, "EXTRA");
}

// shows: send/file-programs-write
TEST(SqliteFile, RemembersThatOtherProgramsWriteIt) {
  const SqliteWorld world;
  EXPECT_FALSE(isForSenders(*Connection::open(world.options()).value()).value());
  Options asked = world.options();
  asked.senders = true;
  asked.create = false;
  EXPECT_FALSE(isForSenders(*Connection::open(asked).value()).value()) << "an operator writes nothing";
  asked.create = true;

  ASSERT_THAT(Connection::open(asked), succeeds());

  EXPECT_TRUE(isForSenders(*Connection::open(world.options()).value()).value());
}

TEST(SqliteFile, IsKeptAsTheLinkedLibraryNeeds) {
  const SqliteWorld world;
  const auto connection = Connection::open(world.options()).value();

  const JournalPlan plan = journalPlan(sqlite3_libversion_number());

  EXPECT_EQ(answer(*connection, "PRAGMA journal_mode"), plan.mode);
  EXPECT_EQ(answer(*connection, "PRAGMA synchronous"), plan.synchronous == "EXTRA" ? "3" : "2");
}

// shows: operations/below-sqlite-rollback
TEST(SqliteFile, InWalModeIsTakenBackToASafeJournal) {
  if (journalPlan(sqlite3_libversion_number()).mode == "wal")
    GTEST_SKIP() << "needs rollback-journal: the write-ahead log is safe in this library";
  const SqliteWorld world;
  world.meddle("PRAGMA journal_mode=WAL; CREATE TABLE theirs(x)");

  const auto connection = Connection::open(world.options());

  ASSERT_THAT(connection, succeeds());
  EXPECT_EQ(answer(**connection, "PRAGMA journal_mode"), "truncate");
}

// shows: send/sender-sets-wal
TEST_F(JournalOfASharedFile, PutIntoWalModeByAnOpenConnectionBeginsNoTransactionUntilItCloses) {
  ASSERT_THAT(ours_->lock(), succeeds());
  ours_->rollback();
  Stranger stranger(world_.options().file);
  stranger.run("PRAGMA journal_mode=WAL; CREATE TABLE theirs(x)");

  const Result<void> refused = ours_->lock();

  ASSERT_THAT(refused, failsWith(Errc::storeBusy));
  EXPECT_THAT(refused.error().detail, HasSubstr("WAL mode"));
  EXPECT_FALSE(ours_->inTransaction());
  stranger.run("INSERT INTO theirs VALUES(1)");
  stranger.close();
  EXPECT_THAT(ours_->lock(), succeeds());
  EXPECT_EQ(answer(*ours_, "PRAGMA journal_mode"), "truncate");
  EXPECT_THAT(ours_->commit(), succeeds());
}

TEST_F(JournalOfASharedFile, IsLeftByTwoOfOurOwnConnections) {
  const auto other = Connection::open(world_.options()).value();
  Stranger stranger(world_.options().file);
  stranger.run("PRAGMA journal_mode=WAL; CREATE TABLE theirs(x)");
  EXPECT_THAT(ours_->lock(), failsWith(Errc::storeBusy));
  EXPECT_THAT(other->lock(), failsWith(Errc::storeBusy));

  stranger.close();

  EXPECT_THAT(ours_->lock(), succeeds());
}

// shows: operations/data-another-schema
TEST(SqliteFile, OfAnotherSchemaVersionIsRefused) {
  const SqliteWorld world;
  ASSERT_THAT(Connection::open(world.options()), succeeds());
  world.meddle("UPDATE tenure_schema SET version = 99");

  EXPECT_THAT(Connection::open(world.options()), failsWith(Errc::configurationRefused));
}

TEST(SqliteFile, InUtf16IsRefused) {
  const SqliteWorld world;
  world.meddle("PRAGMA encoding='UTF-16'; CREATE TABLE theirs(x)");

  EXPECT_THAT(Connection::open(world.options()), failsWith(Errc::configurationRefused));
}

TEST(SqliteFile, ThatIsNoDatabaseIsNotTouched) {
  const SqliteWorld world;
  const std::string text =
      "this is a letter to my grandmother, and it is longer than a hundred bytes, so that SQLite "
      "looks at its beginning and says no";
  std::ofstream(world.options().file) << text;

  EXPECT_THAT(Connection::open(world.options()), failsWith(Errc::configurationRefused));

  std::ifstream file(world.options().file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
}

TEST(SqliteFile, IsNotCreatedUnlessAsked) {
  const SqliteWorld world;
  Options options = world.options();
  options.create = false;

  EXPECT_THAT(Connection::open(options), failsWith(Errc::notFound));
  EXPECT_FALSE(std::filesystem::exists(options.file));

  world.meddle("CREATE TABLE theirs(x)");
  EXPECT_THAT(Connection::open(options), failsWith(Errc::notFound)) << "a stranger's file holds no queue";
}

TEST(SqliteFile, WithASpecialNameIsStillAFile) {
  const test::TemporaryFolder folder;
  Options options;
  options.file = folder / ":memory:";

  ASSERT_THAT(Connection::open(options), succeeds());

  EXPECT_TRUE(std::filesystem::exists(options.file));
}

TEST(SqliteFile, Row33ThatIsReadOnlyIsRefusedWithItsName) {
  const SqliteWorld world;
  ASSERT_THAT(Connection::open(world.options()), succeeds());
  const std::filesystem::path folder = world.options().file.parent_path();
  chmod(world.options().file.c_str(), 0444);
  chmod(folder.c_str(), 0555);
  const bool isRoot = geteuid() == 0;
  if (isRoot) {
    ASSERT_EQ(seteuid(65534), 0);  // nobody: permissions mean nothing to root
  }

  const auto connection = Connection::open(world.options());

  if (isRoot) {
    ASSERT_EQ(seteuid(0), 0);
  }
  chmod(folder.c_str(), 0755);
  EXPECT_THAT(connection, failsWith(Errc::permissionDenied));
  EXPECT_THAT(connection.error().detail, HasSubstr(world.options().file.string()));
}

TEST(SqliteFile, IsOpenOnlyWhileATermHoldsIt) {
  const SqliteWorld world;
  Database database(world.options(), noEvents());
  EXPECT_FALSE(std::filesystem::exists(world.options().file)) << "a standby opened it";
  const test::TestTerm term(7);
  ASSERT_THAT(database.store().claim(term), succeeds());
  ASSERT_THAT(database.source().attach(term), succeeds());
  const auto isOpen = [&] {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code ignored;
      if (std::filesystem::read_symlink(entry.path(), ignored) == world.options().file) return true;
    }
    return false;
  };
  EXPECT_TRUE(isOpen());

  database.source().detach();
  database.store().release();

  EXPECT_FALSE(isOpen());
}

class NetworkFileSystem : public testing::TestWithParam<std::pair<long, std::string>> {};

// shows: readme/sqlite-network-file
TEST_P(NetworkFileSystem, IsRefusedWithTheFilesName) {
  const auto type = [](const std::filesystem::path&) -> Result<long> { return GetParam().first; };

  const Result<void> checked = requireLocalFileSystem("/data/queue.db", type);

  EXPECT_THAT(checked, failsWith(Errc::configurationRefused));
  EXPECT_THAT(checked.error().detail, testing::AllOf(HasSubstr("/data/queue.db"), HasSubstr(GetParam().second)));
}

INSTANTIATE_TEST_SUITE_P(Types, NetworkFileSystem,
                         testing::Values(std::pair{0x6969L, "NFS"}, std::pair{0xFF534D42L, "CIFS"},
                                         std::pair{0xFE534D42L, "SMB2"}, std::pair{0x65735546L, "FUSE"},
                                         std::pair{0x01021997L, "9p"}, std::pair{0x00C36400L, "Ceph"}));

TEST(LocalFileSystem, IsFine) {
  const auto type = [](const std::filesystem::path&) -> Result<long> { return 0xEF53L; };  // ext4

  EXPECT_THAT(requireLocalFileSystem("/data/queue.db", type), succeeds());
}

TEST(LocalFileSystem, IsThatOfTheFolderWhenTheFileIsAbsent) {
  const auto type = [](const std::filesystem::path& path) -> Result<long> {
    if (path == "/data") return 0x6969L;
    return Error{Errc::notFound, path.string()};
  };

  EXPECT_THAT(requireLocalFileSystem("/data/queue.db", type), failsWith(Errc::configurationRefused));
  EXPECT_THAT(requireLocalFileSystem("/nowhere/queue.db", type), failsWith(Errc::configurationRefused));
}

}  // namespace
}  // namespace tenure::sqlite
