// What a file says of itself, and that saying it changes nothing.
#include <gmock/gmock.h>

#include <fstream>

#include "backends/sqlite/connection.hpp"
#include "support/findings.hpp"
#include "support/program.hpp"
#include "support/results.hpp"
#include "support/sqlite_world.hpp"

namespace tenure::sqlite {
namespace {

using test::finds;
using test::isFact;
using test::succeeds;
using testing::_;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Findings inspected(const Options& options) { return openAdmin(options)->inspect().value(); }

std::vector<std::string> filesIn(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& each : std::filesystem::directory_iterator(folder)) names.push_back(each.path().filename());
  return names;
}

TEST(Inspection, OfNoFileMakesNone) {
  const test::SqliteWorld world;

  const Findings found = inspected(world.options());

  EXPECT_THAT(found, Each(isFact()));
  EXPECT_THAT(found, finds(Severity::fact, "file", "absent"));
  EXPECT_FALSE(std::filesystem::exists(world.options().file));
}

TEST(Inspection, OfASoundFileFindsFactsAndLeavesEachByte) {
  test::SqliteWorld world;
  ASSERT_THAT(world.sink()->append(std::vector{NewMessage{MessageId{"a"}, {}, "body", {}}}), succeeds());
  const std::string before = test::readFile(world.options().file);
  const auto files = filesIn(world.options().file.parent_path());

  const Findings found = inspected(world.options());

  EXPECT_THAT(found, Each(isFact()));
  EXPECT_THAT(found, finds(Severity::fact, "SQLite", StartsWith("3.")));
  EXPECT_THAT(found, finds(Severity::fact, "quick_check", "ok"));
  EXPECT_THAT(found, finds(Severity::fact, "queue", "of no election yet"));
  EXPECT_EQ(test::readFile(world.options().file), before);
  EXPECT_EQ(filesIn(world.options().file.parent_path()), files);
}

TEST(Inspection, OfAFileInTheOtherJournalModeWarnsAndLeavesItThere) {
  const test::SqliteWorld world;
  const bool plansWal = journalPlan(sqlite3_libversion_number()).mode == "wal";
  world.meddle("PRAGMA journal_mode = " + std::string(plansWal ? "delete" : "wal") + "; CREATE TABLE users(n)");
  const std::string before = test::readFile(world.options().file);

  EXPECT_THAT(inspected(world.options()), finds(Severity::warning, "journal_mode", _));

  EXPECT_EQ(test::readFile(world.options().file), before);
  EXPECT_THAT(filesIn(world.options().file.parent_path()), ElementsAre("queue.db"));
}

TEST(Inspection, OfAFileOfOthersMakesNoTables) {
  const test::SqliteWorld world;
  world.meddle("CREATE TABLE users(n)");

  EXPECT_THAT(inspected(world.options()), finds(Severity::fact, "schema", "absent"));

  EXPECT_EQ(world.ask("SELECT count(*) FROM sqlite_schema"), "1");
}

TEST(Inspection, RefusesWhatALeaderWouldRefuse) {
  test::SqliteWorld world;
  world.sink();
  world.meddle("UPDATE tenure_schema SET version = 99");

  EXPECT_THAT(inspected(world.options()), finds(Severity::refusal, "schema", "unfit"));

  const test::SqliteWorld wide;
  wide.meddle("PRAGMA encoding = 'UTF-16'; CREATE TABLE users(n)");
  EXPECT_THAT(inspected(wide.options()), finds(Severity::refusal, "encoding", HasSubstr("UTF-16")));
}

TEST(Inspection, OfWhatIsNoDatabaseFails) {
  const test::SqliteWorld world;
  std::ofstream(world.options().file) << std::string(4096, 'x');

  EXPECT_THAT(openAdmin(world.options())->inspect(), test::failsWith(Errc::configurationRefused));
}

}  // namespace
}  // namespace tenure::sqlite
