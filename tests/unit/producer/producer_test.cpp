// The producer with its thread, over a queue that is away, refuses, or loses its replies.
#include "tenure/producer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "base/random.hpp"
#include "fake_queue.hpp"
#include "producer/engine.hpp"
#include "support/program.hpp"
#include "support/results.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto longEnough = 30s;

// shows: sending/future-ready-durability
TEST(ProducerUnit, AFutureIsReadyOnceTheQueueHasConfirmed) {
  FakeQueue queue;
  Producer producer(queue.opener());

  auto sent = producer.send(message("a"));

  ASSERT_THAT(sent, succeeds());
  EXPECT_THAT(sent->get(), succeeds());
  EXPECT_THAT(queue.ids(), ElementsAre("a"));
  EXPECT_EQ(producer.figures().confirmed, 1);
}

// shows: sending/several-batches-under
TEST(ProducerUnit, SeveralBatchesAreUnderWayAtOnceAndEachGroupIsInOneOfThem) {
  FakeQueue queue;
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::string> underWay;
  int batches = 0;
  int most = 0;
  bool isTwice = false;
  Random random(7);
  queue.setFate([&](std::span<const NewMessage> messages) -> std::optional<std::vector<Result<void>>> {
    std::unique_lock lock(mutex);
    std::set<std::string> groups;
    for (const NewMessage& each : messages) groups.insert(each.group.value);
    for (const std::string& group : groups) isTwice = !underWay.insert(group).second || isTwice;
    most = std::max(most, ++batches);
    changed.notify_all();
    changed.wait_for(lock, longEnough, [&] { return most == 3; });
    --batches;
    for (const std::string& group : groups) underWay.erase(group);
    if (random.below(4) == 0) return away(messages);
    queue.store(messages);
    return std::vector<Result<void>>(messages.size());
  });
  ProducerOptions options{.retryBase = 1ms, .retryMax = 2ms};
  options.batchMessages = 3;
  options.batchesUnderWay = 3;
  Producer producer(queue.opener(), options);
  std::vector<std::thread> senders;
  for (int sender = 0; sender < 10; ++sender)
    senders.emplace_back([&producer, group = std::to_string(sender)] {
      for (int i = 0; i < 100; ++i)
        EXPECT_THAT(producer.post({MessageId{group + "-" + std::to_string(i)}, GroupId{group}, std::to_string(i), {}}),
                    succeeds());
    });
  for (std::thread& sender : senders) sender.join();

  EXPECT_THAT(producer.flush(longEnough), succeeds());

  EXPECT_EQ(most, 3);
  EXPECT_FALSE(isTwice);
  std::map<std::string, int> next;
  for (const NewMessage& each : queue.stored()) EXPECT_EQ(each.body, std::to_string(next[each.group.value]++));
  EXPECT_EQ(queue.stored().size(), 1'000U);
}

/// Starts so many threads, and then none.
class FewThreads final : public IThreads {
 public:
  explicit FewThreads(int most) : left_(most) {}
  std::unique_ptr<IThread> start(std::function<void()> work) override {
    if (left_-- == 0) throw std::system_error(EAGAIN, std::generic_category());
    return systemThreads().start(std::move(work));
  }
  std::unique_ptr<ILock> makeLock() override { return systemThreads().makeLock(); }
  std::unique_ptr<ISignal> makeSignal() override { return systemThreads().makeSignal(); }

 private:
  int left_;
};

TEST(ProducerUnit, ThatCannotStartAllItsThreadsEndsThoseThatItStarted) {
  FakeQueue queue;
  ProducerOptions options;
  options.batchesUnderWay = 4;
  for (int most = 0; most < 4; ++most) {
    FewThreads threads(most);
    EXPECT_THROW(
        producing::Engine(queue.opener(), nullptr, options, noEvents(), producing::Machine{systemClock(), threads}),
        std::system_error);
  }
}

TEST(ProducerUnit, ASendWaitsForRoomNoLongerThanItsMessageMay) {
  FakeQueue queue;
  queue.setFate(away);
  ProducerOptions options;
  options.maxMessages = 1;
  Producer producer(queue.opener(), options);
  ASSERT_THAT(producer.post(message("a")), succeeds());

  EXPECT_THAT(producer.post(message("b"), {.limit = 5ms}), failsWith(Errc::timedOut));
}

/// The queue does not answer the first batch; a message of another lane is told when its limit is over.
// shows: sending/several-batches-under
TEST(ProducerUnit, ALimitIsToldWhileAnotherBatchHangs) {
  FakeQueue queue;
  std::promise<void> goOn;
  std::shared_future<void> mayGoOn(goOn.get_future());
  std::atomic<bool> isFirst = true;
  queue.setFate([&](std::span<const NewMessage> messages) -> std::optional<std::vector<Result<void>>> {
    if (isFirst.exchange(false)) mayGoOn.wait();
    return away(messages);
  });
  ProducerOptions options;
  options.batchesUnderWay = 2;
  Producer producer(queue.opener(), options);
  std::string other = "g";
  while (producing::SendBuffer::laneOf(GroupId{other}, 2) == producing::SendBuffer::laneOf(GroupId{"a"}, 2))
    other += "g";
  ASSERT_THAT(producer.post(message("1", "a")), succeeds());
  while (isFirst) std::this_thread::yield();

  auto sent = producer.send(message("2", other), {.limit = 20ms});

  ASSERT_THAT(sent, succeeds());
  EXPECT_EQ(sent->wait_for(longEnough), std::future_status::ready);
  goOn.set_value();
}

// shows: sending/confirmed-sent-again
TEST(ProducerUnit, AMessageWithoutAnIdGetsOneBeforeItIsSentTwice) {
  FakeQueue queue;
  std::atomic<int> batches = 0;
  queue.setFate([&](std::span<const NewMessage> messages) -> std::optional<std::vector<Result<void>>> {
    queue.store(messages);
    if (++batches > 1) return std::vector<Result<void>>(messages.size());
    return std::vector<Result<void>>(messages.size(), Error{Errc::outcomeUnknown, "the reply was lost"});
  });
  Producer producer(queue.opener(), {.retryBase = 1ms, .retryMax = 1ms});

  EXPECT_THAT(producer.send({{}, {}, "body", {}})->get(), succeeds());

  const auto ids = queue.ids();
  ASSERT_EQ(ids.size(), 2U);
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_FALSE(ids[0].empty());
  EXPECT_EQ(queue.opened, 2) << "a sink that failed is not used again";
}

// shows: sending/confirmed-sent-again
TEST(ProducerUnit, AnOutageIsSatOutAndFlushSaysWhatItWaitsFor) {
  FakeQueue queue;
  queue.setFate(away);
  Producer producer(queue.opener(), {.retryBase = 1ms, .retryMax = 1ms});
  auto sent = producer.send(message("a"));
  const auto flushed = producer.flush(50ms);
  EXPECT_THAT(flushed, failsWith(Errc::timedOut));
  EXPECT_THAT(flushed.error().detail, HasSubstr("1 messages are not confirmed"));
  queue.setFate({});

  EXPECT_THAT(producer.flush(longEnough), succeeds());

  EXPECT_THAT(sent->get(), succeeds());
}

// shows: sending/future-ready-durability
TEST(ProducerUnit, WhatIsInMemoryIsAcceptedAtOnceAndToldAtItsEnd) {
  FakeQueue queue;
  queue.setFate(away);
  Producer producer(queue.opener(), {.retryBase = 1ms, .retryMax = 1ms});
  std::promise<Result<void>> told;

  auto sent = producer.send(message("a"), {.durability = Durability::memory,
                                           .done = [&](const Result<void>& result) { told.set_value(result); }});

  EXPECT_THAT(sent->get(), succeeds());
  EXPECT_EQ(producer.figures().atRisk, 1U);
  queue.setFate({});
  EXPECT_THAT(told.get_future().get(), succeeds());
  EXPECT_EQ(producer.figures().atRisk, 0U);
}

// shows: sending/full-buffer-waits
TEST(ProducerUnit, ASendWaitsForRoomAndIsRefusedAtItsLimit) {
  FakeQueue queue;
  queue.setFate(away);
  Producer producer(queue.opener(), {.maxMessages = 1, .sendLimit = 20ms, .retryBase = 1ms, .retryMax = 1ms});
  auto first = producer.send(message("a"));
  EXPECT_THAT(producer.send(message("b")), failsWith(Errc::storeFull));
  Producer patient(queue.opener(), {.maxMessages = 1, .sendLimit = longEnough, .retryBase = 1ms, .retryMax = 1ms});
  auto held = patient.send(message("c"));
  auto second = std::async(std::launch::async, [&] { return patient.send(message("d"))->get(); });
  EXPECT_TRUE(eventually([&] { return patient.figures().batches > 3; }));
  EXPECT_EQ(second.wait_for(0s), std::future_status::timeout);

  queue.setFate({});

  EXPECT_THAT(second.get(), succeeds());
  EXPECT_THAT(held->get(), succeeds());
}

// shows: sending/callback-may-send
TEST(ProducerUnit, WhatACallbackHoldsIsGivenBackWhereItMayCallTheProducer) {
  FakeQueue queue;
  std::promise<std::int64_t> confirmed;
  Producer producer(queue.opener());
  std::shared_ptr<void> held(nullptr, [&](void*) { confirmed.set_value(producer.figures().confirmed); });

  ASSERT_THAT(producer.send(message("a"), {.done = [held = std::move(held)](const Result<void>&) {}}), succeeds());

  EXPECT_EQ(confirmed.get_future().get(), 1);
}

// shows: sending/flush-says-message
TEST(ProducerUnit, FlushSaysThatAMessageWasGivenUp) {
  FakeQueue queue;
  queue.setFate(away);
  Producer producer(queue.opener(), {.retryBase = 1ms, .retryMax = 1ms});
  auto sent = producer.send(message("a"), {.limit = 10ms});

  EXPECT_THAT(producer.flush(std::chrono::milliseconds::max()), failsWith(Errc::cancelled));

  EXPECT_THAT(sent->get(), failsWith(Errc::timedOut));
  EXPECT_EQ(producer.figures().givenUp, 1);
}

// shows: sending/service-starts-queue
TEST(ProducerUnit, ASinkThatThrowsOrCannotBeOpenedIsTriedAgain) {
  FakeQueue queue;
  int opened = 0;
  Producer producer(
      [&]() -> Result<std::unique_ptr<IMessageSink>> {
        if (++opened == 1) throw std::runtime_error("no memory");
        if (opened == 2) return Errc::authenticationFailed;
        return queue.opener()();
      },
      {.retryBase = 1ms, .retryMax = 1ms});

  EXPECT_THAT(producer.send(message("a"))->get(), succeeds());

  EXPECT_EQ(opened, 3);
}

// shows: sending/callback-may-send
TEST(ProducerUnit, ACallbackMaySendAndNeverWaitsForRoom) {
  FakeQueue queue;
  std::promise<Errc> second;
  Producer producer(queue.opener(), {.maxMessages = 1, .sendLimit = longEnough});
  const auto callback = [&](const Result<void>&) {
    EXPECT_THAT(producer.flush(longEnough), failsWith(Errc::unsupported)) << "it would wait for itself";
    static_cast<void>(producer.send(message("b")));
    const auto refused = producer.send(message("c"));
    second.set_value(!refused && refused.error().is(Errc::storeFull) ? Errc::storeFull : Errc::unsupported);
  };

  EXPECT_THAT(producer.send(message("a"), {.done = callback}), succeeds());

  EXPECT_EQ(second.get_future().get(), Errc::storeFull);
  EXPECT_THAT(producer.close(longEnough), succeeds());
  EXPECT_THAT(queue.ids(), ElementsAre("a", "b"));
}

TEST(ProducerUnit, AMessageThatNoQueueTakesIsRefusedBeforeItIsBuffered) {
  FakeQueue queue;
  Producer producer(queue.opener());

  EXPECT_THAT(producer.send({MessageId{"a"}, {}, std::string(maxBodyBytes + 1, 'x'), {}}),
              failsWith(Errc::payloadTooLarge));

  EXPECT_EQ(queue.opened, 0);
}

// shows: sending/flush-says-message
TEST(ProducerUnit, CloseDrainsAndGivesUpWhatIsLeftAtItsLimit) {
  FakeQueue queue;
  Producer drained(queue.opener());
  for (int i = 0; i < 100; ++i) ASSERT_THAT(drained.send(message(std::to_string(i))), succeeds());
  EXPECT_THAT(drained.close(longEnough), succeeds());
  EXPECT_EQ(queue.ids().size(), 100U);
  EXPECT_THAT(drained.send(message("late")), failsWith(Errc::cancelled));
  queue.setFate(away);
  Producer stuck(queue.opener(), {.retryBase = 1ms, .retryMax = 1ms});
  auto left = stuck.send(message("left"));

  const auto closed = stuck.close(20ms);

  EXPECT_THAT(closed, failsWith(Errc::timedOut));
  EXPECT_THAT(closed.error().detail, HasSubstr("1 messages were given up"));
  EXPECT_THAT(left->get(), failsWith(Errc::cancelled));
}

// shows: sending/flush-says-message
TEST(ProducerUnit, DestroyedWithoutCloseItGivesUpWhatIsLeft) {
  FakeQueue queue;
  queue.setFate(away);
  auto producer = std::make_unique<Producer>(queue.opener(), ProducerOptions{.retryBase = 1h, .retryMax = 1h});
  auto left = producer->send(message("left"));

  producer.reset();

  EXPECT_THAT(left->get(), failsWith(Errc::cancelled));
}

// shows: sending/forked-child-refused
TEST(ProducerUnit, AForkedChildIsRefusedAndEnds) {
  FakeQueue queue;
  auto producer = std::make_unique<Producer>(queue.opener());
  ASSERT_THAT(producer->send(message("first"))->get(), succeeds());
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    const auto sent = producer->send(message("a"));
    const bool isRefused = !sent && sent.error().is(Errc::unsupported);
    producer.reset();
    ::_exit(isRefused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);

  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_THAT(producer->send(message("b"))->get(), succeeds());
}

// shows: sending/options-out-ranges
TEST(ProducerUnit, OptionsOutOfTheirRangesAreRefusedByName) {
  FakeQueue queue;
  const ProducerOptions wrong{.maxMessages = 0, .linger = 2min};
  try {
    Producer producer(queue.opener(), wrong);
    FAIL() << "it was made";
  } catch (const std::system_error& refused) {
    EXPECT_THAT(refused.what(), testing::AllOf(HasSubstr("producer.maxMessages"), HasSubstr("producer.linger")));
  }
}

/// Of several threads, over a queue that answers as a seed says.
// shows: sending/first-copies-group
TEST(ProducerUnit, EachGroupsFirstCopiesAreInTheOrderOfItsSendsWhateverTheQueueAnswers) {
  constexpr int threads = 4;
  constexpr int messages = 500;
  FakeQueue queue;
  Random random(7);
  queue.setFate([&](std::span<const NewMessage> batch) -> std::optional<std::vector<Result<void>>> {
    if (random.below(3) > 0) return std::nullopt;
    const std::size_t stored = random.below(batch.size() + 1);
    const std::size_t told = random.below(stored + 1);
    queue.store(batch.first(stored));
    std::vector<Result<void>> results(batch.size());
    for (std::size_t i = told; i < batch.size(); ++i) results[i] = Error{Errc::outcomeUnknown, "the reply was lost"};
    return results;
  });
  Producer producer(queue.opener(), {.maxMessages = 50, .batchMessages = 7, .retryBase = 1ms, .retryMax = 1ms});
  {
    std::vector<std::jthread> senders;
    for (int thread = 0; thread < threads; ++thread)
      senders.emplace_back([&, thread] {
        const std::string group = "g" + std::to_string(thread);
        for (int i = 0; i < messages; ++i)
          EXPECT_THAT(producer.send(message(group + "-" + std::to_string(i), group)), succeeds());
      });
  }
  ASSERT_THAT(producer.close(longEnough), succeeds());

  std::map<std::string, int> next;
  std::map<std::string, bool> seen;
  for (const NewMessage& each : queue.stored()) {
    if (std::exchange(seen[each.id.value], true)) continue;
    EXPECT_EQ(each.id.value, each.group.value + "-" + std::to_string(next[each.group.value]++));
  }
  EXPECT_EQ(seen.size(), std::size_t{threads * messages}) << "none is lost";
}

}  // namespace
}  // namespace tenure::test
