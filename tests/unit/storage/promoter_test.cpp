#include "storage/scheduled/promoter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "support/events.hpp"
#include "support/manual_clock.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"

namespace tenure::scheduled {
namespace {

using namespace std::chrono_literals;
using test::failsWith;
using test::succeeds;

/// Times alone.
class Room final : public IWaitingRoom {
 public:
  explicit Room(const IClock& clock) : clock_(clock) {}

  Result<Front> look() override {
    ++looks;
    return Front{clock_.wallNow() + jump, first()};
  }
  Result<Promoted> promote(WallTime until, std::size_t atMost) override {
    if (refusal) return *refusal;
    if (isHeld) return Promoted{.isHeld = true};
    Promoted promoted;
    for (; !times.empty() && *times.begin() <= until && promoted.messages < atMost; times.erase(times.begin())) {
      promoted.lateness = std::max(promoted.lateness, until - *times.begin());
      ++promoted.messages;
    }
    came += promoted.messages;
    promoted.hasOnce = promoted.messages > 0 && haveNoTime;
    promoted.next = first();
    return promoted;
  }

  Result<std::vector<Unread>> unread() override { return others; }

  Result<void> fallAsleep(std::chrono::milliseconds) override {
    ++asleep;
    return {};
  }

  std::multiset<WallTime> times;
  std::vector<Unread> others;  // queues that no election has consumed yet
  std::optional<Error> refusal;
  bool isHeld = false;
  bool haveNoTime = false;  // those that come
  std::chrono::milliseconds jump{0};
  std::size_t looks = 0;
  std::size_t asleep = 0;  // how often it was said
  std::size_t came = 0;

 private:
  std::optional<WallTime> first() const { return times.empty() ? std::nullopt : std::optional(*times.begin()); }

  const IClock& clock_;
};

class PromoterTest : public testing::Test {
 protected:
  PromoterTest() { promoter_.attach(test::identityWith(7)); }
  /// What a source does while it has nothing else to do.
  void sleepAndTurn() {
    clock_.waitUntil(promoter_.next(), {});
    ASSERT_THAT(promoter_.turn(), succeeds());
  }
  WallTime in(std::chrono::milliseconds time) const { return clock_.wallNow() + time; }

