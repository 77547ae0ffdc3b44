/// Numbered messages: whatever order they come in, each group's take effect in the order of their numbers.
#include <map>
#include <set>

#include "base/random.hpp"
#include "storm.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class Numbers : public Scene {
 protected:
  Numbers() {
    options.followNumbers = true;
    options.gapLimit = 10s;
  }

  /// The message `number` of `group`, with its usual id.
  void send(const std::string& group, std::int64_t number) { send(group + std::to_string(number), group, number); }
  void send(const std::string& id, const std::string& group, std::int64_t number) {
    world.deliver({NewMessage{
        MessageId{id}, GroupId{group}, "body of " + id, {{std::string(numberHeader), std::to_string(number)}}}});
  }
  void sendAll(const std::vector<std::int64_t>& numbers) {
    for (const std::int64_t number : numbers) send("g", number);
  }
  std::vector<ConsumersGroup> openGroups() { return openAdmin(world)->openGroups().value(); }
  /// Until nothing waits at the source, and nothing that is ready in the store.
  void runDry(ConsumerReplica& replica) {
    workOff(replica);
    for (int i = 0; i < 20; ++i) replica.execute();
  }
};

// shows: numbers/group-handled-order
TEST_F(Numbers, MessagesThatComeOutOfOrderAreHandledInTheOrderOfTheirNumbers) {
  sendAll({3, 1, 2, 5, 4});

  runDry(elect());

  EXPECT_THAT(doneIds(), ElementsAre("g1", "g2", "g3", "g4", "g5"));
  EXPECT_THAT(handled, ElementsAre("g1", "g2", "g3", "g4", "g5"));
}

// shows: numbers/comes-early-kept
TEST_F(Numbers, WhatComesEarlyIsAcknowledgedAndWaitsInTheStore) {
  sendAll({2, 3});

  ConsumerReplica& leader = elect();
  runDry(leader);

  EXPECT_THAT(world.waiting(), IsEmpty());
  EXPECT_THAT(handled, IsEmpty());
  EXPECT_THAT(events.of<MessageKept>(), SizeIs(2));
  EXPECT_EQ(events.of<MessageKept>()[1].expected, 1);
}

/// What is kept is no part of the batch that is open.
TEST_F(Numbers, WhatComesEarlyInTheMiddleOfABatchIsKeptBesideIt) {
  options.maxBatch = 4;
  options.fixedBatch = true;
  sendAll({1});
  behaviour = [this](const Delivery& delivery) {
    if (delivery.message.id.value == "g1") send("h", 2);
    return Outcome::done();
  };
  ConsumerReplica& leader = elect();

  EXPECT_EQ(leader.endOf(30), std::nullopt) << leader.error().message();

  EXPECT_THAT(doneIds(), ElementsAre("g1"));
  EXPECT_THAT(openGroups(), SizeIs(1));
  EXPECT_THAT(world.waiting(), IsEmpty());
}

TEST_F(Numbers, WhatTheStoreRefusesToKeepIsHandledWhereItsTurnHasCome) {
  sendAll({2, 1});
  ConsumerReplica& leader = elect();
  world.fail(memory::Operation::commit, Errc::payloadTooLarge, 2);  // together, and alone

  EXPECT_EQ(leader.endOf(30), std::nullopt) << leader.error().message();

  EXPECT_THAT(doneIds(), ElementsAre("g1", "g2"));
  EXPECT_THAT(deadIds(), IsEmpty());
}

TEST_F(Numbers, WhatTheStoreRefusesToKeepIsADeadLetterWhereItsTurnHasNotCome) {
  sendAll({2, 3});
  ConsumerReplica& leader = elect();
  world.fail(memory::Operation::commit, Errc::payloadTooLarge, 2);
  EXPECT_EQ(leader.endOf(30), std::nullopt) << leader.error().message();
  sendAll({1});

  runDry(leader);

  EXPECT_THAT(deadIds(), ElementsAre("g2"));
  EXPECT_THAT(doneIds(), ElementsAre("g1", "g3"));
}

