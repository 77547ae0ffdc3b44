#include "scene.hpp"

namespace tenure::test {
namespace {

using memory::Operation;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// The rows of the phase × fault table that concern the consumer.
class ConsumerFaults : public Scene {};

// --- commit sent, reply lost

// shows: design/unknown-outcome-asked
TEST_F(ConsumerFaults, ACommitWhoseReplyWasLostButLandedIsNotRepeated) {
  produce({"a", "b"});
  behaviour = [this](const Delivery& delivery) {
    if (delivery.message.id.value == "b") world.loseCommitReply(true);
    return Outcome::done();
  };

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("a", "b"));
  EXPECT_THAT(doneIds(), ElementsAre("a", "b"));
  EXPECT_THAT(events.of<BatchCommitted>(), SizeIs(1));
}

TEST_F(ConsumerFaults, ACommitThatDidNotLandIsRepeatedAsAWhole) {
  produce({"a", "b"});
  behaviour = [this](const Delivery&) {
    if (handled.size() == 2) world.loseCommitReply(false);
    return Outcome::done();
  };

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("a", "b", "a", "b"));
  EXPECT_THAT(doneIds(), ElementsAre("a", "b"));
  EXPECT_THAT(events.of<BatchCommitted>(), SizeIs(1));
}

// shows: S5
TEST_F(ConsumerFaults, AnOutcomeThatStaysUnknownEndsTheTermWithoutAcknowledging) {
  acknowledging = memory::Database::Acknowledging::afterCommit;
  produce({"a"});
  behaviour = [this](const Delivery&) {
    world.loseCommitReply(true);
    world.fail(Operation::resolve, Errc::unavailable, 100'000);
    return Outcome::done();
  };
  ConsumerReplica& leader = elect();

  EXPECT_EQ(leader.endOf(500), EndReason::failed);

  EXPECT_TRUE(isOutcomeUnknown(leader.error().code)) << leader.error().message();
  EXPECT_THAT(world.waiting(), SizeIs(1));
}

// shows: design/unknown-outcome-asked
TEST_F(ConsumerFaults, TheSuccessorDecidesAnUnknownOutcomeByTheKey) {
  produce({"a", "b"});
  acknowledging = memory::Database::Acknowledging::afterCommit;
  behaviour = [this](const Delivery& delivery) {
    if (delivery.message.id.value == "b") {
      world.loseCommitReply(true);
      world.fail(Operation::resolve, Errc::staleTerm);
    }
    return Outcome::done();
  };
  EXPECT_EQ(elect().endOf(500), EndReason::fenced);

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("a", "b"));
  EXPECT_THAT(doneIds(), ElementsAre("a", "b"));
  EXPECT_THAT(events.of<DuplicateDropped>(), SizeIs(2));
}

TEST_F(ConsumerFaults, AStopWhileTheOutcomeIsUnknownDoesNotPassForACleanEnd) {
  produce({"a"});
  ConsumerReplica* leader = nullptr;
  behaviour = [&](const Delivery&) {
    world.loseCommitReply(true);
    world.fail(Operation::resolve, Errc::unavailable, 100'000);
    leader->term().requestStop();
    return Outcome::done();
  };
  leader = &elect();

  EXPECT_EQ(leader->endOf(), EndReason::failed);

  EXPECT_TRUE(isOutcomeUnknown(leader->error().code)) << leader->error().message();
}

// --- committed, not acknowledged

// shows: readme/message-may-handed, exactly-once/apart-message-acknowledged
TEST_F(ConsumerFaults, WhatWasCommittedButNotAcknowledgedIsRedeliveredDroppedAndAcknowledged) {
  acknowledging = memory::Database::Acknowledging::afterCommit;
  produce({"a", "b"});
  world.fail(Operation::acknowledge, Errc::unavailable);

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("a", "b"));
  EXPECT_THAT(doneIds(), ElementsAre("a", "b"));
  EXPECT_THAT(events.of<DuplicateDropped>(), SizeIs(2));
}

