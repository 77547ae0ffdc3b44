// What each guarantee promises of a message when something happens to its leader, and what it does not.
#include "scene.hpp"
#include "support/results.hpp"

namespace tenure::test {
namespace {

using memory::Operation;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using Acknowledging = memory::Database::Acknowledging;

class AtLeastOnce : public Scene {
 protected:
  AtLeastOnce() { options.delivery = Guarantee::atLeastOnce; }
};

// shows: messages/least-once-keys
TEST_F(AtLeastOnce, LeavesNoKeysAndHandlesInOrder) {
  produce({"1", "2", "3"});

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("1", "2", "3"));
  EXPECT_THAT(world.ledger(), IsEmpty());
}

// shows: messages/least-once-keys
TEST_F(AtLeastOnce, AMessageThatIsSentTwiceIsHandledTwice) {
  produce({"1", "1"});

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("1", "1"));
}

TEST_F(AtLeastOnce, WhatWasCommittedButNotAcknowledgedComesAgainToTheNextTerm) {
  acknowledging = Acknowledging::afterCommit;
  produce({"1", "2"});
  ConsumerReplica& first = elect();
  world.fail(Operation::acknowledge, Errc::unavailable, 1'000);
  first.execute();
  world.heal();

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("1", "2", "1", "2"));
}

TEST_F(AtLeastOnce, TheTermThatCommittedItOnlyAcknowledgesItAgain) {
  acknowledging = Acknowledging::afterCommit;
  produce({"1", "2"});
  world.fail(Operation::acknowledge, Errc::unavailable, 3);

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("1", "2"));
}

TEST_F(AtLeastOnce, AnotherMessageUnderAnIdThatWaitsForItsAcknowledgementIsHandled) {
  acknowledging = Acknowledging::afterCommit;
  behaviour = [this](const Delivery& delivery) {
    if (handled.size() == 1) {
      world.fail(Operation::acknowledge, Errc::unavailable, 1);
      produce(delivery.message.id.value, "another body");
    }
    return Outcome::done();
  };
  produce("1", "a body");

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("1", "1"));
}

TEST_F(AtLeastOnce, AKillerOfItsProcessStillBecomesADeadLetterAndItsNeighboursDoNot) {
  options.maxAttempts = 2;
  produce({"1", "killer", "3"});
  for (int i = 0; i < 3; ++i) diesOf(elect(), "killer");

  workOff(elect());

  EXPECT_THAT(deadIds(), ElementsAre("killer"));
  EXPECT_EQ(timesHandled("3"), 1);
}

TEST_F(AtLeastOnce, AHandlerIsNotRunInVainWhileTheStoreIsAway) {
  produce({"0"});
  ConsumerReplica& leader = elect();
  workOff(leader);
  produce({"1"});
  world.fail(Operation::known, Errc::unavailable, 3);
  world.fail(Operation::commit, Errc::unavailable, 1);

  workOff(leader);

  EXPECT_EQ(timesHandled("1"), 2) << "once before the outage was known, and once after it";
}

class AtMostOnce : public Scene, public testing::WithParamInterface<Acknowledging> {
 protected:
  AtMostOnce() {
    options.delivery = Guarantee::atMostOnce;
    acknowledging = GetParam();
  }
  /// Of two messages. The first is a dead letter then, and the second done.
  void commitsOfTheFirstFail(Errc error, int times) {
    produce({"1", "2"});
    behaviour = [=, this](const Delivery& delivery) {
      if (delivery.message.id.value == "1") world.fail(Operation::commit, error, times);
      return Outcome::done();
    };
    workOff(elect());
    replicas.back().execute();
    EXPECT_THAT(handled, ElementsAre("1", "2"));
    EXPECT_THAT(deadIds(), ElementsAre("1"));
  }
};
INSTANTIATE_TEST_SUITE_P(Queues, AtMostOnce, testing::Values(Acknowledging::inTransaction, Acknowledging::afterCommit));

TEST_P(AtMostOnce, HandlesEachInOrderAndDropsWhatComesAgain) {
  produce({"1", "2", "1", "3"});

  workOff(elect());
  replicas.back().execute();

  EXPECT_THAT(handled, ElementsAre("1", "2", "3"));
  EXPECT_THAT(events.of<DuplicateDropped>(), SizeIs(1));
}