TEST_F(Numbers, AGapThatANewLeaderFillsReleasesWhatItsPredecessorKept) {
  sendAll({2, 3});
  runDry(elect());
  replicas.back().handOver();
  sendAll({1});

  runDry(elect());

  EXPECT_THAT(doneIds(), ElementsAre("g1", "g2", "g3"));
}

TEST_F(Numbers, WhatIsReadyWhenTheLeaderDiesIsItsSuccessorsFirst) {
  sendAll({2, 1});
  options.maxBatch = 1;
  diesOf(elect(), "g2");
  sendAll({3});

  runDry(elect());

  EXPECT_THAT(doneIds(), ElementsAre("g1", "g2", "g3"));
  EXPECT_THAT(deadIds(), IsEmpty());
}

TEST_F(Numbers, GroupsDoNotWaitForEachOther) {
  send("a", 2), send("b", 1), send("b", 2), send("a", 1);

  runDry(elect());

  EXPECT_THAT(doneIds(), ElementsAre("b1", "b2", "a1", "a2"));
}

// shows: numbers/without-group-number
TEST_F(Numbers, WhatHasNoNumberIsHandledAsItComes) {
  send("g", 2);
  produce({"plain"});
  send("g", 1);

  runDry(elect());

  EXPECT_THAT(doneIds(), ElementsAre("plain", "g1", "g2"));
}

// shows: numbers/comes-early-kept
TEST_F(Numbers, WhatComesAgainIsDropped) {
  sendAll({2, 2, 1, 2, 1});

  runDry(elect());

  EXPECT_THAT(handled, ElementsAre("g1", "g2"));
  EXPECT_THAT(events.of<DuplicateDropped>(), SizeIs(3));
}

// shows: numbers/number-already-passed
TEST_F(Numbers, AnotherMessageUnderANumberThatIsTakenIsADeadLetter) {
  sendAll({2});
  send("other2", "g", 2);
  sendAll({1});
  send("late", "g", 1);

  runDry(elect());

  EXPECT_THAT(handled, ElementsAre("g1", "g2"));
  EXPECT_THAT(deadIds(), ElementsAre("other2", "late"));
}

TEST_F(Numbers, AnotherBodyUnderTheIdOfOneThatWaitsIsADeadLetterAndTheFirstKeepsItsTurn) {
  sendAll({2});
  world.deliver({NewMessage{MessageId{"g2"}, GroupId{"g"}, "another body", {{std::string(numberHeader), "2"}}}});
  sendAll({1});

  runDry(elect());

  EXPECT_THAT(handled, ElementsAre("g1", "g2"));
  ASSERT_THAT(world.deadLetters(), SizeIs(1));
  EXPECT_EQ(world.deadLetters()[0].message.body, "another body");
}

TEST_F(Numbers, ANumberThatIsNoneIsADeadLetter) {
  send("g", 0);

  runDry(elect());

  EXPECT_THAT(deadIds(), ElementsAre("g0"));
}

// shows: numbers/kept-message-like
TEST_F(Numbers, AWaitingMessageThatFailsIsChargedItself) {
  options.maxAttempts = 2;
  sendAll({2, 3, 1});
  behaviour = [](const Delivery& delivery) {
    return delivery.message.id.value == "g2" ? Outcome::failed("no") : Outcome::done();
  };

  runDry(elect());

  EXPECT_THAT(handled, ElementsAre("g1", "g2", "g2", "g3"));
  EXPECT_THAT(attempts, ElementsAre(1, 1, 2, 1));
  EXPECT_THAT(deadIds(), ElementsAre("g2"));
  EXPECT_EQ(world.deadLetters()[0].message.body, "body of g2");
}