// --- fenced

// shows: S5
TEST_F(ConsumerFaults, AFencedCommitEndsTheTermWithoutEffectOrAcknowledgement) {
  produce({"a"});
  behaviour = [this](const Delivery&) {
    enrol();
    EXPECT_TRUE(replicas.back().store().claim(replicas.back().term()));
    return Outcome::done();
  };
  ConsumerReplica& old = elect();

  EXPECT_EQ(old.endOf(), EndReason::fenced);

  EXPECT_THAT(doneIds(), IsEmpty());
  EXPECT_EQ(world.value("last"), std::nullopt);
  EXPECT_THAT(world.waiting(), SizeIs(1));
  EXPECT_THAT(events.of<CommitFenced>(), SizeIs(1));
}

TEST_F(ConsumerFaults, AFencedLeaderDoesNotTouchTheSuccessorsRecordWhenItHandsOver) {
  produce({"a", "b"});
  ConsumerReplica& old = elect();
  ConsumerReplica& successor = elect();
  behaviour = [&](const Delivery& delivery) {
    if (delivery.message.id.value == "a") {
      old.handOver();
      EXPECT_THAT(inWorkIds(), ElementsAre("a", "b"));
    }
    return Outcome::done();
  };

  workOff(successor);

  EXPECT_THAT(doneIds(), ElementsAre("a", "b"));
}

TEST_F(ConsumerFaults, ANewerClaimKeepsAnOlderTermOut) {
  ConsumerReplica& late = enrol();
  elect();
  late.term().loseLease();

  EXPECT_THROW(late.becomeLeader(), EndTerm);
}

TEST_F(ConsumerFaults, AFatalErrorOfTheClaimEndsTheTermWithThatError) {
  elect().handOver();
  world.loseFence(ElectionName{"orders"});

  try {
    elect();
    FAIL();
  } catch (const EndTerm& end) {
    EXPECT_TRUE(end.error().is(Errc::fenceLost));
    EXPECT_EQ(end.reason(), EndReason::failed);
  }
}

TEST_F(ConsumerFaults, Row33AFenceThatIsLostWhileLeadingStopsTheConsumer) {
  produce({"a"});
  ConsumerReplica& leader = elect();
  world.loseFence(ElectionName{"orders"});

  EXPECT_EQ(leader.endOf(), EndReason::failed);

  EXPECT_TRUE(isFatal(leader.error().code));
  EXPECT_THAT(doneIds(), IsEmpty());
}

// --- lease

TEST_F(ConsumerFaults, WithoutAValidLeaseNothingIsCommitted) {
  produce({"a"});
  ConsumerReplica* leader = nullptr;
  behaviour = [&](const Delivery&) {
    leader->term().loseLease();
    return Outcome::done();
  };
  leader = &elect();

  EXPECT_EQ(leader->endOf(), EndReason::leaseLost);

  EXPECT_THAT(doneIds(), IsEmpty());
}

// shows: design/six-proofs-session
TEST_F(ConsumerFaults, PastTheSoftLimitWhatIsInHandIsCommittedAndNothingBegins) {
  produce({"a", "b"});
  behaviour = [this](const Delivery&) {
    clock.advance(9h);  // of 24: past a third, not past a half
    return Outcome::done();
  };
  ConsumerReplica& leader = elect();

  EXPECT_TRUE(leader.execute());

  EXPECT_THAT(doneIds(), ElementsAre("a"));
  EXPECT_THAT(handled, ElementsAre("a"));
}

TEST_F(ConsumerFaults, ALeaseThatComesBackLetsItGoOn) {
  produce({"a", "b"});
  behaviour = [this](const Delivery& delivery) {
    if (delivery.message.id.value == "a") clock.advance(9h);
    return Outcome::done();
  };
  ConsumerReplica& leader = elect();
  leader.execute();
  leader.term().state().lease().confirm(clock.now());

  workOff(leader);

  EXPECT_THAT(doneIds(), ElementsAre("a", "b"));
}

