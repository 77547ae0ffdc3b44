/// Lanes that follow numbers: each group in the order of its numbers, whichever lane had it before, and nobody waits
/// for a stranger's gap.
#include <mutex>

#include "base/random.hpp"
#include "lanes_scene.hpp"
#include "storm.hpp"
#include "tenure/consumer.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Acknowledging = memory::Database::Acknowledging;

class LanesNumbers : public ConsumerLanes {
 protected:
  LanesNumbers() {
    options.followNumbers = true;
    options.gapLimit = 10s;
  }

  NewMessage numbered(const std::string& group, std::int64_t number) {
    const std::string id = group + std::to_string(number);
    groupOf[id] = group;
    return {MessageId{id}, GroupId{group}, "body of " + id, {{std::string(numberHeader), std::to_string(number)}}};
  }
  void send(const std::string& group, std::int64_t number) { world.deliver({numbered(group, number)}); }
  void sendAll(const std::string& group, const std::vector<std::int64_t>& numbers) {
    for (const std::int64_t number : numbers) send(group, number);
  }
  template <class Condition>
  void executeUntil(LanedReplica& replica, Condition holds) {
    const auto limit = std::chrono::steady_clock::now() + patience;
    while (!holds() && std::chrono::steady_clock::now() < limit) replica.execute();
    EXPECT_TRUE(holds());
  }
  std::size_t done() const { return world.ledger().size(); }
  void workUntilDone(LanedReplica& replica, std::size_t messages) {
    executeUntil(replica, [&] { return done() == messages && world.waiting().empty(); });
  }
  static std::vector<std::string> upTo(const std::string& group, int last) {
    std::vector<std::string> ids;
    for (int number = 1; number <= last; ++number) ids.push_back(group + std::to_string(number));
    return ids;
  }
};

TEST_F(LanesNumbers, EachGroupIsHandledInTheOrderOfItsNumbers) {
  for (const Acknowledging how : {Acknowledging::inTransaction, Acknowledging::afterCommit}) {
    acknowledging = how;
    const std::string round = how == Acknowledging::inTransaction ? "o" : "t";
    for (const std::string& group : {round + "a", round + "b", round + "c"}) sendAll(group, {3, 1, 2, 5, 4});
    LanedReplica& leader = elect();

    workUntilDone(leader, how == Acknowledging::inTransaction ? 15 : 30);
    leader.handOver();

    for (const std::string& group : {round + "a", round + "b", round + "c"})
      EXPECT_EQ(doneByGroup()[group], upTo(group, 5));
  }
}

// shows: numbers/consumer-lets-skipped
TEST_F(LanesNumbers, ASkippedNumberPassesWithoutTheHandler) {
  for (const char* const group : {"a", "b", "c"}) {
    NewMessage skip = numbered(group, 2);
    skip.headers.emplace_back(skipHeader, "a dead letter");
    sendAll(group, {3, 1});
    world.deliver({std::move(skip)});
    sendAll(group, {4});
  }
  std::atomic<int> handled = 0;
  handler = [&](const Delivery& delivery) {
    EXPECT_NE(delivery.message.id.value.back(), '2');
    ++handled;
    return Outcome::done();
  };
  LanedReplica& leader = elect();

  workUntilDone(leader, 12);
  leader.handOver();

  EXPECT_EQ(handled, 9);
  for (const char* const group : {"a", "b", "c"}) EXPECT_EQ(doneByGroup()[group], upTo(group, 4));
  EXPECT_THAT(events.of<MessageSkipped>(), SizeIs(3));
}

// shows: numbers/lanes-group-waits
TEST_F(LanesNumbers, NobodyWaitsForAStrangersGap) {
  sendAll("a", {2, 3});
  sendAll("b", {1, 2, 3});
  LanedReplica& leader = elect();

  workUntilDone(leader, 3);
  EXPECT_EQ(doneByGroup()["b"], upTo("b", 3));
  sendAll("a", {1});
  workUntilDone(leader, 6);
  leader.handOver();

  EXPECT_EQ(doneByGroup()["a"], upTo("a", 3));
}

