/// A handler of many at once on every store: fewer calls, the same effects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/backends.hpp"
#include "support/events.hpp"
#include "support/program.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"
#include "tenure/consumer.hpp"
#include "tenure/testing/memory.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

class TogetherSuite : public testing::TestWithParam<Backend> {
 protected:
  static constexpr int messages = 30;

  void SetUp() override {
    std::vector<NewMessage> some;
    for (int i = 0; i < messages; ++i) some.push_back({MessageId{std::to_string(i)}, GroupId{"g"}, "body", {}});
    some.push_back(some[3]);  // it comes twice
    ASSERT_THAT(memory::openSink(queue_)->append(some), succeeds());
  }

  /// A term until the queue is empty, or until this message is handled: its process dies then, without a word.
  void serve(const std::string& dieAt = "none") {
    const Replica store = world_->open(events_);
    memory::Database queue(queue_, noEvents(), systemClock(), memory::Database::Acknowledging::afterCommit);
    const TestTerm term(++token_);
    const auto handler = [&](const BatchDelivery& delivery) {
      ++calls_;
      const auto before = delivery.transaction.get("effects");
      if (!before) return Outcome::failed(before.error().message());
      std::string effects = before->value_or("");
      for (const Message& message : delivery.messages) {
        if (message.id.value == dieAt) term.loseLease();
        if (message.id.value == "20") return Outcome::failed("never");
        effects += message.id.value + " ";
      }
      const auto put = delivery.transaction.put("effects", effects);
      return put ? Outcome::done() : Outcome::failed(put.error().message());
    };
    ConsumerOptions options{.maxBatch = 8};
    options.latencyTarget = 10s;
    options.maxAttempts = 2;
    options.retryBase = 1ms;
    options.idleWait = 20ms;
    Consumer consumer(queue.source(), *store.store, BatchHandler{handler}, options, events_);
    try {
      consumer.inaugurate(term);
      EXPECT_TRUE(eventually([&] {
        consumer.execute(term);
        return queue_.waiting().empty();
      }));
      effects_ = store.store->begin(term).value()->get("effects").value().value_or("");
      consumer.handOver(term);
    } catch (const EndTerm& end) {
      EXPECT_EQ(end.reason(), EndReason::leaseLost) << end.what();
    }
  }

  std::unique_ptr<BackendWorld> world_ = GetParam().make();
  memory::World queue_;
  RecordedEvents events_;
  std::int64_t token_ = 0;
  int calls_ = 0;
  std::string effects_;
};

std::string allBut20() {
  std::string all;
  for (int i = 0; i < 30; ++i)
    if (i != 20) all += std::to_string(i) + " ";
  return all;
}

TEST_P(TogetherSuite, EachHasOneEffectInOrderAndTheGuiltyOneDiesAlone) {
  serve();

  EXPECT_EQ(effects_, allBut20());
  EXPECT_LT(calls_, messages / 2);
  ASSERT_EQ(events_.of<MessageDeadLettered>().size(), 1U);
  EXPECT_EQ(events_.of<MessageDeadLettered>()[0].message, "20");
  EXPECT_EQ(events_.of<BatchSplit>().size(), 1U);
}

TEST_P(TogetherSuite, ASuccessorOfADeadProcessRepeatsNothingAndLosesNothing) {
  serve("5");
  serve("12");
  serve();

  EXPECT_EQ(effects_, allBut20());
}

INSTANTIATE_TEST_SUITE_P(Stores, TogetherSuite, testing::ValuesIn(storeBackends()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace tenure::test
