/// One run for all that ask for the same: how many runs there are, in which places, and that no request is ever left
/// without a run that began after it.
#include <map>

#include "base/random.hpp"
#include "storm.hpp"

namespace tenure::test {
namespace {

using memory::Operation;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Acknowledging = memory::Database::Acknowledging;

class ConsumerCoalescing : public Scene {
 protected:
  ConsumerCoalescing() { options.coalesce = Coalesce::byKey; }

  void refresh(const std::string& id, const std::string& group, const Headers& headers = {}) {
    world.deliver({NewMessage{MessageId{id}, GroupId{group}, "refresh", headers}});
  }
  void refreshes(const std::string& group, int count, const std::string& prefix) {
    std::vector<NewMessage> messages;
    for (int i = 0; i < count; ++i)
      messages.push_back({MessageId{prefix + std::to_string(i)}, GroupId{group}, "refresh", {}});
    world.deliver(std::move(messages));
  }
  /// When `id` is handled, this happens as well.
  void whileRunning(const std::string& id, std::function<void()> happens) {
    behaviour = [id, happens = std::move(happens), happened = false](const Delivery& delivery) mutable {
      if (delivery.message.id.value == id && !std::exchange(happened, true)) happens();
      return Outcome::done();
    };
  }
  std::size_t coalesced() const {
    std::size_t sum = 0;
    for (const auto& told : events.of<RequestsCoalesced>()) sum += told.messages;
    return sum;
  }
};

TEST_F(ConsumerCoalescing, TenThousandThatArriveWhileTheFirstRunsCauseExactlyOneMoreRun) {
  for (const Acknowledging how : {Acknowledging::inTransaction, Acknowledging::afterCommit}) {
    acknowledging = how;
    handled.clear();
    const std::string round = how == Acknowledging::inTransaction ? "one-" : "two-";
    whileRunning(round + "first", [&] { refreshes("cache", 10'000, round); });
    refresh(round + "first", "cache");

    workOff(elect());

    EXPECT_THAT(handled, ElementsAre(round + "first", round + "0"));
    replicas.back().handOver();
  }
  ASSERT_THAT(events.of<RequestsCoalesced>(), SizeIs(2));
  EXPECT_EQ(events.of<RequestsCoalesced>()[1].message, "two-0");
  EXPECT_EQ(events.of<RequestsCoalesced>()[1].messages, 9'999);
  EXPECT_THAT(doneIds(), ElementsAre("one-first", "one-0", "two-first", "two-0")) << "the others leave no key";
}

TEST_F(ConsumerCoalescing, WithoutItEachHasItsRun) {
  options.coalesce = Coalesce::never;
  refreshes("cache", 3, "r");

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("r0", "r1", "r2"));
}

TEST_F(ConsumerCoalescing, TheFirstOfThoseThatWaitRunsInItsPlace) {
  for (const auto& [id, group] :
       {std::pair{"a1", "a"}, {"b1", "b"}, {"a2", "a"}, {"c1", "c"}, {"b2", "b"}, {"a3", "a"}})
    refresh(id, group);

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("a1", "b1", "c1"));
  EXPECT_EQ(coalesced(), 3);
}

TEST_F(ConsumerCoalescing, WhatHasNoKeyIsNeverCoalesced) {
  produce({"x", "y"});

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("x", "y"));
}

TEST_F(ConsumerCoalescing, TheKeyMayBeAHeader) {
  options.coalesceKey = "page";
  refresh("1", "", {{"page", "home"}});
  refresh("2", "", {{"page", "news"}});
  refresh("3", "", {{"page", "home"}});
  refresh("4", "", {{"other", "home"}});
  refresh("5", "", {{"other", "home"}});

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("1", "2", "4", "5"));
}

TEST_F(ConsumerCoalescing, OneNeverStandsForARequestBeyondAnotherMessageOfItsGroup) {
  options.coalesceKey = "refresh";
  refresh("r1", "tenant", {{"refresh", "all"}});
  refresh("r2", "tenant", {{"refresh", "all"}});
  refresh("import", "tenant");
  refresh("stranger", "other");
  refresh("r3", "tenant", {{"refresh", "all"}});
  refresh("r4", "tenant", {{"refresh", "all"}});
  refresh("elsewhere", "other", {{"refresh", "all"}});

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("r1", "import", "stranger", "r3", "elsewhere"));
}

// shows: urls/coalescing-run-stands
TEST_F(ConsumerCoalescing, BeyondItsBoundItTakesMoreRunsAndLosesNothing) {
  options.coalesceAhead = 100;
  refreshes("cache", 10'000, "r");

  workOff(elect());

  EXPECT_GE(handled.size(), 2);
  EXPECT_LE(handled.size(), 100);
  EXPECT_EQ(coalesced() + handled.size(), 10'000);
}

// shows: urls/coalescing-run-stands
TEST_F(ConsumerCoalescing, NothingIsAcknowledgedBeforeTheRunThatStandsForItIsCommitted) {
  refreshes("cache", 5, "r");
  ConsumerReplica& first = elect();
  diesOf(first, "r0");
  EXPECT_THAT(world.waiting(), SizeIs(5));

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("r0", "r0"));
}

TEST_F(ConsumerCoalescing, WhatCameAfterARunThatIsKnownHasARunOfItsOwn) {
  acknowledging = Acknowledging::afterCommit;
  refresh("before", "cache");
  world.fail(Operation::acknowledge, Errc::unavailable, 1000);
  ConsumerReplica& first = elect();
  first.execute();  // committed, and the broker never hears of it
  world.heal();
  refreshes("cache", 3, "after");

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("before", "after0"));
  EXPECT_EQ(coalesced(), 2);
}

TEST_F(ConsumerCoalescing, WhenTheFirstDiesTheNextTakesItsPlace) {
  options.maxAttempts = 1;
  behaviour = [](const Delivery& delivery) {
    return delivery.message.id.value == "r0" ? Outcome::failed("bad") : Outcome::done();
  };
  refreshes("cache", 3, "r");
  refresh("stranger", "other");

  workOff(elect());

  EXPECT_THAT(deadIds(), ElementsAre("r0"));
  EXPECT_THAT(handled, ElementsAre("r0", "r1", "stranger"));
  EXPECT_EQ(coalesced(), 1);
}

TEST_F(ConsumerCoalescing, WhenTheLastThatWaitsForAnExternalHandlerDiesTheNextTakesItsPlace) {
  options.maxAttempts = 1;
  options.handlerIsExternal = true;
  behaviour = [](const Delivery& delivery) {
    return delivery.message.id.value == "r0" ? Outcome::failed("bad") : Outcome::done();
  };
  refreshes("cache", 3, "r");

  workOff(elect());

  EXPECT_THAT(deadIds(), ElementsAre("r0"));
  EXPECT_THAT(handled, ElementsAre("r0", "r1"));
}

TEST_F(ConsumerCoalescing, ARunThatIsKilledIsRepeatedForAllWhoWaitByThen) {
  options.handlerIsExternal = true;
  refreshes("cache", 3, "r");
  diesOf(elect(), "r0");
  refreshes("cache", 2'000, "later");

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("r0", "r0"));
  EXPECT_EQ(coalesced(), 2'002);
  EXPECT_THAT(world.waiting(), IsEmpty());
}

TEST_F(ConsumerCoalescing, OnlyTheOneThatKillsIsChargedAndThoseThatItStoodForGoOnWithoutIt) {
  options.handlerIsExternal = true;
  options.maxAttempts = 2;
  refreshes("cache", 100, "r");
  diesOf(elect(), "r0");
  refreshes("cache", 100, "later");
  diesOf(elect(), "r0");
  for (const AttemptRecord& attempt : found().attempts) EXPECT_EQ(attempt.id.value, "r0");

  workOff(elect());

  EXPECT_THAT(deadIds(), ElementsAre("r0"));
  EXPECT_THAT(handled, ElementsAre("r0", "r0", "r1"));
  EXPECT_EQ(events.of<RequestsCoalesced>().back().messages, 198);
  EXPECT_THAT(world.waiting(), IsEmpty());
}

TEST_F(ConsumerCoalescing, AKilledRunThatWasCommittedStandsForNobodyAndTheNextRunsForTheRest) {
  acknowledging = Acknowledging::afterCommit;
  options.handlerIsExternal = true;
  refresh("r", "cache");
  world.fail(Operation::acknowledge, Errc::leaseLost);
  EXPECT_EQ(elect().endOf(500), EndReason::leaseLost);
  refreshes("cache", 100, "later");

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("r", "later0"));
  EXPECT_EQ(coalesced(), 99);
}

TEST_F(ConsumerCoalescing, ARunThatIsOverIsNotForWhatCameLaterAlsoWhenAllIsDeliveredAnew) {
  options.handlerIsExternal = true;
  options.retryBase = options.retryMax = 10s;
  for (const Guarantee delivery : {Guarantee::exactlyOnceEffect, Guarantee::atLeastOnce}) {
    options.delivery = delivery;
    handled.clear();
    const std::string round = delivery == Guarantee::atLeastOnce ? "two-" : "one-";
    whileRunning(round + "first", [&] { world.fail(Operation::commit, Errc::heldTooLong, 1); });
    refresh(round + "first", "cache");
    ConsumerReplica& leader = elect();
    const std::size_t before = events.of<AttemptFailed>().size();
    for (int i = 0; i < 500 && events.of<AttemptFailed>().size() == before; ++i) leader.execute();
    ASSERT_THAT(events.of<AttemptFailed>(), SizeIs(before + 1)) << "its run is done, and not on record";

    refresh(round + "late", "cache");
    world.fail(Operation::fetch, Errc::unavailable, 1);
    const std::size_t outages = events.of<OutageBegan>().size();
    workOff(leader);

    EXPECT_THAT(handled, ElementsAre(round + "first", round + "late"));
    EXPECT_EQ(events.of<OutageBegan>().size(), outages + 1);
    leader.handOver();
  }
}

TEST_F(ConsumerCoalescing, AnAttemptThatIsRepeatedStandsForWhatItStoodFor) {
  behaviour = [](const Delivery& delivery) {
    return delivery.attempt == 1 ? Outcome::failed("not yet") : Outcome::done();
  };
  refreshes("cache", 3, "r");

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("r0", "r0"));
  EXPECT_EQ(coalesced(), 2);
}

