// Since when an answer is missing, and until when it is waited for.
#include "base/answer_timer.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace tenure {
namespace {

using namespace std::chrono_literals;

class AnswerTimerTest : public testing::Test, public IAnswerWatch {
 protected:
  void onOverdue(BootTime since) override { overdue_.push_back(since); }
  void onAnswered() override { ++answered_; }
  /// Asked at `at`, answered so much later.
  void exchange(BootTime at, Duration takes) {
    timer_.asked(at);
    timer_.answered(at + takes);
  }

  const BootTime t0_{1h};
  std::vector<BootTime> overdue_;
  int answered_ = 0;
  AnswerTimer timer_{10s, *this};
};

// shows: urls/outage-counts-first
TEST_F(AnswerTimerTest, CountsFromTheFirstQuestionThatWasNotAnswered) {
  exchange(t0_, 5ms);
  timer_.asked(t0_ + 1s);

  EXPECT_EQ(timer_.since(), t0_ + 1s);
  EXPECT_EQ(timer_.deadline(), t0_ + 11s);

  EXPECT_TRUE(timer_.mayWait(t0_ + 6s));
  timer_.asked(t0_ + 6s);  // on another connection
  EXPECT_EQ(timer_.since(), t0_ + 1s);
  EXPECT_TRUE(timer_.mayWait(t0_ + 11s - 1ns));
  EXPECT_FALSE(timer_.mayWait(t0_ + 11s));
}

TEST_F(AnswerTimerTest, OwesNothingAfterAnAnswer) {
  exchange(t0_, 5ms);

  EXPECT_EQ(timer_.since(), std::nullopt);
  EXPECT_TRUE(timer_.mayWait(t0_ + 1h)) << "an idle one is not silent";
  EXPECT_TRUE(overdue_.empty());
}

// shows: urls/outage-counts-first
TEST_F(AnswerTimerTest, TellsOnceThatAnAnswerIsOverdueAndWhenItHasCome) {
  timer_.asked(t0_);
  EXPECT_LE(timer_.nextLook(t0_ + 999ms), t0_ + AnswerTimer::usual);
  timer_.mayWait(t0_ + AnswerTimer::usual - 1ms);
  EXPECT_TRUE(overdue_.empty());

  timer_.mayWait(t0_ + AnswerTimer::usual);
  timer_.mayWait(t0_ + 3s);
  EXPECT_EQ(overdue_, std::vector{t0_});
  EXPECT_EQ(answered_, 0);

  timer_.answered(t0_ + 4s);
  EXPECT_EQ(answered_, 1);
  exchange(t0_ + 5s, 1ms);
  EXPECT_EQ(answered_, 1);
}

// shows: urls/outage-counts-first
TEST_F(AnswerTimerTest, GetsUsedToAStoreThatIsSlow) {
  exchange(t0_, 1'500ms);
  timer_.asked(t0_ + 5s);

  timer_.mayWait(t0_ + 5s + 2'900ms);
  EXPECT_TRUE(overdue_.empty());
  timer_.mayWait(t0_ + 5s + 3s);
  EXPECT_EQ(overdue_.size(), 1U);
}

TEST_F(AnswerTimerTest, IsNotUsedToWaitingForHalfTheLimit) {
  exchange(t0_, 9s);
  timer_.asked(t0_ + 20s);

  timer_.mayWait(t0_ + 25s);

  EXPECT_EQ(overdue_.size(), 1U);
}

TEST_F(AnswerTimerTest, WhatHasFailedIsHeldThoughAnswersCome) {
  timer_.hold(t0_);
  exchange(t0_ + 4s, 1ms);
  timer_.asked(t0_ + 8s);
  EXPECT_EQ(timer_.deadline(), t0_ + 10s);

  timer_.hold(std::nullopt);
  EXPECT_EQ(timer_.deadline(), t0_ + 18s);
}

TEST_F(AnswerTimerTest, AQuestionLongAfterOneThatWasGivenUpIsAnotherSilence) {
  timer_.asked(t0_);
  timer_.mayWait(t0_ + 5s);

  timer_.asked(t0_ + 1min);

  EXPECT_EQ(timer_.since(), t0_ + 1min);
}

TEST_F(AnswerTimerTest, AQuestionThatMayTakeLongIsOverdueLater) {
  timer_.asked(t0_, 5s);

  timer_.mayWait(t0_ + 5s);
  EXPECT_TRUE(overdue_.empty());
  timer_.mayWait(t0_ + 6s);
  EXPECT_EQ(overdue_.size(), 1U);
  EXPECT_EQ(timer_.deadline(), t0_ + 10s) << "the limit counts all the same";
}

TEST_F(AnswerTimerTest, WhoWaitsIsHurriedFromAnotherThread) {
  timer_.asked(t0_);

  std::thread([&] { timer_.hurry(t0_ + 500ms); }).join();

  EXPECT_FALSE(timer_.mayWait(t0_ + 500ms));
  timer_.reset();
  timer_.asked(t0_ + 1s);
  EXPECT_TRUE(timer_.mayWait(t0_ + 1s));
}

TEST_F(AnswerTimerTest, OneThatIsCutEndsTheExchangeUnderWayAndNoLaterOne) {
  timer_.asked(t0_);
  std::thread([&] { timer_.cut(); }).join();

  EXPECT_FALSE(timer_.mayWait(t0_ + 1ms));
  timer_.asked(t0_ + 2ms);
  EXPECT_TRUE(timer_.mayWait(t0_ + 3ms));
}

TEST_F(AnswerTimerTest, TimersOfOneConnectionKnowOfEachOthersSilence) {
  AnswerTimer other{10s, *this};
  const auto silence = std::make_shared<AnswerTimer::Silence>();
  timer_.share(silence);
  other.share(silence);
  timer_.asked(t0_);
  timer_.mayWait(t0_ + 5s);  // and gives up

  other.asked(t0_ + 5s);

  EXPECT_EQ(other.deadline(), t0_ + 10s);
}

}  // namespace
}  // namespace tenure
