/// Which message is given a number, and what is sent for one that has died with its number.
#include "messages/message_numbers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenure/spi/source.hpp"

namespace tenure::storage {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::Pair;

NewMessage carrying(Headers headers, const std::string& id = "m", const std::string& group = "g") {
  return {MessageId{id}, GroupId{group}, "body", std::move(headers)};
}
NewMessage third(Headers more = {}) {
  more.insert(more.begin(), {"tenure-number", "3"});
  return carrying(std::move(more));
}

TEST(LacksNumber, OnlyWhatHasAGroupAndNoNumberYet) {
  EXPECT_TRUE(messages::lacksNumber(carrying({{"trace", "1"}})));
  EXPECT_TRUE(messages::lacksNumber(carrying({{"tenure-past-number", "3"}}))) << "an operator has sent it back";
  EXPECT_FALSE(messages::lacksNumber(third()));
  EXPECT_FALSE(messages::lacksNumber(carrying({}, "m", "")));
  EXPECT_FALSE(messages::lacksNumber(carrying({}, "m", std::string(256, 'g'))));
  EXPECT_TRUE(messages::mayGetNumber(Message{carrying({})}));
  EXPECT_FALSE(messages::mayGetNumber(Message{carrying({}), {}, 0, "its headers are damaged"}));
}

TEST(SkipOf, HasTheNumberTheGroupAndTheReasonAndNothingElse) {
  const auto skip = messages::skipOf(third({{"trace", "1"}, {"tenure-priority", "many"}}), "bad\npriority");

  ASSERT_TRUE(skip);
  EXPECT_EQ(skip->id.value, "m/skip");
  EXPECT_EQ(skip->group.value, "g");
  EXPECT_EQ(skip->body, "");
  EXPECT_THAT(skip->headers, ElementsAre(Pair("tenure-number", "3"), Pair("tenure-skip", "bad\\npriority")));
}

TEST(SkipOf, TakesTheWayOfItsMessageThroughABroker) {
  const auto skip = messages::skipOf(third({{"tenure-routing-key", "eu"}, {"tenure-exchange", "shop"}}), "why");

  ASSERT_TRUE(skip);
  EXPECT_THAT(skip->headers,
              testing::IsSupersetOf({Pair("tenure-exchange", "shop"), Pair("tenure-routing-key", "eu")}));
}

TEST(SkipOf, ThereIsNoneForWhatNobodyWaitsFor) {
  EXPECT_FALSE(messages::skipOf(carrying({}), "why")) << "no number";
  EXPECT_FALSE(messages::skipOf(carrying({{"tenure-number", "0"}}), "why"));
  EXPECT_FALSE(messages::skipOf(carrying({{"tenure-number", "three"}}), "why"));
  EXPECT_FALSE(messages::skipOf(carrying({{"tenure-number", "3"}}, "m", ""), "why")) << "no group";
  EXPECT_FALSE(messages::skipOf(carrying({{"tenure-past-number", "3"}}), "why"));
}

TEST(SkipOf, ThereIsNoneForASkip) {
  EXPECT_FALSE(messages::skipOf(*messages::skipOf(third(), "why"), "the skip is refused, too"));
}

TEST(SkipOf, ItsIdIsOneWhateverTheMessagesIs) {
  for (const std::string& id : {std::string(255, 'a'), std::string(300, 'a'), std::string("nul\0", 4), std::string()}) {
    NewMessage message = third();
    message.id.value = id;
    const auto skip = messages::skipOf(message, "why");
    ASSERT_TRUE(skip);
    EXPECT_TRUE(parseMessageId(skip->id.value)) << skip->id.value;
    EXPECT_THAT(skip->id.value, EndsWith("/skip"));
  }
  EXPECT_EQ(messages::skipOf(carrying({{"tenure-number", "3"}}, std::string(250, 'a')), "why")->id.value.size(), 255U);
}

}  // namespace
}  // namespace tenure::storage
