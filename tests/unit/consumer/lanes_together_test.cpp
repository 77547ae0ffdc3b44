/// A handler of many at once in lanes: each call has messages of one group, and nothing else is promised less.
#include <atomic>
#include <mutex>

#include "base/random.hpp"
#include "lanes_scene.hpp"
#include "storm.hpp"
#include "tenure/consumer.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::test {
namespace {

using memory::Operation;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using Call = std::vector<std::string>;

class TogetherInLanes : public ConsumerLanes {
 protected:
  TogetherInLanes() { options.latencyTarget = 10s; }

  LanedReplica& electTogether() {
    replicas.push_back(std::make_unique<LanedReplica>(
        world, ++token, [this](const BatchDelivery& delivery) { return handleAll(delivery); }, options, events,
        acknowledging, committing));
    replicas.back()->becomeLeader();
    return *replicas.back();
  }
  std::vector<Call> callsOf(const std::string& group) {
    const std::lock_guard lock(mutex);
    return calls[group];
  }
  void expectOneEffectEach() {
    for (const auto& entry : world.ledger()) {
      const bool done = entry.fate == MessageFate::done;
      EXPECT_EQ(world.value("effect of " + entry.message.value).value_or("none"), done ? "1" : "none");
    }
  }

  /// What the handler makes of each message, in several threads; the first that is not done is its answer.
  std::function<Outcome(const Message&, std::size_t ofHowMany)> verdict = [](const Message&, std::size_t) {
    return Outcome::done();
  };
  std::mutex mutex;
  std::map<std::string, std::vector<Call>> calls;  // by group

 private:
  Outcome handleAll(const BatchDelivery& delivery) {
    note(delivery);
    Outcome outcome = Outcome::done();
    for (const Message& message : delivery.messages) {
      const std::string key = "effect of " + message.id.value;
      const auto before = delivery.transaction.get(key);
      if (!before) return Outcome::failed(before.error().message());
      const std::string count = std::to_string(std::stoi(before->value_or("0")) + 1);
      if (const auto put = delivery.transaction.put(key, count); !put) return Outcome::failed(put.error().message());
      if (outcome.kind == Outcome::Kind::done) outcome = verdict(message, delivery.messages.size());
    }
    return outcome;
  }
  void note(const BatchDelivery& delivery) {
    const GroupId& group = delivery.messages.front().group;
    Call call;
    for (const Message& message : delivery.messages) {
      EXPECT_EQ(message.group, group);
      call.push_back(message.id.value);
    }
    const std::lock_guard lock(mutex);
    calls[group.value].push_back(std::move(call));
  }
};

// shows: cpp/lanes-call-messages
TEST_F(TogetherInLanes, MessagesOfAGroupComeInOneCall) {
  options.ordering = Ordering::perGroup(1);  // nobody waits, for whom a batch would end
  for (const char* id : {"a0", "a1", "a2"}) produce(id, "a");
  for (const char* id : {"b0", "b1"}) produce(id, "b");
  LanedReplica& leader = electTogether();

  workOff(leader);
  leader.handOver();

  EXPECT_THAT(callsOf("a"), ElementsAre(Call{"a0", "a1", "a2"}));
  EXPECT_THAT(callsOf("b"), ElementsAre(Call{"b0", "b1"}));
  expectOneEffectEach();
}

TEST_F(TogetherInLanes, EveryGroupKeepsItsOrder) {
  options.maxBatch = 8;
  produceEvenly(600, {"a", "b", "c", "d", "e", "f", "g"});
  LanedReplica& leader = electTogether();

  workOff(leader);
  leader.handOver();

  EXPECT_THAT(world.ledger(), SizeIs(600));
  expectEachOnceInOrder();
  expectOneEffectEach();
}

TEST_F(TogetherInLanes, AfterAFailureTheOnesOfItsCallComeOneByOneAndTheGuiltyOneParksItsGroup) {
  options.ordering = Ordering::perGroup(1);
  options.maxBatch = 3;
  options.maxAttempts = 2;
  verdict = [](const Message& message, std::size_t) {
    return message.id.value == "a1" ? Outcome::failed("never") : Outcome::done();
  };
  for (const char* id : {"a0", "a1", "a2", "a3", "a4", "a5"}) produce(id, "a");
  LanedReplica& leader = electTogether();

  workOff(leader);
  leader.handOver();

  EXPECT_THAT(callsOf("a"), ElementsAre(Call{"a0", "a1", "a2"}, Call{"a0"}, Call{"a1"}, Call{"a1"}, Call{"a2", "a3"},
                                        Call{"a4", "a5"}));
  EXPECT_THAT(deadIds(), ElementsAre("a1"));
  EXPECT_THAT(events.of<BatchSplit>(), SizeIs(1));
  expectOneEffectEach();
}

TEST_F(TogetherInLanes, AGroupThatWaitsForItsNextAttemptKeepsNobodyElse) {
  std::atomic<int> strangers = 0;
  verdict = [&](const Message& message, std::size_t) {
    if (message.group.value == "b") ++strangers;
    return message.id.value == "a0" && strangers < 20 ? Outcome::failed("not yet") : Outcome::done();
  };
  options.maxAttempts = 1000;
  produceEvenly(40, {"a", "b"});
  LanedReplica& leader = electTogether();

  workOff(leader);  // or never
  leader.handOver();

  EXPECT_THAT(deadIds(), IsEmpty());
  EXPECT_THAT(world.ledger(), SizeIs(40));
  expectEachOnceInOrder();
}

/// Before the lanes, where suspects of many groups share a transaction: whoever is guilty is looked for.
TEST_F(TogetherInLanes, ManySuspectsComeOneByOneThoughTheyShareTransactions) {
  options.maxBatch = 100;
  std::atomic<bool> died = false;
  verdict = [&](const Message& message, std::size_t) {
    if (message.id.value == "c34" && !died.exchange(true)) replicas.back()->term().loseLease();
    return Outcome::done();
  };
  produceEvenly(400, {"a", "b", "c", "d", "e", "f", "g", "h"});
  LanedReplica& first = electTogether();
  try {
    while (!died && !world.waiting().empty()) first.execute();
  } catch (const EndTerm&) {
  }
  first.handOver();

  workOff(electTogether());  // each call has one group: the fixture looks
  replicas.back()->handOver();

  ASSERT_THAT(events.of<SuspectsFound>(), SizeIs(1));
  EXPECT_EQ(events.of<SuspectsFound>()[0].together, 32U);
  expectEachOnceInOrder();
  expectOneEffectEach();
}

/// What a rate lets through is counted message by message.
// shows: cpp/lanes-call-messages
TEST_F(TogetherInLanes, WithARateLimitTheyComeOneByOne) {
  const RateLimits limits({.queue = Rate{1000, 1000}});
  options.limits = &limits;
  for (const char* id : {"a0", "a1", "a2"}) produce(id, "a");
  LanedReplica& leader = electTogether();

  workOff(leader);
  leader.handOver();

  EXPECT_THAT(callsOf("a"), Each(SizeIs(1)));
}

class TogetherInLanesStorm : public TogetherInLanes, public testing::WithParamInterface<int> {
 protected:
  bool oneIn(std::uint64_t n) {
    const std::lock_guard lock(drawing);
    return random.below(n) == 0;
  }
  void drawFault() {
    const std::lock_guard lock(drawing);
    test::drawFault(world, random, [](Operation operation) {
      const bool ofStore = operation == Operation::write || operation == Operation::commit;
      return ofStore ? std::optional(Errc::transactionConflict) : std::nullopt;
    });
  }
  Outcome misbehave(const Message& message) {
    if (oneIn(40)) drawFault();
    if (oneIn(30)) {
      strike(message);
      return Outcome::failed("drawn");
    }
    if (oneIn(30)) return Outcome::retryLater("drawn", 1ms);
    if (oneIn(150)) {
      strike(message);
      replicas.back()->term().loseLease();
    }
    if (oneIn(150)) replicas.back()->term().requestStop();
    return Outcome::done();
  }
  void strike(const Message& message) {
    const std::lock_guard lock(drawing);
    ++strikes[message.id.value];
  }
  void serveATerm() {
    try {
      LanedReplica& leader = electTogether();
      for (int i = 0; i < 2000 && !world.waiting().empty(); ++i) {
        leader.execute();
        if (!leader.term()->valid() || leader.term()->stopToken().stop_requested()) break;
      }
    } catch (const EndTerm&) {
    }
    replicas.back()->handOver();
  }

