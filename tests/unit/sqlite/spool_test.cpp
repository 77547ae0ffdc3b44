// The spool's file: order, size, refusals, and what becomes of it when it is in use, damaged or something else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "support/events.hpp"
#include "support/program.hpp"
#include "support/results.hpp"
#include "tenure/sqlite.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

struct SpoolTest : testing::Test {
  std::unique_ptr<ISpool> open(std::uint64_t maxBytes = 1ULL << 30U) {
    auto opened = sqlite::openSpool({.file = file, .maxBytes = maxBytes}, events);
    EXPECT_THAT(opened, succeeds());
    return opened ? *std::move(opened) : nullptr;
  }
  static NewMessage message(int id, std::string body = "body") {
    return {MessageId{std::to_string(id)}, GroupId{"g"}, std::move(body), {{"source", "shop"}}};
  }
  static std::vector<NewMessage> messages(int first, int last, const std::string& body = "body") {
    std::vector<NewMessage> all;
    for (int i = first; i <= last; ++i) all.push_back(message(i, body));
    return all;
  }
  static std::vector<std::string> idsIn(ISpool& spool) {
    std::vector<std::string> ids;
    const auto read = spool.read(0, 100'000, 1U << 30U);
    EXPECT_THAT(read, succeeds());
    if (read)
      for (const SpooledMessage& each : *read) ids.push_back(each.message.id.value);
    return ids;
  }
  /// The queue refuses all that waits.
  static void refuseAll(ISpool& spool) {
    const auto read = spool.read(0, 100'000, 1U << 30U);
    ASSERT_THAT(read, succeeds());
    std::vector<SpoolSettlement> refusals;
    for (const SpooledMessage& each : *read) refusals.push_back({each.position, Error{Errc::payloadTooLarge, "large"}});
    ASSERT_THAT(spool.settle(refusals), succeeds());
  }
  /// Changes the file while no spool has it open.
  void change(const std::string& statements) const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(file.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, statements.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  /// Overwrites part of the file.
  void damage(std::size_t from, std::size_t bytes, char with = '\xA5') const {
    std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>(from));
    out << std::string(bytes, with);
  }

  TemporaryFolder folder;
  std::filesystem::path file = folder / "spool.db";
  RecordedEvents events;
};

TEST_F(SpoolTest, KeepsMessagesWholeAndInOrderAcrossItsReopening) {
  NewMessage timed = message(3);
  timed.deliverAt = WallTime{123'456'789ms};
  timed.replacesScheduled = true;
  {
    const auto spool = open();
    ASSERT_THAT(spool->append(messages(1, 2)), succeeds());
    ASSERT_THAT(spool->append({&timed, 1}), succeeds());
  }
  const auto spool = open();

  const auto read = spool->read(0, 10, 1U << 20U);

  ASSERT_THAT(read, succeeds());
  ASSERT_THAT(*read, SizeIs(3));
  EXPECT_EQ((*read)[0].message, message(1));
  EXPECT_EQ((*read)[2].message, timed);
  EXPECT_EQ((*read)[2].position, (*read)[0].position + 2);
  EXPECT_EQ(spool->figures().messages, 3U);
}

TEST_F(SpoolTest, ReadsNoMoreThanAskedForAndFromWhereItIsAsked) {
  const auto spool = open();
  const auto first = spool->append(messages(1, 10, std::string(1'000, 'x')));
  ASSERT_THAT(first, succeeds());

  EXPECT_THAT(*spool->read(0, 3, 1U << 20U), SizeIs(3));
  EXPECT_THAT(*spool->read(0, 10, 2'500), SizeIs(3));
  EXPECT_THAT(*spool->read(0, 10, 1), SizeIs(1));
  EXPECT_THAT(*spool->read(*first + 8, 10, 1U << 20U), SizeIs(2));
}

TEST_F(SpoolTest, KeepsUpToWhereAFileWasSent) {
  const FollowedFile begun{"/var/log/shop.log", 7, 1'234, WallTime{}, 10, "ten bytes."};
  FollowedFile later = begun;
  later.offset = 20;
  later.cutAt = WallTime{5ms};
  const FollowedFile other{"/var/log/other.log", UINT64_MAX, 0, WallTime{}, 1, std::string(1, '\0')};
  {
    const auto spool = open();
    EXPECT_THAT(*spool->followed(), IsEmpty());
    for (const FollowedFile& sent : {begun, other, later})
      ASSERT_THAT(spool->append(messages(1, 1), &sent), succeeds());
  }

  EXPECT_THAT(*open()->followed(), testing::UnorderedElementsAre(later, other));
}

TEST_F(SpoolTest, SettledMessagesAreGoneAndRefusedOnesAreKeptAside) {
  const auto spool = open();
  const auto first = spool->append(messages(1, 4));
  ASSERT_THAT(first, succeeds());

  ASSERT_THAT(spool->settle(
                  std::vector<SpoolSettlement>{{*first, {}}, {*first + 2, Error{Errc::payloadTooLarge, "too large"}}}),
              succeeds());

  EXPECT_THAT(idsIn(*spool), ElementsAre("2", "4"));
  EXPECT_EQ(spool->figures().messages, 2U);
  EXPECT_EQ(spool->figures().refused, 1U);
  const auto refused = spool->refused(0, 10);
  ASSERT_THAT(refused, succeeds());
  ASSERT_THAT(*refused, SizeIs(1));
  EXPECT_EQ(refused->front().spooled.message, message(3));
  EXPECT_THAT(refused->front().reason, HasSubstr("too large"));
  ASSERT_THAT(spool->settle(std::vector<SpoolSettlement>{{*first + 1, {}}, {*first + 3, {}}}), succeeds());
  EXPECT_EQ(spool->figures().bytes, 0U);
  EXPECT_FALSE(spool->figures().oldest);
}

TEST_F(SpoolTest, TakesNothingBeyondItsLimitUntilThereIsRoom) {
  const auto spool = open(1U << 20U);
  const auto first = spool->append(messages(1, 1, std::string(1U << 20U, 'x')));
  ASSERT_THAT(first, succeeds());

  const auto full = spool->append(messages(2, 2));

  ASSERT_THAT(full, failsWith(Errc::storeFull));
  EXPECT_THAT(full.error().detail, HasSubstr("the spool is full: 1 messages"));
  ASSERT_THAT(spool->settle(std::vector<SpoolSettlement>{{*first, {}}}), succeeds());
  EXPECT_THAT(spool->append(messages(2, 2)), succeeds());
}

TEST_F(SpoolTest, RefusedMessagesFillItUntilTheyArePurged) {
  {
    const auto spool = open(1U << 20U);
    ASSERT_THAT(spool->append(messages(1, 1, std::string(1U << 20U, 'x'))), succeeds());
    refuseAll(*spool);
    ASSERT_GT(spool->figures().refusedBytes, 1U << 20U);
  }
  const auto spool = open(1U << 20U);

  const auto full = spool->append(messages(2, 2));

  ASSERT_THAT(full, failsWith(Errc::storeFull));
  EXPECT_THAT(full.error().detail, HasSubstr("0 messages of 0 bytes wait, the limit is 1048576 bytes; 1 refused "));
  EXPECT_THAT(full.error().detail, HasSubstr("`tenure spool purge " + file.string() + " --all`"));
  EXPECT_EQ(*spool->purgeRefused(WallTime::max()), 1U);
  EXPECT_EQ(spool->figures().refused, 0U);
  EXPECT_EQ(spool->figures().refusedBytes, 0U);
  EXPECT_LT(std::filesystem::file_size(file), 1U << 20U) << "the room is given back";
  EXPECT_THAT(spool->append(messages(2, 2)), succeeds());
}

TEST_F(SpoolTest, RefusedMessagesTakeRoomFromThoseThatWait) {
  const auto spool = open(1U << 20U);
  ASSERT_THAT(spool->append(messages(1, 1, std::string(600'000, 'x'))), succeeds());
  refuseAll(*spool);

  EXPECT_THAT(spool->append(messages(2, 2, std::string(600'000, 'x'))), succeeds()) << "nothing waits";
  EXPECT_THAT(spool->append(messages(3, 3)), failsWith(Errc::storeFull));
}

TEST_F(SpoolTest, APurgeDeletesWhatWasRefusedBeforeATimeAndNothingThatWaits) {
  {
    const auto spool = open();
    ASSERT_THAT(spool->append(messages(1, 2'500)), succeeds());
    refuseAll(*spool);
  }
  change("UPDATE tenure_spool_refused SET refused_at = 1000 WHERE id != '2500' AND id != '7'");
  const auto spool = open();
  ASSERT_THAT(spool->append(messages(2'501, 2'501)), succeeds());
  const std::uint64_t before = spool->figures().refusedBytes;

  EXPECT_EQ(*spool->purgeRefused(WallTime{1'000ms}), 0U);
  EXPECT_EQ(*spool->purgeRefused(WallTime{1'001ms}), 2'498U);

  const auto left = spool->refused(0, 10);
  ASSERT_THAT(left, succeeds());
  ASSERT_THAT(*left, SizeIs(2));
  EXPECT_EQ(left->front().spooled.message, message(7));
  EXPECT_EQ(left->back().spooled.message, message(2'500));
  EXPECT_EQ(spool->figures().refused, 2U);
  EXPECT_EQ(spool->figures().refusedBytes, before / 2'500 * 2);
  EXPECT_THAT(idsIn(*spool), ElementsAre("2501"));
}

TEST_F(SpoolTest, AFileOfTheFirstVersionIsBroughtForwardWithItsRefusedMessagesCounted) {
  SpoolFigures before;
  {
    const auto spool = open();
    ASSERT_THAT(spool->append(messages(1, 3)), succeeds());
    refuseAll(*spool);
    before = spool->figures();
  }
  change(
      "DROP TABLE tenure_spool;"
      "CREATE TABLE tenure_spool(version INTEGER NOT NULL, messages INTEGER NOT NULL, bytes INTEGER NOT NULL);"
      "INSERT INTO tenure_spool VALUES(1, 0, 0)");

  for (int times = 1; times <= 2; ++times) {
    const auto spool = open();
    EXPECT_EQ(spool->figures().refused, 3U);
    EXPECT_EQ(spool->figures().refusedBytes, before.refusedBytes);
  }
}

TEST_F(SpoolTest, OneProcessAtATimeHasItAndADeadOnesIsTakenOver) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto spool = sqlite::openSpool({.file = file});
    const bool appended = spool && (*spool)->append(messages(1, 2));
    static_cast<void>(write(ready[1], appended ? "y" : "n", 1));
    pause();
    _exit(0);
  }
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');

  const auto second = sqlite::openSpool({.file = file});
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);

  ASSERT_THAT(second, failsWith(Errc::storeBusy));
  EXPECT_THAT(second.error().detail, HasSubstr("held by process " + std::to_string(child)));
  EXPECT_THAT(idsIn(*open()), ElementsAre("1", "2"));
}

TEST_F(SpoolTest, Row35ADamagedFileIsSetAsideAndWhatCanBeReadIsSaved) {
  {
    const auto spool = open();
    for (int i = 1; i <= 200; ++i) ASSERT_THAT(spool->append(messages(i, i, std::string(3'000, 'x'))), succeeds());
  }
  const std::size_t size = std::filesystem::file_size(file);
  damage(size / 2, 40'000);
  const auto spool = open();

  const std::vector<std::string> ids = idsIn(*spool);

  const auto told = events.of<SpoolDamaged>();
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_TRUE(std::filesystem::exists(told[0].setAside));
  EXPECT_EQ(told[0].saved, ids.size());
  ASSERT_GT(ids.size(), 150U) << told[0].error;
  EXPECT_LT(ids.size(), 200U);
  EXPECT_EQ(ids.front(), "1");
  EXPECT_EQ(ids.back(), "200");
  EXPECT_EQ(spool->figures().messages, ids.size());
  EXPECT_THAT(spool->append(messages(201, 201)), succeeds());
}

TEST_F(SpoolTest, Row35RefusedMessagesThatAreSavedFromADamagedFileAreCounted) {
  SpoolFigures before;
  {
    const auto spool = open();
    ASSERT_THAT(spool->append(messages(1, 2)), succeeds());
    refuseAll(*spool);
    ASSERT_THAT(spool->append(messages(3, 200, std::string(3'000, 'x'))), succeeds());
    before = spool->figures();
  }
  damage(std::filesystem::file_size(file) / 2, 40'000);
  const auto spool = open();

  idsIn(*spool);

  ASSERT_THAT(events.of<SpoolDamaged>(), SizeIs(1));
  EXPECT_EQ(spool->figures().refused, 2U);
  EXPECT_EQ(spool->figures().refusedBytes, before.refusedBytes);
}

TEST_F(SpoolTest, Row35AFileWhoseBeginningIsGoneIsSetAsideAndTheStartGoesOn) {
  { ASSERT_THAT(open()->append(messages(1, 2)), succeeds()); }
  damage(0, 4'096, '\0');

  const auto spool = open();

  EXPECT_THAT(events.of<SpoolDamaged>(), SizeIs(1));
  EXPECT_THAT(spool->append(messages(3, 3)), succeeds());
  EXPECT_THAT(idsIn(*spool), ElementsAre("3"));
}

TEST_F(SpoolTest, Row35AFileOfSomethingElseIsRefusedAndStaysAsItIs) {
  std::ofstream(file) << "orders of the day: 1, 2, 3\n";
  EXPECT_THAT(sqlite::openSpool({.file = file}), failsWith(Errc::configurationRefused));
  EXPECT_EQ(contentsOf(file), "orders of the day: 1, 2, 3\n");

  const std::filesystem::path store = folder / "store.db";
  { ASSERT_THAT((*sqlite::openSink({.file = store}))->append(messages(1, 1)), succeeds()); }
  const auto refused = sqlite::openSpool({.file = store});
  ASSERT_THAT(refused, failsWith(Errc::configurationRefused));
  EXPECT_THAT(refused.error().detail, HasSubstr("is a queue or store"));

  EXPECT_THAT(sqlite::openSpool({.file = folder / "none.db", .create = false}), failsWith(Errc::notFound));
}

TEST_F(SpoolTest, Row35AnotherProgramsDatabaseIsRefusedAndStaysAsItIs) {
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "CREATE TABLE invoice(x)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  const std::string before = readFile(file);

  const auto refused = sqlite::openSpool({.file = file});

  EXPECT_THAT(refused, failsWith(Errc::configurationRefused));
  EXPECT_THAT(refused.error().detail, HasSubstr("another program's database"));
  EXPECT_EQ(readFile(file), before);
}

/// A process that died while it replaced a damaged file: before the new one took its place, or long before.
TEST_F(SpoolTest, Row35AReplacementThatWasNotFinishedIsFinishedOrBegunAnew) {
  { ASSERT_THAT(open()->append(messages(1, 2)), succeeds()); }
  std::filesystem::rename(file, file.string() + ".new");
  EXPECT_THAT(idsIn(*open()), ElementsAre("1", "2"));

  std::ofstream(file.string() + ".new") << "half of one";
  EXPECT_THAT(idsIn(*open()), ElementsAre("1", "2"));
  EXPECT_FALSE(std::filesystem::exists(file.string() + ".new"));
}

/// Its producer goes on behind the positions that it knows.
TEST_F(SpoolTest, Row35PositionsGoOnWhereNothingOfADamagedFileCanBeRead) {
  const auto spool = open();
  const auto first = spool->append(messages(1, 8, std::string(1U << 20U, 'x')));  // more than SQLite's cache holds
  ASSERT_THAT(first, succeeds());
  for (const std::string& part : {file.string(), file.string() + "-wal"})
    std::ofstream(part, std::ios::binary | std::ios::in) << std::string(std::filesystem::file_size(part), '\0');

  EXPECT_THAT(idsIn(*spool), IsEmpty());
  const auto next = spool->append(messages(9, 9));

  ASSERT_THAT(next, succeeds());
  ASSERT_THAT(events.of<SpoolDamaged>(), SizeIs(1));
  EXPECT_EQ(events.of<SpoolDamaged>()[0].saved, 0U);
  EXPECT_EQ(*next, *first + 8);
}

TEST_F(SpoolTest, Row35ALinkLeadsToTheSpool) {
  { ASSERT_THAT(open()->append(messages(1, 2)), succeeds()); }
  std::filesystem::rename(file, folder / "elsewhere.db");
  std::filesystem::create_symlink(folder / "elsewhere.db", file);

  EXPECT_THAT(idsIn(*open()), ElementsAre("1", "2"));
  EXPECT_THAT(sqlite::openSpool({.file = folder / "elsewhere.db"}), succeeds());
}

/// A file system of 16 MiB, filled by others as well.
TEST_F(SpoolTest, AFullDiskTakesNothingSaysSoAndLetsMessagesOut) {
  if (mount("tenure-test", folder.path().c_str(), "tmpfs", 0, "size=16m") != 0)
    GTEST_SKIP() << "needs root: it mounts a file system: " << std::strerror(errno);
  {
    const auto spool = open();
    std::vector<std::int64_t> positions;
    Result<std::int64_t> appended = 0;
    for (int i = 1; (appended = spool->append(messages(i, i, std::string(100'000, 'x')))); ++i)
      positions.push_back(*appended);
    EXPECT_THAT(appended, failsWith(Errc::storeFull));
    EXPECT_THAT(appended.error().detail, HasSubstr("the disk is full"));
    EXPECT_GT(positions.size(), 50U);
    for (const std::int64_t position : positions)
      ASSERT_THAT(spool->settle(std::vector<SpoolSettlement>{{position, {}}}), succeeds());
    EXPECT_LT(std::filesystem::file_size(file), 1U << 20U) << "the room is given back";
    EXPECT_THAT(spool->append(messages(1, 1)), succeeds());
    EXPECT_EQ(spool->figures().messages, 1U);
  }
  umount(folder.path().c_str());
}

}  // namespace
}  // namespace tenure::test