// --- store down

TEST_F(ConsumerFaults, AStoreThatIsAwayForAWhileHoldsUpAndLosesNothing) {
  produce({"a", "b"});
  ConsumerReplica& leader = elect();
  world.fail(Operation::write, Errc::unavailable, 5);

  workOff(leader);

  EXPECT_THAT(doneIds(), ElementsAre("a", "b"));
  EXPECT_THAT(events.of<OutageBegan>(), SizeIs(1));
  EXPECT_THAT(events.of<OutageEnded>(), SizeIs(1));
}

TEST_F(ConsumerFaults, AStoreThatStaysAwayEndsTheTerm) {
  options.outageLimit = 5s;
  produce({"earlier"});
  ConsumerReplica& leader = elect();
  workOff(leader);
  produce({"a"});
  world.fail(Operation::write, Errc::storeBusy, 100'000);
  const BootTime before = clock.now();

  EXPECT_EQ(leader.endOf(500), EndReason::failed);

  EXPECT_GE(clock.now() - before, 5s);
  EXPECT_THAT(world.waiting(), SizeIs(1));
  EXPECT_THAT(handled, SizeIs(2)) << "only the one that found it out";
}

TEST_F(ConsumerFaults, AnOutageAtTheHandlersFirstStatementIsNobodysFailedAttempt) {
  options.maxAttempts = 1;
  produce({"a"});
  ConsumerReplica& leader = elect();
  world.fail(Operation::write, Errc::storeBusy, 3);

  workOff(leader);

  EXPECT_THAT(doneIds(), ElementsAre("a"));
  EXPECT_THAT(deadIds(), IsEmpty());
  EXPECT_THAT(attempts, Each(1));
}

TEST_F(ConsumerFaults, AHandlerThatPostponesItsMessageHidesNoOutage) {
  options.outageLimit = 5s;
  whenRefused = [](const Error& error) { return Outcome::retryLater(error.message(), 1ms); };
  produce({"a"});
  ConsumerReplica& leader = elect();
  world.fail(Operation::write, Errc::storeBusy, 100'000);

  EXPECT_EQ(leader.endOf(500), EndReason::failed);

  EXPECT_THAT(events.of<OutageBegan>(), SizeIs(1));
  EXPECT_THAT(events.of<MessagePostponed>(), IsEmpty());
}

TEST_F(ConsumerFaults, Row34AHandlerThatPostponesItsMessageHidesNoFullDisk) {
  whenRefused = [](const Error& error) { return Outcome::retryLater(error.message(), 1ms); };
  produce({"a"});
  ConsumerReplica& leader = elect();
  world.fail(Operation::write, Errc::storeFull, 1);

  EXPECT_EQ(leader.endOf(500), EndReason::failed);

  EXPECT_THAT(world.waiting(), SizeIs(1));
}

// shows: send/former-leader-brings, messages/store-source-ensemble
TEST_F(ConsumerFaults, AnOutageDuringTheCommitIsNobodysFailedAttempt) {
  options.maxAttempts = 1;
  produce({"a"});
  behaviour = [this](const Delivery&) {
    if (handled.size() <= 3) world.fail(Operation::commit, Errc::unavailable);
    return Outcome::done();
  };

  workOff(elect());

  EXPECT_THAT(doneIds(), ElementsAre("a"));
  EXPECT_THAT(deadIds(), IsEmpty());
}

TEST_F(ConsumerFaults, AFailedAttemptThatCouldNotBeRecordedDoesNotCount) {
  options.maxAttempts = 2;
  produce({"a"});
  behaviour = [this](const Delivery&) {
    if (handled.size() > 3) return Outcome::done();
    if (handled.size() <= 2) world.fail(Operation::commit, Errc::unavailable);
    return Outcome::failed("no");
  };

  workOff(elect());

  EXPECT_THAT(attempts, ElementsAre(1, 1, 1, 2));
  EXPECT_THAT(doneIds(), ElementsAre("a"));
}

// shows: operations/full-disk-costs
TEST_F(ConsumerFaults, Row34AFullStoreEndsTheTermAtOnceWithoutAcknowledging) {
  produce({"a"});
  ConsumerReplica& leader = elect();
  behaviour = [this](const Delivery&) {
    world.fail(Operation::commit, Errc::storeFull);
    return Outcome::done();
  };

  EXPECT_EQ(leader.endOf(), EndReason::failed);

  EXPECT_TRUE(leader.error().is(Errc::storeFull));
  EXPECT_THAT(world.waiting(), SizeIs(1));
}

TEST_F(ConsumerFaults, AStoreThatIsAwayAtTheClaimIsTriedAgain) {
  produce({"a"});
  world.fail(Operation::claim, Errc::storeBusy, 2);
  world.fail(Operation::state, Errc::unavailable, 2);

  workOff(elect());

  EXPECT_THAT(doneIds(), ElementsAre("a"));
}

TEST_F(ConsumerFaults, AStoreThatStaysAwayAtTheClaimEndsTheTerm) {
  world.fail(Operation::claim, Errc::unavailable, 100'000);

  EXPECT_THROW(elect(), EndTerm);
}

TEST_F(ConsumerFaults, AMessageThatTheStoreCannotTakeIsADeadLetter) {
  produce({"a", "b", "c"});
  ConsumerReplica& leader = elect();
  behaviour = [this](const Delivery&) {
    if (handled.back() == "b") world.fail(Operation::commit, Errc::payloadTooLarge);
    return Outcome::done();
  };

  workOff(leader);

  EXPECT_THAT(doneIds(), ElementsAre("a", "c"));
  EXPECT_THAT(deadIds(), ElementsAre("b"));
}

TEST_F(ConsumerFaults, AMessageWhoseEffectTheCommitForbidsDoesNotTakeItsNeighboursAlong) {
  produce({"a", "b", "c"});
  ConsumerReplica& leader = elect();
  behaviour = [this](const Delivery&) {
    if (handled.back() == "b") world.fail(Operation::commit, Errc::invalidArgument);
    return Outcome::done();
  };

  workOff(leader);

  EXPECT_THAT(doneIds(), ElementsAre("a", "c"));
  EXPECT_THAT(deadIds(), ElementsAre("b"));
}

TEST_F(ConsumerFaults, ABatchThatTheStoreTookBackIsHandledAgainAtOnceAndBlamesNobody) {
  produce({"a", "b"});
  behaviour = [this](const Delivery&) {
    if (handled.size() == 2) world.fail(Operation::commit, Errc::transactionConflict);
    return Outcome::done();
  };

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("a", "b", "a", "b"));
  EXPECT_THAT(doneIds(), ElementsAre("a", "b"));
  EXPECT_THAT(events.of<OutageBegan>(), IsEmpty());
  EXPECT_THAT(events.of<AttemptFailed>(), IsEmpty());
}

// --- source down

TEST_F(ConsumerFaults, ASourceThatIsAwayIsAttachedAgain) {
  produce({"a"});
  ConsumerReplica& leader = elect();
  world.fail(Operation::fetch, Errc::unavailable, 2);
  world.fail(Operation::attach, Errc::unavailable, 2);

  workOff(leader);

  EXPECT_THAT(doneIds(), ElementsAre("a"));
  EXPECT_THAT(events.of<OutageEnded>(), SizeIs(1));
}

TEST_F(ConsumerFaults, WhatIsInHandIsCommittedWhenTheSourceGoesAway) {
  produce({"a"});
  behaviour = [this](const Delivery&) {
    world.fail(Operation::fetch, Errc::unavailable);
    return Outcome::done();
  };

  elect().execute();

  EXPECT_THAT(doneIds(), ElementsAre("a"));
  EXPECT_THAT(handled, ElementsAre("a"));
}

TEST_F(ConsumerFaults, ASourceThatStaysAwayEndsTheTerm) {
  ConsumerReplica& leader = elect();
  world.fail(Operation::fetch, Errc::unavailable, 100'000);

  EXPECT_EQ(leader.endOf(500), EndReason::failed);
}

TEST_F(ConsumerFaults, AQueueOfAnotherElectionIsRefused) {
  elect().handOver();
  memory::Database database{world, noEvents(), clock};
  Consumer stranger{database.source(), database.store(), behaviour, options, events, clock};
  const TestTerm term{identityWith(9, "payments"), 24h, clock};

  try {
    stranger.inaugurate(term);
    FAIL();
  } catch (const EndTerm& end) {
    EXPECT_TRUE(end.error().is(Errc::queueOwned));
  }
}

// --- draining

TEST_F(ConsumerFaults, AStopFinishesTheMessageInHandAndNoOther) {
  produce({"a", "b"});
  ConsumerReplica* leader = nullptr;
  behaviour = [&](const Delivery&) {
    leader->term().requestStop();
    return Outcome::done();
  };
  leader = &elect();

  EXPECT_FALSE(leader->execute());
  leader->handOver();

  EXPECT_THAT(doneIds(), ElementsAre("a"));
  ASSERT_THAT(world.waiting(), SizeIs(1));
}

TEST_F(ConsumerFaults, AStopEndsAWaitForARetryAtOnce) {
  options.retryBase = options.retryMax = 1h;
  options.idleWait = 10s;
  behaviour = [](const Delivery&) { return Outcome::failed("no"); };
  produce({"a"});
  ConsumerReplica& leader = elect();
  leader.execute();
  leader.term().requestStop();
  const BootTime before = clock.now();

  EXPECT_FALSE(leader.execute());

  EXPECT_EQ(clock.now(), before);
}

TEST_F(ConsumerFaults, AStopDuringTheInaugurationEndsItQuietly) {
  world.fail(Operation::claim, Errc::unavailable, 100'000);
  ConsumerReplica& leader = enrol();
  leader.term().requestStop();

  EXPECT_NO_THROW(leader.becomeLeader());
  EXPECT_NO_THROW(leader.handOver());
}

TEST_F(ConsumerFaults, ALongWaitReportsProgressAndComesBackEachSlice) {
  options.retryBase = options.retryMax = 30s;
  options.idleWait = 1s;
  behaviour = [](const Delivery&) { return Outcome::retryLater("not yet", 30s); };
  produce({"a"});
  ConsumerReplica& leader = elect();
  leader.execute();
  const BootTime before = clock.now();

  EXPECT_TRUE(leader.execute());

  EXPECT_EQ(clock.now() - before, 1s);
  EXPECT_EQ(leader.term().state().lastProgress(), before);
}

// --- killed

// shows: exactly-once/transaction-effect-fence
TEST_F(ConsumerFaults, AProcessKilledWhileExecutingLeavesNoEffectAndItsMessageIsRedelivered) {
  produce({"a", "b", "c"});
  diesOf(elect(), "b");
  EXPECT_THAT(doneIds(), IsEmpty());
  EXPECT_THAT(world.waiting(), SizeIs(3));

  workOff(elect());

  EXPECT_THAT(doneIds(), ElementsAre("a", "b", "c"));
}

// shows: S7
TEST_F(ConsumerFaults, TokensNeverGoDownInTheLedger) {
  options.maxBatch = 3;
  for (int i = 0; i < 40; ++i) produce({std::to_string(i)});
  for (const auto* id : {"3", "11", "12", "25"}) diesOf(elect(), id);

  workOff(elect());

  const auto ledger = world.ledger();
  ASSERT_THAT(ledger, SizeIs(40));
  EXPECT_TRUE(std::ranges::is_sorted(ledger, {}, &memory::LedgerEntry::token));
  for (std::size_t i = 0; i < ledger.size(); ++i) EXPECT_EQ(ledger[i].message.value, std::to_string(i));
}

}  // namespace
}  // namespace tenure::test