  std::mutex drawing;
  Random random{static_cast<std::uint64_t>(GetParam())};
  std::map<std::string, int> strikes;
};

TEST_P(TogetherInLanesStorm, EveryMessageHasOneEffectInTheOrderOfItsGroupAndOnlyTheGuiltyDie) {
  options.jitterSeed = static_cast<std::uint64_t>(GetParam());
  options.latencyTarget = 20ms;
  options.maxBatch = 1 + random.below(8);
  options.maxAttempts = 3;
  options.ordering = Ordering::perGroup(1 + random.below(4));
  options.laneWindow = 64;
  if (oneIn(2)) acknowledging = memory::Database::Acknowledging::afterCommit;
  if (oneIn(2)) committing = memory::Database::Lanes::besideEachOther;
  produceEvenly(200, {"a", "b", "c", "d", "e"});
  for (int i = 0; i < 20; ++i) produce("x" + std::to_string(i), "");
  for (int i = 0; i < 5; ++i) produce("a" + std::to_string(5 * random.below(40)), "a");  // again
  verdict = [this](const Message& message, std::size_t) { return misbehave(message); };
  for (int term = 0; term < 12 && !world.waiting().empty(); ++term) serveATerm();

  world.heal();
  verdict = [](const Message&, std::size_t) { return Outcome::done(); };
  LanedReplica& last = electTogether();
  workOff(last);
  last.handOver();

  EXPECT_EQ(world.ledger().size(), 220U);
  expectEachOnceInOrder();
  expectOneEffectEach();
  for (const std::string& id : deadIds()) EXPECT_GT(strikes[id], 0) << id << " never did anything wrong";
}

INSTANTIATE_TEST_SUITE_P(Seeds, TogetherInLanesStorm, stormSeeds(40));

}  // namespace
}  // namespace tenure::test
