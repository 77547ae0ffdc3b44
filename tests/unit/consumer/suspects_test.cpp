#include "scene.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// Which message kills its process? A kill is a ConsumerReplica that is not handed over.
class ConsumerSuspects : public Scene {
 protected:
  void dieIn(const std::string& id) { diesOf(elect(), id); }
  /// A successor that is asked to leave by its first message.
  void handOverAfterOne() {
    ConsumerReplica* successor = nullptr;
    behaviour = [&successor](const Delivery&) {
      successor->term().requestStop();
      return Outcome::done();
    };
    successor = &elect();
    successor->execute();
    successor->handOver();
    behaviour = [](const Delivery&) { return Outcome::done(); };
  }
};

TEST_F(ConsumerSuspects, ATermThatEndedCleanlyLeavesNone) {
  produce({"a", "b"});
  ConsumerReplica& leader = elect();
  workOff(leader);
  leader.handOver();
  produce({"c"});

  workOff(elect());

  EXPECT_FALSE(found().inWork.ids.empty() && !found().inWork.more) << "the successor's own record";
  EXPECT_THAT(events.of<MessageSuspected>(), IsEmpty());
}

TEST_F(ConsumerSuspects, ACleanEndClearsTheRecord) {
  produce({"a"});
  ConsumerReplica& leader = elect();
  workOff(leader);
  ASSERT_TRUE(found().inWork.more);

  leader.handOver();

  EXPECT_THAT(inWorkIds(), IsEmpty());
  EXPECT_FALSE(found().inWork.more);
}

TEST_F(ConsumerSuspects, TheLastCommitBeforeAStopClearsItWithoutACommitOfItsOwn) {
  produce({"a", "b", "c"});
  ConsumerReplica* leader = nullptr;
  behaviour = [&](const Delivery&) {
    leader->term().requestStop();
    return Outcome::done();
  };
  leader = &elect();

  leader->execute();

  const auto commits = world.commits();
  EXPECT_THAT(doneIds(), ElementsAre("a"));
  EXPECT_THAT(inWorkIds(), IsEmpty());
  EXPECT_FALSE(found().inWork.more);
  leader->handOver();
  EXPECT_EQ(world.commits(), commits);
}

TEST_F(ConsumerSuspects, AKillerOfATermsVeryFirstBatchIsAmongThem) {
  options.maxAttempts = 1;
  produce({"killer"});
  dieIn("killer");
  dieIn("killer");

  workOff(elect());

  EXPECT_EQ(timesHandled("killer"), 2);
  EXPECT_THAT(deadIds(), ElementsAre("killer"));
}

TEST_F(ConsumerSuspects, ATermThatEndedCleanlyWithoutAnyWorkLeavesNone) {
  produce({"a"});
  for (int term = 0; term < 3; ++term) elect().handOver();

  workOff(elect());

  EXPECT_THAT(events.of<MessageSuspected>(), IsEmpty());
}

TEST_F(ConsumerSuspects, ACleanEndBeforeTheyWereLookedAtKeepsThem) {
  produce({"a"});
  dieIn("a");
  elect().handOver();

  workOff(elect());

  EXPECT_THAT(events.of<MessageSuspected>(), SizeIs(1));
}

// shows: messages/suspect-count-written, design/commit-writes-down
TEST_F(ConsumerSuspects, TheSuccessorRunsThemOneByOneEachAttemptDurableBeforeItsHandler) {
  options.maxBatch = 2;
  produce({"a", "b", "c"});
  dieIn("b");
  std::vector<std::string> onRecord;
  behaviour = [&](const Delivery& delivery) {
    for (const auto& attempt : found().attempts)
      onRecord.push_back(delivery.message.id.value + ":" + attempt.id.value + std::to_string(attempt.attempts));
    return Outcome::done();
  };
  handled.clear();

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("a", "b", "c"));
  EXPECT_THAT(onRecord, ElementsAre("a:a1", "b:b1"));  // c was not in work
  std::vector<std::string> suspected;
  for (const auto& event : events.of<MessageSuspected>()) suspected.push_back(event.message);
  EXPECT_THAT(suspected, ElementsAre("a", "b"));
  EXPECT_THAT(found().attempts, IsEmpty());
}

TEST_F(ConsumerSuspects, OncePastTheSuspectsBatchesAreNormalAgain) {
  options.maxBatch = 2;
  produce({"a", "b", "c", "d"});
  dieIn("a");

  workOff(elect());

  std::vector<std::size_t> sizes;
  for (const auto& batch : events.of<BatchCommitted>()) sizes.push_back(batch.messages);
  EXPECT_THAT(sizes, ElementsAre(1, 1, 2));
}

