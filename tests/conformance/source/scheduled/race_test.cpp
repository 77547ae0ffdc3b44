// A message comes to its queue, is taken back, or gets another time: of those that try at the same moment, one is
// first. TENURE_RACES=20000 is the long form.
#include <atomic>
#include <map>
#include <thread>

#include "base/text.hpp"
#include "conformance/source/scheduled/scheduled_suite.hpp"

namespace tenure::test {
namespace {

std::size_t races() {
  const char* asked = std::getenv("TENURE_RACES");
  return asked == nullptr ? 2000 : static_cast<std::size_t>(parseInteger(asked).value());
}

class ScheduledRace : public ScheduledSuite {
 protected:
  using Fates = std::map<std::string, ScheduleChange>;

  static std::string id(std::size_t number) { return "m-" + std::to_string(number); }
  WallTime timeOf(std::size_t number) const { return first_ + std::chrono::milliseconds{number / 2}; }
  /// By turns, for a while each, a little before the times and well after them: both sides shall win some.
  static std::chrono::milliseconds beforeIts(std::size_t number) { return number / 200 % 2 == 0 ? 1ms : -10ms; }
  template <class Before, class Verb>
  Fates changeAll(Before before, Verb verb) {
    const auto scheduled = world_->scheduled();
    Fates fates;
    for (std::size_t i = 0; i < races(); ++i) {
      while (now() < timeOf(i) - before(i)) std::this_thread::yield();
      fates[id(i)] = verb(*scheduled, MessageId{id(i)}).value();
    }
    return fates;
  }

  const WallTime first_ = now() + 50ms;
};
INSTANTIATE_TEST_SUITE_P(Backends, ScheduledRace, testing::ValuesIn(keepingScheduled()),
                         testing::PrintToStringParamName());

// shows: safety/message-time-cancellation
TEST_P(ScheduledRace, HasExactlyOneWinner) {
  std::vector<NewMessage> messages;
  for (std::size_t i = 0; i < races(); ++i) messages.push_back(timed(id(i), timeOf(i)));
  ASSERT_THAT(send(messages), succeeds());

  Fates cancelled;
  Fates rescheduled;
  std::jthread canceller([&] {
    cancelled = changeAll(beforeIts, [](ScheduledMessages& all, const MessageId& each) { return all.cancel(each); });
  });
  std::jthread rescheduler([&] {
    rescheduled = changeAll([](std::size_t) { return 0ms; },
                            [](ScheduledMessages& all, const MessageId& each) { return all.reschedule(each, now()); });
  });
  std::map<std::string, int> came;
  const auto take = [&] {
    const auto fetched = ends_.source->fetch(100, BootClock::now() + 20ms, {}).value();
    for (const Message& message : fetched) ++came[message.id.value];
    return !fetched.empty();
  };
  const BootTime limit = BootClock::now() + 50s;
  while (!waiting().empty() && BootClock::now() < limit) take();
  canceller.join();
  rescheduler.join();
  while (take()) continue;

  std::map<ScheduleChange, int> wins;
  for (std::size_t i = 0; i < races(); ++i) {
    const bool isCancelled = cancelled.at(id(i)) == ScheduleChange::done;
    ++wins[cancelled.at(id(i))];
    ASSERT_EQ(came[id(i)], isCancelled ? 0 : 1) << id(i);
    if (isCancelled) {
      ASSERT_NE(rescheduled.at(id(i)), ScheduleChange::fired) << id(i);
    } else {
      ASSERT_EQ(cancelled.at(id(i)), ScheduleChange::fired) << id(i);
      ASSERT_NE(rescheduled.at(id(i)), ScheduleChange::unknown) << id(i);
    }
  }
  RecordProperty("cancelled", wins[ScheduleChange::done]);
  EXPECT_GT(wins[ScheduleChange::done], 0);
  EXPECT_GT(wins[ScheduleChange::fired], 0);
}

/// Two processes send the same messages, and the leader brings each as soon as it is there.
TEST_P(ScheduledRace, OfTwoSendersBringsEachMessageOnce) {
  const std::size_t count = races() / 4;
  std::atomic<int> sending = 2;
  const auto sendAll = [&] {
    const auto sink = world_->sink();
    for (std::size_t i = 0; i < count; ++i) {
      const NewMessage message = timed(id(i), first_ - 1h);
      EXPECT_THAT(sink->append({&message, 1}), succeeds());
    }
    --sending;
  };
  std::jthread one(sendAll);
  std::jthread other(sendAll);
  std::map<std::string, int> came;
  const auto take = [&] {
    const auto fetched = ends_.source->fetch(100, BootClock::now() + 5ms, {}).value();
    for (const Message& message : fetched) ++came[message.id.value];
    return !fetched.empty();
  };
  while (sending > 0) take();
  while (take() || !waiting().empty()) continue;

  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(came[id(i)], 1) << id(i);
}

/// A commit that takes a message back and sends others locks what its delivery locks, and in the same order.
TEST_P(ScheduledRace, OfAHandlersCommitHasOneAsWell) {
  const std::size_t count = races();
  std::vector<NewMessage> messages;
  for (std::size_t i = 0; i < count; ++i) messages.push_back(timed(id(i), timeOf(i)));
  ASSERT_THAT(send(messages), succeeds());
  Replica reader = world_->open();
  ASSERT_THAT(reader.source->attach(term_), succeeds());

  std::map<std::string, int> came;
  std::atomic<bool> isOver = false;
  std::jthread reading([&] {
    while (!isOver)
      for (const Message& message : reader.source->fetch(100, BootClock::now() + 5ms, {}).value())
        ++came[message.id.value];
  });
  std::size_t cancelled = 0;
  const BootTime limit = BootClock::now() + 50s;
  for (std::size_t i = 0; i < count;) {
    ASSERT_LT(BootClock::now(), limit);
    while (now() < timeOf(i) - 1ms) std::this_thread::yield();
    auto transaction = begin();
    const auto change = transaction->cancelScheduled(MessageId{id(i)});
    ASSERT_THAT(change, succeeds());
    ASSERT_THAT(transaction->enqueue({.id = MessageId{"next-" + id(i)}, .body = "body"}, {}), succeeds());
    const Result<void> committed = transaction->commit();
    if (!committed && committed.error().is(Errc::transactionConflict)) continue;  // it has come: once more
    ASSERT_THAT(committed, succeeds());
    cancelled += *change == ScheduleChange::done ? 1 : 0;
    ++i;
  }
  while (!waiting().empty() && BootClock::now() < limit) std::this_thread::yield();
  isOver = true;
  reading.join();
  for (const Message& message : reader.source->fetch(10'000, BootClock::now(), {}).value()) ++came[message.id.value];

  std::size_t delivered = 0;
  for (std::size_t i = 0; i < count; ++i) {
    delivered += came[id(i)] == 1 ? 1 : 0;
    ASSERT_LE(came[id(i)], 1) << id(i);
    ASSERT_EQ(came["next-" + id(i)], 1) << id(i);
  }
  EXPECT_EQ(delivered + cancelled, count);
}

}  // namespace
}  // namespace tenure::test
