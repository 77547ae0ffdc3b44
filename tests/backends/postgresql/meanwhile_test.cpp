// What others do between a transaction's look at a key and its commit: the look was a hint, and the commit finds out.
#include "leading.hpp"

namespace tenure::postgresql {
namespace {

using test::failsWith;
using test::PostgresWorld;
using test::succeeds;

class Meanwhile : public testing::Test {
 protected:
  static inline const ConsumerName consumer{"ledger"};

  Meanwhile() { EXPECT_THAT(leader.claim(), succeeds()); }

  static Result<Admission> admit(IFencedTransaction& transaction, MessageFate fate = MessageFate::done) {
    return transaction.admit(consumer, MessageId{"m"}, digestOf("body"), fate);
  }
  /// In a transaction of its own.
  static Admission handle(IFencedStore& store, const test::TestTerm& term, MessageFate fate = MessageFate::done) {
    const auto transaction = store.begin(term).value();
    const Admission admission = admit(*transaction, fate).value();
    EXPECT_THAT(transaction->commit(), succeeds());
    return admission;
  }
  void deadLetter() {
    const auto transaction = leader.begin();
    ASSERT_THAT(admit(*transaction, MessageFate::dead), succeeds());
    DeadLetter letter;
    letter.reason = "no";
    letter.message.id = MessageId{"m"};
    letter.message.body = "body";
    ASSERT_THAT(transaction->deadLetter(consumer, letter), succeeds());
    ASSERT_THAT(transaction->commit(), succeeds());
  }
  std::string keys() { return world.ask("SELECT count(*) FROM tenure_key"); }

  PostgresWorld world;
  Leader leader{world.options(), 7};
};

TEST_F(Meanwhile, ACopyThatAnotherLaneHandlesUndoesTheLaterOne) {
  const auto lane = leader.store().openLane(1);
  ASSERT_THAT(lane->claim(leader.term), succeeds());
  const auto late = leader.begin();
  ASSERT_EQ(admit(*late).value(), Admission::fresh);
  ASSERT_THAT(late->put("effect", "twice"), succeeds());
  ASSERT_EQ(handle(*lane, leader.term), Admission::fresh);

  EXPECT_THAT(late->commit(), failsWith(Errc::transactionConflict));

  EXPECT_EQ(leader.get("effect"), "none");
  EXPECT_EQ(handle(leader.store(), leader.term), Admission::duplicate);
}

TEST_F(Meanwhile, AnotherQueuesConsumerOfTheSameNameHasKeysOfItsOwn) {
  Options options = world.options();
  options.queue = "invoices";
  Database other(options, noEvents());
  const test::TestTerm term(3, "invoices");
  ASSERT_THAT(other.store().claim(term), succeeds());
  const auto late = leader.begin();
  ASSERT_EQ(admit(*late).value(), Admission::fresh);
  ASSERT_EQ(handle(other.store(), term), Admission::fresh);

  EXPECT_THAT(late->commit(), succeeds());

  EXPECT_EQ(handle(leader.store(), leader.term), Admission::duplicate);
  EXPECT_EQ(keys(), "2");
}

TEST_F(Meanwhile, AnOperatorWhoRequeuesUndoesWhatTookTheMessageForDead) {
  deadLetter();
  const auto late = leader.begin();
  ASSERT_EQ(admit(*late).value(), Admission::duplicate);
  ASSERT_THAT(late->put("effect", "of a duplicate"), succeeds());

  ASSERT_EQ(openAdmin(world.options())->requeueDeadLetters({}).value().size(), 1U);

  EXPECT_THAT(late->commit(), failsWith(Errc::transactionConflict));
  EXPECT_EQ(handle(leader.store(), leader.term), Admission::fresh) << "it is to be handled once more";
}

TEST_F(Meanwhile, AnOperatorWhoPurgesChangesNothingForTheMessage) {
  deadLetter();
  const auto late = leader.begin();
  ASSERT_EQ(admit(*late).value(), Admission::duplicate);

  ASSERT_EQ(openAdmin(world.options())->purgeDeadLetters({}).value().size(), 1U);

  EXPECT_THAT(late->commit(), succeeds());
}

TEST_F(Meanwhile, AnOperatorWhoReleasesIsNotOverwritten) {
  AttemptRecord record;
  record.id = MessageId{"m"};
  record.attempts = 1;
  record.state = AttemptState::blocked;
  const auto first = leader.begin();
  ASSERT_THAT(first->recordAttempt(consumer, record), succeeds());
  ASSERT_THAT(first->commit(), succeeds());
  record.attempts = 2;
  const auto late = leader.begin();
  ASSERT_THAT(late->recordAttempt(consumer, record), succeeds());

  ASSERT_THAT(openAdmin(world.options())->release(consumer, MessageId{"m"}), succeeds());

  EXPECT_THAT(late->commit(), succeeds());
  EXPECT_EQ(world.ask("SELECT attempts || ' ' || state FROM tenure_attempt"), "2 2");
}

TEST_F(Meanwhile, AKeyThatIsPrunedUndoesWhatTookTheMessageForDone) {
  const auto lane = leader.store().openLane(1);
  ASSERT_THAT(lane->claim(leader.term), succeeds());
  ASSERT_EQ(handle(leader.store(), leader.term), Admission::fresh);
  const auto late = lane->begin(leader.term).value();
  ASSERT_EQ(admit(*late).value(), Admission::duplicate);
  ASSERT_THAT(late->put("effect", "of a duplicate"), succeeds());

  Pruning all;
  all.consumer = consumer;
  all.before = WallTime::max();
  all.atMost = 100;
  const auto pruned = leader.store().prune(leader.term, all);
  ASSERT_EQ(pruned.value().removed, 1U);

  EXPECT_THAT(late->commit(), failsWith(Errc::transactionConflict));
  EXPECT_EQ(handle(*lane, leader.term), Admission::fresh);
}

}  // namespace
}  // namespace tenure::postgresql
