/// Total order: who is suspect, what is coalesced, and tokens.
#include "consumer/supply/single_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "times.hpp"

namespace tenure::supply {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class SingleLineTest : public testing::Test {
 protected:
  explicit SingleLineTest(std::optional<Coalescer> coalescer = {}) : line(std::move(coalescer)) {}

  static std::vector<Message> messagesOf(const std::vector<std::string>& ids, std::int64_t first = 1) {
    std::vector<Message> made;
    for (const std::string& id : ids) {
      Message& message = made.emplace_back();
      message.id = MessageId{id};
      message.position = first++;
    }
    return made;
  }
  /// Of one key.
  static std::vector<Message> alike(const std::vector<std::string>& ids) {
    std::vector<Message> messages = messagesOf(ids);
    for (Message& message : messages) message.group.value = "g";
    return messages;
  }
  static std::vector<std::string> idsOf(const std::vector<MessagePtr>& messages) {
    std::vector<std::string> ids;
    for (const MessagePtr& message : messages) ids.push_back(message->id.value);
    return ids;
  }
  void come(std::vector<Message> messages, const std::optional<MessageId>& ran = {}) {
    line.receive(std::move(messages), ran);
  }
  Handout take() { return line.take(0, 100, start); }
  Handout suspects() { return line.takeSuspects(0, 100); }

  SingleLine line;
};

class CoalescingLine : public SingleLineTest {
 protected:
  CoalescingLine() : SingleLineTest(Coalescer("", 100)) {}
};

TEST_F(SingleLineTest, WhereNoneIsSuspectNothingIsReadForThat) {
  EXPECT_FALSE(line.mustReadOn());
  EXPECT_THAT(suspects().messages, IsEmpty());
}

TEST_F(SingleLineTest, ReadsAsFarAsAPredecessorCanHaveGone) {
  line.suspect({MessageId{"a"}}, 3, 1);
  come(messagesOf({"a", "b"}));
  EXPECT_TRUE(line.mustReadOn());
  EXPECT_EQ(line.toRead(1), 1U);
  come(messagesOf({"c", "d"}, 3));
  EXPECT_FALSE(line.mustReadOn());

  const Handout handout = suspects();

  EXPECT_THAT(idsOf(handout.messages), ElementsAre("a", "b", "c"));
  for (const Item& item : handout.assignment.items) EXPECT_TRUE(item.isSuspect);
  EXPECT_THAT(idsOf(take().messages), ElementsAre("d"));
}

TEST_F(SingleLineTest, OrToItsEnd) {
  line.suspect({}, 3, 0);
  come(messagesOf({"a"}));
  come(messagesOf({}));

  EXPECT_FALSE(line.mustReadOn());
}

TEST_F(SingleLineTest, AllThatStandsBeforeOneThatIsNamedIsSuspect) {
  line.suspect({MessageId{"b"}, MessageId{"gone"}}, 0, 2);
  come(messagesOf({"a", "b", "c"}));

  EXPECT_THAT(idsOf(suspects().messages), ElementsAre("a", "b"));
}

TEST_F(SingleLineTest, KeptMessagesBetweenTheFirstOfTheSourceAreSuspectAsWell) {
  const Standing kept{.isKept = true};
  line.suspect({}, 2, 0);
  Arrivals arrivals(messagesOf({"k1", "a", "b", "k2", "c", "k3"}));
  arrivals.standings = {kept, {}, {}, kept, {}, kept};
  line.receive(std::move(arrivals), {});

  EXPECT_THAT(idsOf(suspects().messages), ElementsAre("k1", "a", "b", "k2"));
}

TEST_F(SingleLineTest, WhatComesLaterIsNoSuspect) {
  line.suspect({}, 2, 0);
  come(messagesOf({"a", "b"}));
  suspects();

  come(messagesOf({"c"}, 3));

  EXPECT_THAT(suspects().messages, IsEmpty());
}

TEST_F(SingleLineTest, SuspectsThatAreLeftAreFoundAgainByTheirIds) {
  line.suspect({}, 2, 0);
  come(messagesOf({"a", "b"}));
  line.finish(0, {suspects().messages.front().place()}, true);

  line.clear();
  come(messagesOf({"new", "b", "c"}));

  EXPECT_THAT(idsOf(suspects().messages), ElementsAre("new", "b"));
}

TEST_F(SingleLineTest, AndReadAsFarAsTheyCanStandWhereOneThatIsDoneComesAgain) {
  line.suspect({}, 3, 0);
  come(messagesOf({"a", "b", "c"}));
  line.finish(0, {suspects().messages.front().place()}, true);

  line.clear();  // the source could not be told of a
  come(messagesOf({"a", "b"}));

  EXPECT_TRUE(line.mustReadOn());
  come(messagesOf({"c"}, 3));
  EXPECT_THAT(idsOf(suspects().messages), ElementsAre("a", "b", "c"));
}

TEST_F(SingleLineTest, WhatWasReadBeforeAnotherAttachmentIsForgotten) {
  come(messagesOf({"a"}));
  line.clear();

  EXPECT_THAT(take().messages, IsEmpty());
  EXPECT_EQ(line.window(), 0U);
}

TEST_F(SingleLineTest, ATokenIsTakenByTheStartAndNotByTheQuestion) {
  RateRules rules;
  rules.queue = Rate{.perSecond = 1, .burst = 1};
  line.limit(rules);
  EXPECT_TRUE(take().areCounted);
  EXPECT_LE(line.takeTurn(GroupId{}, false, start), start);
  EXPECT_LE(line.takeTurn(GroupId{}, false, start), start);

  line.begin(0, 1, GroupId{}, start);

  EXPECT_EQ(line.takeTurn(GroupId{}, false, start), start + 1s);
}

TEST_F(CoalescingLine, ARunStandsForThoseThatCameBeforeItBegan) {
  come(alike({"a", "b"}));
  const Handout handout = take();
  ASSERT_THAT(handout.messages, SizeIs(1));

  EXPECT_THAT(line.begin(0, handout.messages[0].place(), GroupId{}, start), SizeIs(1));
  line.finish(0, {handout.messages[0].place()}, true);

  EXPECT_FALSE(line.hasSuccessor());
  EXPECT_THAT(take().messages, IsEmpty());
}

TEST_F(CoalescingLine, ASuccessorComesAtItsPlaceOnceTheRestIsGivenBack) {
  std::vector<Message> messages = messagesOf({"a", "b", "c", "d"});
  for (Message& message : messages) message.group.value = message.id.value;
  messages[2].group.value = "a";  // which the first one stands for
  come(messages);
  const Handout hand = take();
  ASSERT_THAT(idsOf(hand.messages), ElementsAre("a", "b", "d"));

  line.finish(0, {hand.messages[0].place(), false}, true);
  EXPECT_TRUE(line.hasSuccessor());
  line.park(0, std::vector<Item>{{hand.messages[1].place()}, {hand.messages[2].place()}}, start);

  EXPECT_THAT(idsOf(take().messages), ElementsAre("b", "c", "d"));
  EXPECT_FALSE(line.hasSuccessor());
}

TEST_F(CoalescingLine, ARunThatIsOverStandsForNoNewMessage) {
  come(alike({"a", "b"}), MessageId{"a"});

  EXPECT_THAT(take().messages, SizeIs(2));
}

TEST_F(CoalescingLine, TheOnlyOneThatWasInWorkRunsOnceMoreForAllThatWait) {
  line.suspect({MessageId{"a"}}, 0, 1);

  come(alike({"a", "b"}));

  EXPECT_THAT(suspects().messages, SizeIs(1));
}

}  // namespace
}  // namespace tenure::supply
