#include <system_error>

#include "scene.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::SizeIs;

class ConsumerFailure : public Scene {
 protected:
  /// `id` fails its first `times` attempts.
  void fails(const std::string& id, int times) {
    behaviour = [id, times](const Delivery& delivery) {
      const bool fail = delivery.message.id.value == id && delivery.attempt <= times;
      return fail ? Outcome::failed("no stock") : Outcome::done();
    };
  }
};

// shows: messages/failed-message-tried
TEST_F(ConsumerFailure, AFailedMessageIsRetriedInItsPlace) {
  fails("b", 2);
  produce({"a", "b", "c"});

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("a", "b", "b", "b", "c"));
  EXPECT_THAT(attempts, ElementsAre(1, 1, 2, 3, 1));
  EXPECT_THAT(doneIds(), ElementsAre("a", "b", "c"));
}

// shows: messages/five-verdicts-handler
TEST_F(ConsumerFailure, AnExceptionIsAFailedAttemptWithItsTextAsTheReason) {
  behaviour = [](const Delivery& delivery) -> Outcome {
    if (delivery.attempt == 1) throw std::runtime_error("cannot parse");
    return Outcome::done();
  };
  produce({"a"});

  workOff(elect());

  ASSERT_THAT(events.of<AttemptFailed>(), SizeIs(1));
  EXPECT_EQ(events.of<AttemptFailed>()[0].error, "cannot parse");
}

TEST_F(ConsumerFailure, AnExceptionOfAnyTypeIsCaught) {
  behaviour = [](const Delivery& delivery) -> Outcome {
    if (delivery.attempt == 1) throw 7;
    return Outcome::done();
  };
  produce({"a"});

  workOff(elect());

  EXPECT_THAT(doneIds(), ElementsAre("a"));
}

TEST_F(ConsumerFailure, Row32AHandlerThatRunsOutOfMemoryOnlyLosesItsMessage) {
  behaviour = [](const Delivery& delivery) -> Outcome {
    if (delivery.message.id.value == "b") throw std::bad_alloc{};
    return Outcome::done();
  };
  produce({"a", "b", "c"});

  workOff(elect());

  EXPECT_THAT(doneIds(), ElementsAre("a", "c"));
  ASSERT_THAT(events.of<MessageDeadLettered>(), SizeIs(1));
  EXPECT_EQ(events.of<MessageDeadLettered>()[0].message, "b");
}

TEST_F(ConsumerFailure, AHandlerMayEndTheTermWithoutBlamingTheMessage) {
  behaviour = [](const Delivery&) -> Outcome { throw EndTerm(EndReason::failed, Errc::unsupported); };
  produce({"a"});

  ConsumerReplica& replica = elect();
  EXPECT_EQ(replica.endOf(500), EndReason::failed);
  EXPECT_TRUE(replica.error().is(Errc::unsupported));
  replica.handOver();

  EXPECT_THAT(doneIds(), IsEmpty());
  EXPECT_THAT(events.of<AttemptFailed>(), IsEmpty());
  behaviour = [](const Delivery&) { return Outcome::done(); };
  workOff(elect());
  EXPECT_THAT(attempts, ElementsAre(1, 1));
}

TEST_F(ConsumerFailure, WhatTheFailedHandlerWroteIsUndoneAndWhatPrecedesIsDurable) {
  options.retryBase = options.retryMax = 1h;
  fails("b", 1);
  produce({"a", "b", "c"});

  elect().execute();

  EXPECT_THAT(doneIds(), ElementsAre("a"));
  EXPECT_EQ(world.value("last"), "a");
  ASSERT_THAT(found().attempts, SizeIs(1));
  EXPECT_EQ(found().attempts[0].attempts, 1);
  EXPECT_EQ(found().attempts[0].lastError, "no stock");
}

