/// Rate limits in lanes: the buckets are the scheduler's, so all lanes together keep to them, and who is held back
/// holds back only himself. A slow machine starts handlers later than it may, never earlier: what is asserted holds on
/// any.
#include <mutex>
#include <set>

#include "lanes_scene.hpp"
#include "tenure/consumer.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

class LanesThrottle : public ConsumerLanes {
 protected:
  LanesThrottle() {
    options.limits = &limits;
    handler = [this](const Delivery& delivery) {
      const std::lock_guard lock(mutex);
      starts.push_back({delivery.message.group.value, BootClock::now()});
      return Outcome::done();
    };
  }
  /// Of one group, or of all. Lanes note them nearly in their order.
  std::vector<BootTime> startsOf(const std::string& group) {
    std::vector<BootTime> times;
    for (const auto& [of, at] : starts)
      if (group == "all" || of == group) times.push_back(at);
    std::ranges::sort(times);
    return times;
  }
  void expectKept(const std::vector<BootTime>& times, const Rate& rate) const {
    for (std::size_t i = 0; i < times.size(); ++i) {
      const double seconds = std::chrono::duration<double>(times[i] - began).count();
      EXPECT_LE(static_cast<double>(i + 1), rate.burst + rate.perSecond * seconds + 1e-6) << "start " << i;
    }
  }

  /// A leader is lost with its first message; those of its successor are counted.
  void die() {
    const Handler noting = handler;
    handler = [this](const Delivery&) {
      replicas.back()->term().loseLease();
      return Outcome::done();
    };
    LanedReplica& killed = elect();
    EXPECT_THROW(while (true) killed.execute(), EndTerm);
    killed.handOver();
    handler = noting;
    began = BootClock::now();
  }

  RateLimits limits;
  BootTime began = BootClock::now();
  std::mutex mutex;
  std::vector<std::pair<std::string, BootTime>> starts;
};

TEST_F(LanesThrottle, AllLanesTogetherKeepTheRateOfTheQueue) {
  const Rate rate{500, 10};
  EXPECT_TRUE(limits.set({.queue = rate}));
  produceEvenly(100, {"a", "b", "c", "d", "e"});
  LanedReplica& leader = elect();

  workOff(leader);
  leader.handOver();

  EXPECT_THAT(starts, SizeIs(100));
  expectKept(startsOf("all"), rate);
  expectEachOnceInOrder();
}

// shows: urls/rate-limits-hold
TEST_F(LanesThrottle, EachGroupKeepsItsRate) {
  const Rate rate{200, 3};
  EXPECT_TRUE(limits.set({.eachGroup = rate}));
  produceEvenly(90, {"a", "b", "c"});
  LanedReplica& leader = elect();

  workOff(leader);
  leader.handOver();

  for (const char* group : {"a", "b", "c"}) {
    EXPECT_THAT(startsOf(group), SizeIs(30));
    expectKept(startsOf(group), rate);
  }
  expectEachOnceInOrder();
}

TEST_F(LanesThrottle, OtherGroupsGoOnWhileOneIsHeldBack) {
  EXPECT_TRUE(limits.set({.groups = {{GroupId{"slow"}, Rate{0.001, 2}}}}));
  for (int i = 0; i < 20; ++i) produce("slow" + std::to_string(i), "slow");
  produceEvenly(200, {"a", "b"});
  LanedReplica& leader = elect();
  const auto limit = BootClock::now() + patience;

  while (world.waiting().size() > 18 && BootClock::now() < limit) leader.execute();

  EXPECT_THAT(startsOf("slow"), SizeIs(2));
  EXPECT_THAT(startsOf("a"), SizeIs(100));
  EXPECT_THAT(startsOf("b"), SizeIs(100));
  EXPECT_THAT(events.of<MessageHeldBack>(), ElementsAre(testing::Field(&MessageHeldBack::message, "slow2")));
  EXPECT_TRUE(limits.set({}));
  workOff(leader);  // new rules hold while it runs, or never
  leader.handOver();
  expectEachOnceInOrder();
}

TEST_F(LanesThrottle, EveryAttemptOfAParkedMessageCounts) {
  const Rate rate{200, 1};
  EXPECT_TRUE(limits.set({.groups = {{GroupId{"a"}, rate}}}));
  options.maxAttempts = 20;
  handler = [this](const Delivery& delivery) {
    const std::lock_guard lock(mutex);
    starts.push_back({delivery.message.group.value, BootClock::now()});
    return delivery.attempt < 10 ? Outcome::failed("not yet") : Outcome::done();
  };
  produce("a0", "a");
  LanedReplica& leader = elect();

  workOff(leader);
  leader.handOver();

  EXPECT_THAT(starts, SizeIs(10));
  expectKept(startsOf("a"), rate);
}