// shows: numbers/kept-message-like
TEST_F(Numbers, AWaitingMessageThatKillsItsProcessEndsAsADeadLetter) {
  options.maxAttempts = 2;
  options.maxBatch = 4;
  sendAll({2, 3, 1, 4});
  behaviour = [this](const Delivery& delivery) {
    if (delivery.message.id.value == "g2") replicas.back().term().loseLease();
    return Outcome::done();
  };

  for (int term = 0; term < 4; ++term) static_cast<void>(elect().endOf(50));
  behaviour = [](const Delivery&) { return Outcome::done(); };
  runDry(elect());

  EXPECT_THAT(deadIds(), ElementsAre("g2"));
  std::vector<std::string> done = doneIds();
  EXPECT_THAT(done, ElementsAre("g1", "g3", "g4"));
}

TEST_F(Numbers, WhatIsReadyDoesNotComeToStandBeforeASuspect) {
  options.maxBatch = 1;
  options.maxAttempts = 2;
  options.whenGapIsOld = GapPolicy::skip;
  sendAll({2});
  runDry(elect());
  send("killer", "h", 1);
  clock.advance(1min);

  for (int process = 0; process < 2; ++process) diesOf(elect(), "killer");
  runDry(elect());

  EXPECT_EQ(timesHandled("killer"), 2);
  EXPECT_THAT(deadIds(), testing::Contains("killer"));
}

TEST_F(Numbers, ADeadLetterMovesItsGroupOn) {
  options.maxAttempts = 1;
  sendAll({1, 2});
  behaviour = [](const Delivery& delivery) {
    return delivery.message.id.value == "g1" ? Outcome::failed("no") : Outcome::done();
  };

  runDry(elect());

  EXPECT_THAT(deadIds(), ElementsAre("g1"));
  EXPECT_THAT(doneIds(), ElementsAre("g2"));
}

// shows: numbers/old-gap-told
TEST_F(Numbers, AnOldGapIsToldOnceAndWaitedFor) {
  sendAll({2});
  ConsumerReplica& leader = elect();
  runDry(leader);

  clock.advance(1min);
  runDry(leader);
  runDry(leader);

  ASSERT_THAT(events.of<GapFound>(), SizeIs(1));
  EXPECT_EQ(events.of<GapFound>()[0].number, 1);
  EXPECT_THAT(handled, IsEmpty());
}

// shows: numbers/old-gap-told
TEST_F(Numbers, AnOldGapIsSkippedWithADeadLetter) {
  options.whenGapIsOld = GapPolicy::skip;
  sendAll({3, 5});
  ConsumerReplica& leader = elect();
  runDry(leader);

  clock.advance(1min);
  runDry(leader);
  clock.advance(1min);
  runDry(leader);
  sendAll({2, 6});
  runDry(leader);

  EXPECT_THAT(handled, ElementsAre("g3", "g5", "g6"));
  EXPECT_THAT(events.of<GapSkipped>(), SizeIs(2));
  ASSERT_THAT(world.deadLetters(), SizeIs(3));
  EXPECT_THAT(world.deadLetters()[0].reason, testing::StartsWith("numbers 1 to 2 never came"));
  EXPECT_EQ(world.deadLetters()[2].message.id.value, "g2") << "it came after it was given up";
}

TEST_F(Numbers, TheLetterOfAGapSaysWhichNumbersAreMissing) {
  options.whenGapIsOld = GapPolicy::skip;
  sendAll({4});
  ConsumerReplica& leader = elect();
  runDry(leader);
  clock.advance(1min);
  runDry(leader);

  ASSERT_THAT(world.deadLetters(), SizeIs(1));
  EXPECT_EQ(world.deadLetters()[0].missingFrom, 1);
  EXPECT_EQ(world.deadLetters()[0].missingTo, 3);
  EXPECT_THAT(world.deadLetters()[0].message.headers, IsEmpty());
}

// shows: numbers/old-gap-told
TEST_F(Numbers, AnOldGapEndsTheTermWhereThatIsAskedFor) {
  options.whenGapIsOld = GapPolicy::stop;
  sendAll({2});
  runDry(elect());

  clock.advance(1min);

  EXPECT_EQ(replicas.back().endOf(5), EndReason::failed);
  EXPECT_TRUE(replicas.back().error().is(Errc::gapTooOld));
  EXPECT_EQ(elect().endOf(5), EndReason::failed) << "and so does the next one, until the number comes";
}

