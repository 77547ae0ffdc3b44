/// One message: which questions are asked for it, and what becomes of it.
#include "consumer/charges.hpp"
#include "consumer/delivery.hpp"
#include "parts.hpp"

namespace tenure::consuming {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class OneDelivery : public PartTest {
 protected:
  Delivery& delivery() {
    if (!delivery_) {
      numbers_.emplace(at());
      delivery_.emplace(at(), *numbers_, Random{1});
    }
    return *delivery_;
  }
  Delivery::Decision begin() { return delivery().begin(head, now); }
  template <class A>
  static A asks(const Delivery::Decision& decision) {
    return expectA<A>(expectA<Action>(decision));
  }
  /// Up to its handler's answer.
  Delivery::Decision run(const Outcome& outcome) {
    asks<Look>(begin());
    expectA<Delivery::GoesOn>(delivery().looked(false));
    asks<Handle>(begin());
    return delivery().ran(outcome, now);
  }

  Head head{.message = messageOf("a")};

 private:
  std::optional<Numbers> numbers_;
  std::optional<Delivery> delivery_;
};

TEST_F(OneDelivery, TheFirstIsLookedUpThenHandledThenAdmitted) {
  asks<Look>(begin());
  expectA<Delivery::GoesOn>(delivery().looked(false));
  const Handle handle = asks<Handle>(begin());
  EXPECT_TRUE(handle.mark);
  EXPECT_EQ(handle.attempt, 1);
  EXPECT_FALSE(asks<Admit>(delivery().ran(Outcome::done(), now)).mark);

  EXPECT_TRUE(expectA<Delivery::Settled>(delivery().admitted(Admission::fresh, now)).ran);
}

TEST_F(OneDelivery, TheOthersAreAdmittedFirst) {
  head.isFirst = false;
  EXPECT_TRUE(asks<Admit>(begin()).mark);
  EXPECT_FALSE(asks<Handle>(delivery().admitted(Admission::fresh, now)).mark);

  expectA<Delivery::Settled>(delivery().ran(Outcome::done(), now));
}

TEST_F(OneDelivery, WhatHasAKeyIsDropped) {
  asks<Look>(begin());
  delivery().looked(true);
  asks<Admit>(begin());

  EXPECT_FALSE(expectA<Delivery::Settled>(delivery().admitted(Admission::duplicate, now)).ran);
  EXPECT_THAT(at().pendingWrites.news, SizeIs(1));
}

TEST_F(OneDelivery, WhatHasAKeyOfAnotherBodyIsADeadLetterWithoutOne) {
  head.isFirst = false;
  asks<Admit>(begin());

  const WriteDeadLetter deadLetter = asks<WriteDeadLetter>(delivery().admitted(Admission::reused, now));

  EXPECT_FALSE(deadLetter.withKey);
  EXPECT_EQ(deadLetter.attempts, 0);
}

TEST_F(OneDelivery, AKeyThatCameDuringTheHandlerUndoesWhatItWrote) {
  asks<Admit>(run(Outcome::done()));

  asks<Abandon>(delivery().admitted(Admission::duplicate, now));
}

TEST_F(OneDelivery, WithoutKeysNothingIsAsked) {
  options.delivery = Guarantee::atLeastOnce;
  asks<Handle>(begin());

  expectA<Delivery::Settled>(delivery().ran(Outcome::done(), now));
}

TEST_F(OneDelivery, AFailureIsRecordedAndItWaitsInItsPlace) {
  expectA<Delivery::CommitFirst>(run(Outcome::failed("no")));

  ASSERT_TRUE(at().pendingWrites.record);
  EXPECT_EQ(at().pendingWrites.record->attempts, 1);
  EXPECT_GE(delivery().notBefore(), now.boot);
}

TEST_F(OneDelivery, InALaneItIsGivenBackMeanwhile) {
  role = Role::lane;

  EXPECT_GE(expectA<Delivery::GivesBack>(run(Outcome::failed("no"))).until, now.boot);
}

TEST_F(OneDelivery, TheLastFailureMakesADeadLetterOfIt) {
  options.maxAttempts = 1;

  const WriteDeadLetter deadLetter = asks<WriteDeadLetter>(run(Outcome::failed("no")));

  EXPECT_EQ(deadLetter.reason, "no");
  EXPECT_EQ(deadLetter.attempts, 1);
  EXPECT_TRUE(deadLetter.undo);
  EXPECT_TRUE(deadLetter.withKey);
}

TEST_F(OneDelivery, ADeadLetterWhoseKeyIsThereAlreadyIsARepeat) {
  options.maxAttempts = 1;
  asks<WriteDeadLetter>(run(Outcome::failed("no")));
  const MessageId id = head.message->id;
  EXPECT_TRUE(delivery().refusedByStore(id, "too large", true));
  asks<WriteDeadLetter>(begin());

  asks<Abandon>(delivery().foundKey());

  delivery().forgetTransaction();
  asks<Look>(begin());
  expectA<Delivery::GoesOn>(delivery().looked(false));
  asks<Admit>(begin());
  expectA<Delivery::Settled>(delivery().admitted(Admission::duplicate, now));
}

TEST_F(OneDelivery, OrItBlocksThoseBehindIt) {
  options.maxAttempts = 1;
  options.onDead = OnDead::block;

  expectA<Delivery::CommitFirst>(run(Outcome::failed("no")));

  EXPECT_EQ(at().pendingWrites.record->state, AttemptState::blocked);
}

TEST_F(OneDelivery, ARejectedOneIsADeadLetterAtOnceAndASkippedOneOnlyLosesItsWrites) {
  EXPECT_EQ(asks<WriteDeadLetter>(run(Outcome::reject("never"))).reason, "never");
  delivery().forgetTransaction();

  asks<Undo>(run(Outcome::skip("not ours")));
  asks<Admit>(delivery().undone(now));
  expectA<Delivery::Settled>(delivery().admitted(Admission::fresh, now));
}

TEST_F(OneDelivery, APostponedOneCountsForNoAttemptAndIsOnRecord) {
  expectA<Delivery::CommitFirst>(run(Outcome::retryLater("later", 50ms)));

  ASSERT_TRUE(at().pendingWrites.record);
  EXPECT_EQ(at().pendingWrites.record->attempts, 0);
  EXPECT_EQ(delivery().notBefore(), now.boot + 50ms);
}

TEST_F(OneDelivery, ASuspectIsChargedBeforeItBegins) {
  head.isSuspect = true;
  asks<Look>(begin());
  delivery().looked(false);

  expectA<Delivery::CommitFirst>(begin());

  EXPECT_TRUE(at().pendingWrites.charges);
  EXPECT_EQ(at().pendingWrites.record->begunBy, FencingToken{7});
  at().histories.put(*at().pendingWrites.record);
  delivery().chargeIsDurable(head.message->id);
  at().pendingWrites = {};
  EXPECT_EQ(asks<Handle>(begin()).attempt, 1);
}

TEST_F(OneDelivery, ASuspectThatIsOutOfAttemptsIsADeadLetter) {
  head.isSuspect = true;
  AttemptRecord died = attemptsAt("a", 5);
  died.processDied = true;
  at().histories.put(died);
  asks<Look>(begin());
  delivery().looked(false);

  EXPECT_THAT(asks<WriteDeadLetter>(begin()).reason, HasSubstr("during its last attempt"));
}

TEST_F(OneDelivery, WhatAnOperatorReleasedIsADeadLetter) {
  AttemptRecord released = attemptsAt("a", 2, "no");
  released.state = AttemptState::released;
  at().histories.put(released);
  asks<Look>(begin());
  delivery().looked(false);

  EXPECT_EQ(asks<WriteDeadLetter>(begin()).reason, "released: no");
}

TEST_F(OneDelivery, AnExternalHandlersRunIsNotRepeatedForItsKey) {
  options.handlerIsExternal = true;
  EXPECT_FALSE(asks<Admit>(run(Outcome::done())).message == nullptr);
  delivery().forgetTransaction();

  asks<Look>(begin());
  delivery().looked(false);

  asks<Admit>(begin());
}

/// Its lane's clock is read after the scheduler's.
TEST_F(OneDelivery, ATurnThatWasRefusedIsNotTakenThoughItsTimeHasComeMeanwhile) {
  head.isCounted = true;
  asks<Look>(begin());
  delivery().looked(false);
  asks<TakeTurn>(begin());

  expectA<Delivery::Waits>(delivery().turned(now.boot, now));

  asks<TakeTurn>(begin());
}

TEST_F(OneDelivery, WhoIsCountedAsksForItsTurnOnce) {
  head.isCounted = true;
  asks<Look>(begin());
  delivery().looked(false);
  asks<TakeTurn>(begin());
  expectA<Delivery::Waits>(delivery().turned(now.boot + 1s, now));
  EXPECT_THAT(told<MessageHeldBack>(), SizeIs(1));
  asks<TakeTurn>(begin());

  expectA<Delivery::GoesOn>(delivery().turned({}, now));

  asks<Begin>(begin());
  asks<Handle>(delivery().begun({}));
}

TEST_F(OneDelivery, ATokenThatCameWithItIsItsTurnAndGoesBackWhenItIsNotUsed) {
  role = Role::lane;
  head.isCounted = true;
  delivery().bringTokens({head.message.get(), 1});
  const std::vector<MessagePtr> settled{head.message};
  EXPECT_THAT(delivery().unbegun(settled), SizeIs(1));

  asks<Admit>(run(Outcome::done()));

  EXPECT_THAT(delivery().unbegun(settled), SizeIs(0));
}

TEST_F(OneDelivery, AtMostOnceTakesItBeforeItStartsAndStartsItOnce) {
  options.delivery = Guarantee::atMostOnce;
  asks<Admit>(begin());
  expectA<Delivery::Settled>(delivery().admitted(Admission::fresh, now));
  EXPECT_TRUE(at().pendingWrites.takes);
  at().pendingWrites = {};
  delivery().forgetTransaction();
  delivery().take(head.message);

  asks<Handle>(delivery().goOnWithTaken(head, BootTime::min(), now));
  const WriteDeadLetter deadLetter = asks<WriteDeadLetter>(delivery().ran(Outcome::failed("no"), now));

  EXPECT_EQ(deadLetter.attempts, 1);
  EXPECT_FALSE(deadLetter.withKey) << "it has one";
}

TEST_F(OneDelivery, WhatIsTakenWhenItsLeaderLeavesBeforeItsTurnIsADeadLetterUnbegun) {
  options.delivery = Guarantee::atMostOnce;
  delivery().take(head.message);
  now.mayBegin = now.mayFinish = false;
  now.stopAsked = true;

  EXPECT_EQ(asks<WriteDeadLetter>(delivery().goOnWithTaken(head, BootTime::min(), now)).attempts, 0);
}

// shows: operations/begun-finished-committed
TEST_F(OneDelivery, WhatIsTakenHasItsStartAlsoWhereTheElectionIsPausedMeanwhile) {
  options.delivery = Guarantee::atMostOnce;
  delivery().take(head.message);
  now.mayBegin = false;

  asks<Handle>(delivery().goOnWithTaken(head, BootTime::min(), now));
}

TEST_F(OneDelivery, AtMostOnceASkippedOneIsDoneAndNoDeadLetterWhenItsCommitIsLost) {
  options.delivery = Guarantee::atMostOnce;
  delivery().take(head.message);
  asks<Handle>(delivery().goOnWithTaken(head, BootTime::min(), now));
  asks<Undo>(delivery().ran(Outcome::skip("of no use"), now));
  expectA<Delivery::Settled>(delivery().undone(now));

  delivery().takenRefused({Errc::unavailable, "it starts again"});
  delivery().forgetTransaction();

  expectA<Delivery::Settled>(delivery().goOnWithTaken(head, BootTime::min(), now));
}

TEST_F(OneDelivery, WhatTheStoreNeverHeardOfIsTold) {
  options.delivery = Guarantee::atMostOnce;
  delivery().take(head.message);

  delivery().forgo("its term was lost");

  ASSERT_THAT(told<MessageForgone>(), SizeIs(1));
  EXPECT_FALSE(delivery().hasTaken());
}

TEST_F(OneDelivery, WithoutKeysWhatComesAgainUnacknowledgedIsDropped) {
  options.delivery = Guarantee::atLeastOnce;
  const std::vector<MessagePtr> committed{messageOf("a"), messageOf("b")};
  delivery().remember(committed);
  head.mayHaveCome = true;
  EXPECT_FALSE(expectA<Delivery::Settled>(begin()).ran);

  head.place = 1;
  head.message = messageOf("c");

  asks<Handle>(begin());  // so the rest was acknowledged after all
}

}  // namespace
}  // namespace tenure::consuming
