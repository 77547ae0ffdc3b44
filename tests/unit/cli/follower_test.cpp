#include "cli/input/follower.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "support/await.hpp"
#include "support/program.hpp"
#include "support/results.hpp"

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::failsWith;
using test::succeeds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t longest = 1'000;

class FollowerTest : public testing::Test {
 protected:
  /// A producer that is started: it follows from where the last one was.
  void start() {
    follower_.emplace(
        log, longest, [this](const std::string& what) { told.push_back(what); }, 1ms);
    ASSERT_THAT(follower_->begin(position_), succeeds());
  }
  void append(const std::string& text) const { std::ofstream(log, std::ios::binary | std::ios::app) << text; }
  /// The next file is made later, as the file system's coarse clock has it.
  void rotate(const std::string& suffix = ".1") const {
    const auto written = std::filesystem::last_write_time(log);
    EXPECT_TRUE(eventually([&] {
      std::ofstream(folder / "now") << 'x';
      return std::filesystem::last_write_time(folder / "now") > written;
    }));
    std::filesystem::rename(log, log.string() + suffix);
  }
  /// All there are for now.
  std::vector<std::string> read() {
    std::vector<std::string> lines;
    for (;;) {
      const auto line = follower_->next();
      EXPECT_THAT(line, succeeds());
      if (!line || !*line) return lines;
      lines.push_back((*line)->tooLong ? "too long" : std::string((*line)->text));
      EXPECT_TRUE(ids.insert(follower_->lineId()).second) << follower_->lineId();
      position_ = follower_->position();
    }
  }
  /// Those that come within a moment: an old file is left only when it is quiet.
  std::vector<std::string> readUntil(const std::string& last) {
    std::vector<std::string> lines;
    EXPECT_TRUE(eventually([&] {
      for (std::string& line : read()) lines.push_back(std::move(line));
      return !lines.empty() && lines.back() == last;
    }));
    return lines;
  }

  test::TemporaryFolder folder;
  std::filesystem::path log = folder / "shop.log";
  std::vector<std::string> told;
  std::set<std::string> ids;

 private:
  std::optional<Follower> follower_;
  std::optional<FollowedFile> position_;
};

// shows: sending/follow-leaves-out
TEST_F(FollowerTest, BeginsAtTheStartAndWaitsForTheRestOfALine) {
  append("one\ntw");
  start();

  EXPECT_THAT(read(), ElementsAre("one"));
  append("o\n\n");
  EXPECT_THAT(read(), ElementsAre("two", ""));
}

TEST_F(FollowerTest, TheFileMayComeLater) {
  start();
  EXPECT_THAT(read(), IsEmpty());
  append("one\n");

  EXPECT_THAT(read(), ElementsAre("one"));
}

TEST_F(FollowerTest, GoesOnWhereItWas) {
  append("one\ntwo\nthr");
  start();
  EXPECT_THAT(read(), ElementsAre("one", "two"));
  append("ee\nfour\n");
  start();

  EXPECT_THAT(read(), ElementsAre("three", "four"));
}

TEST_F(FollowerTest, ARotatedFileIsReadToItsEndBeforeTheNext) {
  append("one\n");
  start();
  EXPECT_THAT(read(), ElementsAre("one"));
  rotate();
  std::ofstream(log.string() + ".1", std::ios::app) << "two\nunfinished";
  append("three\n");

  EXPECT_THAT(readUntil("three"), ElementsAre("two", "unfinished", "three"));
}

/// It was quiet for long when it was renamed, and its writer has not been told yet.
// shows: sending/follow-leaves-out
TEST_F(FollowerTest, WhatAWriterStillAppendsToTheRenamedFileIsRead) {
  append("one\n");
  start();
  EXPECT_THAT(read(), ElementsAre("one"));
  EXPECT_THAT(read(), IsEmpty());
  Follower patient(log, longest, {}, 200ms);
  ASSERT_THAT(patient.begin(std::nullopt), succeeds());
  ASSERT_TRUE(*patient.next());
  ASSERT_FALSE(*patient.next());
  patient.wait(-1, 300ms);  // longer than it takes to be quiet
  rotate();
  append("three\n");
  ASSERT_FALSE(*patient.next());
  std::ofstream(log.string() + ".1", std::ios::app) << "two\n";

  std::vector<std::string> lines;
  EXPECT_TRUE(eventually([&] {
    const auto line = patient.next();
    if (line && *line) lines.emplace_back((*line)->text);
    return lines.size() == 2;
  }));
  EXPECT_THAT(lines, ElementsAre("two", "three"));
}

