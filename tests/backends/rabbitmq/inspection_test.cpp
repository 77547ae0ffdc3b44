// What a broker and a queue say of themselves, and that saying it declares nothing.
#include "backends/rabbitmq/queue.hpp"
#include "scene.hpp"
#include "support/ensemble.hpp"
#include "support/findings.hpp"

namespace tenure::rabbitmq {
namespace {

using test::finds;
using test::isNo;
using test::RabbitServer;
using testing::_;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;

Options fresh() { return RabbitServer::shared().options(test::freshQueueName()); }
Findings inspected(const Options& options) { return openAdmin(options).value()->inspect().value(); }

/// The queue as somebody else would declare it.
Options declared(const std::map<std::string, std::variant<std::int64_t, std::string>>& arguments,
                 QueueType type = QueueType::classic) {
  Options options = fresh();
  options.type = type;
  options.arguments = arguments;
  if (type == QueueType::quorum) options.exclusivity = Exclusivity::singleActiveConsumer;
  EXPECT_THAT(append(options, {"a"}), succeeds());
  return options;
}

/// The same with what the options refuse.
Options declaredByOthers(const QueueArguments& arguments) {
  const Options options = fresh();
  EXPECT_THAT(Connection::open(options, "another").value()->compareQueue(Channel::work, options.queue, arguments),
              succeeds());
  return options;
}

// shows: urls/server-list
TEST(Inspection, OfAListTellsOfEachServerAndLooksAtTheOneThatAnswers) {
  Options options = fresh();
  const std::string dead = "127.0.0.1:" + std::to_string(test::freePorts(1).front());
  const std::string alive = options.host + ":" + std::to_string(options.port);
  options.host = dead + "," + alive;

  const Findings found = inspected(options);

  EXPECT_THAT(found, finds(Severity::warning, "server " + dead, "not reached"));
  EXPECT_THAT(found, finds(Severity::fact, "server " + alive, "reached"));
}

TEST(Inspection, OfAnAbsentQueueDeclaresNone) {
  const Options options = fresh();

  const Findings found = inspected(options);

  EXPECT_THAT(found, Each(isNo(Severity::refusal)));
  EXPECT_THAT(found, finds(Severity::fact, "RabbitMQ", StartsWith("3.")));
  EXPECT_THAT(found, finds(Severity::fact, "queue", "absent"));
  Options looking = options;
  looking.create = false;
  EXPECT_THAT(openAdmin(looking).value()->stats(), failsWith(Errc::notFound));
}

TEST(Inspection, ReadsTheQueuesTypeAndArgumentsFromTheBrokersRefusals) {
  Options options = declaredByOthers({{"x-queue-type", "quorum"},
                                      {"x-single-active-consumer", true},
                                      {"x-dead-letter-exchange", "graveyard"},
                                      {"x-max-length", std::int64_t{5}},
                                      {"x-delivery-limit", std::int64_t{700}}});
  options.type = QueueType::quorum;
  options.exclusivity = Exclusivity::singleActiveConsumer;
  options.arguments = {{"x-max-length", std::int64_t{5}}};

  const Findings found = inspected(options);

  EXPECT_THAT(found, finds(Severity::fact, "type", "quorum"));
  EXPECT_THAT(found, finds(Severity::fact, "x-max-length", "5"));
  EXPECT_THAT(found, finds(Severity::fact, "x-dead-letter-exchange", "graveyard"));
  EXPECT_THAT(found, finds(Severity::fact, "arguments", HasSubstr("x-single-active-consumer=true")));
  EXPECT_THAT(found, finds(Severity::fact, "x-delivery-limit", "700"));
  EXPECT_THAT(found, Each(isNo(Severity::refusal)));
}

class InspectedLimits : public testing::Test {
 protected:
  ~InspectedLimits() override { RabbitServer::shared().claimVersion(""); }
};

// shows: operations/quorum-queue-limit
TEST_F(InspectedLimits, ThatLeadersUseUpAreRefusedWithTheCommandThatMendsThem) {
  Options options = declaredByOthers(
      {{"x-queue-type", "quorum"}, {"x-single-active-consumer", true}, {"x-delivery-limit", std::int64_t{7}}});
  options.type = QueueType::quorum;
  options.exclusivity = Exclusivity::singleActiveConsumer;

  EXPECT_THAT(inspected(options), finds(Severity::refusal, "x-delivery-limit", "7", HasSubstr("rabbitmqctl")));
}

TEST_F(InspectedLimits, ThatAreNotDeclaredAreRefusedFromVersion4On) {
  const Options options = declared({}, QueueType::quorum);
  EXPECT_THAT(inspected(options), finds(Severity::fact, "x-delivery-limit", "none"));
  RabbitServer::shared().claimVersion("4.2.0");

  EXPECT_THAT(inspected(options), finds(Severity::refusal, "x-delivery-limit", "none", HasSubstr("set_policy")));
  Options vouched = options;
  vouched.deliveryLimit = DeliveryLimitFrom::policy;
  EXPECT_THAT(inspected(vouched), finds(Severity::fact, "x-delivery-limit", "by a policy"));
}

TEST(Inspection, MakesNoQueueOfOneThatGoesWhileItIsCompared) {
  const Options gone = fresh();
  const auto connection = Connection::open(gone, "comparing").value();

  static_cast<void>(readDeclaration(*connection, gone.queue));
  static_cast<void>(readDeliveryLimit(*connection, gone));

  EXPECT_THAT(connection->inspect(Channel::work, gone.queue), failsWith(Errc::notFound));
}

TEST(Inspection, MakesNoExchangeOfAnOwnerThatIsNotThere) {
  const Options queue = declared({});
  const auto connection = Connection::open(queue, "asking").value();

  EXPECT_EQ(ownerOf(*connection, queue.queue).value(), "");

  EXPECT_THAT(connection->declareExchange(Channel::work, "tenure.owner." + queue.queue, "tenure.election.first"),
              succeeds())
      << "nobody's before";
}

TEST(Inspection, RefusesAQueueWithPriorities) {
  const Options options = declaredByOthers({{"x-max-priority", std::int64_t{9}}});

  EXPECT_THAT(inspected(options), finds(Severity::refusal, "x-max-priority", "9"));
}

TEST(Inspection, WarnsOfAQueueThatKeepsNoBodyThatIsTooLarge) {
  const Options options = declared({});

  EXPECT_THAT(inspected(options),
              finds(Severity::warning, "x-dead-letter-exchange", "none", HasSubstr("dead letter without its body")));
}

TEST(Inspection, RefusesAQueueThatIsAnotherThanTheUrlSays) {
  const Options there = declared({{"x-max-length", std::int64_t{5}}});
  Options other = there;
  other.arguments["x-max-length"] = std::int64_t{6};
  Options quorum = there;
  quorum.type = QueueType::quorum;
  quorum.exclusivity = Exclusivity::singleActiveConsumer;

  EXPECT_THAT(inspected(other), finds(Severity::refusal, "x-max-length", "5"));
  EXPECT_THAT(inspected(quorum), finds(Severity::refusal, "type", "classic"));
  EXPECT_THAT(inspected(quorum), finds(Severity::refusal, "x-single-active-consumer", "none"));
}

TEST(Inspection, Row37AnArgumentThatTheQueueLacksIsRefusedAsProducerAndConsumerWillBe) {
  Options wants = declared({});
  wants.arguments = {{"x-max-length", std::int64_t{5}}, {"x-overflow", "reject-publish"}};
  ASSERT_THAT(openSink(wants), failsWith(Errc::configurationRefused));

  const Findings found = inspected(wants);

  EXPECT_THAT(found, finds(Severity::refusal, "x-max-length", "none"));
  EXPECT_THAT(found, finds(Severity::refusal, "x-overflow", "none"));
}

TEST(Inspection, AnArgumentThatTheBrokerDoesNotTellOfIsOnlyWarnedOf) {
  Options wants = declared({{"x-queue-leader-locator", "client-local"}}, QueueType::quorum);

  EXPECT_THAT(inspected(wants), finds(Severity::warning, "x-queue-leader-locator", "not seen"));
}

TEST(Inspection, WarnsOfAQueueThatGoesWithItsBroker) {
  const Options options = fresh();
  RabbitServer::shared().evaluate("rabbit_amqqueue:declare(rabbit_misc:r(<<\"/\">>, queue, <<\"" + options.queue +
                                  "\">>), false, false, [], none, <<\"somebody\">>)");

  EXPECT_THAT(inspected(options), finds(Severity::warning, "durable", "no"));
}

// shows: exactly-once/wrong-for-ever
TEST(Inspection, AStreamIsRefusedHereAndByAReplica) {
  const Options options = fresh();
  RabbitServer::shared().evaluate("rabbit_amqqueue:declare(rabbit_misc:r(<<\"/\">>, queue, <<\"" + options.queue +
                                  "\">>), true, false, [{<<\"x-queue-type\">>, longstr, <<\"stream\">>}], none, "
                                  "<<\"somebody\">>)");

  EXPECT_THAT(inspected(options), finds(Severity::refusal, "type", "stream"));
  const Result<void> prepared = makeSource(options, noEvents())->prepare({});
  EXPECT_THAT(prepared, test::failsWith(Errc::configurationRefused));
  EXPECT_THAT(prepared.error().detail, testing::HasSubstr("is a stream"));
}

TEST(Inspection, Row23WarnsOfAWayWithoutTls) {
  Options options = fresh();
  EXPECT_THAT(inspected(options), finds(Severity::fact, "TLS", "none"));

  options.host = "0.0.0.0";  // which is this machine, but nobody knows that by its name
  EXPECT_THAT(inspected(options), finds(Severity::warning, "TLS", "none"));
}

/// Those that `tenure urls` tells operators to give a consumer, and a producer.
// shows: urls/least-rights-tenure
TEST(Inspection, NeedsNoMoreRightsThanTheUrlsPageTells) {
  const Options queue = declared({});
  const std::string owned = "^tenure\\\\.owner\\\\.";
  RabbitServer::shared().setUser("modest-checker", owned, owned, "^(tenure\\\\.owner\\\\.|orders-)");
  RabbitServer::shared().setUser("modest-producer", "^$", "^amq\\\\.default$", "^$");
  Options consumer = queue;
  consumer.user = "modest-checker";
  Options producer = queue;
  producer.user = "modest-producer";

  EXPECT_THAT(inspected(consumer), finds(Severity::fact, "queue", "of no election yet"));
  EXPECT_THAT(inspected(consumer), finds(Severity::fact, "declaration", "not told to this user"));
  EXPECT_THAT(inspected(producer), finds(Severity::fact, "queue", "its owner is not told to this user"));
  EXPECT_THAT(inspected(producer), finds(Severity::fact, "RabbitMQ", StartsWith("3.")));
}

TEST(Inspection, RefusesWishesThatThisUserMayNotHaveCompared) {
  Options wants = declared({{"x-max-length", std::int64_t{5}}});
  RabbitServer::shared().setUser("modest-checker", "^$", "^$", ".*");
  wants.user = "modest-checker";
  ASSERT_THAT(openSink(wants), failsWith(Errc::permissionDenied));

  EXPECT_THAT(inspected(wants), finds(Severity::refusal, "declaration", "not told to this user"));
}

TEST(Inspection, FailsWithAWrongPasswordAndNeverShowsIt) {
  Options options = fresh();
  options.passwordFile = RabbitServer::shared().passwordFile("rabbit-hole");

  const auto refused = openAdmin(options).value()->inspect();

  EXPECT_THAT(refused, failsWith(Errc::authenticationFailed));
  EXPECT_THAT(refused.error().message(), testing::Not(HasSubstr("rabbit-hole")));
}

TEST(Refusal, NamesTheArgumentAndWhatItIs) {
  const auto words = [](const std::string& argument, const std::string& current) {
    return "PRECONDITION_FAILED - inequivalent arg '" + argument +
           "' for queue 'q' in vhost '/': received none but current is " + current;
  };

  EXPECT_EQ(differenceIn(words("x-max-length", "the value '5' of type 'signedint'"))->current,
            QueueArgument{std::int64_t{5}});
  EXPECT_EQ(differenceIn(words("x-overflow", "the value '5' of type 'longstr'"))->current, QueueArgument{"5"});
  EXPECT_EQ(differenceIn(words("x-single-active-consumer", "the value 'true' of type 'bool'"))->current,
            QueueArgument{true});
  EXPECT_EQ(differenceIn(words("x-queue-type", "none"))->current, std::nullopt);
  EXPECT_FALSE(differenceIn(words("x-overflow", "the val")));
  EXPECT_FALSE(differenceIn("NOT_FOUND - no queue 'q'"));
}

}  // namespace
}  // namespace tenure::rabbitmq
