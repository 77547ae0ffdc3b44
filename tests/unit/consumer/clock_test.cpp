// A clock that is wrong forgets no key. See consumer/clock_watch.hpp.
#include "consumer/clock_watch.hpp"
#include "scene.hpp"

namespace tenure::test {
namespace {

using consuming::ClockWatch;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

using Whose = ClockWatch::Whose;

const WallTime midday{std::chrono::milliseconds{1'700'000'000'000}};
const BootTime running{5h};

class Watched : public testing::Test {
 protected:
  /// What the next process makes of what this one has kept.
  ClockWatch next() const {
    ClockWatch next(48h);
    next.restore(watch.record());
    return next;
  }
  ClockWatch watch{48h};
};

TEST_F(Watched, OneThatRunsAsTheBootClockIsTrusted) {
  EXPECT_FALSE(watch.look(Whose::leader, midday, running, "boot"));
  EXPECT_FALSE(watch.look(Whose::leader, midday + 59s, running, "boot")) << "within a minute";
  EXPECT_FALSE(next().look(Whose::leader, midday + 1h, running + 1h, "boot"));
  EXPECT_TRUE(watch.isTrusted(midday + 1h));
}

TEST_F(Watched, OneThatJumpsIsNotForAsLongAsKeysAreKept) {
  for (const std::chrono::hours jump : {8 * 24h, -471'000h}) {
    ClockWatch jumping(48h);
    jumping.look(Whose::leader, midday, running, "boot");

    const auto wrong = jumping.look(Whose::leader, midday + jump, running + 1s, "boot");

    ASSERT_TRUE(wrong);
    EXPECT_THAT(*wrong, HasSubstr(jump > 0h ? "ahead" : "behind"));
    EXPECT_FALSE(jumping.isTrusted(midday + jump + 47h));
    EXPECT_TRUE(jumping.isTrusted(midday + jump + 48h));
  }
}

TEST_F(Watched, AJumpIsFoundByTheNextProcessToo) {
  watch.look(Whose::leader, midday, running, "boot");

  ClockWatch ahead = next();

  EXPECT_TRUE(ahead.look(Whose::leader, midday + 8 * 24h, running + 1min, "boot"));
  EXPECT_FALSE(ahead.isTrusted(midday + 8 * 24h));
}

TEST_F(Watched, OfAnotherBootItMayBeLaterButNotEarlier) {
  watch.look(Whose::leader, midday, running, "boot");

  EXPECT_FALSE(next().look(Whose::leader, midday + 30 * 24h, BootTime{1min}, "another"));
  EXPECT_TRUE(next().look(Whose::leader, midday - 2min, BootTime{1min}, "another"));
}

TEST_F(Watched, WhoComesAfterOneInDoubtIsInDoubt) {
  watch.look(Whose::leader, midday, running, "boot");
  watch.look(Whose::leader, WallTime{}, running + 1s, "boot");

  EXPECT_TRUE(next().look(Whose::leader, midday, running, "another"));
}

TEST_F(Watched, AnotherClockIsNotMeasuredAgainstIt) {
  watch.look(Whose::leader, midday, running, "boot");

  EXPECT_FALSE(watch.look(Whose::store, midday + 8 * 24h, running + 1s, "boot"));
}

TEST_F(Watched, WhatIsWrongWithALeadersDoesNotMatterOnceTheStoreHasShownItsOwn) {
  watch.look(Whose::leader, midday, running, "boot");
  watch.look(Whose::leader, midday - 2h, running + 1s, "boot");

  watch.look(Whose::store, midday, running + 2s, "boot");

  EXPECT_TRUE(watch.isTrusted(midday));
}

// shows: messages/ages-store-clock
TEST_F(Watched, AKeyInItsFutureIsWaitedFor) {
  watch.look(Whose::leader, midday, running, "boot");

  watch.distrust(midday + 2h, midday);

  EXPECT_FALSE(watch.isTrusted(midday + 1h));
  EXPECT_TRUE(watch.isTrusted(midday + 2h));
}

/// The clock of one leader.
class WrongClock final : public IClock {
 public:
  WrongClock(const IClock& right, std::chrono::hours by) : right_(right), by_(by) {}
  BootTime now() const noexcept override { return right_.now(); }
  WallTime wallNow() const noexcept override { return right_.wallNow() + by_; }
  void waitUntil(BootTime deadline, const std::stop_token& stop) const override { right_.waitUntil(deadline, stop); }

 private:
  const IClock& right_;
  const std::chrono::hours by_;
};

/// One that is set while it is used.
class SetClock final : public IClock {
 public:
  explicit SetClock(const IClock& right) : right_(right) {}
  void set(std::chrono::hours by) { by_ += by; }
  BootTime now() const noexcept override { return right_.now(); }
  WallTime wallNow() const noexcept override { return right_.wallNow() + by_; }
  void waitUntil(BootTime deadline, const std::stop_token& stop) const override { right_.waitUntil(deadline, stop); }

 private:
  const IClock& right_;
  std::chrono::hours by_{};
};

class ConsumerClock : public Scene {
 protected:
  ConsumerReplica& electWith(const IClock& itsClock) {
    return replicas
        .emplace_back(
            world, identityWith(++token),
            [this](const Delivery& delivery) {
              handled.push_back(delivery.message.id.value);
              return Outcome::done();
            },
            options, events, itsClock, acknowledging)
        .becomeLeader();
  }
  void executeFor(ConsumerReplica& replica, Duration duration) {
    for (const BootTime end = clock.now() + duration; clock.now() < end; clock.advance(1s)) replica.execute();
  }
  /// Whether it is handled a second time.
  void sendAgain(ConsumerReplica& replica, const std::string& id) {
    produce({id});
    workOff(replica);
  }
};

// shows: messages/ages-store-clock
TEST_F(ConsumerClock, ALeaderEightDaysAheadForgetsNothingRaisesAnAlarmAndGoesOn) {
  produce({"a"});
  ConsumerReplica& sane = elect();
  executeFor(sane, 5min);
  sane.handOver();
  const WrongClock ahead(clock, 8 * 24h);
  ConsumerReplica& wrong = electWith(ahead);
  produce({"b"});

  executeFor(wrong, 30min);
  sendAgain(wrong, "a");
  sendAgain(wrong, "b");

  EXPECT_THAT(handled, ElementsAre("a", "b"));
  ASSERT_THAT(events.of<ClockDistrusted>(), Not(IsEmpty()));
  EXPECT_THAT(events.of<ClockDistrusted>()[0].what, HasSubstr("ahead"));
  EXPECT_EQ(events.of<ClockDistrusted>()[0].clock, "the leader's");
}

// shows: messages/ages-store-clock
TEST_F(ConsumerClock, ALeaderAt1970ForgetsNothingAndWhatItHandlesIsKeptAsLong) {
  produce({"a"});
  ConsumerReplica& sane = elect();
  executeFor(sane, 5min);
  sane.handOver();
  const WrongClock at1970(clock, -500'000h);
  ConsumerReplica& wrong = electWith(at1970);
  produce({"b"});
  executeFor(wrong, 5min);
  sendAgain(wrong, "a");
  wrong.handOver();
  ConsumerReplica& mended = elect();

  executeFor(mended, 30min);
  sendAgain(mended, "a");
  sendAgain(mended, "b");

  EXPECT_THAT(handled, ElementsAre("a", "b"));
  EXPECT_THAT(events.of<ClockDistrusted>(), SizeIs(testing::Ge(2U)));
}

TEST_F(ConsumerClock, AVeryFirstLeaderThatIsBehindAndDiesEarlyHasItsKeysKept) {
  const WrongClock behind(clock, -8 * 24h);
  ConsumerReplica& wrong = electWith(behind);
  produce({"a"});
  workOff(wrong);  // and dies before it forgets anything for the first time
  ConsumerReplica& right = elect();

  executeFor(right, 30min);
  sendAgain(right, "a");

  EXPECT_THAT(handled, ElementsAre("a"));
  EXPECT_THAT(events.of<ClockDistrusted>(), Not(IsEmpty()));
}

TEST_F(ConsumerClock, AClockThatIsSetBackBetweenTwoCommitsIsFoundThoughItsLeaderDies) {
  SetClock its(clock);
  ConsumerReplica& leader = electWith(its);
  executeFor(leader, 5min);
  its.set(-8 * 24h);
  produce({"a"});
  workOff(leader);
  ConsumerReplica& right = elect();

  executeFor(right, 30min);
  sendAgain(right, "a");

  EXPECT_THAT(handled, ElementsAre("a"));
}

TEST_F(ConsumerClock, AClockThatJumpsWithinATermForgetsNothing) {
  produce({"a"});
  ConsumerReplica& leader = elect();
  executeFor(leader, 5min);
  const WrongClock ahead(clock, 8 * 24h);
  leader.handOver();
  ConsumerReplica& stepped = electWith(ahead);
  executeFor(stepped, 3h);

  sendAgain(stepped, "a");

  EXPECT_THAT(handled, ElementsAre("a"));
}

// shows: messages/ages-store-clock
TEST_F(ConsumerClock, OnceItHasRunEvenlyForLongEnoughKeysAreForgottenAgain) {
  options.keepIdsFor = 1h;
  produce({"a"});
  ConsumerReplica& sane = elect();
  executeFor(sane, 5min);
  sane.handOver();
  const WrongClock ahead(clock, 8 * 24h);
  ConsumerReplica& wrong = electWith(ahead);
  executeFor(wrong, 2h);

  sendAgain(wrong, "a");

  EXPECT_THAT(handled, ElementsAre("a", "a"));
}

}  // namespace
}  // namespace tenure::test