// shows: messages/failed-message-tried
TEST_F(ConsumerFailure, TheWaitGrowsExponentiallyAndIsDrawnFromTheUpperHalfOfItsBound) {
  options.retryBase = 100ms;
  options.retryMax = 250ms;
  fails("a", 4);
  produce({"a"});

  workOff(elect());

  const auto failures = events.of<AttemptFailed>();
  ASSERT_THAT(failures, SizeIs(4));
  const auto isOf = [](std::chrono::milliseconds bound) { return AllOf(Ge(bound / 2), Le(bound)); };
  EXPECT_THAT(failures[0].retryIn, isOf(100ms));
  EXPECT_THAT(failures[1].retryIn, isOf(200ms));
  EXPECT_THAT(failures[2].retryIn, isOf(250ms));
  EXPECT_THAT(failures[3].retryIn, isOf(250ms));
}

// shows: messages/failed-message-tried-2
TEST_F(ConsumerFailure, ByDefaultAMessageIsGivenUpAfterSomeFifteenMinutes) {
  const ConsumerOptions defaults;
  options.maxAttempts = defaults.maxAttempts;
  options.retryBase = defaults.retryBase;
  options.retryMax = defaults.retryMax;
  behaviour = [](const Delivery&) { return Outcome::failed("the service is away"); };
  produce({"a"});
  ConsumerReplica& replica = elect();
  const BootTime began = clock.now();

  while (deadIds().empty()) replica.execute();

  EXPECT_GE(clock.now() - began, 9min);
  EXPECT_LE(clock.now() - began, 19min);
  EXPECT_THAT(handled, SizeIs(12));
}

// shows: messages/failed-message-tried-2
TEST_F(ConsumerFailure, DelaysOfOnesOwnAreKeptExactlyAndSayHowManyAttemptsThereAre) {
  options.maxAttempts.reset();
  options.retryDelays = {10s, 30s, 5min};
  behaviour = [](const Delivery& delivery) {
    return delivery.message.id.value == "a" ? Outcome::failed("no") : Outcome::done();
  };
  produce({"a", "b"});
  ConsumerReplica& replica = elect();

  while (!world.waiting().empty()) replica.execute();

  std::vector<std::chrono::milliseconds> waits;
  for (const AttemptFailed& failed : events.of<AttemptFailed>()) waits.push_back(failed.retryIn);
  EXPECT_THAT(waits, ElementsAre(10s, 30s, 5min));
  EXPECT_THAT(handled, ElementsAre("a", "a", "a", "a", "b")) << "it keeps its place";
}

TEST_F(ConsumerFailure, WithMoreAttemptsThanDelaysTheLastDelayStays) {
  options.maxAttempts = 4;
  options.retryDelays = {1s, 2s};
  fails("a", 3);
  produce({"a"});

  workOff(elect());

  ASSERT_THAT(events.of<AttemptFailed>(), SizeIs(3));
  EXPECT_EQ(events.of<AttemptFailed>()[2].retryIn, 2s);
}

TEST_F(ConsumerFailure, MoreDelaysThanThereCanBeAttemptsAreRefused) {
  options.retryDelays.assign(1000, 1s);
  options.maxAttempts = 3;

  try {
    elect();
    ADD_FAILURE() << "it was not refused";
  } catch (const std::system_error& refusal) {
    EXPECT_THAT(refusal.what(), HasSubstr("consumer.retryDelays = 1000 delays: must be up to 999"));
  }
}

// shows: messages/failed-message-tried-2
TEST_F(ConsumerFailure, AQueueThatIsHeldUpForTenSecondsIsTold) {
  options.retryDelays = {1s, 2s, 4s, 8s, 30s, 30s, 30s};
  options.maxAttempts.reset();
  fails("a", 7);
  produce({"a", "b"});
  ConsumerReplica& replica = elect();

  while (!world.waiting().empty()) replica.execute();

  const auto told = events.of<QueueHeldUp>();
  ASSERT_THAT(told, SizeIs(2)) << "once a minute";
  EXPECT_EQ(told[0].message, "a");
  EXPECT_GE(told[0].age, 7s);
  EXPECT_EQ(told[0].retryIn, 8s);
  EXPECT_GE(told[1].age, 67s);
}

