/// When old keys and lines of the log are forgotten, and by whose clock.
#include "consumer/sweeper.hpp"

#include "parts.hpp"

namespace tenure::consuming {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class SweeperTest : public PartTest {
 protected:
  SweeperTest() { now.wall = WallTime{10'000h}; }
  Sweeper& sweeper() {
    if (!sweeper_) {
      sweeper_.emplace(at());
      sweeper_->start(now.boot);
    }
    return *sweeper_;
  }
  void pass(std::chrono::milliseconds time) {
    now.boot += time;
    now.wall += time;
  }
  template <class A>
  A steps() {
    const auto step = sweeper().step(true, now);
    EXPECT_TRUE(step);
    return step ? expectA<A>(*step) : A{};
  }

 private:
  std::optional<Sweeper> sweeper_;
};

TEST_F(SweeperTest, NothingIsForgottenRightAfterBecomingLeader) { EXPECT_FALSE(sweeper().step(true, now)); }

TEST_F(SweeperTest, TheClockIsLookedAtBeforeAPassAndItsReadingIsKept) {
  sweeper();
  pass(2min);
  steps<LookAtClock>();
  sweeper().lookedAt(std::nullopt, now);
  ASSERT_TRUE(sweeper().toWrite());
  EXPECT_FALSE(sweeper().toWrite()->isStores);
  EXPECT_EQ(sweeper().toWrite()->wall, now.wall);
  sweeper().written();
  EXPECT_FALSE(sweeper().toWrite());

  EXPECT_EQ(steps<Prune>().step.before, now.wall - options.keepIdsFor);
}

TEST_F(SweeperTest, BetweenTwoStepsSomebodyElseMayCome) {
  sweeper();
  pass(2min);
  steps<LookAtClock>();
  sweeper().lookedAt(std::nullopt, now);
  steps<Prune>();
  EXPECT_TRUE(sweeper().hasSwept());
  sweeper().pruned({.looked = 10, .removed = 1, .last = "m", .future = std::nullopt}, now);

  EXPECT_FALSE(sweeper().step(true, now));
  sweeper().mayGoOn();

  EXPECT_EQ(steps<Prune>().step.after, "m");
}

TEST_F(SweeperTest, ByAClockThatIsDistrustedNothingIsForgotten) {
  sweeper();
  pass(2min);
  steps<LookAtClock>();
  sweeper().lookedAt(now.wall, now);
  steps<Prune>();
  sweeper().pruned({.looked = 1, .removed = 0, .last = {}, .future = now.wall + 1h}, now);
  EXPECT_THAT(told<ClockDistrusted>(), SizeIs(1));

  sweeper().mayGoOn();
  pass(30min);
  steps<LookAtClock>();
  sweeper().lookedAt(now.wall, now);

  EXPECT_FALSE(sweeper().step(true, now));
}

TEST_F(SweeperTest, AClockThatIsSetWithinATermIsSeenWithTheNextCommit) {
  sweeper().restore(std::nullopt, now);
  sweeper().written();
  now.wall += 1h;
  now.boot += 1s;

  sweeper().glance(now);

  EXPECT_THAT(told<ClockDistrusted>(), SizeIs(1));
  EXPECT_TRUE(sweeper().toWrite());
}

TEST_F(SweeperTest, ALaneSeesAClockThatIsSetWithItsNextCommit) {
  reads = false;
  options.ordering = Ordering::perGroup(2);
  sweeper().restore(std::nullopt, now);
  sweeper().written();
  now.wall -= 1h;
  now.boot += 1s;

  sweeper().glance(now);

  EXPECT_THAT(told<ClockDistrusted>(), SizeIs(1));
  EXPECT_TRUE(sweeper().toWrite());
}

TEST_F(SweeperTest, TheLogIsShortenedByItself) {
  options.keepLogFor = std::chrono::hours{1};
  options.keepIdsFor = std::chrono::hours{0};
  options.keyAlarm = 0;
  sweeper();
  pass(2min);

  EXPECT_EQ(steps<PruneLog>().step.before, now.wall - 1h);
}

}  // namespace
}  // namespace tenure::consuming
