/// A handler of many at once: the same promises, fewer calls.
#include <set>

#include "base/random.hpp"
#include "storm.hpp"

namespace tenure::test {
namespace {

using memory::Operation;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using Call = std::vector<std::string>;

class Together : public Scene {
 protected:
  ConsumerReplica& electTogether() { return enrolTogether().becomeLeader(); }
  ConsumerReplica& enrolTogether() {
    return replicas.emplace_back(
        world, ++token, [this](const BatchDelivery& delivery) { return handleAll(delivery); }, options, events, clock,
        acknowledging);
  }

  std::vector<Call> calls;
  /// What the handler makes of each message; the first that is not done is its answer.
  std::function<Outcome(const Message&)> verdict = [](const Message&) { return Outcome::done(); };

 private:
  Outcome handleAll(const BatchDelivery& delivery) {
    Call& call = calls.emplace_back();
    for (const Message& message : delivery.messages) call.push_back(message.id.value);
    attempts.push_back(delivery.attempt);
    Outcome outcome = Outcome::done();
    for (const Message& message : delivery.messages) {
      handled.push_back(message.id.value);
      const std::string key = "effect of " + message.id.value;
      const auto before = delivery.transaction.get(key);
      if (!before) return Outcome::failed(before.error().message());
      const std::string count = std::to_string(std::stoi(before->value_or("0")) + 1);
      if (const auto put = delivery.transaction.put(key, count); !put) return Outcome::failed(put.error().message());
      if (outcome.kind == Outcome::Kind::done) outcome = verdict(message);
    }
    return outcome;
  }
};

// shows: cpp/batch-handler-gets
TEST_F(Together, ConsecutiveMessagesComeInOneCall) {
  produce({"a", "b", "c"});

  workOff(electTogether());

  EXPECT_THAT(calls, ElementsAre(Call{"a", "b", "c"}));
  EXPECT_THAT(doneIds(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(events.of<BatchCommitted>(), SizeIs(1));
}

TEST_F(Together, AReusedIdUndoesNothingOfTheMessageBeforeIt) {
  int asked = 0;
  verdict = [&](const Message& message) {
    return message.id.value == "a" && ++asked == 1 ? Outcome::failed("not with others") : Outcome::done();
  };
  produce("a", "a body");
  produce("a", "another body");
  produce({"b"});

  workOff(electTogether());

  EXPECT_THAT(doneIds(), ElementsAre("a", "b"));
  EXPECT_THAT(world.value("effect of a"), testing::Optional(std::string("1")));
  EXPECT_THAT(deadIds(), ElementsAre("a"));
}

TEST_F(Together, AHandlerThatNamesNoTypeIsForOneMessage) {
  produce({"a", "b"});
  ConsumerReplica& replica = replicas.emplace_back(
      world, ++token,
      [&](const auto& delivery) {
        handled.push_back(delivery.message.id.value);
        return Outcome::done();
      },
      options, events, clock, acknowledging);

  workOff(replica.becomeLeader());

  EXPECT_THAT(handled, ElementsAre("a", "b"));
}

TEST_F(Together, ACallHasNoMoreThanACommitMayHave) {
  options.maxBatch = 2;
  produce({"a", "b", "c", "d", "e"});

  workOff(electTogether());

  EXPECT_THAT(calls, ElementsAre(Call{"a", "b"}, Call{"c", "d"}, Call{"e"}));
}

TEST_F(Together, WhatIsKnownIsDroppedBeforeTheCall) {
  produce({"b"});
  workOff(electTogether());
  produce({"a", "b", "c", "c", "d"});

  workOff(replicas.back());

  EXPECT_THAT(handled, ElementsAre("b", "a", "c", "d"));
  EXPECT_THAT(events.of<DuplicateDropped>(), SizeIs(2));
}

// shows: cpp/batch-handler-gets
TEST_F(Together, ABatchThatFailsChargesNobodyAndComesOneByOne) {
  produce({"a", "b", "c"});
  verdict = [](const Message& message) { return message.id.value == "b" ? Outcome::failed("no") : Outcome::done(); };
  options.maxAttempts = 2;

  workOff(electTogether());

  EXPECT_THAT(calls, ElementsAre(Call{"a", "b", "c"}, Call{"a"}, Call{"b"}, Call{"b"}, Call{"c"}));
  EXPECT_THAT(attempts, ElementsAre(1, 1, 1, 2, 1));
  EXPECT_THAT(deadIds(), ElementsAre("b"));
  EXPECT_EQ(events.of<BatchSplit>().at(0).messages, 3);
  EXPECT_EQ(world.value("effect of a"), "1");
  EXPECT_FALSE(world.value("effect of b").has_value());
}

TEST_F(Together, AfterAFailureTheNextOnesComeTogetherAgain) {
  options.maxBatch = 2;
  produce({"a", "b", "c", "d"});
  verdict = [this](const Message& message) {
    return message.id.value == "b" && calls.back().size() > 1 ? Outcome::failed("not together") : Outcome::done();
  };

  workOff(electTogether());

  EXPECT_THAT(calls, ElementsAre(Call{"a", "b"}, Call{"a"}, Call{"b"}, Call{"c", "d"}));
}

TEST_F(Together, WhatMayHaveKilledItsProcessComesAlone) {
  produce({"a", "b", "c"});
  verdict = [this](const Message& message) {
    if (message.id.value == "b") replicas.back().term().loseLease();
    return Outcome::done();
  };
  EXPECT_EQ(electTogether().endOf(10), EndReason::leaseLost);
  verdict = [](const Message&) { return Outcome::done(); };
  calls.clear();

  workOff(electTogether());

  EXPECT_THAT(calls, ElementsAre(Call{"a"}, Call{"b"}, Call{"c"}));
  EXPECT_THAT(doneIds(), ElementsAre("a", "b", "c"));
}

TEST_F(Together, WithoutKeysTheyComeTogetherAsWell) {
  options.delivery = Guarantee::atLeastOnce;
  produce({"a", "b", "c"});

  workOff(electTogether());

  EXPECT_THAT(calls, ElementsAre(Call{"a", "b", "c"}));
  EXPECT_TRUE(world.ledger().empty());
}

TEST_F(Together, WhatIsTakenBeforeItsHandlerStartsComesAlone) {
  options.delivery = Guarantee::atMostOnce;
  produce({"a", "b"});

  workOff(electTogether());
  replicas.back().execute();

  EXPECT_THAT(calls, ElementsAre(Call{"a"}, Call{"b"}));
}

// shows: cpp/lanes-call-messages
TEST_F(Together, WhatMayStandForOthersComesAlone) {
  options.coalesce = Coalesce::byKey;
  produce({"a", "b", "c"});

  workOff(electTogether());

  EXPECT_THAT(calls, ElementsAre(Call{"a"}, Call{"b"}, Call{"c"}));
}

TEST_F(Together, IsNotForAnExternalHandler) {
  options.handlerIsExternal = true;

  EXPECT_THROW(enrolTogether(), std::system_error);
}

class TogetherStorm : public Together, public testing::WithParamInterface<int> {
 protected:
  static constexpr int messages = 40;

  bool oneIn(std::uint64_t n) { return random.below(n) == 0; }

  void drawFault() {
    test::drawFault(world, random, [](Operation operation) {
      const bool ofStore = operation == Operation::write || operation == Operation::commit;
      return ofStore ? std::optional(Errc::transactionConflict) : std::nullopt;
    });
  }

  Outcome misbehave(const Message& message) {
    if (oneIn(8)) drawFault();
    if (oneIn(15)) {
      struck.insert(message.id.value);
      return Outcome::failed("drawn");
    }
    if (oneIn(15)) return Outcome::retryLater("drawn", 5ms);
    if (oneIn(30)) {
      struck.insert(message.id.value);
      replicas.back().term().loseLease();
    }
    if (oneIn(30)) replicas.back().term().requestStop();
    return Outcome::done();
  }

  void serveATerm() { serve(enrolTogether(), random); }

  Random random{static_cast<std::uint64_t>(GetParam())};
  std::set<std::string> struck;
};

TEST_P(TogetherStorm, EveryMessageHasOneEffectInOrderAndOnlyTheGuiltyDie) {
  options.jitterSeed = static_cast<std::uint64_t>(GetParam());
  options.maxBatch = 1 + random.below(8);
  options.maxAttempts = 3;
  if (oneIn(2)) acknowledging = memory::Database::Acknowledging::afterCommit;
  for (int i = 0; i < messages; ++i) produce({std::to_string(i)});
  for (int i = 0; i < 5; ++i) produce({std::to_string(random.below(messages))});
  verdict = [this](const Message& message) { return misbehave(message); };
  for (int term = 0; term < 12; ++term) serveATerm();

  world.heal();
  verdict = [](const Message&) { return Outcome::done(); };
  workOff(electTogether());

  const auto ledger = world.ledger();
  ASSERT_EQ(ledger.size(), messages);
  for (std::size_t i = 0; i < ledger.size(); ++i) {
    EXPECT_EQ(ledger[i].message.value, std::to_string(i));
    const bool done = ledger[i].fate == MessageFate::done;
    EXPECT_EQ(world.value("effect of " + std::to_string(i)).value_or("none"), done ? "1" : "none");
  }
  for (const std::string& id : deadIds()) EXPECT_TRUE(struck.contains(id)) << id << " never did anything wrong";
}

INSTANTIATE_TEST_SUITE_P(Seeds, TogetherStorm, testing::Range(1, 201));

}  // namespace
}  // namespace tenure::test
