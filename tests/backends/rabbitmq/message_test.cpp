// What strangers publish, and how it reaches a handler.
#include "scene.hpp"

namespace tenure::rabbitmq {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
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

// shows: rabbitmq-to-postgresql/message-without-dead
TEST_F(ForeignMessage, Row29WithoutAnIdIsDeliveredForTheConsumerToDeadLetter) {
  const Message message = arrived({}, "body");

  EXPECT_EQ(message.id.value, "");
  EXPECT_EQ(message.body, "body");
}

// shows: rabbitmq-to-postgresql/message-without-dead
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

TEST_F(ForeignMessage, Row29OverTheLimitArrivesWholeForTheConsumerToDeadLetter) {
  const std::string body(2 * maxBodyBytes, 'x');

  EXPECT_EQ(arrived(withId("big"), body).body, body);
}

/// Some of them are over the memory that we grant.
class Oversize : public ForeignMessage {
 protected:
  void publish(const std::vector<const char*>& ids) {
    options_.largestBody = maxBodyBytes;
    Stranger stranger(options_);
    stranger.declare();
    for (const char* id : ids)
      stranger.publish(withId(id), std::string_view(id).starts_with("huge") ? std::string(maxBodyBytes + 1, 'x') : id);
  }
  std::int64_t waiting() const { return openAdmin(options_).value()->stats()->waiting; }
};

TEST_F(Oversize, Row29ArrivesInItsPlaceWithoutItsBodyAndSaysSo) {
  publish({"fine", "huge", "last"});

  const auto source = attached(term_);
  const std::vector<Message> messages = look(*source);

  ASSERT_THAT(idsOf(messages), ElementsAre("fine", "huge", "last"));
  EXPECT_EQ(messages[1].body, "");
  EXPECT_THAT(messages[1].headers, IsEmpty());
  EXPECT_THAT(messages[1].lacks, HasSubstr("body of 1048577 bytes is over 1048576"));
  EXPECT_THAT(messages[0].headers, IsEmpty());
}

TEST_F(Oversize, StaysInTheQueueWhenNobodySettledIt) {
  publish({"huge", "fine"});
  const auto source = attached(term_);
  ASSERT_THAT(look(*source), SizeIs(2));

  source->detach();

  EXPECT_EQ(waiting(), 2);
  EXPECT_THAT(idsOf(look(*attached(TestTerm(8)))), ElementsAre("huge", "fine"));
}

// shows: operations/body-over-limit
TEST_F(Oversize, GoesWithItsBodyToTheDeadLetterExchangeWhenItIsSettled) {
  Options grave = options_;
  grave.queue += "-dead";
  Stranger(grave).declare();
  options_.arguments = {{"x-dead-letter-exchange", ""}, {"x-dead-letter-routing-key", grave.queue}};
  publish({"a", "huge", "b", "huge too", "c"});
  const auto source = attached(term_);
  const std::vector<Message> messages = look(*source);
  ASSERT_THAT(messages, SizeIs(5));

  EXPECT_THAT(source->acknowledge(std::span(messages).first(2)), succeeds());
  EXPECT_THAT(source->acknowledge(std::span(messages).subspan(3)), succeeds());
  EXPECT_THAT(source->acknowledge(std::span(messages).subspan(2, 1)), succeeds());
  source->detach();

  EXPECT_EQ(waiting(), 0);
  const std::optional<Delivered> handedOn = Stranger(grave).firstOf(grave.queue);
  ASSERT_TRUE(handedOn.has_value());
  EXPECT_EQ(handedOn->properties.messageId, "huge");
  EXPECT_EQ(handedOn->body.size(), maxBodyBytes + 1);
}

TEST_F(Oversize, IsGoneFromAQueueWithoutADeadLetterExchangeWhenItIsSettled) {
  publish({"huge"});
  const auto source = attached(term_);
  const std::vector<Message> messages = look(*source);

  EXPECT_THAT(source->acknowledge(messages), succeeds());
  source->detach();

  EXPECT_EQ(waiting(), 0);
}

TEST_F(Oversize, WithoutAnIdGetsOneThatTellsItFromAnother) {
  options_.missingId = MissingId::derive;
  options_.largestBody = maxBodyBytes;
  Stranger stranger(options_);
  stranger.declare();
  stranger.publish({}, std::string(maxBodyBytes + 1, 'x'));
  stranger.publish({}, std::string(maxBodyBytes + 1, 'y'));
  const auto source = attached(term_);
  const std::vector<std::string> before = idsOf(look(*source));
  source->detach();

  ASSERT_THAT(before, SizeIs(2));
  EXPECT_NE(before[0], before[1]);
  EXPECT_EQ(idsOf(look(*attached(TestTerm(8)))), before);
}

TEST_F(ForeignMessage, AHeaderOfAPublisherThatClaimsThatSomethingWasLeftOutIsAHeaderLikeAnyOther) {
  std::vector<amqp_table_entry_t> entries{{bytesOf("tenure-left-out"), stringField("all of it")}};

  const Message message = arrived(withHeaders(withId("a"), entries), "body");

  EXPECT_THAT(message.headers, ElementsAre(Pair("tenure-left-out", "all of it")));
  EXPECT_EQ(message.lacks, "");
}

amqp_field_value_t decimal(std::uint8_t decimals, std::uint32_t value) {
  amqp_field_value_t field{};
  field.kind = AMQP_FIELD_KIND_DECIMAL;
  field.value.decimal = {decimals, value};
  return field;
}

// shows: rabbitmq-to-postgresql/all-published
TEST_F(ForeignMessage, ComesWithAllThatWasPublishedAndIsPublishedSoAgain) {
  std::vector<amqp_field_value_t> path{stringField("eu"), stringField("west"), integerField(7)};
  amqp_field_value_t array{};
  array.kind = AMQP_FIELD_KIND_ARRAY;
  array.value.array = {static_cast<int>(path.size()), path.data()};
  std::vector<amqp_table_entry_t> inner{{bytesOf("price"), decimal(2, 1999)}, {bytesOf("path"), array}};
  amqp_field_value_t table{};
  table.kind = AMQP_FIELD_KIND_TABLE;
  table.value.table = {static_cast<int>(inner.size()), inner.data()};
  std::vector<amqp_table_entry_t> entries{{bytesOf("trace"), stringField("t-1")},
                                          {bytesOf("path"), array},
                                          {bytesOf("order"), table},
                                          {bytesOf("retries"), integerField(3)},
                                          {bytesOf("urgent"), truthField(true)},
                                          {bytesOf("total"), decimal(2, 4990)}};
  amqp_basic_properties_t properties = withHeaders(withId("m-1"), entries);
  properties._flags |= AMQP_BASIC_TYPE_FLAG | AMQP_BASIC_CORRELATION_ID_FLAG | AMQP_BASIC_CONTENT_TYPE_FLAG |
                       AMQP_BASIC_CONTENT_ENCODING_FLAG | AMQP_BASIC_REPLY_TO_FLAG | AMQP_BASIC_APP_ID_FLAG |
                       AMQP_BASIC_PRIORITY_FLAG | AMQP_BASIC_EXPIRATION_FLAG;
  properties.type = bytesOf("order.paid");
  properties.correlation_id = bytesOf("c-17");
  properties.content_type = bytesOf("application/json");
  properties.content_encoding = bytesOf("utf-8");
  properties.reply_to = bytesOf("answers");
  properties.app_id = bytesOf("shop");
  properties.priority = 4;
  properties.expiration = bytesOf("60000");
  const Properties published = readProperties(properties);

  const Message message = arrived(properties, "{}");

  EXPECT_THAT(message.headers,
              testing::IsSupersetOf({Pair("tenure-type", "order.paid"), Pair("tenure-correlation-id", "c-17"),
                                     Pair("tenure-reply-to", "answers"), Pair("path", R"(["eu","west",7])"),
                                     Pair("total", R"({"$decimal":[2,4990]})")}));
  Options again = options_;
  again.queue += "-again";
  Stranger reader(again);
  reader.declare();
  ASSERT_THAT(openSink(again).value()->append(std::vector<NewMessage>{message}), succeeds());
  const std::optional<Delivered> seen = reader.firstOf(again.queue);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->properties.named, published.named);
  EXPECT_EQ(seen->properties.kinds, published.kinds);
  EXPECT_THAT(seen->properties.headers, testing::IsSupersetOf(published.headers));
}

