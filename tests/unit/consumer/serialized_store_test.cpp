/// The gate before a store that takes one transaction at a time.
#include "consumer/serialized_store.hpp"

#include <gtest/gtest.h>

#include <future>

#include "support/events.hpp"
#include "support/manual_clock.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"
#include "tenure/spi/store.hpp"
#include "tenure/testing/memory.hpp"

namespace tenure::consuming {
namespace {

using namespace std::chrono_literals;
using namespace tenure::test;

class Watch final : public IAccessWatch {
 public:
  void waitsForStore(bool waits) noexcept override {
    waits_ = waits;
    waits_.notify_all();
  }
  void awaitWaiting() const { waits_.wait(false); }

 private:
  std::atomic<bool> waits_ = false;
};

class GateTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_THAT(database_.store().claim(term_), succeeds()); }
  std::unique_ptr<IFencedTransaction> begin() { return lane_.begin(term_).value(); }
  /// One that is behind the gate, with a message whose handler took so long.
  std::unique_ptr<IFencedTransaction> hold(Duration handler) {
    auto transaction = begin();
    EXPECT_THAT(transaction->mark(), succeeds());
    clock_.advance(handler);
    EXPECT_THAT(transaction->put("effect", "1"), succeeds());
    return transaction;
  }
  /// Another lane, until the gate is free.
  std::future<void> waitForIt() {
    auto waiter = std::async(std::launch::async, [this] { static_cast<void>(gate_.enter(watch_)); });
    watch_.awaitWaiting();
    return waiter;
  }

  ManualClock clock_;
  RecordedEvents events_;
  memory::World world_;
  memory::Database database_{world_, events_, clock_};
  TestTerm term_{identityWith(1), 24h, clock_};
  SerialAccess gate_{clock_, systemThreads()};
  Watch ours_, watch_;
  SerializedStore lane_{gate_, ours_, database_.store()};
};

TEST_F(GateTest, ABatchIsFullWhenSomebodyWaitsAndHandlersTakeLongerThanACommit) {
  const auto transaction = hold(1ms);
  EXPECT_FALSE(transaction->isFull()) << "nobody waits";

  const std::future<void> waiter = waitForIt();

  EXPECT_TRUE(transaction->isFull());
  transaction->rollback();
}

TEST_F(GateTest, QuickMessagesShareADearCommitWhoeverWaits) {
  gate_.committed(5ms);
  const auto transaction = hold(1ms);

  const std::future<void> waiter = waitForIt();

  EXPECT_FALSE(transaction->isFull());
  clock_.advance(5ms);
  EXPECT_TRUE(transaction->isFull());
  transaction->rollback();
}

TEST_F(GateTest, MessagesThatAreHandledTogetherFillTheirBatchWithTheTimeOfTheirKeysOnly) {
  gate_.committed(5ms);
  const auto transaction = begin();
  for (const char* id : {"a", "b"}) {
    const auto fresh = transaction->admit(ConsumerName{"c"}, MessageId{id}, digestOf("body"), MessageFate::done);
    EXPECT_TRUE(fresh.has_value());
    clock_.advance(4ms);
  }

  const std::future<void> waiter = waitForIt();

  EXPECT_FALSE(transaction->isFull());
  transaction->rollback();
}

TEST_F(GateTest, WhatALaneWaitedBeforeItIsNotItsHandlersTime) {
  gate_.committed(5ms);
  const auto first = hold(1ms);
  auto isFull = std::async(std::launch::async, [&] {
    const auto second = hold(0ms);
    const std::future<void> waiter = waitForIt();
    const bool full = second->isFull();
    second->rollback();
    return full;
  });
  ours_.awaitWaiting();

  clock_.advance(20ms);
  first->rollback();

  EXPECT_FALSE(isFull.get());
}

}  // namespace
}  // namespace tenure::consuming
