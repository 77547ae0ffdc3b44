// What a producer hears: stored, not stored, or unknown, and nothing in between.
#include <future>

#include "scene.hpp"

namespace tenure::rabbitmq {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Sink : public Scene {
 protected:
  std::unique_ptr<IMessageSink> sink() { return openSink(options_).value(); }
  static std::vector<NewMessage> some(std::size_t count, std::size_t bytes = 10) {
    std::vector<NewMessage> messages;
    for (std::size_t i = 0; i < count; ++i)
      messages.push_back({MessageId{std::to_string(i)}, {}, std::string(bytes, 'x'), {}});
    return messages;
  }
};

class Alarm {
 public:
  explicit Alarm(test::RabbitServer& broker) : broker_(broker) { broker_.raiseMemoryAlarm(); }
  ~Alarm() { broker_.clearMemoryAlarm(); }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

 private:
  test::RabbitServer& broker_;
};

TEST_F(Sink, WhatItStoredSurvivesTheBroker) {
  ASSERT_THAT(append(options_, {"a", "b"}), succeeds());

  broker_.kill();
  broker_.start();

  EXPECT_THAT(idsOf(look(*attached(term_))), ElementsAre("a", "b"));
}

TEST_F(Sink, GoesOnAfterALostConnection) {
  const auto open = sink();
  ASSERT_THAT(open->append(some(1)), succeeds());

  broker_.closeConnections();

  EXPECT_TRUE(test::eventually([&] { return open->append(some(1)).has_value(); }));
}

TEST_F(Sink, SaysThatNothingWasStoredWhileTheBrokerIsAway) {
  const auto open = sink();
  broker_.stop();

  const Result<void> away = open->append(some(1));
  broker_.start();

  EXPECT_THAT(away, failsWith(Errc::unavailable));
  EXPECT_THAT(open->append(some(1)), succeeds());
}

TEST_F(Sink, AppendsManyInOneGo) {
  ASSERT_THAT(sink()->append(some(5'000)), succeeds());

  EXPECT_EQ(openAdmin(options_).value()->stats()->waiting, 5'000);
}

TEST_F(Sink, Row37AnUnroutableMessageIsNotTakenForStored) {
  const auto open = sink();
  broker_.deleteQueue(options_.queue);

  const Result<void> unroutable = open->append(some(2));

  ASSERT_THAT(unroutable, failsWith(Errc::notFound));
  EXPECT_THAT(unroutable.error().detail, HasSubstr("NO_ROUTE"));
}

TEST_F(Sink, Row37AFullQueueThatRejectsSaysSo) {
  options_.arguments = {{"x-max-length", 1}, {"x-overflow", "reject-publish"}};
  const auto open = sink();
  ASSERT_TRUE(test::eventually([&] { return !open->append(some(1)); }));

  EXPECT_THAT(open->append(some(1)), failsWith(Errc::storeFull));
}

TEST_F(Sink, Row37ABlockedBrokerIsWaitedForAndThenNamed) {
  options_.confirmLimit = 2s;
  const auto open = sink();
  const Alarm alarm(broker_);

  // The broker tells a publisher that it is blocked when it next publishes: of that append nobody knows.
  const Result<void> first = open->append(some(100, 100'000));
  const Result<void> second = open->append(some(1));

  ASSERT_THAT(first, failsWith(Errc::outcomeUnknown));
  EXPECT_THAT(first.error().detail, HasSubstr("holds publishers back"));
  ASSERT_THAT(second, failsWith(Errc::unavailable));
  EXPECT_THAT(second.error().detail, HasSubstr("holds publishers back"));
}

TEST_F(Sink, Row37ABlockedBrokerIsServedWhenItTakesMessagesAgain) {
  options_.confirmLimit = 30s;
  const auto open = sink();
  auto alarm = std::make_unique<Alarm>(broker_);
  auto waiting = std::async(std::launch::async, [&] { return open->append(some(100, 100'000)); });
  const std::string blocked = "lists:member([{state, blocked}], rabbit_networking:connection_info_all([state]))";
  ASSERT_TRUE(test::eventually([&] { return broker_.evaluate(blocked) == "true"; }));

  alarm.reset();

  EXPECT_THAT(waiting.get(), succeeds());
  EXPECT_EQ(openAdmin(options_).value()->stats()->waiting, 100);
}

TEST_F(Sink, SaysThatTheUserMayNotPublish) {
  ASSERT_THAT(append(options_, {"a"}), succeeds());
  broker_.setUser("reader", ".*", "^$", ".*");
  options_.user = "reader";

  EXPECT_THAT(openSink(options_), failsWith(Errc::permissionDenied));
}

// shows: urls/least-rights-tenure
TEST_F(Sink, NeedsNoMoreRightsThanTheUrlsPageTells) {
  ASSERT_THAT(append(options_, {"a"}), succeeds());
  broker_.setUser("producer", "^$", "^amq\\\\.default$", "^$");
  options_.user = "producer";

  EXPECT_THAT(append(options_, {"b"}), succeeds());
}

TEST_F(Sink, ADeadBrokersAnswerIsUnknown) {
  options_.confirmLimit = 200ms;
  const auto open = sink();
  broker_.freeze();

  const Result<void> lost = open->append(some(1));

  broker_.thaw();
  EXPECT_THAT(lost, failsWith(Errc::outcomeUnknown));
}

TEST_F(Sink, Row29HeadersThatNoFrameHoldsAreRefusedBeforeAnythingIsSent) {
  NewMessage manyHeaders = messageWith("many");
  for (int i = 0; i < 30'000; ++i) manyHeaders.headers.emplace_back("h", "");
  NewMessage longName = messageWith("long");
  longName.headers.emplace_back(std::string(256, 'n'), "");
  const auto open = sink();

  EXPECT_THAT(open->append(std::vector{messageWith("a"), manyHeaders}), failsWith(Errc::payloadTooLarge));
  EXPECT_THAT(open->append(std::vector{messageWith("a"), longName}), failsWith(Errc::invalidArgument));

  EXPECT_EQ(openAdmin(options_).value()->stats()->waiting, 0);
}

TEST_F(Sink, DoesNotMakeAQueueUnasked) {
  options_.create = false;

  EXPECT_THAT(openSink(options_), failsWith(Errc::notFound));
}

}  // namespace
}  // namespace tenure::rabbitmq