TEST_F(Numbers, AnOldGapStopsNobodyWhoHasTheMissingNumberBeforeHim) {
  options.whenGapIsOld = GapPolicy::stop;
  sendAll({2});
  runDry(elect());
  clock.advance(1min);

  sendAll({1});
  runDry(elect());

  EXPECT_THAT(handled, ElementsAre("g1", "g2"));
}

TEST_F(Numbers, AGapThatGrewOldWhileNobodyLedIsSkippedOnlyWhenItsNumbersAreNotAtTheSource) {
  options.whenGapIsOld = GapPolicy::skip;
  sendAll({3});
  runDry(elect());
  clock.advance(1min);

  sendAll({1});
  runDry(elect());

  EXPECT_THAT(handled, ElementsAre("g1"));
  clock.advance(1min);
  runDry(replicas.back());
  EXPECT_THAT(handled, ElementsAre("g1", "g3"));
}

// shows: numbers/message-max-kept
TEST_F(Numbers, TooManyThatWaitEndTheTerm) {
  options.maxKept = 2;
  sendAll({2, 3, 4});

  EXPECT_EQ(elect().endOf(5), EndReason::failed);

  EXPECT_TRUE(replicas.back().error().is(Errc::gapTooOld));
  EXPECT_THAT(world.waiting(), SizeIs(1));
}

TEST_F(Numbers, TooManyThatWaitAreToldOf) {
  options.maxKept = 2;
  sendAll({2, 3, 4});

  EXPECT_EQ(elect().endOf(5), EndReason::failed);

  ASSERT_THAT(events.of<GapFound>(), SizeIs(1));
  EXPECT_EQ(events.of<GapFound>()[0].number, 1);
}

// shows: numbers/message-max-kept
TEST_F(Numbers, WhereGapsAreSkippedTooManyThatWaitAreWaitedForNoLonger) {
  options.whenGapIsOld = GapPolicy::skip;
  options.maxKept = 2;
  sendAll({2, 3, 4, 5});
  send("h", 1);
  sendAll({1});

  runDry(elect());

  EXPECT_THAT(handled, ElementsAre("g2", "g3", "g4", "g5", "h1"));
  EXPECT_THAT(deadIds(), testing::Contains("g1")) << "it came after it was given up";
  EXPECT_THAT(events.of<GapSkipped>(), SizeIs(1));
}

TEST_F(Numbers, ASuspectThatIsOneTooManyEndsNoTermWhereGapsAreSkipped) {
  options.whenGapIsOld = GapPolicy::skip;
  options.maxKept = 2;
  sendAll({2, 3});
  runDry(elect());
  send("killer", "h", 1);
  sendAll({4, 5});
  diesOf(elect(), "killer");

  runDry(elect());

  EXPECT_THAT(doneIds(), ElementsAre("g2", "g3", "killer", "g4", "g5"));
}

TEST_F(Numbers, AnOldGapIsToldOfWhileOtherMessagesStillWait) {
  options.whenGapIsOld = GapPolicy::skip;
  options.maxBatch = 1;
  sendAll({2});
  for (int i = 1; i <= 20; ++i) send("h", i);
  std::size_t toldBefore = 0;
  behaviour = [&](const Delivery& delivery) {
    clock.advance(2s);
    if (delivery.message.id.value == "h20") toldBefore = events.of<GapFound>().size();
    return Outcome::done();
  };

  runDry(elect());

  EXPECT_EQ(toldBefore, 1U);
  EXPECT_THAT(events.of<GapFound>(), SizeIs(1));
  EXPECT_EQ(events.of<GapSkipped>().size(), 1U) << "when nothing is on its way any more";
}

