// What will be asked about next: a hint, from which nothing but a saved question follows.
#include "storage/lookahead.hpp"

#include <gmock/gmock.h>

namespace tenure::storage {
namespace {

using testing::ElementsAre;

const ConsumerName ledger{"ledger"};
const MessageId first{"first"};

std::vector<MessageId> messageIds(const std::vector<std::string>& all) {
  std::vector<MessageId> ids;
  for (const std::string& id : all) ids.push_back(MessageId{id});
  return ids;
}

TEST(Lookahead, TellsWhatComesAfterAnId) {
  Lookahead lookahead;
  lookahead.expect(messageIds({"0", "1"}));
  lookahead.expect(messageIds({"2", "3"}));

  EXPECT_THAT(lookahead.take(MessageId{"1"}, 2), ElementsAre(MessageId{"1"}, MessageId{"2"}));
  EXPECT_THAT(lookahead.take(MessageId{"3"}, 9), ElementsAre(MessageId{"3"}));
}

TEST(Lookahead, ExpectsNothingTwice) {
  Lookahead lookahead;
  lookahead.expect(messageIds({"0", "1", "2"}));
  lookahead.take(MessageId{"1"}, 1);

  EXPECT_FALSE(lookahead.expects(MessageId{"0"}));
  EXPECT_FALSE(lookahead.expects(MessageId{"1"}));
  EXPECT_TRUE(lookahead.expects(MessageId{"2"}));
  EXPECT_THAT(lookahead.take(MessageId{"0"}, 9), ElementsAre(MessageId{"0"})) << "one that was not expected is alone";
}

TEST(Lookahead, TellsWhatComesNextOnceItIsKnownForWhom) {
  Lookahead lookahead;
  lookahead.expect(messageIds({"0", "1", "2"}));
  EXPECT_THAT(lookahead.takeNext(2), ElementsAre()) << "nobody has asked yet";

  lookahead.sawAbsent(ledger, first);

  EXPECT_EQ(lookahead.consumer(), ledger);
  EXPECT_THAT(lookahead.takeNext(2), ElementsAre(MessageId{"0"}, MessageId{"1"}));
  EXPECT_THAT(lookahead.takeNext(2), ElementsAre(MessageId{"2"}));
  EXPECT_THAT(lookahead.takeNext(2), ElementsAre());
}

TEST(Lookahead, AFreshIdIsUsedOnce) {
  Lookahead lookahead;
  lookahead.sawAbsent(ledger, first);

  EXPECT_TRUE(lookahead.isAbsent(ledger, first));
  EXPECT_TRUE(lookahead.useAbsent(ledger, first));
  EXPECT_FALSE(lookahead.isAbsent(ledger, first));
}

TEST(Lookahead, AnIdIsFreshForOneConsumer) {
  Lookahead lookahead;
  lookahead.sawAbsent(ledger, first);

  EXPECT_FALSE(lookahead.useAbsent(ConsumerName{"audit"}, first));
}

TEST(Lookahead, ForgetsWhatItSawWhenItIsInDoubt) {
  Lookahead lookahead;
  lookahead.sawAbsent(ledger, first);

  lookahead.distrust();

  EXPECT_FALSE(lookahead.isAbsent(ledger, first));
}

TEST(Lookahead, DoesNotGrowWithoutEnd) {
  Lookahead lookahead;
  lookahead.expect(messageIds({"oldest"}));

  for (int i = 0; i < 9; ++i) lookahead.expect(messageIds(std::vector<std::string>(1024, "later")));

  EXPECT_FALSE(lookahead.expects(MessageId{"oldest"}));
}

TEST(Lookahead, AssumesOnlyWhereLooksAreDearAndOnlyWhatIsExpected) {
  Lookahead cheap;
  Lookahead dear(true);
  for (Lookahead* each : {&cheap, &dear}) each->expect(messageIds({"first"}));

  EXPECT_FALSE(cheap.assumes(first));
  EXPECT_TRUE(dear.assumes(first));
  EXPECT_FALSE(dear.assumes(MessageId{"stranger"}));
}

TEST(Lookahead, ExpectsWhatItAssumedAgainUntilThatIsForgotten) {
  Lookahead lookahead(true);
  lookahead.expect(messageIds({"0", "1", "2", "3"}));

  EXPECT_TRUE(lookahead.assume(MessageId{"0"}));
  EXPECT_FALSE(lookahead.assume(MessageId{"0"})) << "once";
  lookahead.forgetAssumed();
  EXPECT_TRUE(lookahead.assume(MessageId{"2"}));
  EXPECT_FALSE(lookahead.expects(MessageId{"1"})) << "it lay before";
  lookahead.expectAssumed();

  EXPECT_FALSE(lookahead.expects(MessageId{"0"}));
  EXPECT_THAT(lookahead.take(MessageId{"2"}, 9), ElementsAre(MessageId{"2"}, MessageId{"3"}));
}

TEST(Lookahead, WhatComesAgainComesBehindWhatIsAssumed) {
  Lookahead lookahead(true);
  lookahead.sawAbsent(ledger, first);
  lookahead.expect(messageIds({"0", "1", "2"}));
  lookahead.assume(MessageId{"0"});

  lookahead.expectAgain({});
  lookahead.expectAgain(lookahead.takeNext(1));

  EXPECT_THAT(lookahead.takeNext(9), ElementsAre(MessageId{"1"}, MessageId{"2"}));
  lookahead.expectAssumed();
  EXPECT_THAT(lookahead.takeNext(9), ElementsAre(MessageId{"0"}));
}

TEST(Lookahead, AssumesNothingForAWhileAfterSomethingWasThere) {
  Lookahead lookahead(true);
  lookahead.expect(messageIds({"first"}));
  lookahead.sawPresent();
  int looks = 0;
  for (; !lookahead.assumes(first) && looks < 1000; ++looks)
    lookahead.sawAbsent(ledger, MessageId{std::to_string(looks)});

  EXPECT_EQ(looks, 256);
}

}  // namespace
}  // namespace tenure::storage