TEST_F(ConsumerFailure, ACallThatFailedAndWasIgnoredFailsItsAttempt) {
  options.maxAttempts = 2;
  behaviour = [](const Delivery& delivery) {
    if (delivery.message.id.value == "b") static_cast<void>(delivery.transaction.put("", "an empty key"));
    return Outcome::done();
  };
  produce({"a", "b", "c"});

  workOff(elect());

  EXPECT_THAT(doneIds(), ElementsAre("a", "c"));
  ASSERT_THAT(deadIds(), ElementsAre("b"));
  EXPECT_THAT(world.deadLetters()[0].reason, HasSubstr("expected 1 to 255 bytes"));
}

TEST_F(ConsumerFailure, ACallWhoseFailureIsAcceptedLeavesTheRestOfTheTransactionAsItIs) {
  behaviour = [](const Delivery& delivery) {
    static_cast<void>(delivery.transaction.put("kept", "1"));
    static_cast<void>(delivery.transaction.put("", "an empty key"));
    delivery.transaction.acceptFailures();
    return Outcome::done();
  };
  produce({"a"});

  workOff(elect());

  EXPECT_THAT(doneIds(), ElementsAre("a"));
  EXPECT_EQ(world.value("kept"), "1");
}

TEST_F(ConsumerFailure, AnAcceptedFailureCoversNoLaterOne) {
  options.maxAttempts = 1;
  behaviour = [](const Delivery& delivery) {
    delivery.transaction.acceptFailures();
    static_cast<void>(delivery.transaction.erase(""));
    return Outcome::done();
  };
  produce({"a"});

  workOff(elect());

  EXPECT_THAT(deadIds(), ElementsAre("a"));
}

TEST_F(ConsumerFailure, TheNextAttemptDoesNotStartBeforeItsWaitIsOver) {
  options.retryBase = options.retryMax = 5s;
  std::vector<BootTime> starts;
  behaviour = [&](const Delivery& delivery) {
    starts.push_back(clock.now());
    return delivery.attempt == 1 ? Outcome::failed("no") : Outcome::done();
  };
  produce({"a"});

  workOff(elect());

  ASSERT_THAT(starts, SizeIs(2));
  EXPECT_GE(starts[1] - starts[0], events.of<AttemptFailed>()[0].retryIn);
}

// shows: L2
TEST_F(ConsumerFailure, Row32AfterTheLastAttemptItIsADeadLetterAndTheNextGoesOn) {
  options.maxAttempts = 3;
  fails("a", 99);
  produce({"a", "b"});

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("a", "a", "a", "b"));
  ASSERT_THAT(world.deadLetters(), SizeIs(1));
  EXPECT_EQ(world.deadLetters()[0].message.body, "body of a");
  EXPECT_EQ(world.deadLetters()[0].reason, "no stock");
  EXPECT_EQ(world.deadLetters()[0].attempts, 3);
  EXPECT_LE(world.deadLetters()[0].firstAt, world.deadLetters()[0].diedAt);
  EXPECT_THAT(world.ledger()[0].fate, MessageFate::dead);
  EXPECT_THAT(found().attempts, IsEmpty());
  ASSERT_THAT(events.of<MessageDeadLettered>(), SizeIs(1));
  EXPECT_EQ(events.of<MessageDeadLettered>()[0].attempts, 3);
}

// shows: S9
TEST_F(ConsumerFailure, ADeadMessageThatComesAgainIsDropped) {
  options.maxAttempts = 1;
  fails("a", 99);
  produce({"a", "a"});

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("a"));
  EXPECT_THAT(deadIds(), ElementsAre("a"));
}

// shows: S9
TEST_F(ConsumerFailure, NothingOfADeadMessagesLastAttemptStays) {
  options.maxAttempts = 1;
  fails("a", 99);
  produce({"a"});

  workOff(elect());

  EXPECT_EQ(world.value("last"), std::nullopt);
}