TEST_F(Numbers, AnUnfitMessageKeepsItsGroupFromNothing) {
  NewMessage unfit{
      MessageId{"g1"}, GroupId{"g"}, std::string(maxBodyBytes + 1, 'x'), {{std::string(numberHeader), "1"}}};
  world.deliver({unfit});
  sendAll({2});

  runDry(elect());

  EXPECT_THAT(deadIds(), ElementsAre("g1"));
  EXPECT_THAT(handled, ElementsAre("g2"));
}

// shows: numbers/old-gap-skip
TEST_F(Numbers, WhatIsGivenUpNeedsKeysToBeToldFromRepeats) {
  options.delivery = Guarantee::atLeastOnce;
  options.whenGapIsOld = GapPolicy::skip;

  EXPECT_THROW(elect(), std::system_error);
}

TEST_F(Numbers, NoHeaderOfAMessageIsTakenForWhatTheConsumerHasWritten) {
  world.deliver({NewMessage{MessageId{"a"}, GroupId{"g"}, "body", {{"tenure-missing-number", "1"}}}});

  runDry(elect());

  EXPECT_THAT(doneIds(), ElementsAre("a"));
}

TEST_F(Numbers, TakenBeforeItsHandlerStartsANumberIsPastWithTheTaking) {
  options.delivery = Guarantee::atMostOnce;
  sendAll({2, 3, 1});
  behaviour = [](const Delivery& delivery) {
    return delivery.message.id.value == "g2" ? Outcome::failed("no") : Outcome::done();
  };

  runDry(elect());

  EXPECT_THAT(handled, ElementsAre("g1", "g2", "g3"));
  EXPECT_THAT(deadIds(), ElementsAre("g2"));
}

TEST_F(Numbers, CannotBeCombinedWithCoalescing) {
  options.coalesce = Coalesce::byKey;
  EXPECT_THROW(enrol(), std::system_error);
}

TEST_F(Numbers, WhatIsHandledLeavesOnlyItsGroupsTurn) {
  sendAll({2});
  ConsumerReplica& leader = elect();
  runDry(leader);
  ASSERT_THAT(openGroups(), SizeIs(1));
  EXPECT_EQ(openGroups()[0].group.group, GroupId{"g"});
  sendAll({1});

  runDry(leader);

  EXPECT_THAT(openGroups(), IsEmpty());
  send("late", "g", 1);
  runDry(elect());
  EXPECT_THAT(deadIds(), ElementsAre("late")) << "the next term knows where the group stands";
}

// --- any order, repeats, faults, kills

class NumbersStorm : public Numbers, public testing::WithParamInterface<int> {
 protected:
  static constexpr int groups = 4;
  static constexpr int each = 15;

  bool oneIn(std::uint64_t n) { return random.below(n) == 0; }

  void drawOptions() {
    options.jitterSeed = static_cast<std::uint64_t>(GetParam());
    options.maxBatch = 1 + random.below(6);
    options.maxAttempts = 2 + static_cast<int>(random.below(3));
    options.handlerIsExternal = oneIn(5);
    options.latencyTarget = oneIn(3) ? 0ms : 20ms;
    if (oneIn(2)) acknowledging = memory::Database::Acknowledging::afterCommit;
  }

  /// Each message once or twice, in any order.
  void drawMessages() {
    for (int group = 0; group < groups; ++group)
      for (int number = 1; number <= each; ++number)
        for (int copies = oneIn(6) ? 2 : 1; copies > 0; --copies)
          toSend.emplace_back(static_cast<char>('a' + group), number);
    for (std::size_t i = toSend.size(); i > 1; --i) std::swap(toSend[i - 1], toSend[random.below(i)]);
  }

  void sendSome() {
    for (std::uint64_t count = random.below(20); count > 0 && !toSend.empty(); --count) {
      send(std::string(1, toSend.back().first), toSend.back().second);
      toSend.pop_back();
    }
  }

