// Who may consume: one leader of one election, on the queue that was meant.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <future>

#include "backends/rabbitmq/queue.hpp"
#include "scene.hpp"

namespace tenure::rabbitmq {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

class Attach : public Scene {
 protected:
  Result<void> attach(const Options& options) { return makeSource(options, events_)->attach(term_); }
};

TEST_F(Attach, AQueueIsTheSameUnderEachNameOfItsHost) {
  Options named = options_;
  named.host = "localhost";
  Options other = options_;
  other.queue += "-other";

  const QueueIdentity identity = openAdmin(options_).value()->identity().value();

  EXPECT_THAT(identity.value, testing::StartsWith("rabbitmq:"));
  EXPECT_THAT(identity.value, testing::EndsWith("/%2F/" + options_.queue));
  EXPECT_EQ(openAdmin(named).value()->identity().value(), identity);
  EXPECT_EQ(makeSource(named, events_)->identity({}).value(), identity);
  EXPECT_NE(openAdmin(other).value()->identity().value(), identity);
}

// shows: rabbitmq-to-postgresql/another-consumer-active
TEST_F(Attach, IsRefusedWhileAnotherConsumerHoldsTheQueue) {
  const auto first = attached(term_);
  options_.attachLimit = 50ms;

  const Result<void> second = attach(options_);

  EXPECT_THAT(second, failsWith(Errc::storeBusy));
  EXPECT_THAT(second.error().detail, HasSubstr(options_.queue));
}

TEST_F(Attach, IsLookedAtBeforehandBesideWhoeverConsumes) {
  const auto first = attached(term_);
  EXPECT_THAT(makeSource(options_, events_)->prepare({}), succeeds());

  Options elsewhere = options_;
  elsewhere.queue = "nobody-has-made-it";
  elsewhere.create = false;
  EXPECT_THAT(makeSource(elsewhere, events_)->prepare({}), failsWith(Errc::notFound));
  Options stranger = options_;
  stranger.user = "nobody";
  EXPECT_THAT(makeSource(stranger, events_)->prepare({}), failsWith(Errc::authenticationFailed));
}

// shows: rabbitmq-to-postgresql/another-consumer-active
TEST_F(Attach, IsRefusedWhileAStrangerConsumes) {
  ASSERT_THAT(append(options_, {"a"}), succeeds());
  Stranger stranger(options_);
  stranger.consume();
  options_.attachLimit = 50ms;

  EXPECT_THAT(attach(options_), failsWith(Errc::storeBusy));
}

class AttachInBothWays : public Attach, public testing::WithParamInterface<Exclusivity> {
 protected:
  AttachInBothWays() { options_.exclusivity = GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Exclusivity, AttachInBothWays,
                         testing::Values(Exclusivity::exclusiveConsumer, Exclusivity::singleActiveConsumer));

// shows: rabbitmq-to-postgresql/another-consumer-active
TEST_P(AttachInBothWays, WaitsForThePredecessorAndGetsWhatItLeftInOrder) {
  ASSERT_THAT(append(options_, {"a", "b", "c", "d"}), succeeds());
  const auto first = attached(term_);
  const std::vector<Message> messages = look(*first, 3);
  ASSERT_THAT(first->acknowledge(std::span(messages).first(1)), succeeds());
  options_.attachLimit = 30s;
  auto second = makeSource(options_, events_);
  auto attaching = std::async(std::launch::async, [&] { return second->attach(term_); });

  first->detach();

  ASSERT_THAT(attaching.get(), succeeds());
  EXPECT_THAT(idsOf(look(*second)), ElementsAre("b", "c", "d"));
}

// shows: rabbitmq-to-postgresql/lost-connection-puts
TEST_P(AttachInBothWays, GetsAllAtOnceWhenThePredecessorsConnectionBreaks) {
  ASSERT_THAT(append(options_, {"a", "b", "c"}), succeeds());
  const auto first = attached(term_);
  ASSERT_EQ(look(*first).size(), 3U);

  broker_.closeConnections();

  EXPECT_THAT(idsOf(look(*attached(TestTerm(8)))), ElementsAre("a", "b", "c"));
}

TEST_P(AttachInBothWays, WhatTheBrokerHasIsThereAtOnce) {
  std::vector<NewMessage> messages;
  for (int i = 0; i < options_.prefetch; ++i)
    messages.push_back({MessageId{std::to_string(i)}, {}, std::string(20'000, 'x'), {}});
  ASSERT_THAT(openSink(options_).value()->append(messages), succeeds());

  const auto source = attached(term_);

  EXPECT_EQ(look(*source, messages.size()).size(), messages.size());
}

TEST_P(AttachInBothWays, EverythingIsBackBeforeTheDetachReturns) {
  ASSERT_THAT(append(options_, {"a", "b", "c"}), succeeds());
  Stranger stranger(options_);
  for (int round = 0; round < 20; ++round) {
    const auto source = attached(term_);
    ASSERT_EQ(look(*source).size(), 3U);

    source->detach();

    ASSERT_EQ(stranger.waiting(), 3) << round;
  }
}

TEST_P(AttachInBothWays, EndsAtAStop) {
  const auto first = attached(term_);
  options_.attachLimit = 1h;
  const TestTerm later(8);
  auto second = makeSource(options_, events_);
  auto attaching = std::async(std::launch::async, [&] { return second->attach(later); });

  later.requestStop();

  EXPECT_THAT(attaching.get(), failsWith(Errc::cancelled));
}

// shows: rabbitmq-to-postgresql/quorum-queue-needs
TEST_F(Attach, RefusesAQueueThatDoesNotKeepOthersOff) {
  Options quorum = options_;
  quorum.type = QueueType::quorum;
  Stranger(quorum).declare();

  const Result<void> refused = attach(options_);

  ASSERT_THAT(refused, failsWith(Errc::configurationRefused));
  EXPECT_THAT(refused.error().detail, HasSubstr("single active consumer"));
}

// shows: rabbitmq-to-postgresql/quorum-queue-needs
TEST_F(Attach, AsSingleActiveConsumerRefusesAQueueThatIsNotDeclaredSo) {
  Stranger(options_).declare();
  options_.exclusivity = Exclusivity::singleActiveConsumer;

  const Result<void> refused = attach(options_);

  ASSERT_THAT(refused, failsWith(Errc::configurationRefused));
  EXPECT_THAT(refused.error().detail, HasSubstr("x-single-active-consumer"));
}

TEST_F(Attach, Row37AQueueWithOtherArgumentsIsRefusedByName) {
  options_.arguments = {{"x-max-length", 10}};
  Stranger(options_).declare();
  options_.arguments = {{"x-max-length", 20}};

  const Result<void> refused = attach(options_);

  ASSERT_THAT(refused, failsWith(Errc::configurationRefused));
  EXPECT_THAT(refused.error().detail, HasSubstr("x-max-length"));
  EXPECT_THAT(append(options_, {"a"}), failsWith(Errc::configurationRefused));
}

/// Of a quorum queue; how often the broker delivers a message before it drops it.
class LimitOfDeliveries : public Attach {
 protected:
  LimitOfDeliveries() {
    options_.type = QueueType::quorum;
    options_.exclusivity = Exclusivity::singleActiveConsumer;
  }
  ~LimitOfDeliveries() override { broker_.claimVersion(""); }

  void declaredByOthers(QueueArguments arguments) {
    arguments.insert({{"x-queue-type", "quorum"}, {"x-single-active-consumer", true}});
    ASSERT_THAT(connected()->compareQueue(Channel::work, options_.queue, arguments), succeeds());
  }
  std::optional<QueueArgument> declaredLimit() { return readDeliveryLimit(*connected(), options_).value().declared; }
  std::unique_ptr<Connection> connected() const { return Connection::open(options_, "another").value(); }
};

// shows: operations/quorum-queue-limit
TEST_F(LimitOfDeliveries, Row37ThatLeadersUseUpIsRefusedWithTheCommandThatMendsIt) {
  declaredByOthers({{"x-delivery-limit", std::int64_t{20}}});

  const Result<void> refused = attach(options_);

  ASSERT_THAT(refused, failsWith(Errc::configurationRefused));
  EXPECT_THAT(refused.error().detail, HasSubstr("x-delivery-limit of 20"));
  EXPECT_THAT(makeSource(options_, events_)->prepare({}), failsWith(Errc::configurationRefused)) << "as a standby";
  EXPECT_THAT(refused.error().detail, HasSubstr("rabbitmqctl delete_queue -p '/' '" + options_.queue + "'"));
}

TEST_F(LimitOfDeliveries, ThatIsLargeEnoughIsTakenWhoeverDeclaredIt) {
  declaredByOthers({{"x-delivery-limit", std::int64_t{100}}});

  EXPECT_THAT(append(options_, {"a"}), succeeds());
  EXPECT_THAT(attach(options_), succeeds());
}

// shows: operations/quorum-queue-limit
TEST_F(LimitOfDeliveries, ThatVersion4TakesForTwentyIsRefusedWithTheCommandThatMendsIt) {
  declaredByOthers({});
  ASSERT_THAT(attach(options_), succeeds()) << "before version 4 nothing means no limit";
  broker_.claimVersion("4.1.3");

  const Result<void> refused = attach(options_);

  ASSERT_THAT(refused, failsWith(Errc::configurationRefused));
  EXPECT_THAT(refused.error().detail, HasSubstr("rabbitmqctl set_policy -p '/' "));
  EXPECT_THAT(refused.error().detail, HasSubstr("'^" + options_.queue + "$' '{\"delivery-limit\":-1}'"));
  EXPECT_THAT(append(options_, {"a"}), succeeds()) << "a producer loses nothing";
  options_.deliveryLimit = DeliveryLimitFrom::policy;
  EXPECT_THAT(attach(options_), succeeds()) << "AMQP tells nothing of policies: the operator does";
}

// shows: operations/quorum-queue-limit
TEST_F(LimitOfDeliveries, IsDeclaredAsNoneWhereTheBrokerKnowsThat) {
  broker_.claimVersion("4.0.5");

  EXPECT_THAT(attach(options_), succeeds());

  EXPECT_EQ(declaredLimit(), QueueArgument{std::int64_t{-1}});
  EXPECT_THAT(attach(options_), succeeds());
  EXPECT_THAT(append(options_, {}), succeeds());
}

TEST_F(LimitOfDeliveries, IsDeclaredByAProducerAsByALeader) {
  broker_.claimVersion("4.0.5");

  EXPECT_THAT(append(options_, {}), succeeds());

  EXPECT_EQ(declaredLimit(), QueueArgument{std::int64_t{-1}});
}

TEST_F(LimitOfDeliveries, IsNotDeclaredWhereNoneIsTheRule) {
  EXPECT_THAT(attach(options_), succeeds());

  EXPECT_EQ(declaredLimit(), std::nullopt);
}

/// RabbitMQ 3 takes -1 for a number that every return exceeds.
TEST_F(LimitOfDeliveries, OfMinusOneIsRefusedWhereItMeansToDropWhatComesAgain) {
  options_.arguments = {{"x-delivery-limit", std::int64_t{-1}}};

  EXPECT_THAT(append(options_, {"a"}), failsWith(Errc::configurationRefused));
  const Result<void> refused = attach(options_);

  ASSERT_THAT(refused, failsWith(Errc::configurationRefused));
  EXPECT_THAT(refused.error().detail, HasSubstr("from RabbitMQ 4 on"));
  EXPECT_THAT(connected()->inspect(Channel::work, options_.queue), failsWith(Errc::notFound)) << "nothing was made";
}

TEST_F(Attach, Row37AMissingQueueIsNamed) {
  options_.create = false;

  const Result<void> refused = attach(options_);

  ASSERT_THAT(refused, failsWith(Errc::notFound));
  EXPECT_THAT(refused.error().detail, HasSubstr(options_.queue));
}

// shows: rabbitmq-to-postgresql/absent-queue-declared
TEST_F(Attach, TellsWhenItHadToDeclareTheQueue) {
  const auto source = attached(term_);

  ASSERT_EQ(events_.of<Warned>().size(), 1U);
  EXPECT_THAT(events_.of<Warned>().front().what, HasSubstr(options_.queue));
}

TEST_F(Attach, NamesTheElectionThatOwnsTheQueue) {
  attached(term_)->detach();

  const Result<void> refused = makeSource(options_, events_)->attach(TestTerm(8, "invoices"));

  ASSERT_THAT(refused, failsWith(Errc::queueOwned));
  EXPECT_THAT(refused.error().detail, HasSubstr("orders at /tenure/elections/orders"));
}

TEST_F(Attach, Row40AWrongPasswordIsFatalAndNotShown) {
  options_.passwordFile = broker_.passwordFile("looking-glass");

  const Result<void> refused = attach(options_);

  ASSERT_THAT(refused, failsWith(Errc::authenticationFailed));
  EXPECT_THAT(refused.error().message(), Not(HasSubstr("looking-glass")));
}

TEST_F(Attach, Row23APasswordThatWouldTravelInClearIsWarnedOfOnce) {
  options_.host = "0.0.0.0";  // which is this machine, but nobody knows that by its name
  const auto source = attached(term_);
  ASSERT_THAT(source->attach(term_), succeeds());

  std::vector<std::string> warnings;
  for (const Warned& warned : events_.of<Warned>()) warnings.push_back(warned.what);
  EXPECT_THAT(warnings, Contains(HasSubstr("0.0.0.0: the password travels in clear")).Times(1));
}

TEST_F(Attach, Row23APasswordThatStaysOnThisMachineIsNothingToWarnOf) {
  attached(term_);

  for (const Warned& warned : events_.of<Warned>()) EXPECT_THAT(warned.what, Not(HasSubstr("clear")));
}

// shows: operations/heartbeat-above-session
TEST_F(Attach, AHeartbeatThatOutlastsTheSessionIsWarnedOf) {
  options_.heartbeat = 4s;
  const test::TestTerm brief(test::identityWith(9), 4s);

  attached(brief);

  EXPECT_THAT(events_.of<Warned>(),
              Contains(Field(&Warned::what, HasSubstr("heartbeat 4s is not below the session timeout of 4s"))));
}

TEST_F(Attach, Row19ABrokerThatOffersNoMechanismOfOursIsRefusedByName) {
  const std::string mechanisms = broker_.evaluate("element(2, application:get_env(rabbit, auth_mechanisms))");
  broker_.evaluate("application:set_env(rabbit, auth_mechanisms, ['AMQPLAIN'])");

  const Result<void> refused = makeSource(options_, events_)->attach(term_);
  broker_.evaluate("application:set_env(rabbit, auth_mechanisms, " + mechanisms + ")");

  ASSERT_THAT(refused, failsWith(Errc::unsupported));
  EXPECT_THAT(refused.error().detail, HasSubstr("sasl method"));
}

TEST_F(Attach, NeedsAPasswordFromSomewhere) {
  options_.passwordFile.clear();
  EXPECT_THAT(attach(options_), failsWith(Errc::configurationRefused));

  setenv("TENURE_RABBITMQ_PASSWORD", test::RabbitServer::password, 1);
  const Result<void> withVariable = attach(options_);
  unsetenv("TENURE_RABBITMQ_PASSWORD");

  EXPECT_THAT(withVariable, succeeds());
}

TEST_F(Attach, NamesAVirtualHostThatIsNotThere) {
  options_.virtualHost = "elsewhere";

  EXPECT_THAT(attach(options_), failsWith(Errc::notFound));
}

TEST_F(Attach, SaysWhatTheUserMayNotDo) {
  ASSERT_THAT(append(options_, {"a"}), succeeds());
  broker_.setUser("reader-of-nothing", "^tenure\\\\.owner\\\\.", "^tenure\\\\.owner\\\\.", "^tenure\\\\.owner\\\\.");
  broker_.setUser("owner-of-nothing", "^$", "^$", ".*");
  Options blind = options_;
  blind.user = "reader-of-nothing";
  Options nobody = options_;
  nobody.user = "owner-of-nothing";

  const Result<void> cannotRead = attach(blind);
  const Result<void> cannotOwn = attach(nobody);

  ASSERT_THAT(cannotRead, failsWith(Errc::permissionDenied));
  EXPECT_THAT(cannotRead.error().detail, HasSubstr(options_.queue));
  ASSERT_THAT(cannotOwn, failsWith(Errc::permissionDenied));
  EXPECT_THAT(cannotOwn.error().detail, HasSubstr("tenure\\.owner"));
}

/// Those that `tenure urls` tells operators to give a consumer.
// shows: urls/least-rights-tenure
TEST_F(Attach, NeedsNoMoreRightsThanTheUrlsPageTells) {
  ASSERT_THAT(append(options_, {"a"}), succeeds());
  broker_.setUser("modest", "^tenure\\\\.owner\\\\.", "^tenure\\\\.owner\\\\.", "^(tenure\\\\.owner\\\\.|orders-)");
  options_.user = "modest";

  EXPECT_THAT(idsOf(look(*attached(term_))), ElementsAre("a"));
}

TEST_F(Attach, SaysWhereNobodyListens) {
  options_.port = test::portOf(test::listenOn(0));  // closed by now

  const Result<void> refused = attach(options_);

  ASSERT_THAT(refused, failsWith(Errc::unavailable));
  EXPECT_THAT(refused.error().detail, HasSubstr("127.0.0.1:" + std::to_string(options_.port)));
}

TEST_F(Attach, DoesNotWaitForeverForABrokerThatSaysNothing) {
  const test::Descriptor silent = test::listenOn(0);
  options_.port = test::portOf(silent);
  options_.connectLimit = 100ms;

  EXPECT_THAT(attach(options_), failsWith(Errc::timedOut));
}

TEST_F(Attach, LeavesNoConnectionToTheChildrenOfAHandler) {
  const auto source = attached(term_);

  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename().string());
    std::error_code gone;
    const std::string what = std::filesystem::read_symlink(entry.path(), gone).string();
    if (fd > STDERR_FILENO && (what.starts_with("socket:") || what.starts_with("anon_inode:"))) {
      EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0) << what;
    }
  }
}

TEST_F(Attach, OperatorsSeeTheOwnerAndWhatWaits) {
  const auto admin = openAdmin(options_).value();
  EXPECT_THAT(admin->stats(), failsWith(Errc::notFound));
  ASSERT_THAT(append(options_, {"a", "b"}), succeeds());

  EXPECT_EQ(admin->stats()->waiting, 2);
  EXPECT_EQ(admin->stats()->election, "");

  const auto source = attached(term_);
  EXPECT_EQ(admin->stats()->election, "orders");
  EXPECT_EQ(admin->stats()->waiting, 0);  // in the consumer's hands
}

FenceRow rowOf(const std::string& election) {
  FenceRow row;
  row.election = ElectionName{election};
  row.path = "/tenure/elections/" + election;
  return row;
}

TEST_F(Attach, AMovedQueueIsTheOtherElections) {
  const auto admin = openAdmin(options_).value();
  const auto source = attached(term_);
  EXPECT_THAT(admin->moveTo(rowOf("orders"), rowOf("invoices")), failsWith(Errc::storeBusy)) << "somebody consumes";
  source->detach();

  EXPECT_THAT(admin->moveTo(rowOf("others"), rowOf("invoices")), failsWith(Errc::versionMismatch));
  ASSERT_THAT(admin->moveTo(rowOf("orders"), rowOf("invoices")), succeeds());
  EXPECT_THAT(admin->moveTo(rowOf("orders"), rowOf("invoices")), succeeds()) << "a second time";

  EXPECT_EQ(admin->stats()->election, "invoices");
  EXPECT_THAT(makeSource(options_, events_)->attach(term_), failsWith(Errc::queueOwned));
  EXPECT_THAT(makeSource(options_, events_)->attach(TestTerm(8, "invoices")), succeeds());
}

}  // namespace
}  // namespace tenure::rabbitmq
