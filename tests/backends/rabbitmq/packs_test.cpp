// Many messages in the body of one: to the broker it is one, to a consumer they are many.
#include "messages/packs.hpp"

#include "backends/rabbitmq/properties.hpp"
#include "messages/headers.hpp"
#include "scene.hpp"

namespace tenure::rabbitmq {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class Packs : public Scene {
 protected:
  Packs() { options_.publishing.pack = 50; }
  static std::vector<NewMessage> messages(int count) {
    std::vector<NewMessage> all;
    for (int i = 0; i < count; ++i) all.push_back(messageWith(std::to_string(i)));
    return all;
  }
  std::int64_t waiting() const { return openAdmin(options_).value()->stats()->waiting; }
};

// shows: sending/many-messages-may
TEST_F(Packs, AreOneMessageToTheBrokerAndManyToAConsumer) {
  const std::vector<NewMessage> sent = messages(120);
  ASSERT_THAT(openSink(options_).value()->append(sent), succeeds());
  EXPECT_EQ(waiting(), 3);
  const auto source = attached(term_);

  std::vector<Message> all;
  while (all.size() < sent.size())
    for (Message& each : await(*source, 16).value()) all.push_back(std::move(each));

  for (std::size_t i = 0; i < sent.size(); ++i) EXPECT_EQ(static_cast<NewMessage&>(all[i]), sent[i]);
  EXPECT_THAT(source->acknowledge(std::span(all).first(99)), succeeds());
  source->detach();
  EXPECT_TRUE(test::eventually([this] { return waiting() == 2; })) << "the first is acknowledged, the second is not";
}

TEST_F(Packs, CarryTheNumberOfTheirMessagesForConsumersThatAreNotOurs) {
  ASSERT_THAT(openSink(options_).value()->append(messages(3)), succeeds());

  const auto delivered = Stranger(options_).firstOf(options_.queue);

  ASSERT_TRUE(delivered.has_value());
  const Message pack = messageFrom(*delivered, options_, {});
  EXPECT_TRUE(messages::isPack(pack));
  EXPECT_THAT(messages::messagesIn(pack).value(), SizeIs(3));
}

TEST_F(Packs, LeaveAMessageThatSaysHowItIsPublishedAsItIs) {
  std::vector<NewMessage> sent = messages(3);
  sent[1].headers.emplace_back(persistentHeader, "no");

  ASSERT_THAT(openSink(options_).value()->append(sent), succeeds());

  EXPECT_EQ(waiting(), 3);
}

TEST_F(Packs, RefuseAMessageWithATimeAlone) {
  std::vector<NewMessage> sent = messages(3);
  sent[2].deliverAt = WallTime::max();

  const auto results = openSink(options_).value()->appendEach(sent);

  EXPECT_THAT(results[1], succeeds());
  EXPECT_THAT(results[2], failsWith(Errc::unsupported));
  EXPECT_EQ(waiting(), 1);
}

TEST_F(Packs, AreNotForAnExchangeThatRoutesEachMessage) {
  options_.publishing.exchange = "orders";

  const auto opened = openSink(options_);

  ASSERT_THAT(opened, failsWith(Errc::configurationRefused));
  EXPECT_THAT(opened.error().message(), HasSubstr("pack"));
}

}  // namespace
}  // namespace tenure::rabbitmq