TEST_F(ForeignMessage, PropertiesThatAPublisherClaimsInHeadersAreNotBelieved) {
  std::vector<amqp_table_entry_t> entries{{bytesOf("tenure-type"), stringField("forged")},
                                          {bytesOf("tenure-header-kinds"), stringField(R"({"a":"A"})")},
                                          {bytesOf("a"), stringField("[]")}};

  EXPECT_THAT(arrived(withHeaders(withId("a"), entries), "body").headers, ElementsAre(Pair("a", "[]")));
}

/// The same body each time.
class DerivedId : public ForeignMessage {
 protected:
  DerivedId() { options_.missingId = MissingId::derive; }
  std::string idUnder(std::vector<amqp_table_entry_t> headers) const {
    Delivered delivery;
    delivery.body = "body";
    delivery.properties = readProperties(withHeaders({}, headers));
    return messageFrom(std::move(delivery), options_, WallTime{}).id.value;
  }
};

// shows: rabbitmq-to-postgresql/message-without-dead
TEST_F(DerivedId, IgnoresWhateverTheBrokerCounts) {
  amqp_field_value_t since{};
  since.kind = AMQP_FIELD_KIND_TIMESTAMP;
  since.value.u64 = 1'790'000'000;
  const std::string plain = idUnder({});

  EXPECT_EQ(idUnder({{bytesOf("x-delivery-count"), integerField(3)}}), plain);
  EXPECT_EQ(idUnder({{bytesOf("x-acquired-count"), integerField(4)}}), plain);
  EXPECT_EQ(idUnder({{bytesOf("x-invented-later"), integerField(5)}, {bytesOf("x-since"), since}}), plain);
  EXPECT_EQ(idUnder({{bytesOf("x-returned"), truthField(true)}}), plain);
  EXPECT_EQ(idUnder({{bytesOf("x-first-death-reason"), stringField("expired")}}), plain);
}

