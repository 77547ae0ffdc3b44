// Messages that a handler sends: they come with its effect, or never.
#include <thread>

#include "conformance/store/store_suite.hpp"
#include "tenure/consumer.hpp"
#include "tenure/spi/source.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

NewMessage next(const std::string& id, const std::string& body = "body") {
  return {MessageId{id}, GroupId{"group"}, body, {{"kind", "next"}}};
}

std::vector<std::string> idsOf(const std::vector<Message>& messages) {
  std::vector<std::string> ids;
  for (const Message& message : messages) ids.push_back(message.id.value);
  return ids;
}

class SendingSuite : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    ASSERT_THAT(ends_.store->claim(term_), succeeds());
    ASSERT_THAT(ends_.source->attach(term_), succeeds());
  }
  std::unique_ptr<IFencedTransaction> begin() { return ends_.store->begin(term_).value(); }
  std::vector<Message> look() { return ends_.source->fetch(100, BootClock::now(), {}).value(); }
  /// What the handlers of a consumer get, until `condition` holds.
  void consume(Handler handler, const std::function<bool()>& condition) {
    ends_.source->detach();
    ends_.store->release();
    Consumer consumer(*ends_.source, *ends_.store, std::move(handler),
                      {.name = ConsumerName{"ledger"}, .retryBase = 1ms, .retryMax = 2ms, .idleWait = 10ms},
                      noEvents());
    consumer.inaugurate(term_);
    const auto limit = std::chrono::steady_clock::now() + 60s;
    while (!condition() && std::chrono::steady_clock::now() < limit) consumer.execute(term_);
    consumer.handOver(term_);
    EXPECT_TRUE(condition());
  }

  std::unique_ptr<BackendWorld> world_ = GetParam().make();
  Replica ends_ = world_->open();
  const TestTerm term_{7};
};

INSTANTIATE_TEST_SUITE_P(Backends, SendingSuite, testing::ValuesIn(with(&Backend::hasQueue, storeBackends())),
                         testing::PrintToStringParamName());

TEST_P(SendingSuite, WhatWasSentComesWithTheCommitWholeAndInOrder) {
  auto transaction = begin();
  ASSERT_THAT(transaction->put("k", "v"), succeeds());
  ASSERT_THAT(transaction->enqueue(next("first", std::string("a\0b", 3))), succeeds());
  ASSERT_THAT(transaction->enqueue(next("second")), succeeds());
  EXPECT_THAT(look(), IsEmpty());

  ASSERT_THAT(transaction->commit(), succeeds());

  const std::vector<Message> messages = look();
  ASSERT_THAT(idsOf(messages), ElementsAre("first", "second"));
  EXPECT_EQ(messages[0].group.value, "group");
  EXPECT_EQ(messages[0].body, std::string("a\0b", 3));
  EXPECT_THAT(messages[0].headers, ElementsAre(Headers::value_type("kind", "next")));
  EXPECT_EQ(begin()->get("k").value(), "v");
}

TEST_P(SendingSuite, ATransactionMayOnlySend) {
  auto transaction = begin();
  ASSERT_THAT(transaction->enqueue(next("alone")), succeeds());
  ASSERT_THAT(transaction->commit(), succeeds());

  EXPECT_THAT(idsOf(look()), ElementsAre("alone"));
}

// shows: exactly-once/handler-sends-comes
TEST_P(SendingSuite, OfWhatIsUndoneNothingComes) {
  auto transaction = begin();
  ASSERT_THAT(transaction->mark(), succeeds());
  ASSERT_THAT(transaction->enqueue(next("kept")), succeeds());
  ASSERT_THAT(transaction->mark(), succeeds());
  ASSERT_THAT(transaction->enqueue(next("of a handler that failed")), succeeds());
  ASSERT_THAT(transaction->rollbackToMark(), succeeds());
  ASSERT_THAT(transaction->commit(), succeeds());
  {
    auto given = begin();
    ASSERT_THAT(given->enqueue(next("given up")), succeeds());
    given->rollback();
  }

  EXPECT_THAT(idsOf(look()), ElementsAre("kept"));
}

// shows: exactly-once/handler-sends-comes
TEST_P(SendingSuite, AStaleTermSendsNothing) {
  auto stale = begin();
  ASSERT_THAT(stale->enqueue(next("stale")), succeeds());
  const Replica successor = world_->open();
  const TestTerm newer(8);
  ASSERT_THAT(successor.store->claim(newer), succeeds());

  EXPECT_THAT(stale->commit(), failsWith(Errc::staleTerm));

  ASSERT_THAT(successor.source->attach(newer), succeeds());
  EXPECT_THAT(successor.source->fetch(100, BootClock::now(), {}).value(), IsEmpty());
}

