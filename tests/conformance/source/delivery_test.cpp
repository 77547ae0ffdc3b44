// Which messages come, in which order, and when they come again.
#include <future>

#include "conformance/source/source_suite.hpp"

namespace tenure::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A queue with a store beside it, in whose transactions it acknowledges.
class SharedSuite : public SourceSuite {};

INSTANTIATE_TEST_SUITE_P(Backends, SourceSuite, testing::ValuesIn(sourceBackends()), testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Backends, SharedSuite, testing::ValuesIn(with(&Backend::hasStore, sourceBackends())),
                         testing::PrintToStringParamName());

// shows: urls/queue-store-works
TEST_P(SourceSuite, MessagesComeInTheOrderOfTheirAppending) {
  produce({"a", "b"});
  produce({"c"});
  const Consumer consumer = consumerWith(7);

  EXPECT_THAT(idsOf(look(consumer)), ElementsAre("a", "b", "c"));
}

TEST_P(SourceSuite, SeveralSinksShareOneQueue) {
  const auto other = world_->sink();
  produce({"a"});
  ASSERT_THAT(other->append(std::vector{messageWith("b")}), succeeds());
  produce({"c"});
  const Consumer consumer = consumerWith(7);

  EXPECT_THAT(idsOf(look(consumer)), ElementsAre("a", "b", "c"));
}

TEST_P(SourceSuite, AFetchGoesOnWhereTheLastOneEnded) {
  produce({"a", "b", "c"});
  const Consumer consumer = consumerWith(7);

  EXPECT_THAT(idsOf(look(consumer, 2)), ElementsAre("a", "b"));
  EXPECT_THAT(idsOf(look(consumer, 2)), ElementsAre("c"));
  EXPECT_THAT(idsOf(look(consumer, 2)), IsEmpty());
}

TEST_P(SourceSuite, APreparationTakesNothingFromWhoeverConsumes) {
  EXPECT_THAT(world_->open().source->prepare({}), succeeds()) << "before anybody has consumed";
  produce({"a", "b"});
  const Consumer consumer = consumerWith(7);
  const Replica standby = world_->open();

  EXPECT_THAT(standby.source->prepare({}), succeeds());

  EXPECT_THAT(idsOf(look(consumer)), ElementsAre("a", "b"));
}

TEST_P(SourceSuite, PositionsGrowInSourceOrder) {
  produce({"a", "b"});
  produce({"c"});
  const Consumer consumer = consumerWith(7);

  const std::vector<Message> messages = look(consumer);

  ASSERT_EQ(messages.size(), 3U);
  EXPECT_LT(messages[0].position, messages[1].position);
  EXPECT_LT(messages[1].position, messages[2].position);
}

TEST_P(SourceSuite, Row29AMessageArrivesAsItWasHandedIn) {
  NewMessage message{MessageId{"id"}, GroupId{"order-17"}, {}, {{"trace", "1"}, {"b", ""}, {"trace", "2"}}};
  for (int byte = 0; byte < 256; ++byte) message.body.push_back(static_cast<char>(byte));
  NewMessage empty{MessageId{"empty"}, {}, {}, {}};
  NewMessage large{MessageId{"large"}, {}, std::string(maxBodyBytes, '\xff'), {}};
  ASSERT_THAT(sink_->append(std::vector{message, empty, large}), succeeds());
  const Consumer consumer = consumerWith(7);

  const std::vector<Message> arrived = look(consumer);

  ASSERT_THAT(idsOf(arrived), ElementsAre("id", "empty", "large"));
  EXPECT_EQ(arrived[0].group, message.group);
  EXPECT_EQ(arrived[0].body, message.body);
  EXPECT_EQ(arrived[0].headers, message.headers);
  EXPECT_GT(arrived[0].enqueuedAt, WallTime{});
  EXPECT_EQ(arrived[1].body, "");
  EXPECT_EQ(arrived[2].body, large.body);
}

