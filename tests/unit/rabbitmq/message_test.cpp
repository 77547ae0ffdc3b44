// What strangers publish, and how it reaches a handler.
#include "scene.hpp"

namespace tenure::rabbitmq {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class ForeignMessage : public Scene {
 protected:
  /// Publishes it, and attaches.
  Message arrived(const amqp_basic_properties_t& properties, const std::string& body) {
    Stranger stranger(options_);
    stranger.declare();
    stranger.publish(properties, body);
    const std::vector<Message> messages = look(*attached(term_));
    EXPECT_THAT(messages, SizeIs(1));
    return messages.empty() ? Message{} : messages.front();
  }

  static amqp_basic_properties_t withId(const char* id) {  // a literal: the properties only borrow it
    amqp_basic_properties_t properties{};
    properties._flags = AMQP_BASIC_MESSAGE_ID_FLAG;
    properties.message_id = bytesOf(id);
    return properties;
  }
};

amqp_basic_properties_t withHeaders(amqp_basic_properties_t properties, std::vector<amqp_table_entry_t>& entries) {
  properties._flags |= AMQP_BASIC_HEADERS_FLAG;
  properties.headers = {static_cast<int>(entries.size()), entries.data()};
  return properties;
}

TEST_F(ForeignMessage, Row29WithoutAnIdIsDeliveredForTheConsumerToBury) {
  const Message message = arrived({}, "body");

  EXPECT_EQ(message.id.value, "");
  EXPECT_EQ(message.body, "body");
}

TEST_F(ForeignMessage, Row29WithoutAnIdMayGetOneThatStaysTheSame) {
  options_.missingId = MissingId::derive;
  const auto first = attached(term_);
  Stranger stranger(options_);
  stranger.publish({}, "one");
  stranger.publish({}, "two");
  const std::vector<std::string> before = idsOf(await(*first, 2).value());
  first->detach();

  const std::vector<std::string> after = idsOf(look(*attached(TestTerm(8))));

  ASSERT_THAT(after, SizeIs(2));
  EXPECT_NE(after[0], after[1]);
  EXPECT_EQ(before.front(), after.front());
}

TEST_F(ForeignMessage, Row29OverTheLimitArrivesWholeForTheConsumerToBury) {
  const std::string body(2 * maxBodyBytes, 'x');

  EXPECT_EQ(arrived(withId("big"), body).body, body);
}

TEST_F(ForeignMessage, Row29OverTheMemoryWeGrantIsRejectedAndTheQueueGoesOn) {
  Options grave = options_;
  grave.queue += "-dead";
  Stranger(grave).declare();
  options_.arguments = {{"x-dead-letter-exchange", ""}, {"x-dead-letter-routing-key", grave.queue}};
  options_.largestBody = maxBodyBytes;
  Stranger stranger(options_);
  stranger.declare();
  stranger.publish(withId("huge"), std::string(maxBodyBytes + 1, 'x'));
  stranger.publish(withId("fine"), "body");

  const auto source = attached(term_);
  const std::vector<Message> messages = look(*source);

  EXPECT_THAT(idsOf(messages), ElementsAre("fine"));
  ASSERT_TRUE(events_.waitFor<Warned>());
  EXPECT_THAT(events_.of<Warned>().back().what, HasSubstr("huge"));
  EXPECT_THAT(source->acknowledge(messages), succeeds());
  const std::optional<Delivered> buried = Stranger(grave).firstOf(grave.queue);
  ASSERT_TRUE(buried.has_value());
  EXPECT_EQ(buried->properties.messageId, "huge");
  EXPECT_EQ(buried->body.size(), maxBodyBytes + 1);
}

TEST_F(ForeignMessage, HeadersOfAllSimpleKindsBecomeText) {
  amqp_field_value_t real{};
  real.kind = AMQP_FIELD_KIND_F64;
  real.value.f64 = 0.5;
  amqp_field_value_t list{};
  list.kind = AMQP_FIELD_KIND_ARRAY;
  std::vector<amqp_table_entry_t> entries{{bytesOf("text"), stringField("a\r\nb")},
                                          {bytesOf("number"), integerField(-7)},
                                          {bytesOf("truth"), truthField(true)},
                                          {bytesOf("real"), real},
                                          {bytesOf("list"), list}};

  EXPECT_THAT(
      arrived(withHeaders(withId("a"), entries), "").headers,
      UnorderedElementsAre(Pair("text", "a\r\nb"), Pair("number", "-7"), Pair("truth", "true"), Pair("real", "0.5")));
}

TEST_F(ForeignMessage, ItsGroupIsTheNamedHeader) {
  options_.groupHeader = "customer";
  std::vector<amqp_table_entry_t> entries{{bytesOf("customer"), integerField(42)}, {bytesOf("b"), stringField("c")}};

  const Message message = arrived(withHeaders(withId("a"), entries), "");

  EXPECT_EQ(message.group.value, "42");
  EXPECT_THAT(message.headers, ElementsAre(Pair("b", "c")));
}

TEST_F(ForeignMessage, OrItsGroupIsTheRoutingKey) {
  options_.groupFrom = GroupFrom::routingKey;

  EXPECT_EQ(arrived(withId("a"), "").group.value, options_.queue);
}

TEST_F(ForeignMessage, OneOfOurSinksKeepsItsGroupWhereOthersHaveItInTheRoutingKey) {
  options_.groupFrom = GroupFrom::routingKey;
  ASSERT_THAT(append(options_, {"a"}), succeeds());

  const std::vector<Message> messages = look(*attached(term_));

  ASSERT_THAT(messages, SizeIs(1));
  EXPECT_EQ(messages.front().group.value, "group");
}

TEST_F(ForeignMessage, OfAnotherExchangeHasItsGroupInTheRoutingKeyAndItsHeadersToItself) {
  options_.groupFrom = GroupFrom::routingKey;
  Delivered delivery;
  delivery.exchange = "events";
  delivery.routingKey = "eu.orders";
  delivery.properties.headers = {{options_.groupHeader, "a header"}};

  const Message message = messageFrom(delivery, options_, systemClock().wallNow());

  EXPECT_EQ(message.group.value, "eu.orders");
  EXPECT_THAT(message.headers, ElementsAre(Pair(options_.groupHeader, "a header")));
}

TEST_F(ForeignMessage, ATimeThatNoCalendarHasIsTheTimeOfItsArrival) {
  amqp_basic_properties_t properties = withId("a");
  properties._flags |= AMQP_BASIC_TIMESTAMP_FLAG;
  properties.timestamp = ~std::uint64_t{0};

  const WallTime at = arrived(properties, "").enqueuedAt;

  EXPECT_LE(at, systemClock().wallNow());
}

TEST_F(ForeignMessage, AHeaderOfOursThatIsNamedLikeTheGroupStaysAHeader) {
  NewMessage message = messageWith("a");
  message.group = {};
  message.headers = {{options_.groupHeader, "not a group"}};
  ASSERT_THAT(openSink(options_).value()->append(std::vector{message}), succeeds());

  const std::vector<Message> messages = look(*attached(term_));

  ASSERT_THAT(messages, SizeIs(1));
  EXPECT_EQ(messages.front().group.value, "");
  EXPECT_EQ(messages.front().headers, message.headers);
}

}  // namespace
}  // namespace tenure::rabbitmq
