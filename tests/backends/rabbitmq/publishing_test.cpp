// Exchanges, routing keys and properties, and what becomes of each message of a batch.
#include "messages/headers.hpp"
#include "scene.hpp"

namespace tenure::rabbitmq {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using Results = std::vector<Result<void>>;

class PublishingTest : public Scene {
 protected:
  PublishingTest() { Stranger(options_).declare(); }

  std::string declared(const std::string& type = "direct", bool internal = false) {
    const std::string exchange = test::freshQueueName();
    broker_.declareExchange(exchange, type, internal);
    return exchange;
  }
  /// An exchange that hands what has this routing key to the scene's queue.
  std::string bound(const std::string& routingKey) {
    const std::string exchange = declared();
    broker_.bind(exchange, routingKey, options_.queue);
    return exchange;
  }
  /// A sink whose options name this exchange.
  Options to(const std::string& exchange) const {
    Options options = options_;
    options.publishing.exchange = exchange;
    return options;
  }
  static NewMessage with(const std::string& id, std::vector<std::pair<std::string_view, std::string>> headers) {
    NewMessage message{MessageId{id}, {}, "body of " + id, {}};
    for (auto& [name, value] : headers) message.headers.emplace_back(name, value);
    return message;
  }
  static Results each(const Options& options, const std::vector<NewMessage>& messages) {
    return openSink(options).value()->appendEach(messages);
  }
  std::vector<std::string> arrived() { return idsOf(look(*attached(term_))); }
};

// shows: rabbitmq-to-postgresql/producer-publishes-queue
TEST_F(PublishingTest, ByTheOptionsMessagesReachAQueueThatIsBoundWithTheRoutingKey) {
  Options options = to(bound("eu.orders"));
  options.publishing.routingKey = "eu.orders";

  EXPECT_THAT(append(options, {"a", "b"}), succeeds());

  EXPECT_THAT(arrived(), ElementsAre("a", "b"));
}

// shows: rabbitmq-to-postgresql/producer-publishes-queue
TEST_F(PublishingTest, InAnExchangeAMessagesGroupIsItsRoutingKey) {
  const Options options = to(bound("group"));

  EXPECT_THAT(append(options, {"a"}), succeeds());

  EXPECT_THAT(arrived(), ElementsAre("a"));
}

// shows: rabbitmq-to-postgresql/message-headers-before
TEST_F(PublishingTest, ByItsHeadersAMessageGoesElsewhereAndTheyAreNotPublished) {
  const std::string exchange = bound("key");
  NewMessage message = with("a", {{exchangeHeader, exchange}, {routingKeyHeader, "key"}, {"tenant", "eu"}});
  Options elsewhere = options_;
  elsewhere.queue += "-other";

  EXPECT_THAT(openSink(elsewhere).value()->append(std::vector{message}), succeeds());

  const std::vector<Message> messages = look(*attached(term_));
  ASSERT_THAT(idsOf(messages), ElementsAre("a"));
  EXPECT_THAT(messages.front().headers, ElementsAre(Pair("tenant", "eu")));
}

// shows: rabbitmq-to-postgresql/producer-publishes-queue
TEST_F(PublishingTest, WithAnExchangeNoQueueIsDeclared) {
  Options options = to(bound("group"));
  options.queue += "-absent";

  EXPECT_THAT(append(options, {"a"}), succeeds());

  options.create = false;
  EXPECT_THAT(openSink([&] {
                options.publishing = {};
                return options;
              }()),
              failsWith(Errc::notFound));
}

TEST_F(PublishingTest, AskingForAnExchangePutsNothingIntoItsQueues) {
  const std::string exchange = declared("fanout");
  broker_.bind(exchange, "", options_.queue);

  EXPECT_THAT(openSink(to(exchange)), succeeds());

  EXPECT_EQ(openAdmin(options_).value()->stats()->waiting, 0);
}

// shows: rabbitmq-to-postgresql/absent-exchange-refused
TEST_F(PublishingTest, AnAbsentExchangeIsRefusedWhenTheSinkIsOpenedWithWhatToDo) {
  const auto refused = openSink(to("no-such-exchange"));

  ASSERT_THAT(refused, failsWith(Errc::configurationRefused));
  EXPECT_TRUE(isFatal(refused.error().code));
  EXPECT_THAT(refused.error().detail, AllOf(HasSubstr("no exchange \"no-such-exchange\""), HasSubstr("declare it")));
}

// shows: rabbitmq-to-postgresql/message-queue-takes
TEST_F(PublishingTest, AnUnroutableMessageIsToldAloneAndTheOthersAreStored) {
  const Options options = to(bound("key"));

  const Results results =
      each(options, {with("a", {{routingKeyHeader, "key"}}), with("b", {{routingKeyHeader, "astray"}}),
                     with("c", {{routingKeyHeader, "key"}})});

  EXPECT_THAT(results[0], succeeds());
  ASSERT_THAT(results[1], failsWith(Errc::notFound));
  EXPECT_THAT(results[1].error().detail, AllOf(HasSubstr("message \"b\""), HasSubstr(options.publishing.exchange),
                                               HasSubstr("\"astray\""), HasSubstr("NO_ROUTE")));
  EXPECT_THAT(results[2], succeeds());
  EXPECT_THAT(arrived(), ElementsAre("a", "c"));
}

TEST_F(PublishingTest, OfManyInOneGoEachUnroutableOneIsTold) {
  std::vector<NewMessage> messages;
  for (int i = 0; i < 3'000; ++i)
    messages.push_back(with(std::to_string(i), {{routingKeyHeader, i % 3 == 0 ? "astray" : options_.queue}}));

  const Results results = each(options_, messages);

  for (int i = 0; i < 3'000; ++i) ASSERT_EQ(results[static_cast<std::size_t>(i)].has_value(), i % 3 != 0) << i;
  EXPECT_EQ(openAdmin(options_).value()->stats()->waiting, 2'000);
}

// shows: rabbitmq-to-postgresql/message-queue-takes
TEST_F(PublishingTest, NotMandatoryAnUnroutableMessageIsDroppedAndCountsAsStored) {
  Options options = to(declared());
  options.publishing.mandatory = false;

  EXPECT_THAT(append(options, {"a"}), succeeds());
  EXPECT_THAT(each(options_, {with("b", {{routingKeyHeader, "astray"}, {mandatoryHeader, "no"}})})[0], succeeds());
}

// shows: rabbitmq-to-postgresql/absent-exchange-refused
TEST_F(PublishingTest, AnAbsentExchangeInAHeaderIsTheFaultOfThatMessageAlone) {
  const std::vector<NewMessage> messages{with("a", {}), with("b", {{exchangeHeader, "nowhere"}}), with("c", {})};

  EXPECT_THAT(openSink(options_).value()->append(messages), failsWith(Errc::notFound));
  EXPECT_EQ(openAdmin(options_).value()->stats()->waiting, 0);
  const Results results = each(options_, messages);

  EXPECT_THAT(results[0], succeeds());
  ASSERT_THAT(results[1], failsWith(Errc::notFound));
  EXPECT_THAT(results[1].error().detail, AllOf(HasSubstr("message \"b\""), HasSubstr("exchange \"nowhere\"")));
  EXPECT_THAT(results[2], succeeds());
  EXPECT_THAT(arrived(), ElementsAre("a", "c"));
}

// shows: rabbitmq-to-postgresql/absent-exchange-refused
TEST_F(PublishingTest, AnExchangeThatIsDeletedLaterIsAskedForAnew) {
  const std::string exchange = bound("key");
  const std::vector<NewMessage> messages{with("a", {{exchangeHeader, exchange}, {routingKeyHeader, "key"}}),
                                         with("b", {})};
  const auto sink = openSink(options_).value();
  ASSERT_THAT(sink->appendEach(messages), Each(succeeds()));

  broker_.deleteExchange(exchange);
  const Results closed = sink->appendEach(messages);
  const Results results = sink->appendEach(messages);

  ASSERT_THAT(closed[0], failsWith(Errc::outcomeUnknown));
  EXPECT_THAT(closed[0].error().detail, HasSubstr("no exchange"));
  EXPECT_THAT(results[0], failsWith(Errc::notFound));
  EXPECT_THAT(results[1], succeeds());
}

TEST_F(PublishingTest, AnExchangeThatIsDeclaredLaterIsFound) {
  const std::string exchange = test::freshQueueName();
  const std::vector<NewMessage> messages{with("a", {{exchangeHeader, exchange}, {mandatoryHeader, "no"}})};
  const auto sink = openSink(options_).value();
  ASSERT_THAT(sink->appendEach(messages), Each(failsWith(Errc::notFound)));

  broker_.declareExchange(exchange, "direct");

  EXPECT_THAT(sink->appendEach(messages), Each(succeeds()));
}

TEST_F(PublishingTest, AnExchangeThatNobodyMayPublishToIsTheFaultOfThatMessageAlone) {
  const Results results = each(options_, {with("a", {{exchangeHeader, declared("direct", true)}}), with("b", {})});

  ASSERT_THAT(results[0], failsWith(Errc::invalidArgument));
  EXPECT_THAT(results[0].error().detail, AllOf(HasSubstr("message \"a\""), HasSubstr("tenure-exchange")));
  EXPECT_THAT(results[1], succeeds());
}

// shows: urls/least-rights-tenure
TEST_F(PublishingTest, NeedsTheRightToWriteToItsExchangeAndNoOther) {
  const std::string exchange = bound("group");
  broker_.setUser("publisher", "^$", "^" + exchange + "$", "^$");
  Options options = to(exchange);
  options.user = "publisher";

  EXPECT_THAT(append(options, {"a"}), succeeds());
  EXPECT_THAT(openSink([&] {
                options.publishing.exchange = declared();
                return options;
              }()),
              failsWith(Errc::permissionDenied));
}

TEST_F(PublishingTest, RightsByRoutingKeyDoNotKeepItFromOpening) {
  const std::string exchange = declared("topic");
  broker_.bind(exchange, "eu.#", options_.queue);
  broker_.setUser("european", "^$", "^" + exchange + "$", "^$");
  broker_.limitRoutingKeys("european", exchange, "^eu[.]");
  Options options = to(exchange);
  options.user = "european";
  options.publishing.routingKey = "eu.orders";

  EXPECT_THAT(append(options, {"a"}), succeeds());
  EXPECT_THAT(arrived(), ElementsAre("a"));
}

TEST_F(PublishingTest, BehindAMessageThatWasNotPublishedItsGroupIsNotTried) {
  NewMessage refused = with("a", {{priorityHeader, "high"}});
  refused.group = GroupId{"group"};

  const Results results = each(options_, {refused, messageWith("b"), with("c", {})});

  ASSERT_THAT(results[0], failsWith(Errc::invalidArgument));
  EXPECT_THAT(results[0].error().detail, AllOf(HasSubstr("message \"a\""), HasSubstr("tenure-priority: \"high\"")));
  EXPECT_THAT(results[1], failsWith(Errc::cancelled));
  EXPECT_THAT(results[2], succeeds());
  EXPECT_THAT(arrived(), ElementsAre("c"));
}

TEST_F(PublishingTest, AHeaderThatCannotBeReadKeepsAnAppendFromStoringAnything) {
  EXPECT_THAT(openSink(options_).value()->append(std::vector{with("a", {}), with("b", {{expirationHeader, "soon"}})}),
              failsWith(Errc::invalidArgument));

  EXPECT_EQ(openAdmin(options_).value()->stats()->waiting, 0);
}

TEST_F(PublishingTest, EachMessageThatAFullQueueRejectsIsTold) {
  options_.queue += "-full";
  options_.arguments = {{"x-max-length", 1}, {"x-overflow", "reject-publish"}};
  const auto sink = openSink(options_).value();
  ASSERT_TRUE(test::eventually([&] { return !sink->append(std::vector{with("a", {})}); }));

  const Results results = sink->appendEach(
      std::vector{with("b", {}), with("c", {{routingKeyHeader, "astray"}, {mandatoryHeader, "no"}}), with("d", {})});

  ASSERT_THAT(results[0], failsWith(Errc::storeFull));
  EXPECT_THAT(results[0].error().detail, HasSubstr("message \"b\""));
  EXPECT_THAT(results[1], succeeds());
  ASSERT_THAT(results[2], failsWith(Errc::storeFull));
  EXPECT_THAT(results[2].error().detail, HasSubstr("message \"d\""));
}

TEST_F(PublishingTest, OfADeadBrokerEachMessageIsUnknown) {
  options_.confirmLimit = 200ms;
  const auto sink = openSink(options_).value();
  broker_.freeze();

  const Results results = sink->appendEach(std::vector{with("a", {}), with("b", {})});

  broker_.thaw();
  EXPECT_THAT(results, Each(failsWith(Errc::outcomeUnknown)));
}

/// What a consumer sees beside headers and body.
struct SeenProperties {
  std::string id;
  std::optional<int> priority;
  std::string expiration;
  std::string contentType;
  bool persistent = false;
  friend bool operator==(const SeenProperties&, const SeenProperties&) = default;
};

std::vector<SeenProperties> seenBy(Connection& connection, const std::string& queue, std::size_t count) {
  std::vector<SeenProperties> seen;
  const auto take = [&](const amqp_frame_t& frame) -> Result<void> {
    if (frame.frame_type != AMQP_FRAME_HEADER) return {};
    const auto& properties = *static_cast<const amqp_basic_properties_t*>(frame.payload.properties.decoded);
    const auto has = [&](amqp_flags_t flag) { return (properties._flags & flag) != 0; };
    SeenProperties one;
    one.id = viewOf(properties.message_id);
    if (has(AMQP_BASIC_PRIORITY_FLAG)) one.priority = properties.priority;
    if (has(AMQP_BASIC_EXPIRATION_FLAG)) one.expiration = viewOf(properties.expiration);
    if (has(AMQP_BASIC_CONTENT_TYPE_FLAG)) one.contentType = viewOf(properties.content_type);
    one.persistent = has(AMQP_BASIC_DELIVERY_MODE_FLAG) && properties.delivery_mode == 2;
    seen.push_back(one);
    return {};
  };
  EXPECT_THAT(connection.consume(Channel::work, queue, false), succeeds());
  EXPECT_TRUE(test::eventually([&] { return !connection.readArrived(take) || seen.size() >= count; }));
  return seen;
}

// shows: rabbitmq-to-postgresql/message-headers-before
TEST_F(PublishingTest, AConsumerSeesThePropertiesOfTheOptionsAndThoseOfHeadersBeforeThem) {
  ASSERT_THAT(append(options_, {"plain"}), succeeds());
  options_.publishing.priority = 3;
  options_.publishing.expiration = 1h;
  options_.publishing.contentType = "application/json";
  options_.publishing.persistent = false;
  ASSERT_THAT(each(options_, {with("options", {}), with("headers", {{priorityHeader, "0"},
                                                                    {expirationHeader, "90m"},
                                                                    {contentTypeHeader, "text/plain"},
                                                                    {persistentHeader, "yes"}})}),
              Each(succeeds()));

  const auto connection = Connection::open(options_, "a consumer").value();
  EXPECT_THAT(seenBy(*connection, options_.queue, 3),
              ElementsAre(SeenProperties{"plain", std::nullopt, "", "", true},
                          SeenProperties{"options", 3, "3600000", "application/json", false},
                          SeenProperties{"headers", 0, "5400000", "text/plain", true}));
}

}  // namespace
}  // namespace tenure::rabbitmq