TEST_P(SendingSuite, WhatNoQueueTakesIsRefusedAtOnceAndTheTransactionGoesOn) {
  auto transaction = begin();

  EXPECT_THAT(transaction->enqueue(next("large", std::string(maxBodyBytes + 1, 'x'))),
              failsWith(Errc::payloadTooLarge));
  EXPECT_THAT(transaction->enqueue(next("")), failsWith(Errc::invalidArgument));
  EXPECT_THAT(transaction->enqueue(next("m"), "no such name"), testing::Not(succeeds()));
  EXPECT_THAT(transaction->enqueue(next("full", std::string(maxBodyBytes, 'x'))), succeeds());
  ASSERT_THAT(transaction->commit(), succeeds());

  EXPECT_THAT(idsOf(look()), ElementsAre("full"));
}

TEST_P(SendingSuite, AnotherQueueInTheSamePlaceGetsItsOwn) {
  const std::shared_ptr<IMessageSource> other = world_->queue("next-step");
  auto transaction = begin();
  if (!other) {
    EXPECT_THAT(transaction->enqueue(next("there"), "next-step"), failsWith(Errc::unsupported));
    return;
  }
  ASSERT_THAT(transaction->enqueue(next("there"), "next-step"), succeeds());
  ASSERT_THAT(transaction->enqueue(next("here")), succeeds());
  ASSERT_THAT(transaction->commit(), succeeds());
  auto again = begin();
  ASSERT_THAT(again->enqueue(next("there too"), "next-step"), succeeds());
  ASSERT_THAT(again->commit(), succeeds());

  EXPECT_THAT(idsOf(look()), ElementsAre("here"));
  const TestTerm term(3, "reader");
  ASSERT_THAT(other->attach(term), succeeds());
  EXPECT_THAT(idsOf(other->fetch(100, BootClock::now(), {}).value()), ElementsAre("there", "there too"));
}

TEST_P(SendingSuite, AConsumerThatWaitsIsWokenByWhatWasSent) {
  const Replica other = world_->open();
  const TestTerm successor(8);
  auto transaction = begin();
  ASSERT_THAT(transaction->enqueue(next("wake up")), succeeds());
  std::vector<Message> woken;
  ASSERT_THAT(other.source->attach(successor), succeeds());
  std::thread waiting([&] { woken = other.source->fetch(1, BootClock::now() + 60s, {}).value(); });

  const Result<void> committed = transaction->commit();

  waiting.join();
  EXPECT_THAT(committed, succeeds());
  EXPECT_THAT(idsOf(woken), ElementsAre("wake up"));
}

// shows: exactly-once/handler-sends-comes
TEST_P(SendingSuite, AHandlerSendsOnceHoweverOftenItIsStarted) {
  ASSERT_THAT(world_->sink()->append(std::vector{next("order")}), succeeds());
  std::vector<std::string> handled;
  int starts = 0;

  consume(
      [&](const Delivery& delivery) {
        const std::string& id = delivery.message.id.value;
        if (id == "order") {
          delivery.transaction.enqueue(next("order/ship")).value();
          if (++starts < 3) return Outcome::failed("not yet");
        }
        handled.push_back(id);
        return Outcome::done();
      },
      [&] { return handled.size() >= 2; });

  EXPECT_THAT(handled, ElementsAre("order", "order/ship"));
  EXPECT_EQ(starts, 3);
  ASSERT_THAT(ends_.store->claim(term_), succeeds());
  ASSERT_THAT(ends_.source->attach(term_), succeeds());
  EXPECT_THAT(look(), IsEmpty());
}

TEST_P(SendingSuite, AnIdThatIsInTheQueueAlreadyIsHandledOnce) {
  ASSERT_THAT(world_->sink()->append(std::vector{next("order"), next("order/ship")}), succeeds());
  std::vector<std::string> handled;

  consume(
      [&](const Delivery& delivery) {
        handled.push_back(delivery.message.id.value);
        if (handled.back() == "order") delivery.transaction.enqueue(next("order/ship")).value();
        if (handled.back() == "order/ship") delivery.transaction.enqueue(next("end")).value();
        return Outcome::done();
      },
      [&] { return !handled.empty() && handled.back() == "end"; });

  EXPECT_THAT(handled, ElementsAre("order", "order/ship", "end"));
}

/// Stores alone.
class UnsentSuite : public StoreSuite {};
std::vector<Backend> storesAlone() {
  std::vector<Backend> alone = storeBackends();
  std::erase_if(alone, [](const Backend& backend) { return backend.hasQueue; });
  return alone;
}
INSTANTIATE_TEST_SUITE_P(Backends, UnsentSuite, testing::ValuesIn(storesAlone()), testing::PrintToStringParamName());

TEST_P(UnsentSuite, AStoreWithoutAQueueSaysSo) {
  const Leader leader = leaderWith(7);
  auto transaction = begin(leader);

  const Result<void> sent = transaction->enqueue(next("m"));

  EXPECT_THAT(sent, failsWith(Errc::unsupported));
  EXPECT_THAT(sent.error().detail, HasSubstr("without a queue"));
  ASSERT_THAT(transaction->put("k", "v"), succeeds());
  EXPECT_THAT(transaction->commit(), succeeds());
}

}  // namespace
}  // namespace tenure::test
