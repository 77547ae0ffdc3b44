/// What the store knows to be in work, and so who may begin.
#include "consumer/in_work_record.hpp"

#include "parts.hpp"

namespace tenure::consuming {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LedgerTest : public PartTest {
 protected:
  InWorkRecord& ledger() {
    if (!ledger_) ledger_.emplace(at());
    return *ledger_;
  }
  /// A commit of that many of `ids`, after which batches have four.
  InWorkRecord::Entry commit(std::size_t settled, InWorkRecord::Ending ending = {.batch = 4}) {
    while (hand.settled() < settled) hand.settle();
    InWorkRecord::Entry entry = ledger().next(hand, ending);
    ledger().committed(entry, hand);
    hand.leave();
    hand.undo();
    return entry;
  }

  LaneQueue hand;

 private:
  std::optional<InWorkRecord> ledger_;
};

TEST_F(LedgerTest, WhereNobodyIsSuspectAFirstBatchMayBeginUnderTheClaimAlone) {
  hand.add(messagesOf({"a", "b"}));

  ledger().surveyed(hand, {});

  EXPECT_TRUE(ledger().isOpen());
  EXPECT_EQ(hand.granted(), 4U);
}

TEST_F(LedgerTest, EachCommitNamesTheNextBatchAndNothingElseMayBegin) {
  hand.add(messagesOf({"a", "b", "c", "d", "e", "f", "g"}));
  ledger().surveyed(hand, {});

  const InWorkRecord::Entry entry = commit(2);

  EXPECT_THAT(idsOf(entry.inWork), ElementsAre("c", "d", "e", "f"));
  EXPECT_FALSE(entry.more);
  EXPECT_EQ(hand.granted(), 4U);
}

TEST_F(LedgerTest, WhereFewerWaitThanABatchHasLaterOnesMayComeIn) {
  hand.add(messagesOf({"a", "b"}));
  ledger().surveyed(hand, {});

  const InWorkRecord::Entry entry = commit(1);

  EXPECT_THAT(idsOf(entry.inWork), ElementsAre("b"));
  EXPECT_TRUE(entry.more);
}

TEST_F(LedgerTest, ALastCommitSaysThatNothingIsInWork) {
  hand.add(messagesOf({"a", "b"}));
  ledger().surveyed(hand, {});

  const InWorkRecord::Entry entry = commit(1, {.closes = true, .batch = 4});

  EXPECT_THAT(entry.inWork, IsEmpty());
  EXPECT_FALSE(entry.more);
  EXPECT_EQ(ledger().state(), InWorkRecord::State::closed);
}

TEST_F(LedgerTest, SuspectsStayOnRecordAsTheOtherTermsUntilTheLastIsDone) {
  Recollection left;
  left.state = leftInWork({"a", "b"});
  ledger().restore(left);
  EXPECT_TRUE(ledger().expects());
  hand.add(messagesOf({"a", "b", "c"}));
  ledger().surveyed(hand, {.named = {MessageId{"a"}, MessageId{"b"}}});
  EXPECT_EQ(hand.granted(), 2U);

  const InWorkRecord::Entry first = commit(1);
  EXPECT_THAT(idsOf(first.inWork), ElementsAre(suspectsOf(FencingToken{3}).value, "b"));
  EXPECT_EQ(hand.suspects(), 1U);

  const InWorkRecord::Entry second = commit(1);
  EXPECT_THAT(idsOf(second.inWork), ElementsAre("c")) << "that is this term's own";
  EXPECT_TRUE(ledger().isOwn());
}

TEST_F(LedgerTest, AnExternalHandlersMessagesAreNamedOneByOne) {
  options.handlerIsExternal = true;
  hand.add(messagesOf({"a", "b"}));
  ledger().surveyed(hand, {});
  EXPECT_EQ(hand.granted(), 0U) << "not before it is on record";

  const InWorkRecord::Entry entry = commit(0, {.batch = 1});

  EXPECT_THAT(idsOf(entry.inWork), ElementsAre("a"));
  EXPECT_FALSE(entry.more);
  EXPECT_EQ(hand.granted(), 1U);
}

TEST_F(LedgerTest, ALaneNamesWhatItHasAndNoMore) {
  role = Role::lane;
  ledger().restore({});
  EXPECT_EQ(ledger().state(), InWorkRecord::State::closed);
  hand.add(messagesOf({"a", "b"}));

  const InWorkRecord::Entry entry = commit(0);

  EXPECT_THAT(idsOf(entry.inWork), ElementsAre("a", "b"));
  EXPECT_FALSE(entry.more);
}

TEST_F(LedgerTest, BeforeTheLanesAllIsSuspectAndMoreMayCome) {
  role = Role::recovery;
  options.ordering = Ordering::perGroup(2);
  hand.add(messagesOf({"a", "b"}));
  ledger().surveyed(hand, {});
  EXPECT_EQ(hand.suspects(), 2U);

  EXPECT_TRUE(commit(1).more);
}

TEST_F(LedgerTest, WhoTakesMessagesFirstHasNoSuspects) {
  options.delivery = Guarantee::atMostOnce;
  Recollection left;
  left.state.inWork = {MessageId{"a"}};
  ledger().restore(left);
  EXPECT_FALSE(ledger().expects());
  hand.add(messagesOf({"a"}));

  ledger().surveyed(hand, {.named = {MessageId{"a"}}});

  EXPECT_EQ(hand.suspects(), 0U);
}

}  // namespace
}  // namespace tenure::consuming