  test::ManualClock clock_;
  test::RecordedEvents events_;
  Room room_{clock_};
  Promoter promoter_{room_, events_, clock_};
};

// shows: scheduled/leader-sleeps-until
TEST_F(PromoterTest, SleepsUntilTheFirstTime) {
  room_.times = {in(300ms), in(700ms)};
  sleepAndTurn();
  EXPECT_EQ(promoter_.next(), clock_.now() + 300ms);
  sleepAndTurn();
  EXPECT_EQ(room_.came, 1U);
  EXPECT_EQ(promoter_.next(), clock_.now() + 400ms);
}

// shows: scheduled/leader-sleeps-until
TEST_F(PromoterTest, LooksOnceASecondWhereNothingIsDueSooner) {
  room_.times = {in(1h)};
  sleepAndTurn();
  EXPECT_EQ(promoter_.next(), clock_.now() + 1s);
}

TEST_F(PromoterTest, SleepsAlsoWhereTheNextTimeIsFartherAwayThanADurationHolds) {
  room_.times = {WallTime::max()};
  sleepAndTurn();
  EXPECT_EQ(promoter_.next(), clock_.now() + 1s);
}

TEST_F(PromoterTest, IsWokenByAnEarlierTime) {
  sleepAndTurn();
  room_.times = {in(0ms)};
  EXPECT_FALSE(promoter_.isTime());
  promoter_.wake();
  EXPECT_TRUE(promoter_.isTime());
  ASSERT_THAT(promoter_.turn(), succeeds());
  EXPECT_EQ(room_.came, 1U);
}

TEST_F(PromoterTest, WhileMessagesWithoutATimeComeItLooksEveryFewMillisecondsAndIsNotWokenBetween) {
  room_.haveNoTime = true;
  room_.times = {in(0ms)};
  sleepAndTurn();
  const BootTime again = clock_.now() + 10ms;
  EXPECT_EQ(promoter_.next(), again);
  promoter_.wake();
  EXPECT_EQ(promoter_.next(), again) << "a sender may wake it, and is seen then all the same";
  EXPECT_FALSE(promoter_.fallAsleep().value());
  EXPECT_EQ(room_.asleep, 0U) << "so soon after a message, senders need not wake it";

  sleepAndTurn();
  EXPECT_TRUE(promoter_.fallAsleep().value());
  EXPECT_EQ(room_.asleep, 1U);
  EXPECT_TRUE(promoter_.isTime()) << "one of them may have sent before it heard that";
  ASSERT_THAT(promoter_.turn(), succeeds());
  EXPECT_EQ(promoter_.next(), clock_.now() + 1s);
  promoter_.wake();
  EXPECT_TRUE(promoter_.isTime());
}

TEST_F(PromoterTest, WhatIsMoreThanOneTurnTakesIsTakenAtTheNext) {
  for (int i = 0; i < 2500; ++i) room_.times.insert(in(0ms));
  sleepAndTurn();
  EXPECT_EQ(room_.came, 1000U);
  EXPECT_EQ(promoter_.next(), clock_.now());
  sleepAndTurn();
  sleepAndTurn();
  EXPECT_EQ(room_.came, 2500U);
}

// shows: scheduled/clock-jumps-told
TEST_F(PromoterTest, AClockThatJumpsAheadIsToldAndBringsNothing) {
  room_.times = {in(1h)};
  sleepAndTurn();
  room_.jump = 24h;
  sleepAndTurn();
  sleepAndTurn();

  EXPECT_EQ(room_.came, 0U);
  EXPECT_EQ(events_.of<ClockDistrusted>().size(), 1U);
}

// shows: scheduled/lateness-measured-told
TEST_F(PromoterTest, LatenessIsToldAtMostOnceAMinute) {
  room_.times = {in(-10s)};
  sleepAndTurn();
  room_.times = {in(-10s)};
  sleepAndTurn();
  EXPECT_EQ(events_.of<ScheduledLate>().size(), 1U);

  clock_.advance(1min);
  room_.times = {in(-10s), in(-1s)};
  sleepAndTurn();
  EXPECT_EQ(events_.of<ScheduledLate>().size(), 2U);
}

TEST_F(PromoterTest, AQueueThatNoElectionConsumesIsToldOnceATerm) {
  room_.others = {{"order", in(-2s)}};
  sleepAndTurn();
  EXPECT_THAT(events_.of<QueueUnread>(), testing::IsEmpty()) << "a new leader has something better to do";
  sleepAndTurn();
  const auto told = events_.of<QueueUnread>();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].queue, "order");
  EXPECT_EQ(told[0].age, 3s);

  clock_.advance(1min);
  room_.others.push_back({"bill", in(0s)});
  sleepAndTurn();
  ASSERT_EQ(events_.of<QueueUnread>().size(), 2U);
  EXPECT_EQ(events_.of<QueueUnread>()[1].queue, "bill");

  promoter_.attach(test::identityWith(8));
  sleepAndTurn();
  sleepAndTurn();
  EXPECT_EQ(events_.of<QueueUnread>().size(), 4U);
}

// shows: scheduled/clock-jumps-told
TEST_F(PromoterTest, ANewTermTrustsTheClockAsItIs) {
  room_.times = {in(1h)};
  sleepAndTurn();
  room_.jump = 24h;
  promoter_.attach(test::identityWith(8));
  ASSERT_THAT(promoter_.turn(), succeeds());
  EXPECT_EQ(room_.came, 1U);
}

TEST_F(PromoterTest, TheSameTermDoesNotTrustAJumpBecauseItsSourceWasAwayMeanwhile) {
  room_.times = {in(1h)};
  sleepAndTurn();
  room_.jump = 24h;
  promoter_.attach(test::identityWith(7));
  ASSERT_THAT(promoter_.turn(), succeeds());
  EXPECT_EQ(room_.came, 0U);
}

TEST_F(PromoterTest, WhatSomebodyHoldsIsLookedAtAgainSoon) {
  room_.times = {in(0ms)};
  room_.isHeld = true;
  ASSERT_THAT(promoter_.turn(), succeeds());
  EXPECT_EQ(promoter_.next(), clock_.now() + 20ms);
}

TEST_F(PromoterTest, ARefusalIsTheSources) {
  room_.times = {in(0ms)};
  room_.refusal = Error{Errc::staleTerm, ""};
  EXPECT_THAT(promoter_.turn(), failsWith(Errc::staleTerm));
}

}  // namespace
}  // namespace tenure::scheduled
