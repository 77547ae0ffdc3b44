/// One message: which questions are asked for it, and what becomes of it.
#include "consumer/charges.hpp"
#include "consumer/taken_delivery.hpp"
#include "parts.hpp"

namespace tenure::consuming {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class OneDelivery : public PartTest {
 protected:
  Delivery& delivery() {
    if (!delivery_) {
      if (options.delivery == Guarantee::atMostOnce)
        delivery_ = std::make_unique<TakenDelivery>(at(), Random{1});
      else
        delivery_ = std::make_unique<Delivery>(at(), Random{1});
    }
    return *delivery_;
  }
  TakenDelivery& taken() { return *delivery().taken(); }
  template <class A>
  static A asks(const Delivery::Decision& decision) {
    return expectA<A>(expectA<Delivery::Question>(decision));
  }
  Delivery::Decision begin() { return delivery().begin(head, now); }
  /// Up to its handler's answer.
  Delivery::Decision run(const Outcome& outcome) {
    asks<Delivery::LooksUpKey>(begin());
    expectA<Delivery::GoesOn>(delivery().looked(false));
    asks<Delivery::Runs>(begin());
    return delivery().ran(outcome, now);
  }

  Head head{.message = messageOf("a")};

 private:
  std::unique_ptr<Delivery> delivery_;
};

TEST_F(OneDelivery, TheFirstIsLookedUpThenHandledThenAdmitted) {
  asks<Delivery::LooksUpKey>(begin());
  expectA<Delivery::GoesOn>(delivery().looked(false));
  const Delivery::Runs handle = asks<Delivery::Runs>(begin());
  EXPECT_TRUE(handle.mark);
  EXPECT_EQ(handle.attempt, 1);
  EXPECT_FALSE(asks<Delivery::AdmitsKey>(delivery().ran(Outcome::done(), now)).mark);

  EXPECT_TRUE(expectA<Delivery::Settled>(delivery().admitted(Admission::fresh, now)).ran);
}

TEST_F(OneDelivery, TheOthersAreAdmittedFirst) {
  head.isFirst = false;
  EXPECT_TRUE(asks<Delivery::AdmitsKey>(begin()).mark);
  EXPECT_FALSE(asks<Delivery::Runs>(delivery().admitted(Admission::fresh, now)).mark);

  expectA<Delivery::Settled>(delivery().ran(Outcome::done(), now));
}

TEST_F(OneDelivery, WhatHasAKeyIsDropped) {
  asks<Delivery::LooksUpKey>(begin());
  delivery().looked(true);
  asks<Delivery::AdmitsKey>(begin());

  EXPECT_FALSE(expectA<Delivery::Settled>(delivery().admitted(Admission::duplicate, now)).ran);
  EXPECT_THAT(at().pendingWrites.news, SizeIs(1));
}

TEST_F(OneDelivery, WhatHasAKeyOfAnotherBodyIsADeadLetterWithoutOne) {
  head.isFirst = false;
  asks<Delivery::AdmitsKey>(begin());

  const Delivery::Dies deadLetter = asks<Delivery::Dies>(delivery().admitted(Admission::reused, now));

  EXPECT_FALSE(deadLetter.withKey);
  EXPECT_EQ(deadLetter.attempts, 0);
}

TEST_F(OneDelivery, AKeyThatCameDuringTheHandlerUndoesWhatItWrote) {
  asks<Delivery::AdmitsKey>(run(Outcome::done()));

  asks<Delivery::StartsOver>(delivery().admitted(Admission::duplicate, now));
}

TEST_F(OneDelivery, WithoutKeysNothingIsAsked) {
  options.delivery = Guarantee::atLeastOnce;
  asks<Delivery::Runs>(begin());

  expectA<Delivery::Settled>(delivery().ran(Outcome::done(), now));
}

TEST_F(OneDelivery, AFailureIsRecordedAndItWaitsInItsPlace) {
  expectA<Delivery::CommitFirst>(run(Outcome::failed("no")));

  ASSERT_TRUE(at().pendingWrites.record);
  EXPECT_EQ(at().pendingWrites.record->attempts, 1);
  EXPECT_GE(delivery().notBefore(), now.boot);
}

TEST_F(OneDelivery, InALaneItIsGivenBackMeanwhile) {
  reads = false;
  options.ordering = Ordering::perGroup(2);

  EXPECT_GE(expectA<Delivery::GivesBack>(run(Outcome::failed("no"))).until, now.boot);
}

TEST_F(OneDelivery, TheLastFailureMakesADeadLetterOfIt) {
  options.maxAttempts = 1;

  const Delivery::Dies deadLetter = asks<Delivery::Dies>(run(Outcome::failed("no")));

  EXPECT_EQ(deadLetter.reason, "no");
  EXPECT_EQ(deadLetter.attempts, 1);
  EXPECT_TRUE(deadLetter.undo);
  EXPECT_TRUE(deadLetter.withKey);
}

TEST_F(OneDelivery, ADeadLetterWhoseKeyIsThereAlreadyIsARepeat) {
  options.maxAttempts = 1;
  asks<Delivery::Dies>(run(Outcome::failed("no")));
  const MessageId id = head.message->id;
  EXPECT_TRUE(delivery().refusedByStore(id, "too large", true));
  asks<Delivery::Dies>(begin());

  asks<Delivery::StartsOver>(delivery().foundKey());

  delivery().forgetTransaction();
  asks<Delivery::LooksUpKey>(begin());
  expectA<Delivery::GoesOn>(delivery().looked(false));
  asks<Delivery::AdmitsKey>(begin());
  expectA<Delivery::Settled>(delivery().admitted(Admission::duplicate, now));
}

TEST_F(OneDelivery, OrItBlocksThoseBehindIt) {
  options.maxAttempts = 1;
  options.onDead = OnDead::block;

  expectA<Delivery::CommitFirst>(run(Outcome::failed("no")));

  EXPECT_EQ(at().pendingWrites.record->state, AttemptState::blocked);
}

TEST_F(OneDelivery, ARejectedOneIsADeadLetterAtOnceAndASkippedOneOnlyLosesItsWrites) {
  EXPECT_EQ(asks<Delivery::Dies>(run(Outcome::reject("never"))).reason, "never");
  delivery().forgetTransaction();

  asks<Delivery::Undoes>(run(Outcome::skip("not ours")));
  asks<Delivery::AdmitsKey>(delivery().undone(now));
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
  asks<Delivery::LooksUpKey>(begin());
  delivery().looked(false);

  expectA<Delivery::CommitFirst>(begin());

  EXPECT_TRUE(at().pendingWrites.charges);
  EXPECT_EQ(at().pendingWrites.record->begunBy, FencingToken{7});
  at().histories.put(*at().pendingWrites.record);
  delivery().chargeIsDurable(head.message->id);
  at().pendingWrites = {};
  EXPECT_EQ(asks<Delivery::Runs>(begin()).attempt, 1);
}

TEST_F(OneDelivery, ASuspectThatIsOutOfAttemptsIsADeadLetter) {
  head.isSuspect = true;
  AttemptRecord died = attemptsAt("a", 5);
  died.processDied = true;
  at().histories.put(died);
  asks<Delivery::LooksUpKey>(begin());
  delivery().looked(false);

  EXPECT_THAT(asks<Delivery::Dies>(begin()).reason, HasSubstr("during its last attempt"));
}

TEST_F(OneDelivery, WhatAnOperatorReleasedIsADeadLetter) {
  AttemptRecord released = attemptsAt("a", 2, "no");
  released.state = AttemptState::released;
  at().histories.put(released);
  asks<Delivery::LooksUpKey>(begin());
  delivery().looked(false);

  EXPECT_EQ(asks<Delivery::Dies>(begin()).reason, "released: no");
}

TEST_F(OneDelivery, AnExternalHandlersRunIsNotRepeatedForItsKey) {
  options.handlerIsExternal = true;
  asks<Delivery::AdmitsKey>(run(Outcome::done()));
  delivery().forgetTransaction();

  asks<Delivery::LooksUpKey>(begin());
  delivery().looked(false);

  asks<Delivery::AdmitsKey>(begin());
}

/// Its lane's clock is read after the scheduler's.
TEST_F(OneDelivery, ATurnThatWasRefusedIsNotTakenThoughItsTimeHasComeMeanwhile) {
  head.isCounted = true;
  asks<Delivery::LooksUpKey>(begin());
  delivery().looked(false);
  asks<Delivery::TakesToken>(begin());

  expectA<Delivery::Waits>(delivery().turned(now.boot, now));

  asks<Delivery::TakesToken>(begin());
}

TEST_F(OneDelivery, WhoIsCountedAsksForItsTurnOnce) {
  head.isCounted = true;
  asks<Delivery::LooksUpKey>(begin());
  delivery().looked(false);
  asks<Delivery::TakesToken>(begin());
  expectA<Delivery::Waits>(delivery().turned(now.boot + 1s, now));
  EXPECT_THAT(told<MessageHeldBack>(), SizeIs(1));
  asks<Delivery::TakesToken>(begin());

  expectA<Delivery::GoesOn>(delivery().turned({}, now));

  asks<Delivery::Begins>(begin());
  asks<Delivery::Runs>(delivery().begun({}));
}

TEST_F(OneDelivery, ATokenThatCameWithItIsItsTurnAndGoesBackWhenItIsNotUsed) {
  reads = false;
  options.ordering = Ordering::perGroup(2);
  head.isCounted = true;
  delivery().bringTokens({&head.message, 1});
  const std::vector<MessagePtr> settled{head.message};
  EXPECT_THAT(delivery().unbegun(settled), SizeIs(1));

  asks<Delivery::AdmitsKey>(run(Outcome::done()));

  EXPECT_THAT(delivery().unbegun(settled), SizeIs(0));
}

TEST_F(OneDelivery, AtMostOnceTakesItBeforeItStartsAndStartsItOnce) {
  options.delivery = Guarantee::atMostOnce;
  asks<Delivery::AdmitsKey>(begin());
  expectA<Delivery::Settled>(delivery().admitted(Admission::fresh, now));
  EXPECT_TRUE(at().pendingWrites.takes);
  at().pendingWrites = {};
  delivery().forgetTransaction();
  delivery().take(head.message);

  asks<Delivery::Runs>(taken().goOn(head, BootTime::min(), now));
  const Delivery::Dies deadLetter = asks<Delivery::Dies>(delivery().ran(Outcome::failed("no"), now));

  EXPECT_EQ(deadLetter.attempts, 1);
  EXPECT_FALSE(deadLetter.withKey) << "it has one";
}

TEST_F(OneDelivery, AtMostOnceAMessageWhoseRowOthersHaveLockedIsPostponedOnRecord) {
  options.delivery = Guarantee::atMostOnce;

  expectA<Delivery::CommitFirst>(delivery().heldUp(head, "the row is locked", now));

  ASSERT_TRUE(at().pendingWrites.record);
  EXPECT_EQ(at().pendingWrites.record->postponements.times, 1);
}

TEST_F(OneDelivery, WhatIsTakenWhenItsLeaderLeavesBeforeItsTurnIsADeadLetterUnbegun) {
  options.delivery = Guarantee::atMostOnce;
  delivery().take(head.message);
  now.mayBegin = now.mayFinish = false;
  now.stopAsked = true;

  EXPECT_EQ(asks<Delivery::Dies>(taken().goOn(head, BootTime::min(), now)).attempts, 0);
}

// shows: operations/begun-finished-committed
TEST_F(OneDelivery, WhatIsTakenHasItsStartAlsoWhereTheElectionIsPausedMeanwhile) {
  options.delivery = Guarantee::atMostOnce;
  delivery().take(head.message);
  now.mayBegin = false;

  asks<Delivery::Runs>(taken().goOn(head, BootTime::min(), now));
}

TEST_F(OneDelivery, AtMostOnceASkippedOneIsDoneAndNoDeadLetterWhenItsCommitIsLost) {
  options.delivery = Guarantee::atMostOnce;
  delivery().take(head.message);
  asks<Delivery::Runs>(taken().goOn(head, BootTime::min(), now));
  asks<Delivery::Undoes>(delivery().ran(Outcome::skip("of no use"), now));
  expectA<Delivery::Settled>(delivery().undone(now));

  taken().refused({Errc::unavailable, "it starts again"});
  delivery().forgetTransaction();

  expectA<Delivery::Settled>(taken().goOn(head, BootTime::min(), now));
}

TEST_F(OneDelivery, WhatTheStoreNeverHeardOfIsTold) {
  options.delivery = Guarantee::atMostOnce;
  delivery().take(head.message);

  taken().forgo("its term was lost");

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

  asks<Delivery::Runs>(begin());  // so the rest was acknowledged after all
}

}  // namespace
}  // namespace tenure::consuming