  Outcome misbehave(const Delivery& delivery) {
    if (oneIn(8)) drawFault(world, random);
    if (oneIn(15)) return strike(delivery, Outcome::failed("drawn"));
    if (oneIn(15)) return Outcome::retryLater("drawn", oneIn(2) ? 5ms : 0ms);
    if (oneIn(25)) {
      replicas.back().term().loseLease();
      return strike(delivery, Outcome::done());
    }
    if (oneIn(25)) replicas.back().term().requestStop();
    return Outcome::done();
  }

  Outcome strike(const Delivery& delivery, Outcome outcome) {
    struck.insert(delivery.message.id.value);
    return outcome;
  }

  void serveATerm() {
    sendSome();
    const std::map<std::string, int> before = charges();
    ConsumerReplica& leader = enrol();
    if (oneIn(4)) drawFault(world, random);
    serve(leader, random);
    excuse(before);
  }

  /// Killed between two steps, or over while the store was away: who was charged for his start cannot be told from one
  /// that killed its process. There is one at most, and it is one death of his.
  void excuse(const std::map<std::string, int>& before) {
    int charged = 0;
    for (const auto& [id, count] : charges()) {
      const auto known = before.find(id);
      if (known != before.end() && known->second >= count) continue;
      ++excused[id];
      ++charged;
    }
    EXPECT_LE(charged, 1);
  }
  std::map<std::string, int> charges() const {
    std::map<std::string, int> charges;
    for (const AttemptRecord& attempt : found().attempts)
      if (attempt.begunBy.value != 0) charges.emplace(attempt.id.value, attempt.attempts);
    return charges;
  }
  void expectOnlyTheGuiltyDead() {
    for (const std::string& id : deadIds())
      EXPECT_TRUE(struck.contains(id) || excused[id] >= options.maxAttempts) << id << " never did anything wrong";
  }

  void bringToAnEnd() {
    while (!toSend.empty()) sendSome();
    world.heal();
    behaviour = [](const Delivery&) { return Outcome::done(); };
    runDry(elect());
  }

  Random random{static_cast<std::uint64_t>(GetParam())};
  std::vector<std::pair<char, int>> toSend;
  std::set<std::string> struck;
  std::map<std::string, int> excused;
};

// shows: numbers/group-handled-order
TEST_P(NumbersStorm, EveryMessageEndsOnceInTheOrderOfNumbersAndOnlyTheGuiltyDie) {
  drawOptions();
  drawMessages();
  behaviour = [this](const Delivery& delivery) { return misbehave(delivery); };
  for (int term = 0; term < 12; ++term) serveATerm();

  bringToAnEnd();

  const auto ledger = world.ledger();
  EXPECT_EQ(ledger.size(), groups * each);
  std::map<char, int> last;
  for (const auto& entry : ledger)
    EXPECT_EQ(std::stoi(entry.message.value.substr(1)), ++last[entry.message.value[0]]) << entry.message.value;
  expectOnlyTheGuiltyDead();
}

TEST_P(NumbersStorm, WithoutKeysNothingIsLostAndNothingComesAgainAfterItsNumberIsPast) {
  options.delivery = Guarantee::atLeastOnce;
  drawOptions();
  drawMessages();
  std::map<char, int> highest;
  behaviour = [&](const Delivery& delivery) { return misbehave(delivery); };
  for (int term = 0; term < 12; ++term) serveATerm();

  bringToAnEnd();

  std::set<std::string> ended(handled.begin(), handled.end());
  for (const std::string& id : deadIds()) ended.insert(id);
  EXPECT_EQ(ended.size(), groups * each);
  const std::vector<std::string> dead = deadIds();
  for (const std::string& id : handled) {
    int& top = highest[id[0]];
    while (std::ranges::count(dead, id[0] + std::to_string(top + 1)) > 0) ++top;
    EXPECT_LE(std::stoi(id.substr(1)), top + 1) << "before its turn";
    top = std::max(top, std::stoi(id.substr(1)));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, NumbersStorm, testing::Range(1, 301));

}  // namespace
}  // namespace tenure::test