TEST_F(ConsumerSuspects, Row32AKillerIsADeadLetterAfterItsLastStartWithoutRunningAgain) {
  options.maxAttempts = 2;
  produce({"a", "killer", "c"});
  dieIn("killer");  // in a batch: nobody is charged
  dieIn("killer");  // alone, first start
  dieIn("killer");  // alone, second start
  EXPECT_EQ(timesHandled("killer"), 3);

  workOff(elect());

  EXPECT_EQ(timesHandled("killer"), 3);
  EXPECT_THAT(deadIds(), ElementsAre("killer"));
  EXPECT_EQ(world.deadLetters()[0].reason, "its process died during its last attempt");
  EXPECT_EQ(world.deadLetters()[0].attempts, 2);
  EXPECT_THAT(doneIds(), ElementsAre("a", "c"));
}

TEST_F(ConsumerSuspects, AreCountedAtTheTakeoverAndASecondStartTellsThatTheFirstDidNotComeHome) {
  produce({"killer"});
  dieIn("killer");  // in a batch
  dieIn("killer");  // alone

  workOff(elect());

  ASSERT_THAT(events.of<SuspectsFound>(), SizeIs(2));
  EXPECT_EQ(events.of<SuspectsFound>()[1].messages, 1);
  ASSERT_THAT(events.of<AttemptFailed>(), SizeIs(1));
  EXPECT_EQ(events.of<AttemptFailed>()[0].message, "killer");
  EXPECT_EQ(events.of<AttemptFailed>()[0].attempt, 1);
  EXPECT_EQ(events.of<AttemptFailed>()[0].error, "its process died");
}

// shows: messages/message-kills-process
TEST_F(ConsumerSuspects, DeathsWhileOthersWereInWorkDoNotCondemnAnInnocentOne) {
  options.maxAttempts = 2;
  options.maxBatch = 8;
  produce({"a", "b", "c", "d", "e", "f"});
  for (const auto* id : {"a", "b", "c", "d", "e", "f"}) dieIn(id);

  workOff(elect());

  EXPECT_THAT(deadIds(), IsEmpty());
  EXPECT_THAT(doneIds(), ElementsAre("a", "b", "c", "d", "e", "f"));
}

TEST_F(ConsumerSuspects, AKillerIsNeverChargedForTheProcessesThatItDidNotKill) {
  options.maxAttempts = 3;
  produce({"innocent", "killer"});
  for (int death = 0; death < 4; ++death) dieIn("killer");

  workOff(elect());

  EXPECT_THAT(doneIds(), ElementsAre("innocent"));
  EXPECT_THAT(deadIds(), ElementsAre("killer"));
}

TEST_F(ConsumerSuspects, WhatArrivedUnseenIsSuspectedUpToABatch) {
  options.maxBatch = 3;
  ConsumerReplica& leader = elect();
  leader.execute();  // idle: whatever comes next may be in work
  ASSERT_TRUE(found().inWork.more);
  produce({"a", "b", "c", "d"});

  workOff(elect());

  std::vector<std::string> suspected;
  for (const auto& event : events.of<MessageSuspected>()) suspected.push_back(event.message);
  EXPECT_THAT(suspected, ElementsAre("a", "b", "c"));
}

TEST_F(ConsumerSuspects, WhatArrivesAfterTheTakeoverIsNotSuspected) {
  ConsumerReplica& leader = elect();
  leader.execute();
  ConsumerReplica& successor = elect();
  successor.execute();  // found nothing waiting
  produce({"a"});

  workOff(successor);

  EXPECT_THAT(events.of<MessageSuspected>(), IsEmpty());
}

TEST_F(ConsumerSuspects, ASuspectThatWasCommittedBeforeTheDeathIsDroppedUncharged) {
  acknowledging = memory::Database::Acknowledging::afterCommit;
  produce({"a", "b"});
  world.fail(memory::Operation::acknowledge, Errc::leaseLost);
  EXPECT_EQ(elect().endOf(500), EndReason::leaseLost);  // committed, not acknowledged
  ASSERT_THAT(doneIds(), ElementsAre("a", "b"));

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("a", "b"));
  EXPECT_THAT(events.of<DuplicateDropped>(), SizeIs(2));
  EXPECT_THAT(events.of<MessageSuspected>(), IsEmpty());
}