TEST_F(LanesNumbers, WhatIsReadyWaitsForNoStrangersHandler) {
  options.ordering = Ordering::perGroup(2);
  std::atomic<bool> mayEnd = false;
  handler = [&](const Delivery& delivery) {
    while (delivery.message.group.value == "slow" && !mayEnd) std::this_thread::yield();
    return Outcome::done();
  };
  sendAll("a", {2, 3, 4});
  LanedReplica& leader = elect();
  executeUntil(leader, [&] { return world.waiting().empty(); });
  send("slow", 1);
  send("a", 1);
  std::thread watcher([&] {
    const auto limit = std::chrono::steady_clock::now() + patience;
    while (done() < 4 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    mayEnd = true;
  });

  workUntilDone(leader, 5);
  watcher.join();
  leader.handOver();

  EXPECT_EQ(doneByGroup()["a"], upTo("a", 4));
}

TEST_F(LanesNumbers, AnyNumberOfLanesFindsWhatAnyOtherKept) {
  const auto serve = [&](std::size_t lanes, const std::function<void(LanedReplica&)>& work) {
    options.ordering = {lanes};
    LanedReplica& leader = elect();
    work(leader);
    leader.handOver();
  };
  const std::vector<std::string> groups{"a", "b", "c", "d", "e", "f", "g", "h"};
  for (const std::string& group : groups) sendAll(group, {3, 4});
  serve(4, [&](LanedReplica& leader) { executeUntil(leader, [&] { return world.waiting().empty(); }); });
  for (const std::string& group : groups) send(group, 2);
  serve(0, [&](LanedReplica& leader) { executeUntil(leader, [&] { return world.waiting().empty(); }); });
  for (const std::string& group : groups) send(group, 1);
  serve(2, [&](LanedReplica& leader) { workUntilDone(leader, 32); });

  for (const std::string& group : groups) EXPECT_EQ(doneByGroup()[group], upTo(group, 4));
}

TEST_F(LanesNumbers, AKeptMessageThatFailsIsChargedItselfAndItsGroupWaitsAlone) {
  options.maxAttempts = 3;
  std::atomic<int> failures = 0;
  handler = [&](const Delivery& delivery) {
    if (delivery.message.id.value != "a2") return Outcome::done();
    EXPECT_EQ(delivery.attempt, ++failures);
    return Outcome::failed("never");
  };
  sendAll("a", {2, 3, 1});
  sendAll("b", {1, 2});
  LanedReplica& leader = elect();

  executeUntil(leader, [&] { return done() == 5; });
  leader.handOver();

  EXPECT_THAT(doneByGroup()["a"], ElementsAre("a1", "a3"));
  EXPECT_THAT(deadIds(), ElementsAre("a2"));
  EXPECT_EQ(failures, 3);
}

TEST_F(LanesNumbers, AKeptMessageThatKillsItsProcessEndsAsADeadLetterAndNobodyElse) {
  options.maxAttempts = 2;
  sendAll("a", {2, 3, 4, 1});
  sendAll("b", {2, 3, 1});
  handler = [&](const Delivery& delivery) {
    if (delivery.message.id.value == "a2") replicas.back()->term().loseLease();
    return Outcome::done();
  };
  for (int death = 0; death < 2; ++death) {
    LanedReplica& leader = elect();
    EXPECT_THROW(executeUntil(leader, [&] { return !leader.term()->valid() && !leader.execute(); }), EndTerm);
    leader.handOver();
  }
  for (int more = 0; more < 2 && deadIds().empty(); ++more) {  // the first death may have come before it was alone
    LanedReplica& leader = elect();
    try {
      workUntilDone(leader, 7);
    } catch (const EndTerm&) {
    }
    leader.handOver();
  }

  EXPECT_THAT(deadIds(), ElementsAre("a2"));
  EXPECT_THAT(doneByGroup()["a"], ElementsAre("a1", "a3", "a4"));
  EXPECT_EQ(doneByGroup()["b"], upTo("b", 3));
}

TEST_F(LanesNumbers, WhatFailedInAnEarlierTermCountsOnBeforeAKeptOneThatFails) {
  options.ordering = Ordering::perGroup(2);
  std::map<std::string, std::vector<int>> attempts;
  handler = [&](const Delivery& delivery) {
    std::vector<int>& mine = attempts[delivery.message.id.value];
    mine.push_back(delivery.attempt);
    if (replicas.size() == 1 && mine.size() == 2) replicas.back()->term().loseLease();
    const bool fails = delivery.message.id.value != "a1" && delivery.attempt == 1;
    return fails ? Outcome::failed("not yet") : Outcome::done();
  };
  world.deliver({numbered("a", 2), NewMessage{MessageId{"m"}, GroupId{"a"}, "body", {}}});
  LanedReplica& killed = elect();
  EXPECT_THROW(while (true) killed.execute(), EndTerm);
  killed.handOver();
  ASSERT_THAT(attempts["m"], ElementsAre(1, 2));
  send("a", 1);

  LanedReplica& successor = elect();
  workUntilDone(successor, 3);
  successor.handOver();

  EXPECT_THAT(attempts["m"], ElementsAre(1, 2, testing::Ge(2)));
  EXPECT_THAT(attempts["a2"], ElementsAre(1, 2));
}

TEST_F(LanesNumbers, AnOldGapIsToldOnceAndWaitedFor) {
  options.gapLimit = 20ms;
  sendAll("a", {2, 4});
  LanedReplica& leader = elect();

  executeUntil(leader, [&] { return !events.of<GapFound>().empty(); });
  sendAll("a", {1});
  executeUntil(leader, [&] { return events.of<GapFound>().size() == 2; });
  sendAll("a", {3});
  workUntilDone(leader, 4);
  leader.handOver();

  ASSERT_THAT(events.of<GapFound>(), SizeIs(2));
  EXPECT_EQ(events.of<GapFound>()[0].number, 1);
  EXPECT_EQ(events.of<GapFound>()[1].number, 3);
  EXPECT_EQ(doneByGroup()["a"], upTo("a", 4));
}

TEST_F(LanesNumbers, AnOldGapOfAGroupThatIsNeverQuietIsToldOf) {
  options.gapLimit = 20ms;
  options.maxBatch = 4;
  std::atomic<bool> toldBeforeTheEnd = false;
  handler = [&](const Delivery& delivery) {
    for (const auto end = BootClock::now() + 2ms; BootClock::now() < end;) std::this_thread::yield();
    if (delivery.message.id.value == "m99") toldBeforeTheEnd = !events.of<GapFound>().empty();
    return Outcome::done();
  };
  send("a", 2);
  for (int i = 0; i < 100; ++i) produce("m" + std::to_string(i), "a");
  LanedReplica& leader = elect();
  workOff(leader);

  EXPECT_TRUE(toldBeforeTheEnd);
  EXPECT_THAT(events.of<GapFound>(), SizeIs(1));
  leader.handOver();
}

TEST_F(LanesNumbers, WhatIsReadyMakesRoomForWhatComesEarly) {
  options.maxKept = 10;
  sendAll("a", {2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  LanedReplica& leader = elect();
  executeUntil(leader, [&] { return world.waiting().empty(); });

  world.deliver({numbered("a", 1), numbered("a", 13)});
  workUntilDone(leader, 11);
  send("a", 12);
  workUntilDone(leader, 13);
  leader.handOver();

  EXPECT_EQ(doneByGroup()["a"], upTo("a", 13));
}

// shows: numbers/lanes-group-waits
TEST_F(LanesNumbers, AnOldGapIsSkippedWithADeadLetter) {
  options.gapLimit = 20ms;
  options.whenGapIsOld = GapPolicy::skip;
  sendAll("a", {3, 4});
  sendAll("b", {1, 3});
  LanedReplica& leader = elect();

  executeUntil(leader, [&] { return done() == 4; });
  leader.handOver();

  EXPECT_THAT(doneByGroup()["a"], ElementsAre("a3", "a4"));
  EXPECT_THAT(doneByGroup()["b"], ElementsAre("b1", "b3"));
  EXPECT_THAT(world.deadLetters(), SizeIs(2));
  EXPECT_THAT(events.of<GapSkipped>(), SizeIs(2));
}

TEST_F(LanesNumbers, AnOldGapEndsTheTermWhereThatIsAskedFor) {
  options.gapLimit = 20ms;
  options.whenGapIsOld = GapPolicy::stop;
  sendAll("a", {2});
  LanedReplica& leader = elect();

  EXPECT_THROW(executeUntil(leader, [] { return false; }), EndTerm);
  leader.handOver();

  EXPECT_THAT(deadIds(), IsEmpty());
}

// shows: numbers/lanes-group-waits
TEST_F(LanesNumbers, WhatIsParkedIsNotMissing) {
  options.gapLimit = 10ms;
  options.whenGapIsOld = GapPolicy::skip;
  std::atomic<int> attempts = 0;
  handler = [&](const Delivery& delivery) {
    if (delivery.message.id.value != "a1" || ++attempts > 3) return Outcome::done();
    return Outcome::retryLater("not yet", 40ms);
  };
  sendAll("a", {2, 1});
  LanedReplica& leader = elect();

  workUntilDone(leader, 2);
  leader.handOver();

  EXPECT_EQ(doneByGroup()["a"], upTo("a", 2));
  EXPECT_THAT(world.deadLetters(), IsEmpty());
}

TEST_F(LanesNumbers, WhatIsReadyKeepsTheRate) {
  RateLimits limits;
  EXPECT_TRUE(limits.set({.eachGroup = Rate{100, 2}}));
  options.limits = &limits;
  std::mutex mutex;
  std::vector<BootTime> starts;
  handler = [&](const Delivery&) {
    const std::lock_guard lock(mutex);
    starts.push_back(BootClock::now());
    return Outcome::done();
  };
  sendAll("a", {2, 3, 4, 5, 6, 7, 8, 1});
  LanedReplica& leader = elect();
  const BootTime began = BootClock::now();

  workUntilDone(leader, 8);
  leader.handOver();

  EXPECT_EQ(doneByGroup()["a"], upTo("a", 8));
  for (std::size_t i = 0; i < starts.size(); ++i)
    EXPECT_LE(static_cast<double>(i + 1), 2 + 100 * std::chrono::duration<double>(starts[i] - began).count() + 1e-6);
}

// --- any order, repeats, faults, losses, and as many lanes as each term likes

class LanesNumbersStorm : public LanesNumbers, public testing::WithParamInterface<int> {
 protected:
  static constexpr int groups = 5;
  static constexpr int each = 20;

  std::uint64_t draw(std::uint64_t below) {  // threads meet in the handler
    const std::lock_guard lock(mutex);
    return random.below(below);
  }
  bool oneIn(std::uint64_t n) { return draw(n) == 0; }
  void drawMessages() {
    for (int group = 0; group < groups; ++group)
      for (int number = 1; number <= each; ++number)
        for (int copies = oneIn(6) ? 2 : 1; copies > 0; --copies)
          toSend.emplace_back(std::string(1, static_cast<char>('a' + group)), number);
    for (std::size_t i = toSend.size(); i > 1; --i) std::swap(toSend[i - 1], toSend[draw(i)]);
  }
  void sendSome(std::uint64_t count) {
    for (; count > 0 && !toSend.empty(); --count) {
      send(toSend.back().first, toSend.back().second);
      toSend.pop_back();
    }
  }
  Outcome misbehave(LanedReplica& leader) {
    if (oneIn(30)) {
      const std::lock_guard lock(mutex);
      drawFault(world, random);
    }
    if (oneIn(20)) return Outcome::failed("drawn");
    if (oneIn(20)) return Outcome::retryLater("drawn", 1ms);
    if (oneIn(60)) leader.term().loseLease();
    if (oneIn(60)) leader.term().requestStop();
    return Outcome::done();
  }
  void serveATerm(bool inPeace) {
    options.ordering = {draw(5)};
    if (inPeace) world.heal();
    try {
      LanedReplica& leader = elect();
      handler = [this, &leader, inPeace](const Delivery&) { return inPeace ? Outcome::done() : misbehave(leader); };
      const auto isOver = [&] { return world.waiting().empty() && (inPeace ? done() == groups * each : oneIn(3)); };
      for (int i = 0; i < 2000 && !isOver(); ++i) {
        leader.execute();
        if (!leader.term()->valid() || leader.term()->stopToken().stop_requested()) break;
      }
    } catch (const EndTerm&) {
    }
    replicas.back()->handOver();
  }

  std::mutex mutex;
  Random random{static_cast<std::uint64_t>(GetParam())};
  std::vector<std::pair<std::string, int>> toSend;
};

TEST_P(LanesNumbersStorm, EveryMessageEndsOnceInTheOrderOfNumbers) {
  options.jitterSeed = static_cast<std::uint64_t>(GetParam());
  options.maxBatch = 1 + draw(8);
  options.maxAttempts = 30;
  options.laneWindow = 64;
  options.idleWait = 1ms;
  if (oneIn(2)) acknowledging = Acknowledging::afterCommit;
  drawMessages();

  for (int term = 0; term < 15; ++term) {
    sendSome(draw(25));
    serveATerm(false);
  }
  sendSome(toSend.size());
  serveATerm(true);

  EXPECT_THAT(world.waiting(), IsEmpty());
  EXPECT_EQ(done(), groups * each);
  EXPECT_THAT(deadIds(), IsEmpty());
  expectEachOnceInOrder();
}
INSTANTIATE_TEST_SUITE_P(Seeds, LanesNumbersStorm, stormSeeds(24));

}  // namespace
}  // namespace tenure::test
