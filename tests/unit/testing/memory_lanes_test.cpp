/// Lanes of the store in memory that commit beside each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/results.hpp"
#include "support/terms.hpp"
#include "tenure/spi/store.hpp"
#include "tenure/testing/memory.hpp"

namespace tenure::memory {
namespace {

using test::failsWith;
using test::succeeds;

class MemoryLanes : public testing::Test {
 protected:
  struct Leader {
    Leader(World& world, std::int64_t token)
        : database(world, noEvents(), systemClock(), Database::Acknowledging::inTransaction,
                   Database::Lanes::besideEachOther),
          term(token) {}
    std::unique_ptr<IFencedStore> lane(std::int64_t number) { return database.store().openLane(number); }

    Database database;
    test::TestTerm term;
  };
  MemoryLanes() {
    EXPECT_THAT(leader.database.store().claim(leader.term), succeeds());
    EXPECT_THAT(one->claim(leader.term), succeeds());
    EXPECT_THAT(two->claim(leader.term), succeeds());
  }
  std::unique_ptr<IFencedTransaction> begin(IFencedStore& store) { return store.begin(leader.term).value(); }
  static Admission admitted(IFencedTransaction& transaction, const std::string& id) {
    return transaction.admit(ConsumerName{"orders"}, MessageId{id}, digestOf(id), MessageFate::done).value();
  }

  World world;
  Leader leader{world, 7};
  std::unique_ptr<IFencedStore> one = leader.lane(1);
  std::unique_ptr<IFencedStore> two = leader.lane(2);
};

TEST_F(MemoryLanes, HaveTransactionsOpenBesideEachOther) {
  const auto first = begin(*one);
  const auto second = begin(*two);
  ASSERT_THAT(first->put("of one", "1"), succeeds());
  ASSERT_THAT(second->put("of two", "2"), succeeds());

  EXPECT_THAT(second->commit(), succeeds());
  EXPECT_EQ(world.value("of one"), std::nullopt);
  EXPECT_THAT(first->commit(), succeeds());

  EXPECT_EQ(world.value("of one"), "1");
  EXPECT_EQ(world.value("of two"), "2");
}

TEST_F(MemoryLanes, SeeTheirOwnWritesAndTakeThemBackToAMark) {
  const auto open = begin(*one);
  ASSERT_THAT(open->put("k", "before"), succeeds());
  ASSERT_EQ(admitted(*open, "m-1"), Admission::fresh);
  ASSERT_THAT(open->mark(), succeeds());
  ASSERT_THAT(open->erase("k"), succeeds());
  EXPECT_EQ(open->get("k").value(), std::nullopt);

  ASSERT_THAT(open->rollbackToMark(), succeeds());

  EXPECT_EQ(open->get("k").value(), "before");
  EXPECT_EQ(admitted(*open, "m-1"), Admission::duplicate);
  EXPECT_THAT(open->commit(), succeeds());
  EXPECT_EQ(world.value("k"), "before");
}

TEST_F(MemoryLanes, FindAtTheirCommitWhatAnotherOneHasAdmittedMeanwhile) {
  const auto first = begin(*one);
  const auto second = begin(*two);
  ASSERT_EQ(admitted(*first, "m-1"), Admission::fresh);
  ASSERT_THAT(first->put("k", "of one"), succeeds());
  ASSERT_EQ(admitted(*second, "m-1"), Admission::fresh);
  ASSERT_THAT(second->commit(), succeeds());

  EXPECT_THAT(first->commit(), failsWith(Errc::transactionConflict));

  EXPECT_EQ(world.value("k"), std::nullopt);
  EXPECT_EQ(world.ledger().size(), 1U);
  EXPECT_FALSE(world.isWriting());
}

TEST_F(MemoryLanes, AreFencedAsTheirLeaderIs) {
  const auto open = begin(*one);
  ASSERT_THAT(open->put("k", "stale"), succeeds());
  Leader newer(world, 8);
  EXPECT_THAT(newer.lane(1)->claim(newer.term), failsWith(Errc::staleTerm)) << "it has yet to claim";
  ASSERT_THAT(newer.database.store().claim(newer.term), succeeds());

  EXPECT_THAT(open->commit(), failsWith(Errc::staleTerm));
  EXPECT_THAT(leader.lane(2)->claim(leader.term), failsWith(Errc::staleTerm));

  EXPECT_EQ(world.value("k"), std::nullopt);
}

TEST_F(MemoryLanes, NoticeACopyOfThemselves) {
  ASSERT_THAT(leader.lane(1)->claim(leader.term), succeeds());
  const auto open = begin(*one);
  ASSERT_THAT(open->put("k", "v"), succeeds());

  EXPECT_THAT(open->commit(), failsWith(Errc::clonedLeader));
}

TEST_F(MemoryLanes, AskWhatBecameOfACommitWhoseReplyWasLost) {
  for (const bool landed : {true, false}) {
    const auto open = begin(*one);
    ASSERT_THAT(open->put("k", "v"), succeeds());
    world.loseCommitReply(landed);
    ASSERT_THAT(open->commit(), failsWith(Errc::outcomeUnknown));

    EXPECT_EQ(one->resolve(leader.term).value(), landed ? CommitFate::committed : CommitFate::notCommitted);
    EXPECT_THAT(begin(*one)->commit(), succeeds());
  }
}

}  // namespace
}  // namespace tenure::memory