// shows: messages/five-verdicts-handler
TEST_F(ConsumerFailure, RetryLaterKeepsItsPlaceAndDoesNotCount) {
  options.maxAttempts = 2;
  int postponed = 0;
  behaviour = [&](const Delivery& delivery) {
    if (delivery.message.id.value == "b" && ++postponed <= 7) return Outcome::retryLater("the bank is closed", 30ms);
    return Outcome::done();
  };
  produce({"a", "b", "c"});

  workOff(elect());

  EXPECT_THAT(doneIds(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(attempts.back(), 1);
  EXPECT_THAT(events.of<AttemptFailed>(), IsEmpty());
  ASSERT_THAT(events.of<MessagePostponed>(), SizeIs(7));
  EXPECT_EQ(events.of<MessagePostponed>()[0].retryIn, 30ms);
}

TEST_F(ConsumerFailure, RetryLaterOfTheFirstMessageLeavesNoEffectAndCountsNothing) {
  behaviour = [](const Delivery&) { return Outcome::retryLater("not yet", 1h); };
  produce({"a"});

  elect().execute();

  EXPECT_EQ(world.value("last"), std::nullopt);
  ASSERT_THAT(found().attempts, SizeIs(1));
  EXPECT_EQ(found().attempts[0].attempts, 0);
  EXPECT_THAT(world.waiting(), SizeIs(1));
}

TEST_F(ConsumerFailure, AttemptsSurviveAHandover) {
  options.maxAttempts = 3;
  options.retryBase = options.retryMax = 1h;
  behaviour = [](const Delivery&) { return Outcome::failed("no"); };
  produce({"a"});

  for (int term = 0; term < 3; ++term) {
    ConsumerReplica& leader = elect();
    leader.execute();
    leader.handOver();
  }

  EXPECT_THAT(attempts, ElementsAre(1, 2, 3));
  EXPECT_THAT(deadIds(), ElementsAre("a"));
}

TEST_F(ConsumerFailure, AHandoverItselfCountsNothing) {
  options.maxAttempts = 2;
  behaviour = [](const Delivery&) { return Outcome::retryLater("not yet", 1h); };
  produce({"a"});
  for (int term = 0; term < 5; ++term) {
    ConsumerReplica& leader = elect();
    leader.execute();
    leader.handOver();
  }
  behaviour = [](const Delivery&) { return Outcome::done(); };

  workOff(elect());

  EXPECT_THAT(doneIds(), ElementsAre("a"));
  EXPECT_EQ(attempts.back(), 1);
}

TEST_F(ConsumerFailure, AnErrorOfTheTransactionInTheHandlerIsOneFailedAttempt) {
  behaviour = [](const Delivery& delivery) {
    if (delivery.attempt > 1) return Outcome::done();
    return Outcome::failed(delivery.transaction.put("", "no key").error().message());
  };
  produce({"a"});

  workOff(elect());

  ASSERT_THAT(events.of<AttemptFailed>(), SizeIs(1));
  EXPECT_THAT(doneIds(), ElementsAre("a"));
}

// Row 29 of the bad inputs: 0 bytes, over the limits, invalid UTF-8, no id.

TEST_F(ConsumerFailure, Row29AnEmptyBodyAndInvalidUtf8PassThroughUnchanged) {
  std::vector<std::string> bodies;
  behaviour = [&](const Delivery& delivery) {
    bodies.push_back(delivery.message.body);
    return Outcome::done();
  };
  const std::string bytes{"\xff\xfe\0\r\n", 5};
  produce("empty", "");
  produce("bytes", bytes);

  workOff(elect());

  EXPECT_THAT(bodies, ElementsAre("", bytes));
}

// shows: security/hostile-message-crashes
TEST_F(ConsumerFailure, Row29WhatIsOverTheLimitsIsADeadLetterAndNeverReachesTheHandler) {
  produce("large", std::string(64U << 20U, 'x'));
  world.deliver({NewMessage{MessageId{"headers"}, {}, "b", {{"h", std::string(1U << 20U, 'h')}}}});
  world.deliver({NewMessage{MessageId{"group"}, GroupId{std::string(256, 'g')}, "b", {}}});
  world.deliver({NewMessage{MessageId{std::string(256, 'i')}, {}, "b", {}}});
  produce("good", "b");

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("good"));
  ASSERT_THAT(world.deadLetters(), SizeIs(4));
  EXPECT_EQ(world.deadLetters()[0].reason, "its body is over 1 MiB");
  EXPECT_EQ(world.deadLetters()[1].reason, "its headers are over 64 KiB");
}

TEST_F(ConsumerFailure, AnUnfitMessageThatIsDeliveredAgainIsOneDeadLetter) {
  acknowledging = memory::Database::Acknowledging::afterCommit;
  world.deliver({NewMessage{MessageId{"a"}, GroupId{std::string(256, 'g')}, "", {}}});
  world.fail(memory::Operation::acknowledge, Errc::unavailable);

  workOff(elect());

  EXPECT_THAT(deadIds(), ElementsAre("a"));
}

// shows: rabbitmq-to-postgresql/message-without-dead
TEST_F(ConsumerFailure, Row29AMessageWithoutAnIdIsADeadLetter) {
  produce("", "who am I");
  produce("", "and I");

  workOff(elect());

  ASSERT_THAT(world.deadLetters(), SizeIs(2));
  EXPECT_EQ(world.deadLetters()[0].reason, "it has no id");
}

TEST_F(ConsumerFailure, Row30TheSameIdWithAnotherBodyIsADeadLetterWithAnAlarm) {
  produce("a", "one");
  produce("a", "another");

  workOff(elect());

  EXPECT_THAT(doneIds(), ElementsAre("a"));
  ASSERT_THAT(world.deadLetters(), SizeIs(1));
  EXPECT_EQ(world.deadLetters()[0].message.body, "another");
  ASSERT_THAT(events.of<MessageDeadLettered>(), SizeIs(1));
  EXPECT_THAT(events.of<MessageDeadLettered>()[0].reason, HasSubstr("another body"));
}

TEST_F(ConsumerFailure, AHandlerThatHoldsItsTransactionTooLongFailsItsAttemptAndIsNoOutage) {
  options.maxAttempts = 2;
  behaviour = [this](const Delivery& delivery) {
    if (delivery.message.id.value != "slow") return Outcome::done();
    world.fail(memory::Operation::write, Errc::heldTooLong);
    static_cast<void>(delivery.transaction.put("a", "b"));
    return Outcome::done();
  };
  produce({"a", "slow", "c"});

  workOff(elect());

  EXPECT_THAT(doneIds(), ElementsAre("a", "c"));
  ASSERT_THAT(deadIds(), ElementsAre("slow"));
  EXPECT_THAT(world.deadLetters()[0].reason, HasSubstr("held for too long"));
  EXPECT_EQ(timesHandled("slow"), 3) << "behind a neighbour first, and twice alone";
  EXPECT_EQ(timesHandled("c"), 1);
  EXPECT_THAT(events.of<OutageBegan>(), IsEmpty());
}

TEST_F(ConsumerFailure, AHandlerThatAsksTooMuchOfOneTransactionFailsItsAttempt) {
  options.maxAttempts = 2;
  behaviour = [this](const Delivery& delivery) {
    if (delivery.message.id.value != "large") return Outcome::done();
    world.fail(memory::Operation::write, Errc::payloadTooLarge);
    static_cast<void>(delivery.transaction.put("a", "b"));
    return Outcome::done();
  };
  produce({"a", "large", "c"});

  workOff(elect());

  EXPECT_THAT(doneIds(), ElementsAre("a", "c"));
  EXPECT_THAT(deadIds(), ElementsAre("large"));
  EXPECT_EQ(timesHandled("large"), 3) << "behind a neighbour first, and twice alone";
  EXPECT_EQ(timesHandled("c"), 1);
}

// shows: messages/commit-refused-attempt
TEST_F(ConsumerFailure, ACommitThatIsRefusedForOneMessageIsThatMessagesAttemptAndThenItsDeadLetter) {
  options.maxAttempts = 3;
  world.refuse(MessageId{"b"});
  produce({"a", "b", "c", "d"});

  workOff(elect());

  EXPECT_THAT(doneIds(), ElementsAre("a", "c", "d"));
  ASSERT_THAT(deadIds(), ElementsAre("b"));
  EXPECT_EQ(world.deadLetters()[0].attempts, 3);
  EXPECT_THAT(world.deadLetters()[0].reason, HasSubstr("commit refused"));
  EXPECT_THAT(events.of<AttemptFailed>(), SizeIs(2));
  EXPECT_THAT(events.of<OutageBegan>(), IsEmpty());
}

// shows: messages/dead-letter-cut
TEST_F(ConsumerFailure, ALetterThatIsRefusedGoesWithoutItsBodyAndSaysSo) {
  world.refuseLetters(3);
  behaviour = [](const Delivery& delivery) {
    return delivery.message.id.value == "b" ? Outcome::reject("bad") : Outcome::done();
  };
  produce({"a", "b", "c"});

  workOff(elect());

  EXPECT_THAT(doneIds(), ElementsAre("a", "c"));
  ASSERT_THAT(deadIds(), ElementsAre("b"));
  EXPECT_EQ(world.deadLetters()[0].message.body, "");
  EXPECT_THAT(world.deadLetters()[0].message.lacks, HasSubstr("body of 9 bytes"));
}

TEST_F(ConsumerFailure, ALetterThatAnOutageUndidIsForgottenWhenItsMessageIsHandledAgain) {
  behaviour = [this](const Delivery&) {
    world.fail(memory::Operation::commit, handled.size() == 1 ? Errc::unavailable : Errc::payloadTooLarge);
    return handled.size() == 1 ? Outcome::reject("bad") : Outcome::done();
  };
  produce({"a"});

  workOff(elect());

  ASSERT_THAT(deadIds(), ElementsAre("a"));
  EXPECT_THAT(world.deadLetters()[0].reason, HasSubstr("the store refused it"));
}

TEST_F(ConsumerFailure, AMessageThatTheStoreTakesInNoFormIsToldAndTriedLaterAndLater) {
  behaviour = [this](const Delivery&) {
    world.fail(memory::Operation::commit, Errc::payloadTooLarge, 1'000'000);
    return Outcome::reject("bad");
  };
  produce({"a"});
  ConsumerReplica& replica = elect();

  const BootTime began = clock.now();
  while (clock.now() - began < 1h) replica.execute();

  EXPECT_THAT(handled, SizeIs(1)) << "its dead letter is what is refused";
  EXPECT_THAT(events.of<Warned>(), SizeIs(testing::AllOf(testing::Ge(30U), testing::Le(500U))));
  world.heal();
  workOff(replica);
  EXPECT_THAT(deadIds(), ElementsAre("a"));
  EXPECT_EQ(world.deadLetters()[0].reason, "bad");
}

// shows: messages/dead-letter-cut
TEST_F(ConsumerFailure, AnAttemptsReasonIsCut) {
  options.maxAttempts = 2;
  behaviour = [](const Delivery&) { return Outcome::failed(std::string(2'000'000, 'x')); };
  produce({"a"});

  workOff(elect());

  ASSERT_THAT(deadIds(), ElementsAre("a"));
  EXPECT_LE(world.deadLetters()[0].reason.size(), 4096U);
  EXPECT_THAT(world.deadLetters()[0].reason, HasSubstr("2000000 bytes"));
  EXPECT_LE(events.of<AttemptFailed>().at(0).error.size(), 4096U);
}

TEST_F(ConsumerFailure, ASendWithoutAQueueIsRefusedWhereMessagesComeFromElsewhere) {
  acknowledging = memory::Database::Acknowledging::afterCommit;
  std::vector<Result<void>> sent;
  behaviour = [&](const Delivery& delivery) {
    sent.push_back(delivery.transaction.enqueue({MessageId{"next"}, {}, "body", {}}));
    delivery.transaction.acceptFailures();
    return Outcome::done();
  };
  produce({"a"});

  workOff(elect());

  ASSERT_EQ(sent.size(), 1U);
  ASSERT_FALSE(sent[0]);
  EXPECT_THAT(sent[0].error().detail, HasSubstr("name the queue"));
}

// shows: security/hostile-message-crashes
TEST_F(ConsumerFailure, Row31HostileIdsAndGroupsAreOnlyBytes) {
  produce("'; DROP TABLE keys; --", "b");
  produce("$(reboot)\r\nSET x", "b");
  produce(std::string{"a\0b", 3}, "b");

  workOff(elect());

  EXPECT_THAT(doneIds(), ElementsAre("'; DROP TABLE keys; --", "$(reboot)\r\nSET x"));
  EXPECT_THAT(world.deadLetters(), SizeIs(1));  // NUL: some stores could not keep it
}

}  // namespace
}  // namespace tenure::test
