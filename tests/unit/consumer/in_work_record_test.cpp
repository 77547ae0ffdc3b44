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
  /// The first messages in hand are suspects.
  void find(std::size_t suspects) {
    ledger().onArrived(hand, hand.size(), suspects);
    ledger().scanned(hand);
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
  hand.add(sealedOf({"a", "b"}));

  find(0);

  EXPECT_TRUE(ledger().isOpen());
  EXPECT_EQ(hand.startable(), 4U);
}

TEST_F(LedgerTest, EachCommitNamesTheNextBatchAndNothingElseMayBegin) {
  hand.add(sealedOf({"a", "b", "c", "d", "e", "f", "g"}));
  find(0);

  const InWorkRecord::Entry entry = commit(2);

  EXPECT_THAT(idsOf(entry.inWork.ids), ElementsAre("c", "d", "e", "f"));
  EXPECT_FALSE(entry.inWork.more);
  EXPECT_EQ(hand.startable(), 4U);
}

TEST_F(LedgerTest, WhereFewerWaitThanABatchHasLaterOnesMayComeIn) {
  hand.add(sealedOf({"a", "b"}));
  find(0);

  const InWorkRecord::Entry entry = commit(1);

  EXPECT_THAT(idsOf(entry.inWork.ids), ElementsAre("b"));
  EXPECT_TRUE(entry.inWork.more);
}

TEST_F(LedgerTest, ALastCommitSaysThatNothingIsInWork) {
  hand.add(sealedOf({"a", "b"}));
  find(0);

  const InWorkRecord::Entry entry = commit(1, {.closes = true, .batch = 4});

  EXPECT_THAT(entry.inWork.ids, IsEmpty());
  EXPECT_FALSE(entry.inWork.more);
  EXPECT_EQ(ledger().state(), InWorkRecord::State::closed);
}

TEST_F(LedgerTest, SuspectsStayOnRecordAsTheOtherTermsUntilTheLastIsDone) {
  ConsumerState left = leftInWork({"a", "b"});
  ledger().restore(left);
  EXPECT_TRUE(ledger().expects());
  hand.add(sealedOf({"a", "b", "c"}));
  find(2);
  EXPECT_EQ(hand.startable(), 2U);

  const InWorkRecord::Entry first = commit(1);
  EXPECT_THAT(idsOf(first.inWork.ids), ElementsAre("b"));
  EXPECT_EQ(first.inWork.suspectsOf, FencingToken{3});
  EXPECT_TRUE(first.inWork.isNarrowedDown);
  EXPECT_EQ(hand.suspects(), 1U);

  const InWorkRecord::Entry second = commit(1);
  EXPECT_THAT(idsOf(second.inWork.ids), ElementsAre("c"));
  EXPECT_EQ(second.inWork.suspectsOf, FencingToken{}) << "that is this term's own";
  EXPECT_TRUE(ledger().isOwn());
}

TEST_F(LedgerTest, AnExternalHandlersMessagesAreNamedOneByOne) {
  options.handlerIsExternal = true;
  hand.add(sealedOf({"a", "b"}));
  find(0);
  EXPECT_EQ(hand.startable(), 0U) << "not before it is on record";

  const InWorkRecord::Entry entry = commit(0, {.batch = 1});

  EXPECT_THAT(idsOf(entry.inWork.ids), ElementsAre("a"));
  EXPECT_FALSE(entry.inWork.more);
  EXPECT_EQ(hand.startable(), 1U);
}

TEST_F(LedgerTest, ALaneNamesWhatItHasAndNoMore) {
  reads = false;
  options.ordering = Ordering::perGroup(2);
  ledger().restore({});
  EXPECT_EQ(ledger().state(), InWorkRecord::State::closed);
  hand.add(sealedOf({"a", "b"}));

  const InWorkRecord::Entry entry = commit(0);

  EXPECT_THAT(idsOf(entry.inWork.ids), ElementsAre("a", "b"));
  EXPECT_FALSE(entry.inWork.more);
}

TEST_F(LedgerTest, BeforeTheLanesAllIsSuspectAndMoreMayCome) {
  options.ordering = Ordering::perGroup(2);
  hand.add(sealedOf({"a", "b"}));
  find(hand.size());
  EXPECT_EQ(hand.suspects(), 2U);

  EXPECT_TRUE(commit(1).inWork.more);
}