TEST_F(LanesThrottle, EveryStartOfAMessageCountsThatTheStoreTookBack) {
  const Rate rate{5, 1};
  EXPECT_TRUE(limits.set({.queue = rate}));
  produce("a0", "a");
  handler = [this, note = handler](const Delivery& delivery) {
    if (starts.empty()) world.fail(memory::Operation::commit, Errc::transactionConflict);
    return note(delivery);
  };
  LanedReplica& leader = elect();

  workOff(leader);
  leader.handOver();

  EXPECT_THAT(starts, SizeIs(2));
  expectKept(startsOf("all"), rate);
}

constexpr Rate onceAnHour(double burst) { return {1.0 / 3600, burst}; }

TEST_F(LanesThrottle, ADuplicateUsesNoToken) {
  produceEvenly(2, {"a", "b"});
  LanedReplica& leader = elect();
  workOff(leader);
  leader.handOver();
  ASSERT_THAT(starts, SizeIs(2));

  EXPECT_TRUE(limits.set({.queue = onceAnHour(2), .eachGroup = onceAnHour(1)}));
  for (int i = 0; i < 10; ++i) {
    produce("a0", "a");
    produce("b1", "b");
  }
  produce("a2", "a");
  produce("b3", "b");
  LanedReplica& successor = elect();
  workOff(successor);
  successor.handOver();

  EXPECT_THAT(starts, SizeIs(4));
  EXPECT_THAT(events.of<DuplicateDropped>(), SizeIs(20));
}

TEST_F(LanesThrottle, ANumberThatComesEarlyUsesOneTokenWhenItsTurnHasCome) {
  EXPECT_TRUE(limits.set({.queue = onceAnHour(5), .eachGroup = onceAnHour(5)}));
  options.followNumbers = true;
  for (const char* number : {"5", "4", "3", "2", "1"})
    world.deliver({NewMessage{MessageId{number}, GroupId{"a"}, "", {{std::string(numberHeader), number}}}});
  LanedReplica& leader = elect();

  workOff(leader);
  const auto limit = std::chrono::steady_clock::now() + patience;
  while (world.ledger().size() < 5 && std::chrono::steady_clock::now() < limit) leader.execute();
  leader.handOver();

  EXPECT_THAT(starts, SizeIs(5));
}

// shows: lanes/after-unclean-end
TEST_F(LanesThrottle, BeforeTheLanesBeginTheQueuesRateHoldsAsWell) {
  const Rate rate{200, 5};
  EXPECT_TRUE(limits.set({.queue = rate}));
  produceEvenly(32, {"a", "b", "c", "d"});
  die();

  LanedReplica& successor = elect();
  workOff(successor);
  successor.handOver();

  EXPECT_THAT(events.of<MessageSuspected>(), SizeIs(32));
  EXPECT_THAT(starts, SizeIs(32));
  expectKept(startsOf("all"), rate);
}

TEST_F(LanesThrottle, AFailedSuspectReturnsNoTokensOfThoseBehindIt) {
  const Rate rate{50, 2};
  EXPECT_TRUE(limits.set({.queue = rate}));
  for (const char* group : {"a", "b", "c", "d", "e", "f"})
    for (const char* number : {"0", "1", "2"}) produce(std::string{group} + number, group);
  handler = [note = handler](const Delivery& delivery) {
    const Outcome noted = note(delivery);
    return delivery.message.id.value.ends_with('0') && delivery.attempt == 1 ? Outcome::failed("not yet") : noted;
  };
  die();

  LanedReplica& successor = elect();
  workOff(successor);
  successor.handOver();

  EXPECT_THAT(starts, SizeIs(18 + 6));
  expectKept(startsOf("all"), rate);
}

TEST_F(LanesThrottle, WhatIsTakenBeforeItsHandlerKeepsTheRateBeforeTheLanesAndWhenItWasPutOff) {
  const Rate rate{200, 5};
  EXPECT_TRUE(limits.set({.queue = rate}));
  options.delivery = Guarantee::atMostOnce;
  produceEvenly(40, {"a", "b", "c", "d"});
  die();
  std::set<std::string> putOff;
  handler = [&, note = handler](const Delivery& delivery) {
    const Outcome noted = note(delivery);
    const std::lock_guard lock(mutex);
    return putOff.insert(delivery.message.id.value).second ? Outcome::retryLater("not yet", 1ms) : noted;
  };

  LanedReplica& successor = elect();
  workOff(successor);
  successor.handOver();

  EXPECT_THAT(starts, SizeIs(testing::Ge(2 * (40 - 8))));
  expectKept(startsOf("all"), rate);
}

TEST_F(LanesThrottle, WhatSuspectsTookOfTheirGroupIsMissingInItsBucket) {
  const Rate rate{50, 1};
  EXPECT_TRUE(limits.set({.groups = {{GroupId{"a"}, rate}}}));
  for (int i = 0; i < 10; ++i) produce("a" + std::to_string(i), "a");
  die();

  LanedReplica& successor = elect();
  workOff(successor);
  produce("a10", "a");
  workOff(successor);
  successor.handOver();

  ASSERT_THAT(starts, SizeIs(11));
  EXPECT_GE(starts.back().second - began, 10 * 20ms);
}

}  // namespace
}  // namespace tenure::test