TEST_P(SourceSuite, Row31MetacharactersAreOnlyCharacters) {
  const std::vector<std::string> ids{"'; DROP TABLE tenure_message; --", "a\r\nSET x", "\x1b[2J", "%_*?\\", "é\xff"};
  for (const std::string& id : ids) {
    NewMessage message = messageWith(id);
    message.group = GroupId{id};
    message.headers = {{"'\"\n", "\\"}};
    ASSERT_THAT(sink_->append(std::vector{message}), succeeds());
  }
  const Consumer consumer = consumerWith(7);

  const std::vector<Message> arrived = look(consumer);

  EXPECT_EQ(idsOf(arrived), ids);
  for (const Message& message : arrived) EXPECT_EQ(message.group.value, message.id.value);
}

TEST_P(SourceSuite, WhatWasNotAcknowledgedComesAgainAfterTheNextAttach) {
  produce({"a", "b", "c"});
  const Consumer first = consumerWith(7);
  const std::vector<Message> messages = look(first);
  ASSERT_THAT(first.source().acknowledge(std::span(messages).first(1)), succeeds());
  first.source().detach();

  const Consumer second = consumerWith(8);

  EXPECT_THAT(idsOf(look(second)), ElementsAre("b", "c"));
}

TEST_P(SourceSuite, TheSameReplicaMayAttachAgain) {
  produce({"a"});
  Consumer consumer = consumerWith(7);
  ASSERT_THAT(idsOf(look(consumer)), ElementsAre("a"));
  consumer.source().detach();
  consumer.term = TestTerm(8);
  if (consumer.ends.store) {
    ASSERT_THAT(consumer.ends.store->claim(consumer.term), succeeds());
  }

  ASSERT_THAT(consumer.source().attach(consumer.term), succeeds());

  EXPECT_THAT(idsOf(look(consumer)), ElementsAre("a"));
}

TEST_P(SourceSuite, AcknowledgedMessagesAreGoneInWhateverOrder) {
  produce({"a", "b", "c", "d", "e"});
  const Consumer first = consumerWith(7);
  const std::vector<Message> messages = look(first);
  const std::vector<Message> some{messages[3], messages[0], messages[1]};
  ASSERT_THAT(first.source().acknowledge(some), succeeds());

  first.source().detach();

  EXPECT_THAT(idsOf(look(consumerWith(8))), ElementsAre("c", "e"));
}

TEST_P(SourceSuite, AnAcknowledgementMayBeRepeated) {
  produce({"a", "b"});
  const Consumer first = consumerWith(7);
  const std::vector<Message> messages = look(first, 1);
  ASSERT_THAT(first.source().acknowledge(messages), succeeds());

  EXPECT_THAT(first.source().acknowledge(messages), succeeds());

  first.source().detach();
  EXPECT_THAT(idsOf(look(consumerWith(8))), ElementsAre("b"));
}

// shows: S5, exactly-once/transaction-effect-fence
TEST_P(SharedSuite, AnAcknowledgementInATransactionIsPartOfIt) {
  produce({"a", "b"});
  const Consumer first = consumerWith(7);
  ASSERT_TRUE(first.source().sharesTransactionsWith(*first.ends.store));
  const std::vector<Message> messages = look(first);
  {
    const auto undone = first.ends.store->begin(first.term).value();
    ASSERT_THAT(undone->acknowledge(messages), succeeds());
  }
  const auto kept = first.ends.store->begin(first.term).value();
  ASSERT_THAT(kept->acknowledge(std::span(messages).first(1)), succeeds());
  ASSERT_THAT(kept->commit(), succeeds());
  first.source().detach();

  EXPECT_THAT(idsOf(look(consumerWith(8))), ElementsAre("b"));
}

TEST_P(SharedSuite, ASourceDoesNotShareTransactionsWithAStrangersStore) {
  const Replica here = world_->open();
  const Replica there = GetParam().make()->open();

  EXPECT_FALSE(here.source->sharesTransactionsWith(*there.store));
}

TEST_P(SourceSuite, AFetchWaitsForWhatAnotherConnectionAppends) {
  const Consumer consumer = consumerWith(7);
  auto waiting = std::async(std::launch::async, [&] { return idsOf(await(consumer)); });

  produce({"a"});

  EXPECT_THAT(waiting.get(), ElementsAre("a"));
}

