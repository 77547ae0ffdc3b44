// What a consumer hears when the broker, the network, the queue or its own slowness ends the delivery, and that it
// goes on where it was.
#include "scene.hpp"

namespace tenure::rabbitmq {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Outage : public Scene {};

TEST_F(Outage, ABrokerThatRestartsIsUnavailableAndThenDeliversAgain) {
  ASSERT_THAT(append(options_, {"a", "b", "c"}), succeeds());
  const auto source = attached(term_);
  const std::vector<Message> messages = look(*source);
  ASSERT_THAT(source->acknowledge(std::span(messages).first(1)), succeeds());

  broker_.stop();
  const Result<std::vector<Message>> lost = await(*source);
  const Result<void> refused = source->attach(term_);
  broker_.start();

  EXPECT_THAT(lost, failsWith(Errc::unavailable));
  EXPECT_THAT(refused, failsWith(Errc::unavailable));
  ASSERT_THAT(source->attach(term_), succeeds());
  EXPECT_THAT(idsOf(look(*source)), AnyOf(ElementsAre("b", "c"), ElementsAre("a", "b", "c")))
      << "the acknowledgement of the first may have been on its way";
}

TEST_F(Outage, PositionsGoOnGrowing) {
  ASSERT_THAT(append(options_, {"a", "b"}), succeeds());
  const auto source = attached(term_);
  const std::vector<Message> before = look(*source);
  ASSERT_THAT(source->attach(term_), succeeds());

  const std::vector<Message> after = look(*source);

  ASSERT_EQ(after.size(), 2U);
  EXPECT_GT(after.front().position, before.back().position);
}

TEST_F(Outage, AnAcknowledgementFromBeforeItIsForgotten) {
  ASSERT_THAT(append(options_, {"a", "b"}), succeeds());
  const auto source = attached(term_);
  const std::vector<Message> before = look(*source);
  ASSERT_THAT(source->attach(term_), succeeds());

  EXPECT_THAT(source->acknowledge(before), succeeds());

  source->detach();
  EXPECT_THAT(idsOf(look(*attached(TestTerm(8)))), ElementsAre("a", "b"));
}

TEST_F(Outage, EndsFetchAndAcknowledge) {
  ASSERT_THAT(append(options_, {"a", "b"}), succeeds());
  const auto source = attached(term_);
  const std::vector<Message> messages = look(*source, 1);

  broker_.closeConnections();

  EXPECT_TRUE(test::eventually([&] { return !source->acknowledge(messages); }));
  EXPECT_THAT(source->acknowledge(messages), failsWith(Errc::unavailable));
  EXPECT_THAT(await(*source), failsWith(Errc::unavailable));  // though "b" had arrived
}

TEST_F(Outage, HeartbeatsGoOnWhileNobodyFetches) {
  options_.heartbeat = 2s;  // a connection that a busy machine lets miss two of them is another story
  const auto source = attached(term_);
  const std::string ask = "lists:sum([N || [{recv_cnt, N}] <- rabbit_networking:connection_info_all([recv_cnt])])";
  const auto received = [&] { return std::stol(broker_.evaluate(ask)); };
  const long before = received();

  EXPECT_TRUE(test::eventually([&] { return received() >= before + 3; }));  // one every two seconds, and nothing else

  EXPECT_THAT(look(*source), testing::IsEmpty());
}

TEST_F(Outage, AFrozenBrokerIsNoticed) {
  options_.heartbeat = 2s;
  const auto source = attached(term_);

  broker_.freeze();
  const Result<std::vector<Message>> lost = await(*source);
  broker_.thaw();

  EXPECT_THAT(lost, failsWith(Errc::timedOut));
}

// shows: L4
TEST_F(Outage, AFrozenBrokerDoesNotHoldTheHandover) {
  options_.replyLimit = 2s;  // while it attaches, a broker on a busy disk has to answer within it
  const auto source = attached(term_);
  broker_.freeze();
  const BootTime before = BootClock::now();

  source->detach();

  EXPECT_LT(BootClock::now() - before, 20s);
  broker_.thaw();
}

TEST_F(Outage, Row37AQueueThatIsDeletedIsNotMadeAgainInSilence) {
  ASSERT_THAT(append(options_, {"a"}), succeeds());
  const auto source = attached(term_);
  ASSERT_EQ(look(*source).size(), 1U);

  broker_.deleteQueue(options_.queue);

  const Result<std::vector<Message>> lost = await(*source);
  ASSERT_THAT(lost, failsWith(Errc::unavailable));
  EXPECT_THAT(lost.error().detail, HasSubstr("deleted"));
  EXPECT_THAT(source->attach(term_), failsWith(Errc::notFound));
}

/// The broker closes channels whose consumers are as slow as that; a test on a busy machine is quicker.
class Impatience {
 public:
  explicit Impatience(test::RabbitServer& broker) : broker_(broker) { set("3000", "100"); }
  ~Impatience() { set("1800000", "60000"); }
  Impatience(const Impatience&) = delete;
  Impatience& operator=(const Impatience&) = delete;

 private:
  void set(const std::string& timeout, const std::string& tick) {
    broker_.evaluate("application:set_env(rabbit, consumer_timeout, " + timeout + ")");
    broker_.evaluate("application:set_env(rabbit, channel_tick_interval, " + tick + ")");
  }
  test::RabbitServer& broker_;
};

// shows: operations/handler-slower-broker
TEST_F(Outage, Row37AHandlerThatIsTooSlowForTheBrokerIsTold) {
  const Impatience impatience(broker_);
  ASSERT_THAT(append(options_, {"a"}), succeeds());
  const auto source = attached(term_);
  ASSERT_EQ(look(*source).size(), 1U);

  const Result<std::vector<Message>> lost = await(*source);

  ASSERT_THAT(lost, failsWith(Errc::unavailable));
  EXPECT_THAT(lost.error().detail, HasSubstr("consumer_timeout"));
  ASSERT_THAT(source->attach(term_), succeeds());
  EXPECT_THAT(idsOf(look(*source)), ElementsAre("a"));
}

TEST_F(Outage, Row37LeadersThatComeAndGoUseUpNoDeliveryLimit) {
  options_.type = QueueType::quorum;
  options_.exclusivity = Exclusivity::singleActiveConsumer;
  options_.arguments = {{"x-delivery-limit", 100}};
  ASSERT_THAT(append(options_, {"a"}), succeeds());

  for (int term = 1; term <= 25; ++term)  // more than RabbitMQ 4 allows where nothing is said
    ASSERT_THAT(idsOf(await(*attached(TestTerm(term), options_)).value()), ElementsAre("a")) << term;
}

// shows: lanes/lanes-read-ahead
TEST_F(Outage, OnlyThePrefetchIsInOurHands) {
  ASSERT_THAT(append(options_, {"a", "b", "c", "d"}), succeeds());
  options_.prefetch = 2;
  const auto source = attached(term_);

  const std::vector<Message> first = look(*source);
  ASSERT_THAT(idsOf(first), ElementsAre("a", "b"));
  ASSERT_THAT(source->acknowledge(first), succeeds());

  EXPECT_THAT(idsOf(await(*source, 1).value()), ElementsAre("c"));
}

}  // namespace
}  // namespace tenure::rabbitmq