TEST_F(ConsumerSuspects, ASuspectThatFailsIsChargedOnceForTheStart) {
  options.maxAttempts = 3;
  produce({"a"});
  dieIn("a");
  behaviour = [](const Delivery& delivery) { return delivery.attempt < 3 ? Outcome::failed("no") : Outcome::done(); };
  attempts.clear();

  workOff(elect());

  EXPECT_THAT(attempts, ElementsAre(1, 2, 3));
  EXPECT_THAT(doneIds(), ElementsAre("a"));
}

TEST_F(ConsumerSuspects, ASuspectThatAsksForLaterIsNotCharged) {
  options.maxAttempts = 1;
  produce({"a"});
  dieIn("a");
  int calls = 0;
  behaviour = [&](const Delivery&) { return ++calls < 4 ? Outcome::retryLater("not yet", 1ms) : Outcome::done(); };

  workOff(elect());

  EXPECT_THAT(doneIds(), ElementsAre("a"));
}

TEST_F(ConsumerSuspects, AStoreFailureAfterTheHandlerDoesNotChargeTwice) {
  options.maxAttempts = 1;
  produce({"a"});
  dieIn("a");
  behaviour = [&](const Delivery&) {
    if (handled.size() == 2) world.fail(memory::Operation::commit, Errc::unavailable);
    return Outcome::done();
  };

  workOff(elect());

  EXPECT_EQ(timesHandled("a"), 3);
  EXPECT_THAT(doneIds(), ElementsAre("a"));
}