TEST_F(ConsumerCoalescing, AKillerBehindThousandsOfOthersIsFoundAtOnce) {
  refreshes("cache", 5'000, "r");
  refresh("killer", "other");
  diesOf(elect(), "killer");

  ConsumerReplica& second = elect();
  second.execute();

  EXPECT_FALSE(events.of<MessageSuspected>().empty());
  EXPECT_THAT(world.waiting(), IsEmpty());
  EXPECT_EQ(handled.back(), "killer");
  EXPECT_EQ(events.of<MessageSuspected>().back().message, "killer");
}

TEST_F(ConsumerCoalescing, DoesNotGoWithAtMostOnce) {
  options.delivery = Guarantee::atMostOnce;

  EXPECT_THROW(enrol(), std::system_error);
}

// --- whatever goes wrong

/// Time is counted in steps. Each key's committed value is the step at which its last committed run began.
class CoalescingStorm : public ConsumerCoalescing, public testing::WithParamInterface<int> {
 protected:
  bool oneIn(std::uint64_t n) { return random.below(n) == 0; }

  void drawOptions() {
    options.jitterSeed = static_cast<std::uint64_t>(GetParam());
    options.maxBatch = 1 + random.below(6);
    options.maxAttempts = 2 + static_cast<int>(random.below(3));
    options.handlerIsExternal = oneIn(4);
    options.coalesceAhead = oneIn(3) ? 1 + random.below(5) : 1000;
    if (oneIn(3)) options.delivery = Guarantee::atLeastOnce;
    if (oneIn(2)) acknowledging = Acknowledging::afterCommit;
  }
  void produceSome() {
    for (std::uint64_t i = random.below(5); i > 0; --i) {
      const std::string key = std::to_string(random.below(3));
      const std::string id = std::to_string(asked.size());
      asked[id] = {key, ++step};
      refresh(id, key);
    }
  }
  Outcome run(const Delivery& delivery) {
    const std::int64_t began = begun[delivery.message.group.value] = ++step;
    if (oneIn(2)) produceSome();
    if (oneIn(8)) drawFault(world, random);
    if (oneIn(10)) return Outcome::failed("drawn");
    if (oneIn(12)) return Outcome::retryLater("drawn", 5ms);
    if (oneIn(20)) replicas.back().term().loseLease();
    if (oneIn(20)) replicas.back().term().requestStop();
    const auto written = delivery.transaction.put("run of " + delivery.message.group.value, std::to_string(began));
    return written ? Outcome::done() : Outcome::failed(written.error().message());
  }
  void serveATerm() {
    ConsumerReplica& leader = enrol();
    if (oneIn(4)) drawFault(world, random);
    try {
      leader.becomeLeader();
    } catch (const EndTerm&) {
      return;
    }
    bool over = false;
    for (std::uint64_t i = 1 + random.below(10); i > 0 && !over; --i) {
      over = leader.endOf().has_value();
      if (!over) expectEveryRequestServed();
      produceSome();
    }
    if (over || oneIn(2)) leader.handOver();
  }
  /// What has left the queue is dead itself, or followed by a run that began after it came.
  void expectEveryRequestServed() {
    if (world.isWriting()) return;
    std::set<std::string> excused;
    for (const MessageId& id : world.waiting()) excused.insert(id.value);
    for (const std::string& id : deadIds()) excused.insert(id);
    for (const auto& [id, request] : asked) {
      if (excused.contains(id)) continue;
      ASSERT_GT(lastRun(request.first), request.second) << id << " left without a run, or with an older one";
    }
  }

  /// Committed; of an external handler, which commits nothing itself, begun.
  std::int64_t lastRun(const std::string& key) const {
    if (options.handlerIsExternal) return begun.contains(key) ? begun.at(key) : 0;
    return std::stoll(world.value("run of " + key).value_or("0"));
  }

  Random random{static_cast<std::uint64_t>(GetParam())};
  std::map<std::string, std::int64_t> begun;
  std::int64_t step = 0;
  std::map<std::string, std::pair<std::string, std::int64_t>> asked;  // id → key, when
};

TEST_P(CoalescingStorm, EveryRequestIsFollowedByARunThatBeganAfterIt) {
  drawOptions();
  produceSome();
  behaviour = [this](const Delivery& delivery) { return run(delivery); };
  for (int term = 0; term < 10; ++term) serveATerm();

  world.heal();
  behaviour = [this](const Delivery& delivery) {
    const std::int64_t began = begun[delivery.message.group.value] = ++step;
    return delivery.transaction.put("run of " + delivery.message.group.value, std::to_string(began))
               ? Outcome::done()
               : Outcome::failed("refused");
  };
  workOff(elect());

  expectEveryRequestServed();
  std::set<std::string> ids;
  for (const auto& entry : world.ledger()) EXPECT_TRUE(ids.insert(entry.message.value).second) << "at most one effect";
  if (acknowledging == Acknowledging::afterCommit) return;  // what a broker delivers again is a new request
  std::map<std::string, std::int64_t> last;
  for (const auto& entry : world.ledger()) {
    const std::int64_t number = std::stoll(entry.message.value);
    EXPECT_GE(number, std::exchange(last[asked.at(entry.message.value).first], number)) << "in the order of its key";
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, CoalescingStorm, testing::Range(1, 501));

}  // namespace
}  // namespace tenure::test