TEST_P(SourceSuite, NoMessageIsOverlookedByAWaitingFetch) {
  constexpr int count = 200;
  const Consumer consumer = consumerWith(7);
  auto producing = std::async(std::launch::async, [&] {
    const auto sink = world_->sink();
    for (int i = 0; i < count; ++i) EXPECT_THAT(sink->append(std::vector{messageWith(std::to_string(i))}), succeeds());
  });

  std::vector<std::string> arrived;
  while (arrived.size() < count) {
    const std::vector<std::string> some = idsOf(await(consumer));
    ASSERT_FALSE(some.empty());
    arrived.insert(arrived.end(), some.begin(), some.end());
  }
  producing.get();

  for (int i = 0; i < count; ++i) EXPECT_EQ(arrived[static_cast<std::size_t>(i)], std::to_string(i));
}

TEST_P(SourceSuite, AFetchWithoutMessagesEndsAtItsDeadline) {
  const Consumer consumer = consumerWith(7);
  const BootTime deadline = BootClock::now() + std::chrono::milliseconds{30};

  EXPECT_THAT(consumer.source().fetch(10, deadline, {}).value(), IsEmpty());

  EXPECT_GE(BootClock::now(), deadline);
}

TEST_P(SourceSuite, ADeadlineBeforeAllTimesOnlyLooks) {
  const Consumer consumer = consumerWith(7);

  EXPECT_THAT(consumer.source().fetch(10, BootTime::min(), {}).value(), IsEmpty());
}

TEST_P(SourceSuite, AStopEndsTheWait) {
  const Consumer consumer = consumerWith(7);
  const BootTime farAway = BootClock::now() + std::chrono::hours{1};
  std::stop_source stop;
  auto waiting = std::async(std::launch::async, [&] { return consumer.source().fetch(10, farAway, stop.get_token()); });

  stop.request_stop();

  EXPECT_THAT(waiting.get().value(), IsEmpty());
}

TEST_P(SourceSuite, WhatCameAfterAnInterruptedWaitComesOnceAndInOrder) {
  const Consumer consumer = consumerWith(7);
  const BootTime farAway = BootClock::now() + std::chrono::hours{1};
  std::vector<std::string> seen;
  const auto fetch = [&](std::size_t max) {
    for (const Message& message : consumer.source().fetch(max, farAway, {}).value()) seen.push_back(message.id.value);
  };
  std::stop_source stop;
  auto waiting = std::async(std::launch::async, [&] { return consumer.source().fetch(10, farAway, stop.get_token()); });
  stop.request_stop();
  ASSERT_THAT(waiting.get().value(), IsEmpty());

  produce({"a", "b", "c"});
  while (seen.size() < 3) fetch(1);
  auto producing = std::async(std::launch::async, [&] { produce({"d", "e"}); });
  while (seen.size() < 5) fetch(1);
  producing.get();

  EXPECT_THAT(seen, ElementsAre("a", "b", "c", "d", "e"));
}

TEST_P(SourceSuite, AfterAStopAFetchOnlyLooks) {
  const Consumer consumer = consumerWith(7);
  produce({"a"});
  std::stop_source stop;
  stop.request_stop();
  const BootTime farAway = BootClock::now() + std::chrono::hours{1};

  static_cast<void>(consumer.source().fetch(10, farAway, stop.get_token()).value());

  EXPECT_THAT(consumer.source().fetch(10, farAway, stop.get_token()).value(), IsEmpty());
}

TEST_P(SourceSuite, AQueueBelongsToOneElection) {
  const Consumer owner = consumerWith(7);
  const Replica stranger = world_->open();

  EXPECT_THAT(stranger.source->attach(TestTerm(8, "invoices")), failsWith(Errc::queueOwned));
  if (stranger.store) {
    EXPECT_THAT(stranger.store->claim(TestTerm(8, "invoices")), failsWith(Errc::queueOwned));
  }
}

}  // namespace
}  // namespace tenure::test
