/// Intake and scheduler of total order: the scan, coalescing, and tokens.
#include "consumer/total_order.hpp"

#include "parts.hpp"

namespace tenure::consuming {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class SingleFileTest : public testing::Test {
 protected:
  TotalOrder& file() {
    if (!file_) file_.emplace(options);
    return *file_;
  }
  /// Of one key, at these positions.
  static std::vector<Message> alike(const std::vector<std::string>& ids, std::int64_t first = 1) {
    std::vector<Message> messages = messagesOf(ids);
    for (Message& message : messages) {
      message.group.value = "g";
      message.position = first++;
    }
    return messages;
  }
  static Acknowledge doneWith(const Message& message, bool dropped = false) {
    Acknowledge done{.settled = {sealed(message)}};
    if (dropped) done.dropped = {message.position};
    return done;
  }

  ConsumerOptions options{.maxBatch = 2};

 private:
  std::optional<TotalOrder> file_;
};

TEST_F(SingleFileTest, WhereNobodyIsSuspectTheSurveyReadsNothing) {
  file().recalled({}, {.unrecordedWindow = 2});
  file().attached(std::nullopt);
  EXPECT_TRUE(file().mustScan());
  EXPECT_FALSE(file().mustReadOn());

  const Assignment assignment = file().take();

  ASSERT_TRUE(assignment.scan);
  EXPECT_FALSE(assignment.asked);
  EXPECT_FALSE(file().mustScan());
}

TEST_F(SingleFileTest, TheSurveyReadsAsFarAsAPredecessorCanHaveGone) {
  file().recalled(leftInWork({"a"}, true).inWork, {.unrecordedWindow = 3});
  file().attached(std::nullopt);
  file().receive(messagesOf({"a", "b"}), std::nullopt);
  EXPECT_TRUE(file().mustReadOn());
  EXPECT_EQ(file().wants(1), 1U);
  file().receive(messagesOf({"c"}), std::nullopt);
  EXPECT_FALSE(file().mustReadOn());

  const Assignment assignment = file().take();

  EXPECT_THAT(assignment.messages, SizeIs(3));
  EXPECT_EQ(assignment.scan->first, 3U);
  EXPECT_THAT(assignment.scan->named, ElementsAre(MessageId{"a"}));
}

TEST_F(SingleFileTest, TheSurveyEndsWhereTheSourceHasNoMore) {
  file().recalled(leftInWork({}, true).inWork, {.unrecordedWindow = 3});
  file().attached(std::nullopt);
  file().receive(messagesOf({"a"}), std::nullopt);
  file().receive(messagesOf({}), std::nullopt);
  EXPECT_FALSE(file().mustReadOn());

  EXPECT_TRUE(file().take().dry);
}

TEST_F(SingleFileTest, WhoIsSuspectInHandIsLookedForAgainAfterAnotherAttachment) {
  file().recalled(leftInWork({}, true).inWork, {.unrecordedWindow = 1});
  file().attached(std::nullopt);
  file().receive(messagesOf({"a"}), std::nullopt);
  file().take();

  file().attached(std::vector{MessageId{"a"}});
  file().receive(messagesOf({"a"}), std::nullopt);
  const Assignment assignment = file().take();

  EXPECT_THAT(assignment.scan->named, ElementsAre(MessageId{"a"}));
  EXPECT_EQ(assignment.scan->first, 0U) << "the first ones were found already";
}

TEST_F(SingleFileTest, WhatWasReadBeforeAnotherAttachmentIsForgotten) {
  file().receive(messagesOf({"a"}), std::nullopt);
  file().attached(std::nullopt);

  EXPECT_THAT(file().take().messages, IsEmpty());
}

TEST_F(SingleFileTest, WhoWasTakenAtMostOnceIsNotLookedFor) {
  options.delivery = Guarantee::atMostOnce;
  file().recalled(leftInWork({"a"}, true).inWork, {.unrecordedWindow = 1});

  EXPECT_FALSE(file().mustReadOn());
}

TEST_F(SingleFileTest, ARunStandsForThoseThatCameBeforeItBegan) {
  options.coalesce = Coalesce::byKey;
  file().receive(alike({"a", "b"}), std::nullopt);
  const Assignment assignment = file().take();
  ASSERT_THAT(assignment.messages, SizeIs(1));

  EXPECT_THAT(file().begin(assignment.messages[0], BootTime{}), SizeIs(1));

  EXPECT_THAT(file().done(doneWith(assignment.messages[0])).successors, IsEmpty());
}

TEST_F(SingleFileTest, WhoIsDroppedHasAnHeir) {
  options.coalesce = Coalesce::byKey;
  file().receive(alike({"a", "b", "c"}), std::nullopt);
  const Assignment assignment = file().take();

  const Receipt receipt = file().done(doneWith(assignment.messages[0], true));

  ASSERT_THAT(receipt.successors, SizeIs(1));
  EXPECT_EQ(receipt.successors[0].id.value, "b");
  EXPECT_FALSE(receipt.readAgain);
}

TEST_F(SingleFileTest, ARunThatIsOverStandsForNobodyNew) {
  options.coalesce = Coalesce::byKey;
  file().attached(std::vector<MessageId>{});

  file().receive(alike({"a", "b"}), MessageId{"a"});

  EXPECT_THAT(file().take().messages, SizeIs(2));
}

TEST_F(SingleFileTest, TheOnlyOneThatWasInWorkRunsOnceMoreForAllThatWait) {
  options.coalesce = Coalesce::byKey;
  file().recalled(leftInWork({"a"}).inWork, {.unrecordedWindow = 1});
  file().attached(std::nullopt);

  file().receive(alike({"a", "b"}), std::nullopt);

  EXPECT_THAT(file().take().messages, SizeIs(1));
}

TEST_F(SingleFileTest, ATokenIsTakenByTheStartAndNotByTheQuestion) {
  RateRules rules;
  rules.queue = Rate{.perSecond = 1, .burst = 1};
  file().limit(rules);
  const BootTime start{1h};
  EXPECT_LE(file().mayBegin(GroupId{}, start), start);
  EXPECT_LE(file().mayBegin(GroupId{}, start), start);

  file().begin(messagesOf({"a"}).front(), start);

  EXPECT_EQ(file().mayBegin(GroupId{}, start), start + 1s);
}

}  // namespace
}  // namespace tenure::consuming
