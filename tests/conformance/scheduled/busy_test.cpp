// A leader that has plenty to do brings messages to the queue when their time has come all the same.
#include <atomic>

#include "conformance/scheduled/scheduled_suite.hpp"
#include "tenure/consumer.hpp"

namespace tenure::test {
namespace {

using testing::Contains;

class BusyLeader : public ScheduledSuite {
 protected:
  static constexpr std::size_t plenty = 2000;

  /// Handles all of them; how many had been when the message with a time was seen to have left the waiting room.
  std::size_t handledBeforeItCame(int lanes) {
    ends_.source->detach();
    ends_.store->release();
    std::vector<NewMessage> messages;
    for (std::size_t i = 0; i < plenty; ++i)
      messages.push_back({.id = MessageId{std::to_string(i)}, .group = GroupId{std::to_string(i % 7)}, .body = "body"});
    EXPECT_THAT(send(messages), succeeds());

    std::atomic<std::size_t> handled = 0;
    std::atomic<std::size_t> came = plenty + 1;
    std::atomic<bool> isDone = false;
    const auto handle = [&](const Delivery& delivery) {
      if (delivery.message.id.value == "late") isDone = true;
      if (const std::size_t count = ++handled; count == 100)
        EXPECT_THAT(delivery.transaction.enqueue(timed("late", now()), {}), succeeds());
      else if (count > 100 && came > plenty && world_->scheduled()->stats().value().waiting == 0)
        came = count;
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
    EXPECT_TRUE(isDone);
    return came;
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, BusyLeader, testing::ValuesIn(keepingScheduled()),
                         testing::PrintToStringParamName());

TEST_P(BusyLeader, InOneLineBringsItLongBeforeTheQueueIsEmpty) { EXPECT_LT(handledBeforeItCame(0), plenty / 2); }
TEST_P(BusyLeader, WithLanesBringsItLongBeforeTheQueueIsEmpty) { EXPECT_LT(handledBeforeItCame(2), plenty / 2); }

}  // namespace
}  // namespace tenure::test
