// The spool's file: order, size, refusals, and what becomes of it when it is in use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "spool_scene.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// shows: S10
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

// shows: sending/left-behind-sent
TEST_F(SpoolTest, ReadsNoMoreThanAskedForAndFromWhereItIsAsked) {
  const auto spool = open();
  const auto first = spool->append(messages(1, 10, std::string(1'000, 'x')));
  ASSERT_THAT(first, succeeds());

  EXPECT_THAT(*spool->read(0, 3, 1U << 20U), SizeIs(3));
  EXPECT_THAT(*spool->read(0, 10, 2'500), SizeIs(3));
  EXPECT_THAT(*spool->read(0, 10, 1), SizeIs(1));
  EXPECT_THAT(*spool->read(*first + 8, 10, 1U << 20U), SizeIs(2));
}

// shows: sending/follow-leaves-out
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

// shows: sending/queue-refuses-kept
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

// shows: sending/spool-full-takes
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

// shows: sending/refused-messages-count, sending/tenure-spool-purge
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

// shows: sending/refused-messages-count
TEST_F(SpoolTest, RefusedMessagesTakeRoomFromThoseThatWait) {
  const auto spool = open(1U << 20U);
  ASSERT_THAT(spool->append(messages(1, 1, std::string(600'000, 'x'))), succeeds());
  refuseAll(*spool);

  EXPECT_THAT(spool->append(messages(2, 2, std::string(600'000, 'x'))), succeeds()) << "nothing waits";
  EXPECT_THAT(spool->append(messages(3, 3)), failsWith(Errc::storeFull));
}

// shows: sending/tenure-spool-purge
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

TEST_F(SpoolTest, AFileOfAnotherVersionIsRefusedAndLeftAsItIs) {
  {
    const auto spool = open();
    ASSERT_THAT(spool->append(messages(1, 3)), succeeds());
  }
  change("UPDATE tenure_spool SET version = 1");

  const auto refused = sqlite::openSpool({.file = file});

  ASSERT_THAT(refused, failsWith(Errc::configurationRefused));
  EXPECT_THAT(refused.error().detail, testing::HasSubstr("is a spool of version 1, this is version"));
  change("UPDATE tenure_spool SET version = version + 1");
  EXPECT_EQ(idsIn(*open()).size(), 3U);
}

// shows: S10, sending/process-time-file
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

// shows: sending/full-disk-told
TEST_F(SpoolTest, AfterAnOutageItsFileGetsSmallerByAPieceEachTimeItIsEmpty) {
  constexpr std::uint64_t large = 16U << 20U;
  constexpr std::uint64_t piece = 2U << 20U;
  const auto size = [&] { return std::filesystem::file_size(file); };
  const auto spool = open();
  const auto first = spool->append(messages(1, 16, std::string(1U << 20U, 'x')));
  ASSERT_THAT(first, succeeds());
  std::vector<SpoolSettlement> all;
  for (std::int64_t position = *first; position < *first + 16; ++position) all.push_back({position, {}});

  ASSERT_THAT(spool->settle(all), succeeds());

  EXPECT_GE(size(), large - piece) << "the settlement was held up for all of it";
  for (std::uint64_t before = size(); before >= piece; before = size()) {
    sendOne(*spool);
    ASSERT_LT(size(), before);
    ASSERT_GE(size() + piece, before);
  }
}

// shows: sending/full-disk-told
TEST_F(SpoolTest, AFileThatAnOutageHasLeftLargeGetsSmallWhereItIsClosedAndOpened) {
  {
    const auto spool = open();
    const auto first = spool->append(messages(1, 1, std::string(8U << 20U, 'x')));
    ASSERT_THAT(first, succeeds());
    ASSERT_THAT(spool->settle(std::vector<SpoolSettlement>{{*first, {}}}), succeeds());
    ASSERT_GT(std::filesystem::file_size(file), 4U << 20U);
  }
  for (int times = 0; times < 4 && std::filesystem::file_size(file) >= 1U << 20U; ++times) open();
  EXPECT_LT(std::filesystem::file_size(file), 1U << 20U);
}

/// A file system of 16 MiB, filled by others as well.
// shows: sending/full-disk-told
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
    for (int times = 0; times < 20 && std::filesystem::file_size(file) >= 1U << 20U; ++times) sendOne(*spool);
    EXPECT_LT(std::filesystem::file_size(file), 1U << 20U) << "the room is given back";
    EXPECT_THAT(spool->append(messages(1, 1)), succeeds());
    EXPECT_EQ(spool->figures().messages, 1U);
  }
  umount(folder.path().c_str());
}

}  // namespace
}  // namespace tenure::test
