// A leader that has plenty to do brings messages to the queue when their time has come all the same.
#include <atomic>

#include "conformance/source/scheduled/scheduled_suite.hpp"
#include "tenure/consumer.hpp"

namespace tenure::test {
namespace {

using testing::Contains;

class BusyLeader : public ScheduledSuite {
 protected:
  /// Each message sends the next one until the message with a time has left the waiting room.
  void expectThatItComesThoughTheQueueIsNeverEmpty(int lanes) {
    ends_.source->detach();
    ends_.store->release();
    std::vector<NewMessage> messages;
    for (std::size_t i = 0; i < 100; ++i) messages.push_back(plain(i));
    EXPECT_THAT(send(messages), succeeds());

    std::atomic<std::size_t> handled = 0;
    std::atomic<bool> hasCome = false;
    std::atomic<bool> isDone = false;
    const auto handle = [&](const Delivery& delivery) {
      if (delivery.message.id.value == "late") isDone = true;
      const std::size_t count = ++handled;
      if (count == 100)
        EXPECT_THAT(delivery.transaction.enqueue(timed("late", now()), {}), succeeds());
      else if (count > 100 && !hasCome)
        hasCome = world_->scheduled()->stats().value().waiting == 0;
      if (!hasCome) {
        EXPECT_THAT(delivery.transaction.enqueue(plain(100 + count), {}), succeeds());
      }
      return Outcome::done();
    };
    ConsumerOptions options{.name = ConsumerName{"busy"}, .idleWait = 10ms};
    options.maxBatch = 16;
    options.ordering = lanes > 0 ? Ordering::perGroup(static_cast<std::size_t>(lanes)) : Ordering::total();
    Consumer consumer(*ends_.source, *ends_.store, handle, options, noEvents());
    consumer.inaugurate(term_);
    const BootTime limit = BootClock::now() + 50s;
    while (!isDone && BootClock::now() < limit) consumer.execute(term_);
    consumer.handOver(term_);
    EXPECT_TRUE(hasCome);
    EXPECT_TRUE(isDone);
  }

  static NewMessage plain(std::size_t number) {
    return {.id = MessageId{std::to_string(number)}, .group = GroupId{std::to_string(number % 7)}, .body = "body"};
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, BusyLeader, testing::ValuesIn(keepingScheduled()),
                         testing::PrintToStringParamName());

// shows: safety/message-time-comes
TEST_P(BusyLeader, InOneLineBringsItThoughTheQueueIsNeverEmpty) { expectThatItComesThoughTheQueueIsNeverEmpty(0); }
// shows: safety/message-time-comes
TEST_P(BusyLeader, WithLanesBringsItThoughTheQueueIsNeverEmpty) { expectThatItComesThoughTheQueueIsNeverEmpty(2); }

// shows: safety/message-time-comes
TEST_P(BusyLeader, BringsItWhileTheHeadOfItsLineWaitsForItsNextAttempt) {
  ends_.source->detach();
  ends_.store->release();
  EXPECT_THAT(send({plain(0)}), succeeds());
  bool hasFailed = false;
  const auto handle = [&](const Delivery&) {
    EXPECT_THAT(send({timed("late", now() + 100ms)}), succeeds());
    hasFailed = true;
    return Outcome::failed("no");
  };
  const ConsumerOptions options{.name = ConsumerName{"busy"}, .retryDelays = {1h}, .idleWait = 10ms};
  Consumer consumer(*ends_.source, *ends_.store, handle, options, noEvents());
  consumer.inaugurate(term_);
  const auto inRoom = [&] { return world_->scheduled()->stats().value().waiting; };
  const BootTime limit = BootClock::now() + 50s;

  while ((!hasFailed || inRoom() > 0) && BootClock::now() < limit) consumer.execute(term_);

  EXPECT_TRUE(hasFailed);
  EXPECT_EQ(inRoom(), 0U);
  consumer.handOver(term_);
}

}  // namespace
}  // namespace tenure::test