// shows: sending/follow-leaves-out
TEST_F(FollowerTest, FilesThatWereRotatedMeanwhileAreReadInTheOrderInWhichTheyWereMade) {
  append("one\n");
  start();
  EXPECT_THAT(read(), ElementsAre("one"));
  append("two\n");
  rotate(".3");
  append("three\n");
  rotate(".2");
  append("four\n");
  rotate(".1");
  append("five\n");
  std::filesystem::copy_file(log, log.string() + ".bak");
  start();

  EXPECT_THAT(readUntil("five"), ElementsAre("two", "three", "four", "five"));
  EXPECT_THAT(told, IsEmpty());
}

TEST_F(FollowerTest, AFileThatWasCutIsReadFromItsStartUnderOtherIds) {
  append("one\ntwo\n");
  start();
  EXPECT_THAT(read(), ElementsAre("one", "two"));
  std::filesystem::resize_file(log, 0);
  append("one\n");

  EXPECT_THAT(read(), ElementsAre("one"));
  EXPECT_THAT(ids, SizeIs(3));
  EXPECT_THAT(told, ElementsAre(HasSubstr("it was cut")));
}

/// As long as it was: its size says nothing.
// shows: sending/follow-leaves-out
TEST_F(FollowerTest, AFileThatWasCutAndFilledAgainIsReadFromItsStart) {
  append("one\ntwo\n");
  start();
  EXPECT_THAT(read(), ElementsAre("one", "two"));
  std::filesystem::resize_file(log, 0);
  append("three\nfour\nfive\n");
  start();

  EXPECT_THAT(read(), ElementsAre("three", "four", "five"));
}

TEST_F(FollowerTest, AFileThatIsGoneIsToldAndTheNextIsRead) {
  append("one\n");
  start();
  EXPECT_THAT(read(), ElementsAre("one"));
  rotate();
  append("two\n");  // before the other is gone, or its inode could be given again
  std::filesystem::remove(log.string() + ".1");
  start();

  EXPECT_THAT(read(), ElementsAre("two"));
  EXPECT_THAT(told, ElementsAre(HasSubstr("is not there any more")));
}

TEST_F(FollowerTest, ALineThatIsTooLongIsOneLine) {
  append(std::string(200'000, 'x') + "\ntwo\n");
  start();

  EXPECT_THAT(read(), ElementsAre("too long", "two"));
  append("three\n");
  start();
  EXPECT_THAT(read(), ElementsAre("three"));
}

// shows: sending/follow-leaves-out
TEST_F(FollowerTest, IdsAreThoseOfTheFileWhateverItsNameIs) {
  append("one\ntwo\n");
  start();
  EXPECT_THAT(read(), SizeIs(2));
  const std::set<std::string> before = std::exchange(ids, {});
  Follower again(log, longest, {}, 1ms);
  ASSERT_THAT(again.begin(std::nullopt), succeeds());
  ASSERT_TRUE(*again.next());
  EXPECT_TRUE(before.contains(again.lineId()));
  EXPECT_THAT(again.lineId(), HasSubstr("shop.log:"));
}

TEST_F(FollowerTest, WhatIsNoFileIsRefused) {
  Follower folderItself(folder.path(), longest, {});
  Follower nowhere(folder / "none" / "shop.log", longest, {});

  EXPECT_THAT(folderItself.begin(std::nullopt), failsWith(Errc::invalidArgument));
  EXPECT_THAT(nowhere.begin(std::nullopt), failsWith(Errc::invalidArgument));
}

}  // namespace
}  // namespace tenure::cli
