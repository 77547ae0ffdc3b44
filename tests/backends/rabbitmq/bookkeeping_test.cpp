// What is decided without a broker: which acknowledgements to send, what became of an append, what a refusal means.
#include "backends/rabbitmq/confirms.hpp"
#include "backends/rabbitmq/delivery_limit.hpp"
#include "backends/rabbitmq/errors.hpp"
#include "backends/rabbitmq/source.hpp"
#include "scene.hpp"

namespace tenure::rabbitmq {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Tags = std::vector<std::uint64_t>;

TEST(Acknowledgements, SettleConsecutiveDeliveriesWithOneWord) {
  Acknowledgements acknowledgements;

  EXPECT_THAT(acknowledgements.settle(Tags{1, 2, 3}), ElementsAre(Acknowledgement{3, true}));
  EXPECT_THAT(acknowledgements.settle(Tags{4}), ElementsAre(Acknowledgement{4, true}));
}

TEST(Acknowledgements, NeverCoverADeliveryThatIsNotSettled) {
  Acknowledgements acknowledgements;

  EXPECT_THAT(acknowledgements.settle(Tags{4, 1, 2}), ElementsAre(Acknowledgement{2, true}, Acknowledgement{4, false}));
  EXPECT_THAT(acknowledgements.settle(Tags{6}), ElementsAre(Acknowledgement{6, false}));
}

TEST(Acknowledgements, NameOnlyADeliveryThatTheBrokerStillWaitsFor) {
  Acknowledgements acknowledgements;
  acknowledgements.settle(Tags{2, 3, 4});

  EXPECT_THAT(acknowledgements.settle(Tags{1}), ElementsAre(Acknowledgement{1, true}));
  EXPECT_THAT(acknowledgements.settle(Tags{5}), ElementsAre(Acknowledgement{5, true}));
}

TEST(Acknowledgements, AreNotSentTwice) {
  Acknowledgements acknowledgements;
  acknowledgements.settle(Tags{1, 3});

  EXPECT_THAT(acknowledgements.settle(Tags{1, 3, 3}), IsEmpty());
}

constexpr Duration confirmLimit = 10s;
constexpr BootTime start{1h};
constexpr const char* noReason = "";

/// Of messages "a", "b", … for queue "q".
Confirms confirmsOf(std::uint64_t first, std::size_t count) {
  static constexpr std::string_view letters = "abcdef";
  std::vector<Published> messages;
  for (std::size_t i = 0; i < count; ++i) messages.push_back({letters.substr(i, 1), "", "q"});
  return {first, messages, confirmLimit, start};
}

Result<void> judgementOf(const Confirms& confirms) { return rabbitmq::judgementOf(confirms.results(99, noReason)); }

TEST(Confirms, AreCompleteWhenEachMessageHasItsAnswer) {
  Confirms confirms = confirmsOf(11, 3);

  confirms.on(Confirmed{13, false, true}, start);
  EXPECT_FALSE(confirms.complete());
  confirms.on(Confirmed{12, true, true}, start);

  EXPECT_TRUE(confirms.complete());
  EXPECT_THAT(judgementOf(confirms), succeeds());
}

TEST(Confirms, DoNotTakeTheLastAppendsAnswersForTheirOwn) {
  Confirms confirms = confirmsOf(11, 2);

  confirms.on(Confirmed{10, true, true}, start);

  EXPECT_EQ(confirms.confirmed(), 0U);
}

TEST(Confirms, SayThatNothingWasStoredOnlyWhenThatIsSo) {
  Confirms none = confirmsOf(1, 2);
  none.on(Confirmed{2, true, false}, start);
  Confirms some = confirmsOf(1, 2);
  some.on(Confirmed{1, false, false}, start);
  some.on(Confirmed{2, false, true}, start);

  EXPECT_THAT(judgementOf(none), failsWith(Errc::storeFull));
  EXPECT_THAT(judgementOf(some), failsWith(Errc::outcomeUnknown));
}

TEST(Confirms, KnowThatAReturnedMessageIsConfirmedAsWell) {
  Confirms confirms = confirmsOf(1, 1);

  confirms.on(Returned{"NO_ROUTE", "", "q", "a"});
  confirms.on(Confirmed{1, false, true}, start);

  EXPECT_THAT(judgementOf(confirms), failsWith(Errc::notFound));
}

TEST(Confirms, TellOfEachMessageByItself) {
  Confirms confirms = confirmsOf(11, 5);
  confirms.on(Returned{"NO_ROUTE", "", "q", "b"});
  confirms.on(Confirmed{12, true, true}, start);
  confirms.on(Confirmed{13, false, false}, start);

  const std::vector<Result<void>> results = confirms.results(4, "the line went dead");

  EXPECT_THAT(results[0], succeeds());
  ASSERT_THAT(results[1], failsWith(Errc::notFound));
  EXPECT_THAT(results[1].error().detail, AllOf(HasSubstr("\"b\""), HasSubstr("the default exchange"),
                                               HasSubstr("routing key \"q\""), HasSubstr("NO_ROUTE")));
  ASSERT_THAT(results[2], failsWith(Errc::storeFull));
  EXPECT_THAT(results[2].error().detail, HasSubstr("\"c\""));
  ASSERT_THAT(results[3], failsWith(Errc::outcomeUnknown));
  EXPECT_THAT(results[3].error().detail, AllOf(HasSubstr("\"d\""), HasSubstr("the line went dead")));
  EXPECT_THAT(results[4], failsWith(Errc::unavailable)) << "it was not sent";
}

TEST(Confirms, AReturnIsOfTheFirstMessageWithItsIdExchangeAndRoutingKeyThatIsOpen) {
  Confirms confirms(1, {{"a", "", "q"}, {"a", "x", "q"}, {"a", "x", "k"}, {"a", "x", "k"}}, confirmLimit, start);

  confirms.on(Returned{"NO_ROUTE", "x", "k", "a"});
  confirms.on(Confirmed{3, true, true}, start);
  confirms.on(Returned{"NO_ROUTE", "x", "k", "a"});
  confirms.on(Confirmed{4, false, true}, start);

  const std::vector<Result<void>> results = confirms.results(4, noReason);
  EXPECT_THAT(results[0], succeeds());
  EXPECT_THAT(results[1], succeeds());
  EXPECT_THAT(results[2], failsWith(Errc::notFound));
  EXPECT_THAT(results[3], failsWith(Errc::notFound));
}

TEST(Confirms, AReturnedMessageIsKnownToBeLostBeforeItsConfirm) {
  Confirms confirms = confirmsOf(1, 1);

  confirms.on(Returned{"NO_ROUTE", "", "q", "a"});

  EXPECT_FALSE(confirms.complete());
  EXPECT_THAT(confirms.results(1, noReason)[0], failsWith(Errc::notFound));
}

TEST(Confirms, OfMessagesThatWereNotSentSayThatNothingWasStored) {
  const Confirms confirms = confirmsOf(1, 2);

  EXPECT_THAT(rabbitmq::judgementOf(confirms.results(0, noReason)), failsWith(Errc::unavailable));
  EXPECT_THAT(rabbitmq::judgementOf(confirms.results(1, noReason)), failsWith(Errc::outcomeUnknown));
}

TEST(Confirms, AreWaitedForAsLongAsTheyCome) {
  Confirms confirms = confirmsOf(11, 3);
  EXPECT_EQ(confirms.deadline(), start + confirmLimit);

  confirms.on(Confirmed{11, false, true}, start + 9s);
  EXPECT_EQ(confirms.deadline(), start + 9s + confirmLimit);

  confirms.on(Confirmed{10, false, true}, start + 12s);  // the last append's
  EXPECT_EQ(confirms.deadline(), start + 9s + confirmLimit);
}

struct Refusal {
  int code;
  const char* text;
  Errc meaning;
};

TEST(Errors, OfTheBrokerTellWhatToDoNext) {
  for (const Refusal& refusal : {
           Refusal{403, "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN.",
                   Errc::authenticationFailed},
           Refusal{403, "ACCESS_REFUSED - queue 'q' in vhost '/' in exclusive use", Errc::storeBusy},
           Refusal{403, "ACCESS_REFUSED - access to queue 'q' in vhost '/' refused for user 'u'",
                   Errc::permissionDenied},
           Refusal{405, "RESOURCE_LOCKED - cannot obtain exclusive access to locked queue 'q'", Errc::storeBusy},
           Refusal{404, "NOT_FOUND - no queue 'q' in vhost '/'", Errc::notFound},
           Refusal{406, "PRECONDITION_FAILED - inequivalent arg 'durable' for queue 'q'", Errc::configurationRefused},
           Refusal{406, "PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out.", Errc::unavailable},
           Refusal{530, "NOT_ALLOWED - vhost x not found", Errc::notFound},
           Refusal{530, "NOT_ALLOWED - access to vhost 'x' refused for user 'u'", Errc::permissionDenied},
           Refusal{320, "CONNECTION_FORCED - broker forced connection closure", Errc::unavailable},
           Refusal{540, "NOT_IMPLEMENTED - x", Errc::unsupported},
       }) {
    const Error error = errorOfClose(refusal.code, refusal.text);
    EXPECT_TRUE(error.is(refusal.meaning)) << refusal.text << ": " << error.message();
  }
}

TEST(Errors, AreSafeToPrint) { EXPECT_THAT(errorOfClose(404, "no queue '\x1b[2J'").detail, HasSubstr("\\x1b[2J")); }

TEST(Validation, ComplainsOfEverythingAtOnce) {
  Options options;
  options.heartbeat = 0s;
  options.prefetch = 0;
  options.queue = "";
  options.type = QueueType::quorum;
  options.tls.on = true;
  options.arguments = {{"x-max-priority", 5}};

  const Result<void> checked = validate(options);

  ASSERT_THAT(checked, failsWith(Errc::configurationRefused));
  for (const char* key : {"heartbeat", "prefetch", "queue", "exclusivity", "tls.authority", "priorities"})
    EXPECT_THAT(checked.error().detail, HasSubstr(key));
}

TEST(Validation, Row37ADeliveryLimitThatLeadersUseUpIsRefused) {
  Options options;
  options.type = QueueType::quorum;
  options.exclusivity = Exclusivity::singleActiveConsumer;
  for (const auto& limit : std::vector<std::variant<std::int64_t, std::string>>{0, 20, 99, "many"}) {
    options.arguments = {{"x-delivery-limit", limit}};
    ASSERT_THAT(validate(options), failsWith(Errc::configurationRefused));
    EXPECT_THAT(validate(options).error().detail, HasSubstr("at least 100"));
  }
  for (const std::int64_t limit : {-1, 100}) {
    options.arguments = {{"x-delivery-limit", limit}};
    EXPECT_THAT(validate(options), succeeds());
  }
}

std::string commandFor(const std::string& queue) {
  Options options;
  options.queue = queue;
  return dangerOf({}, "4.0.1", options);
}

TEST(DangerOfALimit, IsWhatItMeansInEachVersion) {
  const auto declared = [](std::int64_t limit) { return DeliveryLimit{.declared = limit}; };
  for (const char* four : {"4.0.0", "4.2.1", "11.0", "unreadable", ""}) {
    EXPECT_NE(dangerOf({}, four, {}), "") << four;
    EXPECT_EQ(dangerOf(declared(-1), four, {}), "") << four;
    EXPECT_NE(dangerOf(declared(99), four, {}), "") << four;
    EXPECT_EQ(dangerOf(declared(100), four, {}), "") << four;
  }
  for (const char* three : {"3.10.8", "3.13.7"}) {
    EXPECT_EQ(dangerOf({}, three, {}), "") << three;
    EXPECT_NE(dangerOf(declared(-1), three, {}), "") << three;
    EXPECT_NE(dangerOf(declared(20), three, {}), "") << three;
  }
  EXPECT_THAT(dangerOf({.told = false}, "4.0.1", {}), HasSubstr("name it in the arguments"));
}

TEST(DangerOfALimit, IsMendedByACommandThatAShellTakesAsItIs) {
  EXPECT_THAT(commandFor("orders.eu+1"),
              HasSubstr("'tenure-orders.eu+1' '^orders[.]eu[+]1$' '{\"delivery-limit\":-1}'"));
  EXPECT_THAT(commandFor("it's"), HasSubstr("'tenure-it'\\''s' '^it.s$'"));
}

TEST(Validation, IsContentWithWhatIsGivenByDefault) { EXPECT_THAT(validate(Options{}), succeeds()); }

}  // namespace
}  // namespace tenure::rabbitmq
