/// What a lane has in hand, and how far it is with it.
#include "consumer/lane_queue.hpp"

#include "parts.hpp"

namespace tenure::consuming {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class HandTest : public testing::Test {
 protected:
  static Message ofGroup(const std::string& id) {
    Message message = messagesOf({id}).front();
    message.group.value = id.substr(0, 1);
    return message;
  }
  LaneQueue hand;
};

TEST_F(HandTest, WhatIsSettledLeavesTogetherAndTheRestStaysInItsOrder) {
  hand.add(sealedOf({"a", "b", "c"}));
  hand.settle();
  hand.settle();
  EXPECT_EQ(hand.head()->id.value, "c");
  EXPECT_THAT(idsOf(hand.settledOnes()), ElementsAre("a", "b"));

  hand.leave();
  hand.undo();

  EXPECT_THAT(idsOf(hand.messages()), ElementsAre("c"));
}

TEST_F(HandTest, WhatIsUndoneIsTheFirstAgain) {
  hand.add(sealedOf({"a", "b"}));
  hand.join();
  hand.settleJoined();

  hand.undo();

  EXPECT_EQ(hand.head()->id.value, "a");
}

TEST_F(HandTest, OneLineGoesAsAWholeAndTheRecordStandsForItsFirstAgain) {
  hand.add(sealedOf({"a", "b", "c"}));
  hand.setStartable(2);
  hand.setSuspects(1);

  EXPECT_THAT(idsOf(hand.takeAll()), ElementsAre("a", "b", "c"));

  EXPECT_EQ(hand.size(), 0U);
  EXPECT_EQ(hand.startable(), 2U);
  EXPECT_EQ(hand.suspects(), 1U);
}

TEST_F(HandTest, AGroupGoesAsAWholeAndTakesItsShareOfEachCount) {
  hand.add(sealedAll({ofGroup("a0"), ofGroup("a1"), ofGroup("b1"), ofGroup("a2"), ofGroup("b2")}));
  hand.setStartable(4);
  hand.setSuspects(2);

  EXPECT_THAT(idsOf(hand.takeGroup()), ElementsAre("a0", "a1", "a2"));

  EXPECT_THAT(idsOf(hand.messages()), ElementsAre("b1", "b2"));
  EXPECT_EQ(hand.startable(), 1U);
  EXPECT_EQ(hand.suspects(), 0U);
}

TEST_F(HandTest, WhatHasNoGroupGoesAlone) {
  hand.add(sealedOf({"a", "b"}));

  EXPECT_THAT(idsOf(hand.takeGroup()), ElementsAre("a"));
  EXPECT_THAT(idsOf(hand.messages()), ElementsAre("b"));
}

TEST_F(HandTest, WhatFailedTogetherComesOneByOneUntilItHasLeft) {
  hand.add(sealedOf({"a", "b", "c"}));
  hand.join();
  hand.join();
  hand.separate();
  hand.undo();
  EXPECT_EQ(hand.apart(), 2U);

  hand.settle();
  hand.leave();
  hand.undo();

  EXPECT_EQ(hand.apart(), 1U);
}

}  // namespace
}  // namespace tenure::consuming
