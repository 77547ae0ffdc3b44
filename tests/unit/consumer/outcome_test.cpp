#include "scene.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// What a handler may say besides done, failed and later.
class ConsumerOutcome : public Scene {
 protected:
  /// `id` gets this answer, after its handler has written; the others are done.
  void answer(const std::string& id, const Outcome& outcome) {
    behaviour = [id, outcome](const Delivery& delivery) {
      return delivery.message.id.value == id ? outcome : Outcome::done();
    };
  }
};

// shows: messages/five-verdicts-handler
TEST_F(ConsumerOutcome, ARejectedMessageIsADeadLetterAtOnceAndTheNextGoesOn) {
  answer("b", Outcome::reject("no such order"));
  produce({"a", "b", "c"});

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("a", "b", "c"));
  EXPECT_THAT(doneIds(), ElementsAre("a", "c"));
  ASSERT_THAT(deadIds(), ElementsAre("b"));
  EXPECT_EQ(world.deadLetters()[0].reason, "no such order");
  EXPECT_EQ(world.deadLetters()[0].attempts, 1);
  EXPECT_THAT(events.of<AttemptFailed>(), IsEmpty());
}

TEST_F(ConsumerOutcome, NothingOfWhatItsHandlerWroteStays) {
  answer("b", Outcome::reject("no such order"));
  produce({"a", "b"});

  workOff(elect());

  EXPECT_EQ(world.value("last"), "a");
}

TEST_F(ConsumerOutcome, ARejectedMessageThatComesAgainIsDropped) {
  answer("a", Outcome::reject("no such order"));
  produce({"a", "a"});

  workOff(elect());

  EXPECT_THAT(handled, ElementsAre("a"));
  EXPECT_THAT(events.of<DuplicateDropped>(), SizeIs(1));
}

TEST_F(ConsumerOutcome, ARejectionAfterFailedAttemptsForgetsThem) {
  behaviour = [](const Delivery& delivery) {
    return delivery.attempt == 1 ? Outcome::failed("the bank is closed") : Outcome::reject("no such order");
  };
  produce({"a"});

  workOff(elect());

  EXPECT_EQ(world.deadLetters()[0].attempts, 2);
  EXPECT_THAT(found().attempts, IsEmpty());
}

// shows: messages/five-verdicts-handler
TEST_F(ConsumerOutcome, ASkippedMessageIsAcknowledgedWithItsKeyAndWithoutItsWrites) {
  for (const std::string skipped : {"a", "b"}) {  // the first of a batch is begun another way
    world.deliver({NewMessage{MessageId{"x" + skipped}, {}, "x", {}}});
    answer("x" + skipped, Outcome::skip("nothing has changed"));
    workOff(elect());
  }
  EXPECT_EQ(world.value("last"), std::nullopt);
  answer("s2", Outcome::skip("nothing has changed"));
  produce({"s1", "s2", "s3", "s2"});

  workOff(elect());

  EXPECT_THAT(doneIds(), ElementsAre("xa", "xb", "s1", "s2", "s3"));
  EXPECT_EQ(timesHandled("s2"), 1);
  ASSERT_THAT(events.of<MessageSkipped>(), SizeIs(3));
  EXPECT_EQ(events.of<MessageSkipped>()[2].message, "s2");
  EXPECT_EQ(events.of<MessageSkipped>()[2].reason, "nothing has changed");
}

TEST_F(ConsumerOutcome, WhatPrecedesASkippedMessageInItsBatchStays) {
  answer("b", Outcome::skip("nothing has changed"));
  produce({"a", "b"});

  workOff(elect());

  EXPECT_EQ(world.value("last"), "a");
  EXPECT_THAT(events.of<BatchCommitted>(), SizeIs(1)) << "it ends no batch";
}

TEST_F(ConsumerOutcome, ASkippedMessageForgetsItsFailedAttempts) {
  behaviour = [](const Delivery& delivery) {
    return delivery.attempt == 1 ? Outcome::failed("the bank is closed") : Outcome::skip("it was paid meanwhile");
  };
  produce({"a"});

  workOff(elect());

  EXPECT_THAT(doneIds(), ElementsAre("a"));
  EXPECT_THAT(found().attempts, IsEmpty());
}

TEST_F(ConsumerOutcome, ASkipIsToldOnceItIsDurable) {
  answer("a", Outcome::skip("nothing has changed"));
  produce({"earlier"});
  ConsumerReplica& leader = elect();
  workOff(leader);
  produce({"a"});
  world.fail(memory::Operation::commit, Errc::unavailable);

  workOff(leader);

  EXPECT_EQ(timesHandled("a"), 2);
  EXPECT_THAT(events.of<MessageSkipped>(), SizeIs(1));
}

TEST_F(ConsumerOutcome, AnExternalHandlerIsNotStartedAgainToSkipItsMessage) {
  options.handlerIsExternal = true;
  behaviour = [](const Delivery&) { return Outcome::skip("nothing has changed"); };
  whenRefused = [](const Error&) { return Outcome::done(); };
  produce({"a"});
  world.fail(memory::Operation::commit, Errc::unavailable);

  workOff(elect());

  EXPECT_EQ(timesHandled("a"), 1);
  EXPECT_THAT(doneIds(), ElementsAre("a"));
  EXPECT_THAT(events.of<MessageSkipped>(), SizeIs(1));
}

TEST_F(ConsumerOutcome, WithoutKeysASkippedMessageIsOnlyAcknowledged) {
  options.delivery = Guarantee::atLeastOnce;
  answer("b", Outcome::skip("nothing has changed"));
  produce({"a", "b"});

  workOff(elect());

  EXPECT_EQ(world.value("last"), "a");
  EXPECT_THAT(events.of<MessageSkipped>(), SizeIs(1));
}

TEST_F(ConsumerOutcome, WhatIsTakenForAtMostOnceMayBeSkippedAndRejected) {
  options.delivery = Guarantee::atMostOnce;
  behaviour = [](const Delivery& delivery) {
    return delivery.message.id.value == "a" ? Outcome::skip("nothing has changed") : Outcome::reject("no such order");
  };
  produce({"a", "b"});
  ConsumerReplica& leader = elect();

  workOff(leader);
  leader.execute();

  EXPECT_EQ(world.value("last"), std::nullopt);
  EXPECT_THAT(events.of<MessageSkipped>(), SizeIs(1));
  EXPECT_THAT(deadIds(), ElementsAre("b"));
  EXPECT_THAT(events.of<MessageForgone>(), IsEmpty());
}

}  // namespace
}  // namespace tenure::test