TEST_F(LedgerTest, BeforeTheLanesSuspectsBehindAGroupInHandStayThoseOfTheTermThatDied) {
  options.ordering = Ordering::perGroup(2);
  options.coalesce = Coalesce::byKey;
  ConsumerState left = leftInWork({"a", "elsewhere"}, false);
  ledger().restore(left);
  hand.add(sealedOf({"a"}));
  find(hand.size());

  const InWorkRecord::Entry entry = commit(1);
  EXPECT_TRUE(entry.inWork.more);
  EXPECT_EQ(entry.inWork.suspectsOf, left.inWork.recordedBy);
  EXPECT_TRUE(ledger().isOfSuspects());

  ledger().recovered();
  EXPECT_EQ(commit(0).inWork.suspectsOf, FencingToken{}) << "once none is left, the record is this term's own";
  EXPECT_FALSE(ledger().isOfSuspects());
}

TEST_F(LedgerTest, BeforeTheLanesATermThatLeavesTellsOnWhomItDidNotComeTo) {
  options.ordering = Ordering::perGroup(2);
  ConsumerState left = leftInWork({"a", "elsewhere"}, false);
  ledger().restore(left);
  hand.add(sealedOf({"a"}));
  find(hand.size());

  const InWorkRecord::Entry entry = commit(1, {.closes = true, .batch = 4});

  EXPECT_TRUE(entry.inWork.more);
  EXPECT_THAT(entry.inWork.ids, IsEmpty());
  EXPECT_EQ(entry.inWork.suspectsOf, left.inWork.recordedBy);
  EXPECT_TRUE(entry.inWork.isNarrowedDown) << "few, and not to begin together in the next term";
  EXPECT_TRUE(ledger().isOpen());
  ledger().recovered();
  EXPECT_FALSE(commit(0, {.closes = true, .batch = 4}).inWork.more);
}

/// Forty suspects of an earlier term, m1 …, and one more message.
class NarrowingTest : public LedgerTest {
 protected:
  void findForty(bool more = false) {
    std::vector<std::string> ids;
    for (int i = 1; i <= 40; ++i) ids.push_back("m" + std::to_string(i));
    ConsumerState left = leftInWork(ids, more);
    ledger().restore(left);
    ids.emplace_back("later");
    hand.add(sealedOf(ids));
    find(40);
  }
  /// As suspects of the term that may have died of them: this one may outlive them without having begun any.
  static std::vector<std::string> stillSuspect(const InWorkRecord::Entry& entry, bool narrowedDown = true) {
    EXPECT_EQ(entry.inWork.suspectsOf, FencingToken{3});
    EXPECT_EQ(entry.inWork.isNarrowedDown, narrowedDown);
    return idsOf(entry.inWork.ids);
  }
};

TEST_F(NarrowingTest, ManySuspectsAreNamedFewAtATimeBeforeTheyBegin) {
  options.maxBatch = 100;
  findForty();
  EXPECT_EQ(hand.suspects(), 40U);
  EXPECT_FALSE(hand.areAlone());
  EXPECT_FALSE(ledger().mayBegin(hand)) << "not before the record says so";

  const InWorkRecord::Entry few = commit(0);
  EXPECT_THAT(stillSuspect(few), testing::SizeIs(fewSuspects));
  EXPECT_EQ(stillSuspect(few).front(), "m1");
  EXPECT_FALSE(few.inWork.more);
  EXPECT_EQ(hand.startable(), fewSuspects);

  const InWorkRecord::Entry rest = commit(fewSuspects);
  EXPECT_THAT(stillSuspect(rest), testing::SizeIs(40 - fewSuspects));
  EXPECT_EQ(hand.startable(), 40 - fewSuspects);

  const InWorkRecord::Entry past = commit(40 - fewSuspects);
  EXPECT_THAT(idsOf(past.inWork.ids), ElementsAre("later"));
  EXPECT_TRUE(past.inWork.more);
  EXPECT_FALSE(hand.narrows());
}

TEST_F(NarrowingTest, AsManyAsMayComeAloneDo) {
  options.maxBatch = 100;
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < fewSuspects; ++i) ids.push_back("m" + std::to_string(i));
  hand.add(sealedOf(ids));

  find(fewSuspects);

  EXPECT_TRUE(hand.areAlone());
}

