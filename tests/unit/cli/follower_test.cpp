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
        followed.empty() ? log : followed, longest, [this](const std::string& what) { told.push_back(what); }, 1ms);
    ASSERT_THAT(follower_->begin(position_), succeeds());
  }
  void append(const std::string& text) const { std::ofstream(log, std::ios::binary | std::ios::app) << text; }
  /// The next file is made later, as the file system's coarse clock has it.
  void later() const {
    const auto written = std::filesystem::last_write_time(log);
    EXPECT_TRUE(eventually([&] {
      std::ofstream(folder / "now") << 'x';
      return std::filesystem::last_write_time(folder / "now") > written;
    }));
  }
  void rotate(const std::string& suffix = ".1") const {
    later();
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
  std::filesystem::path followed;  // empty: the log
  std::optional<Follower> follower_;

 private:
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

// shows: sending/follow-hole
TEST_F(FollowerTest, AHoleOfNulsThatAWriterLeavesAfterACutIsNoLine) {
  append(std::string(longest + 1, 'x') + "\nsecond\n");
  start();
  ASSERT_THAT(read(), ElementsAre("too long", "second"));
  const auto writeAt = [&](std::size_t offset, const std::string& text) {
    std::filesystem::resize_file(log, 0);
    std::filesystem::resize_file(log, offset);
    append(text);
  };

  writeAt(5'000, "third\nfourth\n");
  EXPECT_THAT(read(), ElementsAre("third", "fourth"));
  writeAt(9'000, "fifth\n");
  EXPECT_THAT(read(), ElementsAre("fifth")) << "the head of both is a hole";
  start();
  append("sixth\n");
  EXPECT_THAT(read(), ElementsAre("sixth"));
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

/// The rest that the old file has and that was not read, what befalls it, and whether its producer runs meanwhile.
class RotatedLog : public FollowerTest, public testing::WithParamInterface<std::tuple<const char*, const char*, bool>> {
 protected:
  static const char* rest() { return std::get<0>(GetParam()); }
  static std::string how() { return std::get<1>(GetParam()); }
  static bool isRunning() { return std::get<2>(GetParam()); }
  /// It is gone with the old file's content or name.
  static bool isRestLost() { return how() == "cut" || (!isRunning() && (how() == "deleted" || how() == "compressed")); }

  void befall() {
    if (how() == "renamed") rotate(".20261129-100000");
    if (how() == "rotated twice") {
      rotate(".20261129-100000");
      append("between\n");
      rotate(".20261129-110000");
    }
    if (how() == "cut") std::filesystem::resize_file(target(), 0);
    if (how() == "deleted" || how() == "compressed") {
      rotate(".1");
      if (how() == "compressed") std::ofstream(log.string() + ".1.gz") << "packed";
      std::filesystem::remove(log.string() + ".1");
    }
    if (how() == "link repointed") {
      later();
      std::filesystem::remove(link_);
      log = folder / "pods" / "1.log";
      std::filesystem::create_symlink(log, link_);
    }
  }
  std::filesystem::path target() const { return log; }
  std::vector<std::string> expected() const {
    std::vector<std::string> lines;
    if (*rest() != '\0' && !isRestLost())
      lines.push_back(std::string(rest()).substr(0, std::string(rest()).find('\n')));
    if (how() == "rotated twice") lines.emplace_back("between");
    lines.emplace_back("new");
    return lines;
  }

  std::filesystem::path link_;
};

INSTANTIATE_TEST_SUITE_P(Ways, RotatedLog,
                         testing::Combine(testing::Values("", "rest\n", "part"),
                                          testing::Values("renamed", "cut", "deleted", "compressed", "rotated twice",
                                                          "link repointed"),
                                          testing::Bool()));

// shows: sending/follow-matrix
TEST_P(RotatedLog, ComesWholeByItsNameAndByALink) {
  std::filesystem::create_directory(folder / "pods");
  link_ = folder / "app.log";
  followed = link_;
  log = folder / "pods" / "0.log";
  std::filesystem::create_symlink(log, link_);
  append("first\n");
  start();
  ASSERT_THAT(read(), ElementsAre("first"));

  if (!isRunning()) follower_.reset();
  append(rest());
  befall();
  append("new\n");
  if (!isRunning()) start();

  EXPECT_EQ(readUntil("new"), expected());
  EXPECT_THAT(read(), IsEmpty());
}

// shows: sending/follow-matrix
TEST_F(FollowerTest, ALogThatWasSentWholeAndRotatedWhileNoProducerRanGoesOnWithTheNewOne) {
  append("first\n");
  start();
  ASSERT_THAT(read(), ElementsAre("first"));
  follower_.reset();
  rotate();
  append("second\n");

  start();

  EXPECT_THAT(readUntil("second"), ElementsAre("second"));
}

}  // namespace
}  // namespace tenure::cli
