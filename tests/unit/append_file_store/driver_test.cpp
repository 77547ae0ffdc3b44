// What a driver promises, kept by the example of one: batches, expectations, ranges, and its errors.
#include <sys/file.h>
#include <sys/resource.h>

#include <csignal>

#include "values.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// shows: bring-a-store/driver-must-able
TEST_F(AppendFile, ABatchWithAnUnmetExpectationChangesNothing) {
  auto driver = open();
  ASSERT_THAT(put(driver, "there", "v"), succeeds());
  spi::Batch batch;
  batch.writes = {setting("new", "w"), setting("there", "w", {Of::value, "v"}), setting("gone", "w", {Of::value, "v"}),
                  setting("there too", "w", {Of::value, "v"})};

  EXPECT_EQ(driver.apply(batch).value().unmet, 2U);

  EXPECT_EQ(get(driver, "new"), std::nullopt);
  EXPECT_EQ(get(driver, "there"), "v");
}

TEST_F(AppendFile, WhatIsOnlyExpectedIsNotWritten) {
  auto driver = open();
  ASSERT_THAT(put(driver, "there", "v"), succeeds());
  spi::Batch batch;
  batch.writes = {setting("there", std::nullopt, {Of::value, "v"}), setting("absent", "w", {Of::absence})};
  batch.writes[0].isWritten = false;
  const std::vector<spi::Name> next{stateOf("there"), stateOf("absent")};
  batch.alsoRead = next;

  const spi::Applied applied = driver.apply(batch).value();

  EXPECT_EQ(applied.unmet, std::nullopt);
  EXPECT_THAT(applied.read, ElementsAre("v", "w"));
}

TEST_F(AppendFile, ScansOneTableByPrefixInTheOrderOfBytes) {
  auto driver = open();
  for (const std::string name : {"p\xff\xff", "p\xff", "p", "pa", "q", "o\xff"})
    ASSERT_THAT(put(driver, name, "v"), succeeds());
  const auto names = [&](spi::Range range) {
    range.table = spi::Table::state;
    range.prefix = "p";
    std::vector<std::string> found;
    for (const spi::NamedValue& each : driver.scan(range).value()) found.push_back(each.name);
    return found;
  };

  EXPECT_THAT(names({.atMost = 9}), ElementsAre("p", "pa", "p\xff", "p\xff\xff"));
  EXPECT_THAT(names({.after = "pa", .atMost = 1}), ElementsAre("p\xff"));
  EXPECT_THAT(names({.atMost = 2, .backward = true}), ElementsAre("p\xff\xff", "p\xff"));
  EXPECT_THAT(names({.after = "pa", .atMost = 9, .backward = true}), ElementsAre("p"));
  EXPECT_THAT(names({.after = "p", .atMost = 9, .backward = true}), IsEmpty());
}

// shows: bring-a-store/library-connects-before
TEST_F(AppendFile, ToLookMakesNoFile) {
  auto driver = open();

  EXPECT_THAT(driver.connect({}), succeeds());
  EXPECT_EQ(get(driver, "k"), std::nullopt);
  EXPECT_EQ(driver.inspect().value().front().expected, "absent");

  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(AppendFile, AFolderThatIsNotThereIsUnavailable) {
  append_file_store::Driver driver{{.file = folder_ / "no" / "values"}};

  EXPECT_THAT(driver.connect({}), failsWith(Errc::unavailable));
  EXPECT_THAT(put(driver, "k", "v"), failsWith(Errc::unavailable));
}

TEST_F(AppendFile, ALockThatIsNotHadInTimeIsBusyAndAStopEndsTheWait) {
  auto driver = open();
  ASSERT_THAT(put(driver, "k", "v"), succeeds());
  const int other = ::open(file_.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  auto hurried = open(std::chrono::milliseconds{10});
  auto stopped = open();
  std::stop_source stop;
  stop.request_stop();

  EXPECT_THAT(put(hurried, "k", "w"), failsWith(Errc::storeBusy));
  EXPECT_THAT(stopped.connect(stop.get_token()), failsWith(Errc::cancelled));

  ::close(other);
  EXPECT_THAT(put(hurried, "k", "w"), succeeds());
}

// shows: bring-a-store/failure-changes-nothing
TEST_F(AppendFile, WhatDoesNotFitIsRefusedAndLeavesNoTrace) {
  auto driver = open();
  ASSERT_THAT(put(driver, "k", "small"), succeeds());
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto signalBefore = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{1000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &tight);

  EXPECT_THAT(put(driver, "k", std::string(2000, 'x')), failsWith(Errc::storeFull));

  EXPECT_EQ(get(driver, "k"), "small");
  EXPECT_THAT(put(driver, "k", "fits"), succeeds());
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, signalBefore);
  auto fresh = open();
  EXPECT_EQ(get(fresh, "k"), "fits");
}

TEST_F(AppendFile, AFileThatWasRemovedIsNotWrittenToUnseen) {
  auto driver = open();
  ASSERT_THAT(put(driver, "k", "v"), succeeds());
  std::filesystem::remove(file_);

  EXPECT_THAT(put(driver, "k", "w"), failsWith(Errc::unavailable));

  EXPECT_EQ(get(driver, "k"), std::nullopt) << "what is there now";
}

}  // namespace
}  // namespace tenure::test