// shows: rabbitmq-to-postgresql/message-without-dead
TEST_F(DerivedId, CountsEveryHeaderThatAPublisherSet) {
  const std::string plain = idUnder({});

  EXPECT_NE(idUnder({{bytesOf("tenant"), integerField(1)}}), plain);
  EXPECT_NE(idUnder({{bytesOf("tenant"), integerField(1)}}), idUnder({{bytesOf("tenant"), integerField(2)}}));
  EXPECT_NE(idUnder({{bytesOf("x-tenant"), stringField("1")}}), idUnder({{bytesOf("x-tenant"), stringField("2")}}));
  EXPECT_NE(idUnder({{bytesOf("x-group"), integerField(1)}}), idUnder({{bytesOf("x-group"), integerField(2)}}))
      << "the group is a publisher's, whatever its kind";
}

// shows: rabbitmq-to-postgresql/all-published
TEST_F(DerivedId, TellsArraysAndKindsApartAndNotTheStoryOfItsDeaths) {
  const auto arrayOf = [](std::vector<amqp_field_value_t>& entries) {
    amqp_field_value_t array{};
    array.kind = AMQP_FIELD_KIND_ARRAY;
    array.value.array = {static_cast<int>(entries.size()), entries.data()};
    return array;
  };
  std::vector<amqp_field_value_t> one{stringField("eu")};
  std::vector<amqp_field_value_t> other{stringField("us")};

  EXPECT_NE(idUnder({{bytesOf("path"), arrayOf(one)}}), idUnder({{bytesOf("path"), arrayOf(other)}}));
  EXPECT_NE(idUnder({{bytesOf("n"), integerField(1)}}), idUnder({{bytesOf("n"), stringField("1")}}));
  EXPECT_EQ(idUnder({{bytesOf("x-death"), arrayOf(one)}}), idUnder({}));
}

TEST_F(DerivedId, TellsWhatOnlyItsOtherPropertiesTellApart) {
  const auto idOf = [&](const char* correlation) {
    amqp_basic_properties_t properties{};
    properties._flags = AMQP_BASIC_CORRELATION_ID_FLAG;
    properties.correlation_id = bytesOf(correlation);
    Delivered delivery;
    delivery.body = "body";
    delivery.properties = readProperties(properties);
    return messageFrom(std::move(delivery), options_, WallTime{}).id.value;
  };

  EXPECT_EQ(idOf("order 1"), idOf("order 1"));
  EXPECT_NE(idOf("order 1"), idOf("order 2"));
}

TEST_F(DerivedId, StaysTheSameWhenAQuorumQueueCountsItsReturns) {
  options_.type = QueueType::quorum;
  options_.exclusivity = Exclusivity::singleActiveConsumer;
  Stranger stranger(options_);
  stranger.declare();
  stranger.publish({}, "body");
  std::vector<std::string> ids;
  for (int term = 1; term <= 3; ++term) ids.push_back(idsOf(await(*attached(TestTerm(term))).value()).front());

  EXPECT_THAT(ids, ElementsAre(ids[0], ids[0], ids[0]));
}

TEST_F(ForeignMessage, HeadersOfAllKindsBecomeText) {
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

  EXPECT_THAT(arrived(withHeaders(withId("a"), entries), "").headers,
              UnorderedElementsAre(Pair("text", "a\r\nb"), Pair("number", "-7"), Pair("truth", "true"),
                                   Pair("real", "0.5"), Pair("list", "[]"),
                                   Pair("tenure-header-kinds", R"({"list":"A","number":"l","real":"d","truth":"t"})")));
}

// shows: rabbitmq-to-postgresql/group-stands-header
TEST_F(ForeignMessage, ItsGroupIsTheNamedHeader) {
  options_.groupHeader = "customer";
  std::vector<amqp_table_entry_t> entries{{bytesOf("customer"), integerField(42)}, {bytesOf("b"), stringField("c")}};

  const Message message = arrived(withHeaders(withId("a"), entries), "");

  EXPECT_EQ(message.group.value, "42");
  EXPECT_THAT(message.headers, ElementsAre(Pair("b", "c")));
}

// shows: rabbitmq-to-postgresql/group-stands-header
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
