// How a message is published: by its headers, then by the options.
#include "backends/rabbitmq/publication.hpp"

#include "scene.hpp"

namespace tenure::rabbitmq {
namespace {

using testing::AllOf;
using testing::HasSubstr;

NewMessage messageSaying(const std::string& header, const std::string& value) {
  NewMessage message = messageWith("a");
  message.headers = {{header, value}};
  return message;
}

Publication published(const NewMessage& message, const Options& options = {}) {
  Result<Publication> made = publicationOf(message, options);
  EXPECT_THAT(made, succeeds());
  return made ? *made : Publication{};
}

Options toExchange(const std::string& exchange) {
  Options options;
  options.publishing.exchange = exchange;
  return options;
}

// shows: rabbitmq-to-postgresql/producer-publishes-queue
TEST(PublicationTest, GoesToTheQueueByItsNameWhereNothingElseIsSaid) {
  Options options;
  options.queue = "orders";

  const Publication plain = published(messageWith("a"), options);

  EXPECT_EQ(plain.exchange, "");
  EXPECT_EQ(plain.routingKey, "orders");
  EXPECT_TRUE(plain.mandatory);
  EXPECT_TRUE(plain.persistent);
  EXPECT_EQ(plain.priority, std::nullopt);
  EXPECT_EQ(plain.expiration, std::nullopt);
  EXPECT_EQ(plain.contentType, "");
}

TEST(PublicationTest, InAnExchangeTheGroupIsTheRoutingKeyUnlessAnotherIsGiven) {
  Options options = toExchange("events");
  EXPECT_EQ(published(messageWith("a"), options).routingKey, "group");
  EXPECT_EQ(published(messageSaying("tenure-exchange", "others")).routingKey, "group");

  options.publishing.routingKey = "";
  EXPECT_EQ(published(messageWith("a"), options).routingKey, "");
  EXPECT_EQ(published(messageSaying("tenure-routing-key", "eu.orders"), options).routingKey, "eu.orders");
}

TEST(PublicationTest, AHeaderGoesBeforeTheOptions) {
  Options options = toExchange("events");
  options.publishing.mandatory = false;
  options.publishing.persistent = false;
  options.publishing.priority = 1;
  options.publishing.expiration = 1s;
  options.publishing.contentType = "text/plain";

  EXPECT_EQ(published(messageSaying("tenure-exchange", ""), options).exchange, "");
  EXPECT_TRUE(published(messageSaying("tenure-mandatory", "yes"), options).mandatory);
  EXPECT_TRUE(published(messageSaying("tenure-persistent", "yes"), options).persistent);
  EXPECT_EQ(published(messageSaying("tenure-priority", "255"), options).priority, 255);
  EXPECT_EQ(published(messageSaying("tenure-expiration", "250ms"), options).expiration, 250ms);
  EXPECT_EQ(published(messageSaying("tenure-content-type", "a/b"), options).contentType, "a/b");
}

// shows: rabbitmq-to-postgresql/message-headers-before
TEST(PublicationTest, AHeaderThatCannotBeReadIsRefusedWithWhatIsExpected) {
  const std::pair<const char*, std::vector<std::string>> slips[] = {
      {"tenure-exchange", {std::string(256, 'x'), "\xff", std::string(1, '\0')}},
      {"tenure-routing-key", {std::string(256, 'x')}},
      {"tenure-mandatory", {"", "true", "YES"}},
      {"tenure-persistent", {"2"}},
      {"tenure-priority", {"", "-1", "256", "high"}},
      {"tenure-expiration", {"", "30", "-1s", "100us", "50d"}},
      {"tenure-content-type", {std::string(256, 'x')}}};
  for (const auto& [header, values] : slips)
    for (const std::string& value : values) {
      const auto refused = publicationOf(messageSaying(header, value), {});
      ASSERT_THAT(refused, failsWith(Errc::invalidArgument)) << header << " " << value;
      EXPECT_THAT(refused.error().detail, AllOf(HasSubstr("message \"a\""), HasSubstr(header), HasSubstr("is not ")));
    }
}

TEST(PublicationTest, ItsHeadersAreNotPublishedAndAllOthersAre) {
  NewMessage message = messageSaying("tenure-priority", "7");
  message.headers.emplace_back("tenant", "eu");

  const Publication how = published(message);
  const OutgoingProperties properties(message, how, "x-group", WallTime{});

  const Properties seen = readProperties(properties.get());
  EXPECT_EQ(seen.headers, (Headers{{"x-group", "group"}, {"tenant", "eu"}}));
  EXPECT_EQ(properties.get().priority, 7);
}

TEST(PublicationTest, OptionsThatDoNotFitTogetherAreRefused) {
  Options options;
  options.publishing.routingKey = "key";
  options.publishing.expiration = -1s;
  options.publishing.contentType = std::string(256, 'x');

  const Result<void> checked = validate(options);

  ASSERT_THAT(checked, failsWith(Errc::configurationRefused));
  EXPECT_THAT(checked.error().detail,
              AllOf(HasSubstr("needs an exchange"), HasSubstr("expiration"), HasSubstr("contentType")));
}

}  // namespace
}  // namespace tenure::rabbitmq