// shows: messages/once-acknowledged-before
TEST_P(AtMostOnce, AMessageIsAcknowledgedBeforeItsHandlerStarts) {
  produce({"1"});
  std::size_t waitingInHandler = 99;
  behaviour = [&](const Delivery&) {
    waitingInHandler = world.waiting().size();
    return Outcome::done();
  };

  workOff(elect());

  EXPECT_EQ(waitingInHandler, 0u);
}

// shows: messages/once-acknowledged-before
TEST_P(AtMostOnce, WhatItsProcessDiesOfIsNeverHandledAgain) {
  produce({"1", "killer", "3"});
  diesOf(elect(), "killer");

  workOff(elect());
  replicas.back().execute();

  EXPECT_THAT(handled, ElementsAre("1", "killer", "3"));
  EXPECT_THAT(deadIds(), IsEmpty());
}

// shows: messages/once-acknowledged-before
TEST_P(AtMostOnce, AFailureIsADeadLetterAtOnceAndItsEffectIsUndone) {
  produce({"1", "bad", "3"});
  behaviour = [](const Delivery& delivery) {
    return delivery.message.id.value == "bad" ? Outcome::failed("no") : Outcome::done();
  };

  workOff(elect());
  replicas.back().execute();

  EXPECT_THAT(handled, ElementsAre("1", "bad", "3"));
  ASSERT_THAT(deadIds(), ElementsAre("bad"));
  EXPECT_EQ(world.deadLetters()[0].reason, "no");
  EXPECT_EQ(world.deadLetters()[0].attempts, 1);
}

TEST_P(AtMostOnce, OneThatItsHandlerPostponesWaitsItsTurnBeforeAllOthers) {
  produce({"1", "2"});
  behaviour = [&](const Delivery&) {
    return handled.size() == 1 ? Outcome::retryLater("later", 30ms) : Outcome::done();
  };

  workOff(elect());
  replicas.back().execute();

  EXPECT_THAT(handled, ElementsAre("1", "1", "2"));
  EXPECT_THAT(deadIds(), IsEmpty());
}

TEST_P(AtMostOnce, OneThatWaitsWhenItsLeaderLeavesBecomesADeadLetter) {
  produce({"1", "2"});
  behaviour = [&](const Delivery&) {
    replicas.back().term().requestStop();
    return Outcome::retryLater("later", 1h);
  };
  ConsumerReplica& leaving = elect();
  leaving.endOf(3);
  leaving.handOver();

  behaviour = [](const Delivery&) { return Outcome::done(); };
  workOff(elect());
  replicas.back().execute();

  EXPECT_THAT(handled, ElementsAre("1", "2"));
  EXPECT_THAT(deadIds(), ElementsAre("1"));
}

TEST_P(AtMostOnce, AnEffectThatTheStoreDidNotTakeBecomesADeadLetterWhenItIsBack) {
  commitsOfTheFirstFail(Errc::unavailable, 3);
  EXPECT_THAT(events.of<MessageForgone>(), IsEmpty());
}

TEST_P(AtMostOnce, AnEffectThatTheStoreTookBackIsADeadLetterToo) {
  commitsOfTheFirstFail(Errc::transactionConflict, 1);
  EXPECT_THAT(events.of<OutageBegan>(), IsEmpty()) << "the store is there";
}

// shows: messages/once-acknowledged-before
TEST_P(AtMostOnce, AnEffectThatTheStoreRefusesIsADeadLetterAndNoOutage) {
  produce({"1", "2"});
  behaviour = [&](const Delivery& delivery) {
    if (delivery.message.id.value == "1") world.fail(Operation::commit, Errc::commitRefused);
    return Outcome::done();
  };

  workOff(elect());
  replicas.back().execute();

  EXPECT_THAT(handled, ElementsAre("1", "2"));
  EXPECT_THAT(deadIds(), ElementsAre("1"));
  EXPECT_THAT(events.of<OutageBegan>(), IsEmpty());
}

TEST_P(AtMostOnce, ALetterThatItsStoreRefusesGoesWithoutItsBody) {
  world.refuseLetters(3);
  produce({"1", "2"});
  behaviour = [](const Delivery& delivery) {
    return delivery.message.id.value == "1" ? Outcome::reject("bad") : Outcome::done();
  };

  workOff(elect());
  replicas.back().execute();

  EXPECT_THAT(handled, ElementsAre("1", "2"));
  ASSERT_THAT(deadIds(), ElementsAre("1"));
  EXPECT_EQ(world.deadLetters()[0].message.body, "");
  EXPECT_EQ(world.deadLetters()[0].reason, "bad");
  EXPECT_THAT(events.of<OutageBegan>(), IsEmpty());
}