TEST_F(ConsumerSuspects, WithoutACounterNothingRuns) {
  produce({"a"});
  dieIn("a");
  ConsumerReplica& successor = elect();
  world.fail(memory::Operation::write, Errc::unavailable, 100'000);

  EXPECT_EQ(successor.endOf(500), EndReason::failed);

  EXPECT_EQ(timesHandled("a"), 1);
}

TEST_F(ConsumerSuspects, ASuspectIsFoundAgainWhenWhatIsBeforeItCouldNotBeAcknowledged) {
  acknowledging = memory::Database::Acknowledging::afterCommit;
  options.maxAttempts = 1;
  produce({"a", "b"});
  dieIn("b");
  world.fail(memory::Operation::acknowledge, Errc::unavailable);

  dieIn("b");
  workOff(elect());

  EXPECT_EQ(timesHandled("b"), 2) << "the second start was charged";
  EXPECT_THAT(deadIds(), ElementsAre("b"));
}

/// A hundred messages in one batch, of which m40 kills its process; at most 32 of them are narrowed down at a time.
class ConsumerNarrowing : public ConsumerSuspects {
 protected:
  void SetUp() override {
    options.maxBatch = 100;
    options.maxAttempts = 2;
    for (int i = 0; i < 100; ++i) produce({"m" + std::to_string(i)});
  }
  /// With that many suspects, and nobody charged.
  void dieNarrowed(const std::string& id) {
    dieIn(id);
    EXPECT_THAT(found().attempts, IsEmpty());
    EXPECT_THAT(inWorkIds(), SizeIs(32)) << "of all that may have killed it, those are left";
  }
};

// shows: design/many-suspects-narrowed
TEST_F(ConsumerNarrowing, ManySuspectsShareTransactionsFewAtATimeAndNobodyIsCharged) {
  dieIn("m40");
  handled.clear();
  behaviour = [&](const Delivery& delivery) {
    const std::vector<std::string> named = inWorkIds();
    EXPECT_THAT(named, SizeIs(testing::Le(32U)));
    EXPECT_THAT(named, testing::Contains(delivery.message.id.value)) << "or its successor would not find it";
    EXPECT_FALSE(found().inWork.more);
    return Outcome::done();
  };
  const auto before = world.commits();

  workOff(elect());

  EXPECT_THAT(events.of<MessageSuspected>(), IsEmpty());
  ASSERT_THAT(events.of<SuspectsFound>(), SizeIs(1));
  EXPECT_EQ(events.of<SuspectsFound>()[0].messages, 100U);
  EXPECT_EQ(events.of<SuspectsFound>()[0].together, 32U);
  EXPECT_LE(world.commits() - before, 6) << "one that names the first of them, and four with their effects";
  EXPECT_THAT(doneIds(), SizeIs(100));
}

// shows: design/many-suspects-narrowed
TEST_F(ConsumerNarrowing, AKillerAmongManyIsADeadLetterAfterAttemptsOfItsOwnAndNobodyElseIsCharged) {
  dieIn("m40");        // among a hundred
  dieNarrowed("m40");  // among 32
  dieIn("m40");        // alone, first start
  ASSERT_THAT(found().attempts, SizeIs(1));
  EXPECT_EQ(found().attempts[0].id.value, "m40");
  dieIn("m40");  // alone, second start

  workOff(elect());

  EXPECT_EQ(timesHandled("m40"), 4);
  EXPECT_THAT(deadIds(), ElementsAre("m40"));
  EXPECT_EQ(world.deadLetters()[0].attempts, 2);
  EXPECT_THAT(doneIds(), SizeIs(99));
  EXPECT_EQ(timesHandled("m39"), 3) << "and done with the second start alone";
}

TEST_F(ConsumerNarrowing, SeveralKillersAreFoundOneAfterTheOther) {
  dieIn("m10");
  dieNarrowed("m10");
  dieIn("m10");
  dieIn("m10");
  dieIn("m90");  // in an ordinary batch once more
  for (int death = 0; death < 3; ++death) dieIn("m90");

  workOff(elect());

  EXPECT_THAT(deadIds(), ElementsAre("m10", "m90"));
  EXPECT_THAT(doneIds(), SizeIs(98));
}

// shows: design/many-suspects-narrowed
TEST_F(ConsumerNarrowing, WhoWasNarrowedDownStaysAloneWhateverTheNextTermDiesOf) {
  dieIn("m40");
  dieNarrowed("m40");
  dieIn("m40");  // alone
  elect();       // dies before its first commit

  dieIn("m40");
  EXPECT_EQ(events.of<SuspectsFound>().back().together, 1U);
  EXPECT_EQ(events.of<MessageSuspected>().back().message, "m40");
  workOff(elect());

  EXPECT_EQ(timesHandled("m40"), 4);
  EXPECT_THAT(deadIds(), ElementsAre("m40"));
}

TEST_F(ConsumerNarrowing, ACleanHandoverInTheMiddleKeepsTheRestUnderSuspicion) {
  dieIn("m40");
  handOverAfterOne();
  EXPECT_THAT(inWorkIds(), SizeIs(99));

  workOff(elect());

  EXPECT_EQ(events.of<SuspectsFound>().back().messages, 99U);
  EXPECT_EQ(events.of<SuspectsFound>().back().together, 32U);
}

TEST_F(ConsumerNarrowing, WhatHasDiedBeforeIsChargedAmongMany) {
  dieIn("m40");
  ConsumerReplica& leader = elect();
  const auto charged = leader.store().begin(leader.term());
  ASSERT_TRUE(charged);
  const WallTime now = clock.wallNow();
  ASSERT_TRUE((*charged)->recordAttempt(
      ConsumerName{"orders"},
      {.id = MessageId{"m40"}, .attempts = 1, .lastError = {}, .firstAt = now, .lastAt = now, .processDied = true}));
  ASSERT_TRUE((*charged)->commit());

  dieIn("m40");
  EXPECT_EQ(events.of<SuspectsFound>().back().together, 32U);
  ASSERT_THAT(events.of<MessageSuspected>(), SizeIs(1));
  EXPECT_EQ(events.of<MessageSuspected>()[0].message, "m40");
  workOff(elect());

  EXPECT_THAT(deadIds(), ElementsAre("m40"));
  EXPECT_THAT(doneIds(), SizeIs(99));
}

TEST_F(ConsumerNarrowing, AFailureInGoodOrderIsThatMessagesAlone) {
  dieIn("m40");
  behaviour = [](const Delivery& delivery) {
    return delivery.message.id.value == "m5" ? Outcome::failed("no") : Outcome::done();
  };

  workOff(elect());

  EXPECT_THAT(deadIds(), ElementsAre("m5"));
  EXPECT_THAT(doneIds(), SizeIs(99));
}

TEST_F(ConsumerNarrowing, ASourceThatDoesNotHearOfABatchCostsNobodyAnAttempt) {
  acknowledging = memory::Database::Acknowledging::afterCommit;
  dieIn("m40");
  world.fail(memory::Operation::acknowledge, Errc::unavailable);

  dieIn("m40");
  EXPECT_THAT(found().attempts, IsEmpty());
  dieIn("m40");
  dieIn("m40");
  workOff(elect());

  EXPECT_THAT(deadIds(), ElementsAre("m40"));
  EXPECT_THAT(doneIds(), SizeIs(99));
}

TEST_F(ConsumerSuspects, ACleanHandoverInTheMiddleKeepsTheRestUnderSuspicionUncharged) {
  produce({"a", "b", "c"});
  dieIn("b");
  handOverAfterOne();

  EXPECT_THAT(doneIds(), ElementsAre("a"));
  EXPECT_THAT(inWorkIds(), ElementsAre("b", "c"));
  EXPECT_THAT(found().attempts, IsEmpty());
}

}  // namespace
}  // namespace tenure::test
