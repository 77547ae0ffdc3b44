// How a log is counted in slices. The log itself is a set of numbers here.
#include "storage/log_bound.hpp"

#include <gtest/gtest.h>

#include <set>

namespace tenure::storage {
namespace {

struct Log {
  std::set<std::int64_t> numbers;
  LogBound bound;
  LogPruning step{ConsumerName{"ledger"}, {}, 2, 100};

  void write(std::int64_t from, std::int64_t to, std::int64_t by = 1) {
    for (std::int64_t n = from; n <= to; n += by) numbers.insert(n);
  }
  void look() { bound.look(step, *numbers.begin(), *numbers.rbegin()); }
  std::int64_t count() {
    const LogBound::Slice slice = bound.next(step);
    std::int64_t lines = 0;
    auto line = numbers.lower_bound(slice.below);
    for (; lines < slice.atMost && line != numbers.begin(); ++lines) --line;
    bound.counted(slice, lines < slice.atMost ? std::nullopt : std::optional(*line));
    return lines;
  }
  /// How many slices until it is known what has to go.
  int counted() {
    int slices = 0;
    for (look(); bound.isCounting(); ++slices) EXPECT_LE(count(), 20);
    return slices;
  }
};

TEST(LogBound, CountsNothingWhereTheNumbersLeaveNoRoomForTooMany) {
  Log log;
  log.write(901, 1000);

  EXPECT_EQ(log.counted(), 0);
  EXPECT_EQ(log.bound.upTo(), 0);
}

TEST(LogBound, LeavesTheNewestWhateverGapsTheyHave) {
  Log log;
  log.write(10, 2000, 10);

  EXPECT_EQ(log.counted(), 5);

  EXPECT_EQ(log.bound.upTo(), 1009);
}

TEST(LogBound, DoesNotCountAgainBeforeWhatIsBeyondIsGone) {
  Log log;
  log.write(1, 300);
  ASSERT_EQ(log.counted(), 5);
  log.numbers.erase(log.numbers.begin(), log.numbers.find(150));
  log.write(301, 400);

  EXPECT_EQ(log.counted(), 0);
  EXPECT_EQ(log.bound.upTo(), 200);
}

TEST(LogBound, WhatComesMeanwhileMakesItRemoveLessAndNeverMore) {
  Log log;
  log.write(10, 2000, 10);
  log.look();
  log.count();
  log.write(1995, 2500);  // some of it below what was counted

  while (log.bound.isCounting()) log.count();

  EXPECT_LE(log.bound.upTo(), 1009);
}

TEST(LogBound, HasNoBoundWhereFewerAreLeftThanItsNumbersSaid) {
  Log log;
  log.write(1, 990, 10);

  log.counted();

  EXPECT_EQ(log.bound.upTo(), 0);
}

TEST(LogBound, AnotherLimitIsCountedAnew) {
  Log log;
  log.write(1, 300);
  ASSERT_EQ(log.counted(), 5);
  log.step.mostKept = 250;

  log.counted();

  EXPECT_EQ(log.bound.upTo(), 50);
}

}  // namespace
}  // namespace tenure::storage