TEST_P(AtMostOnce, AnEffectWhoseReplyWasLostIsNeitherRepeatedNorADeadLetter) {
  produce({"1"});
  behaviour = [&](const Delivery&) {
    world.loseCommitReply(true);
    return Outcome::done();
  };

  workOff(elect());
  replicas.back().execute();

  EXPECT_THAT(handled, ElementsAre("1"));
  EXPECT_THAT(deadIds(), IsEmpty());
}

// shows: messages/once-acknowledged-before
TEST_P(AtMostOnce, OneThatIsLostWhileItsProcessLivesIsToldOf) {
  produce({"1"});
  behaviour = [&](const Delivery&) {
    replicas.back().term().loseLease();
    return Outcome::done();
  };

  EXPECT_EQ(elect().endOf(3), EndReason::leaseLost);

  ASSERT_THAT(events.of<MessageForgone>(), SizeIs(1));
  EXPECT_EQ(events.of<MessageForgone>()[0].message, "1");
}

TEST_P(AtMostOnce, OneThatMayHaveBeenTakenWhenItsTermEndsIsToldOf) {
  produce({"1"});
  ConsumerReplica& leader = elect();
  world.loseCommitReply(true);
  world.fail(Operation::resolve, Errc::unavailable, 10'000);

  EXPECT_TRUE(leader.endOf(500));

  EXPECT_THAT(handled, IsEmpty());
  ASSERT_THAT(events.of<MessageForgone>(), SizeIs(1));
  EXPECT_EQ(events.of<MessageForgone>()[0].message, "1");
}

TEST_P(AtMostOnce, OneThatWaitsWhenItsTermIsLostBetweenTwoStepsIsToldOf) {
  produce({"1"});
  behaviour = [](const Delivery&) { return Outcome::retryLater("later", 1h); };
  ConsumerReplica& leader = elect();
  leader.execute();
  leader.term().loseLease();

  leader.handOver();

  ASSERT_THAT(events.of<MessageForgone>(), SizeIs(1));
}

TEST_P(AtMostOnce, OneWhoseHandlerGivesUpItsLostTermIsToldOf) {
  produce({"1"});
  behaviour = [this](const Delivery&) -> Outcome {
    replicas.back().term().loseLease();
    throw EndTerm(EndReason::leaseLost, Error{Errc::leaseLost, "gone"});
  };
  ConsumerReplica& leader = elect();

  EXPECT_TRUE(leader.endOf(3));
  leader.handOver();

  ASSERT_THAT(events.of<MessageForgone>(), SizeIs(1));
}

TEST_P(AtMostOnce, AnExternalHandlerIsStartedOnceToo) {
  options.handlerIsExternal = true;
  produce({"1", "killer", "3"});
  diesOf(elect(), "killer");

  workOff(elect());
  replicas.back().execute();

  EXPECT_THAT(handled, ElementsAre("1", "killer", "3"));
}

TEST_P(AtMostOnce, WhatAnExternalHandlerHasDoneIsNoDeadLetterWhenTheStoreIsAway) {
  options.handlerIsExternal = true;
  produce({"1", "2"});
  behaviour = [&](const Delivery& delivery) {
    if (delivery.message.id.value == "1") world.fail(Operation::commit, Errc::unavailable, 3);
    return Outcome::done();
  };

  workOff(elect());
  replicas.back().execute();

  EXPECT_THAT(handled, ElementsAre("1", "2"));
  EXPECT_THAT(deadIds(), IsEmpty());
  EXPECT_THAT(events.of<MessageForgone>(), IsEmpty());
}

TEST_P(AtMostOnce, TheSuspectsOfAnEarlierTermWithAnotherGuaranteeAreJustMessages) {
  options.delivery = Guarantee::exactlyOnceEffect;
  produce({"1", "2"});
  diesOf(elect(), "1");
  options.delivery = Guarantee::atMostOnce;

  workOff(elect());
  replicas.back().execute();

  EXPECT_EQ(timesHandled("1"), 2) << "once under each guarantee";
  EXPECT_EQ(timesHandled("2"), 1);
  EXPECT_THAT(deadIds(), IsEmpty());
}

}  // namespace
}  // namespace tenure::test