TEST_F(NarrowingTest, FewStayAloneWhateverComesBeforeThemOnceMore) {
  options.maxBatch = 100;
  ConsumerState left = leftInWork({"m39", "m40"});
  ledger().restore(left);
  std::vector<std::string> ids;
  for (int i = 1; i <= 40; ++i) ids.push_back("m" + std::to_string(i));
  hand.add(sealedOf(ids));

  find(40);

  EXPECT_TRUE(hand.areAlone());
}

TEST_F(NarrowingTest, WhoWasNarrowedDownComesAloneHoweverManyStandBetweenThem) {
  options.maxBatch = 100;
  std::vector<std::string> ids;
  for (int i = 1; i <= 40; ++i) ids.push_back("m" + std::to_string(i));
  ConsumerState left = leftInWork(ids);  // by somebody who found fewer, and others among them
  left.inWork.isNarrowedDown = true;
  ledger().restore(left);
  hand.add(sealedOf(ids));

  find(40);

  EXPECT_TRUE(hand.areAlone());
  EXPECT_THAT(stillSuspect(commit(1)), testing::SizeIs(39));
}

TEST_F(NarrowingTest, NoMoreAreNamedAtATimeThanATransactionMayHave) {
  findForty();

  EXPECT_THAT(stillSuspect(commit(0)), ElementsAre("m1", "m2", "m3", "m4"));
}

TEST_F(NarrowingTest, WhereEachIsNamedByItselfTheyStayAlone) {
  options.handlerIsExternal = true;
  findForty();

  EXPECT_TRUE(hand.areAlone());
}

TEST_F(NarrowingTest, TheFirstCommitClosesTheRecordsOfLanesAndNoOther) {
  options.maxBatch = 100;
  options.ordering = Ordering::perGroup(3);
  findForty(true);

  const InWorkRecord::Entry first = commit(0);
  EXPECT_EQ(first.voids, 3U);
  EXPECT_FALSE(first.inWork.more) << "the lanes do not begin yet";
  EXPECT_FALSE(ledger().coversFront());
  EXPECT_EQ(commit(fewSuspects).voids, 0U);
}

TEST_F(NarrowingTest, BeforeTheLanesThoseThatComeLaterAreNamedAsWell) {
  options.maxBatch = 100;
  options.ordering = Ordering::perGroup(2);
  findForty(true);
  static_cast<void>(commit(0));
  static_cast<void>(commit(fewSuspects));
  const InWorkRecord::Entry last = commit(hand.size());
  EXPECT_TRUE(last.inWork.more) << "the lanes may begin";

  hand.add(sealedOf({"x", "y"}));
  ledger().onArrived(hand, 2, 2);

  EXPECT_EQ(hand.suspects(), 2U);
  EXPECT_FALSE(ledger().mayBegin(hand));
  EXPECT_THAT(stillSuspect(commit(0)), ElementsAre("x", "y"));
}

TEST_F(NarrowingTest, ATermThatEndsInBetweenLeavesTheRestOnRecordAsTheyWere) {
  options.maxBatch = 100;
  findForty();
  static_cast<void>(commit(0));

  const InWorkRecord::Entry leaving = commit(3, {.closes = true, .batch = 100});

  EXPECT_THAT(stillSuspect(leaving, false), testing::SizeIs(37));
}

TEST_F(NarrowingTest, FewSuspectsOfOneThatWasNarrowedDownStayTheOnlyOnesBeforeTheLanes) {
  options.ordering = Ordering::perGroup(2);
  ConsumerState left = leftInWork({"a", "b"});
  ledger().restore(left);
  hand.add(sealedOf({"a", "b"}));
  find(hand.size());

  EXPECT_FALSE(commit(1).inWork.more);
  EXPECT_TRUE(commit(1).inWork.more) << "now the lanes may begin";
}

TEST_F(LedgerTest, WhoTakesMessagesFirstHasNoSuspects) {
  options.delivery = Guarantee::atMostOnce;
  ConsumerState left;
  left.inWork.ids = {MessageId{"a"}};
  ledger().restore(left);
  EXPECT_FALSE(ledger().expects());
  hand.add(sealedOf({"a"}));

  find(0);

  EXPECT_EQ(commit(0).inWork.suspectsOf, FencingToken{});
}

}  // namespace
}  // namespace tenure::consuming
