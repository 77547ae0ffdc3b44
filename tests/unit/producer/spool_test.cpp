// The producer with a spool on disk, over a queue that is slow, away, or refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "fake_queue.hpp"
#include "support/await.hpp"
#include "support/events.hpp"
#include "support/forwarding_spool.hpp"
#include "support/program.hpp"
#include "support/results.hpp"
#include "tenure/sqlite.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto patience = 30s;

std::vector<std::string> idsTo(int last) {
  std::vector<std::string> ids;
  for (int i = 1; i <= last; ++i) ids.push_back(std::to_string(i));
  return ids;
}

struct ProducerWithSpool : testing::Test {
  std::unique_ptr<ISpool> openSpool() {
    auto opened = sqlite::openSpool({.file = folder / "spool.db"});
    EXPECT_THAT(opened, succeeds());
    return opened ? *std::move(opened) : nullptr;
  }
  static ProducerOptions options() {
    ProducerOptions options;
    options.spillAfter = 20ms;
    options.retryBase = 1ms;
    options.retryMax = 5ms;
    return options;
  }
  std::future<Result<void>> send(Producer& producer, int id, Durability durability) {
    auto sent = producer.send(message(std::to_string(id), "g"), {.durability = durability});
    EXPECT_THAT(sent, succeeds());
    return sent ? *std::move(sent) : std::future<Result<void>>{};
  }

  TemporaryFolder folder;
  FakeQueue queue;
};

// shows: sending/queue-confirms-time
TEST_F(ProducerWithSpool, AMessageThatTheQueueConfirmsAtOnceNeverTouchesTheSpool) {
  ProducerOptions patient = options();
  patient.spillAfter = 1h;  // whatever else the machine does
  Producer producer(queue.opener(), openSpool(), patient);

  EXPECT_THAT(send(producer, 1, Durability::spooled).get(), succeeds());

  EXPECT_THAT(queue.ids(), ElementsAre("1"));
  EXPECT_EQ(producer.figures().confirmed, 1);
}

/// Its refused messages leave no room, also where the buffer's is added.
struct SpoolOfRefusedMessages final : ForwardingSpool {
  using ForwardingSpool::ForwardingSpool;
  SpoolFigures figures() const override {
    SpoolFigures figures = ForwardingSpool::figures();
    figures.refused = 1;
    figures.refusedBytes = figures.maxBytes + ProducerOptions{}.maxBytes;
    return figures;
  }
};

/// All that is in it is lost with the first messages that are taken out.
struct SpoolThatLosesAll final : ForwardingSpool {
  using ForwardingSpool::ForwardingSpool;
  Result<void> settle(std::span<const SpoolSettlement>) override {
    std::vector<SpoolSettlement> all;
    for (const SpooledMessage& each : read(0, 1'000, 1U << 30U).value()) all.push_back({each.position, std::nullopt});
    return ForwardingSpool::settle(all);
  }
};

// shows: sending/waits-message-damaged
TEST_F(ProducerWithSpool, CallersAreToldOfWhatASpoolHasLostWhileMessagesWereTakenOut) {
  std::atomic<bool> isAway = true;
  queue.setFate([&](auto batch) { return isAway ? std::optional(away(batch)) : std::nullopt; });
  ProducerOptions small = options();
  small.batchMessages = 2;
  Producer producer(queue.opener(), std::make_unique<SpoolThatLosesAll>(openSpool()), small);
  std::vector<std::future<Result<void>>> stored;
  for (int i = 1; i <= 6; ++i) stored.push_back(send(producer, i, Durability::stored));
  ASSERT_TRUE(eventually([&] { return producer.figures().spooled == 6; }));

  isAway = false;
  EXPECT_THAT(producer.flush(patience), failsWith(Errc::cancelled));

  EXPECT_THAT(stored[0].get(), succeeds());
  EXPECT_THAT(stored[5].get(), failsWith(Errc::storeFailed));
}

TEST_F(ProducerWithSpool, RefusedMessagesCountForTheTimeToOverflow) {
  queue.setFate([](auto batch) { return std::optional(away(batch)); });
  Producer producer(queue.opener(), std::make_unique<SpoolOfRefusedMessages>(openSpool()), options());

  auto sent = send(producer, 1, Durability::stored);

  EXPECT_EQ(producer.figures().timeToOverflow, 0s);
}

// shows: sending/future-ready-durability, sending/queue-confirms-time
TEST_F(ProducerWithSpool, WhatWaitsTooLongIsOnDiskAndSentInOrderLater) {
  std::atomic<bool> isAway = true;
  queue.setFate([&](auto batch) { return isAway ? std::optional(away(batch)) : std::nullopt; });
  Producer producer(queue.opener(), openSpool(), options());
  std::vector<std::future<Result<void>>> futures;
  for (int i = 1; i <= 100; ++i) futures.push_back(send(producer, i, Durability::spooled));

  for (auto& each : futures) EXPECT_THAT(each.get(), succeeds());
  EXPECT_EQ(producer.figures().spooled, 100U);
  EXPECT_EQ(producer.figures().waiting, 0U);
  auto stored = send(producer, 101, Durability::stored);
  EXPECT_THAT(queue.ids(), IsEmpty());
  isAway = false;

  EXPECT_THAT(producer.flush(patience), succeeds());
  EXPECT_THAT(stored.get(), succeeds());
  EXPECT_THAT(queue.ids(), ElementsAreArray(idsTo(101)));
  EXPECT_EQ(producer.figures().spooled, 0U);
}

/// What is under way may hang for minutes: it is on disk all the same, and so is what comes behind it.
// shows: sending/queue-confirms-time
TEST_F(ProducerWithSpool, ABatchThatHangsIsSpooledWithAllBehindItAndIsNotSentTwiceWhereItIsConfirmed) {
  std::promise<void> answer;
  std::shared_future<void> answered = answer.get_future().share();
  std::atomic<int> batches = 0;
  queue.setFate([&](auto) -> std::optional<std::vector<Result<void>>> {
    if (++batches == 1) answered.wait();
    return std::nullopt;
  });
  Producer producer(queue.opener(), openSpool(), options());
  auto first = send(producer, 1, Durability::spooled);
  auto second = send(producer, 2, Durability::spooled);
  auto third = send(producer, 3, Durability::memory);

  EXPECT_THAT(first.get(), succeeds());
  EXPECT_THAT(second.get(), succeeds());
  EXPECT_TRUE(eventually([&] { return producer.figures().atRisk == 0; }));
  EXPECT_THAT(queue.ids(), IsEmpty());
  answer.set_value();

  EXPECT_THAT(producer.flush(patience), succeeds());
  EXPECT_THAT(queue.ids(), ElementsAre("1", "2", "3"));
}

// shows: sending/left-behind-sent, sending/flush-says-message
TEST_F(ProducerWithSpool, WhatAFormerProducerLeftIsSentBeforeAllElse) {
  queue.setFate([](auto batch) { return away(batch); });
  {
    Producer producer(queue.opener(), openSpool(), options());
    for (int i = 1; i <= 50; ++i) send(producer, i, Durability::memory);
  }
  queue.setFate({});

  Producer producer(queue.opener(), openSpool(), options());
  for (int i = 51; i <= 60; ++i) send(producer, i, Durability::stored);

  EXPECT_THAT(producer.flush(patience), succeeds());
  EXPECT_THAT(queue.ids(), ElementsAreArray(idsTo(60)));
}

// shows: sending/flush-says-message
TEST_F(ProducerWithSpool, CloseSpoolsTheRestAndTellsThoseThatWaitForTheQueue) {
  queue.setFate([](auto batch) { return away(batch); });
  Producer producer(queue.opener(), openSpool(), options());
  auto stored = send(producer, 1, Durability::stored);
  auto spooled = send(producer, 2, Durability::spooled);

  EXPECT_THAT(producer.close(1ms), succeeds()) << "nothing is lost";

  EXPECT_THAT(stored.get(), failsWith(Errc::outcomeUnknown));
  EXPECT_THAT(spooled.get(), succeeds());
  EXPECT_EQ(producer.figures().spooled, 2U);
}

// shows: sending/full-buffer-waits
TEST_F(ProducerWithSpool, ABufferThatIsHalfFullSpillsAndNothingIsRefused) {
  queue.setFate([](auto batch) { return away(batch); });
  ProducerOptions small = options();
  small.maxMessages = 10;
  small.onOverload = Overload::spill;
  small.spillAfter = 1h;
  Producer producer(queue.opener(), openSpool(), small);

  for (int i = 1; i <= 500; ++i) send(producer, i, Durability::memory);

  EXPECT_TRUE(eventually([&] { return producer.figures().spooled >= 490; }));
  queue.setFate({});
  EXPECT_THAT(producer.flush(patience), succeeds());
  EXPECT_THAT(queue.ids(), ElementsAreArray(idsTo(500)));
}

// shows: sending/queue-refuses-kept
TEST_F(ProducerWithSpool, AMessageThatTheQueueRefusesIsKeptAsideAndItsNeighboursGoOn) {
  std::atomic<bool> isAway = true;
  queue.setFate([&](std::span<const NewMessage> batch) {
    if (isAway) return std::optional(away(batch));
    std::vector<Result<void>> results;
    for (const NewMessage& each : batch) {
      const bool isBad = each.id.value == "2";
      results.push_back(isBad ? Result<void>(Error{Errc::payloadTooLarge, "too large for this broker"})
                              : Result<void>{});
      if (!isBad) queue.store({&each, 1});
    }
    return std::optional(results);
  });
  Producer producer(queue.opener(), openSpool(), options());
  std::vector<std::future<Result<void>>> futures;
  for (int i = 1; i <= 3; ++i) futures.push_back(send(producer, i, Durability::stored));
  EXPECT_TRUE(eventually([&] { return producer.figures().spooled == 3; }));
  isAway = false;

  EXPECT_THAT(futures[0].get(), succeeds());
  EXPECT_THAT(futures[1].get(), failsWith(Errc::payloadTooLarge));
  EXPECT_THAT(futures[2].get(), succeeds());
  EXPECT_THAT(producer.flush(patience), succeeds());
  EXPECT_EQ(producer.figures().spoolRefused, 1U);
  EXPECT_THAT(queue.ids(), ElementsAre("1", "3"));
}

// shows: sending/limit-ends-waits
TEST_F(ProducerWithSpool, AMessageOfTheSpoolIsToldAtItsLimitThatItWillBeSentLater) {
  queue.setFate([](auto batch) { return away(batch); });
  Producer producer(queue.opener(), openSpool(), options());

  auto sent = producer.send(message("1"), {.durability = Durability::stored, .limit = 200ms});

  ASSERT_THAT(sent, succeeds());
  const Result<void> outcome = sent->get();
  EXPECT_THAT(outcome, failsWith(Errc::outcomeUnknown));
  EXPECT_THAT(outcome.error().detail, HasSubstr("it is in the spool"));
}

/// The disk has the message, and the producer is about to note where: nothing of it may be sent before that.
// shows: sending/queue-confirms-time
TEST_F(ProducerWithSpool, AMessageIsSentOnlyWhenItsCallerCanBeFound) {
  class SlowToReturn final : public ForwardingSpool {
   public:
    SlowToReturn(std::unique_ptr<ISpool> spool, FakeQueue& queue) : ForwardingSpool(std::move(spool)), queue_(queue) {}
    Result<std::int64_t> append(std::span<const NewMessage> messages, const FollowedFile* sent) override {
      const Result<std::int64_t> first = ForwardingSpool::append(messages, sent);
      eventually([&] { return queue_.ids().size() > 1; }, 100ms);
      return first;
    }

   private:
    FakeQueue& queue_;
  };
  std::atomic<bool> isAway = true;
  queue.setFate([&](auto batch) { return isAway ? std::optional(away(batch)) : std::nullopt; });
  Producer producer(queue.opener(), std::make_unique<SlowToReturn>(openSpool(), queue), options());
  send(producer, 1, Durability::memory);
  EXPECT_TRUE(eventually([&] { return producer.figures().spooled == 1; }));

  auto stored = send(producer, 2, Durability::stored);
  isAway = false;

  ASSERT_EQ(stored.wait_for(patience), std::future_status::ready);
  EXPECT_THAT(stored.get(), succeeds());
  EXPECT_THAT(queue.ids(), ElementsAre("1", "2"));
}

/// The disk is full and a batch hangs: its answer is what close() waits for, and nothing else.
// shows: sending/flush-says-message
TEST_F(ProducerWithSpool, CloseWithAFullSpoolEndsWhenTheBatchUnderWayIsAnswered) {
  class Full final : public ISpool {
   public:
    Result<std::int64_t> append(std::span<const NewMessage>, const FollowedFile*) override {
      return Error{Errc::storeFull, "the disk"};
    }
    Result<std::vector<SpooledMessage>> read(std::int64_t, std::size_t, std::size_t) override {
      return std::vector<SpooledMessage>{};
    }
    Result<void> settle(std::span<const SpoolSettlement>) override { return {}; }
    Result<std::vector<FollowedFile>> followed() override { return std::vector<FollowedFile>{}; }
    Result<std::vector<RefusedMessage>> refused(std::int64_t, std::size_t) override {
      return std::vector<RefusedMessage>{};
    }
    Result<std::size_t> purgeRefused(WallTime) override { return std::size_t{0}; }
    SpoolFigures figures() const override { return {}; }
  };
  std::promise<void> answer;
  std::shared_future<void> answered = answer.get_future().share();
  std::promise<void> begun;
  queue.setFate([&](auto) -> std::optional<std::vector<Result<void>>> {
    begun.set_value();
    answered.wait();
    return std::nullopt;
  });
  ProducerOptions patient = options();
  patient.spillAfter = 1h;
  RecordedEvents events;
  Producer producer(queue.opener(), std::make_unique<Full>(), patient, events);
  auto stored = send(producer, 1, Durability::stored);
  begun.get_future().wait();

  auto closing = std::async(std::launch::async, [&] { return producer.close(1ms); });
  EXPECT_TRUE(events.waitFor<SpoolRefused>());
  answer.set_value();

  ASSERT_EQ(closing.wait_for(patience), std::future_status::ready);
  EXPECT_THAT(closing.get(), succeeds());
  EXPECT_THAT(stored.get(), succeeds());
}

/// The queue keeps up, and has the message only once it is on disk.
// shows: sending/follow-leaves-out
TEST_F(ProducerWithSpool, WithSpoolAllAMessageIsOnDiskBeforeItIsSent) {
  std::promise<void> answer;
  std::shared_future<void> answered = answer.get_future().share();
  queue.setFate([&](auto) -> std::optional<std::vector<Result<void>>> {
    answered.wait();
    return std::nullopt;
  });
  ProducerOptions all = options();
  all.spoolAll = true;
  Producer producer(queue.opener(), openSpool(), all);

  EXPECT_THAT(send(producer, 1, Durability::spooled).get(), succeeds());
  EXPECT_EQ(producer.figures().spooled, 1U);
  answer.set_value();
  EXPECT_THAT(producer.flush(patience), succeeds());
  EXPECT_THAT(send(producer, 2, Durability::spooled).get(), succeeds());
  EXPECT_THAT(producer.flush(patience), succeeds());
  EXPECT_THAT(queue.ids(), ElementsAre("1", "2"));
}

/// The disk is too full to take anything out: what the queue has confirmed is over all the same.
// shows: sending/full-disk-told
TEST_F(ProducerWithSpool, WhatAFullDiskDoesNotLetOutIsNotSentAgain) {
  class Stuck final : public ForwardingSpool {
   public:
    Stuck(std::unique_ptr<ISpool> spool, std::atomic<bool>& isFull)
        : ForwardingSpool(std::move(spool)), isFull_(isFull) {}
    Result<void> settle(std::span<const SpoolSettlement> settlements) override {
      return isFull_ ? Result<void>(Error{Errc::storeFull, "the disk is full"}) : ForwardingSpool::settle(settlements);
    }

   private:
    std::atomic<bool>& isFull_;
  };
  std::atomic<bool> isAway = true;
  std::atomic<bool> isFull = true;
  queue.setFate([&](auto batch) { return isAway ? std::optional(away(batch)) : std::nullopt; });
  RecordedEvents events;
  auto producer =
      std::make_unique<Producer>(queue.opener(), std::make_unique<Stuck>(openSpool(), isFull), options(), events);
  for (int i = 1; i <= 3; ++i) EXPECT_THAT(send(*producer, i, Durability::spooled).get(), succeeds());
  isAway = false;

  EXPECT_THAT(producer->flush(patience), succeeds());
  EXPECT_TRUE(events.waitFor<SpoolRefused>());
  EXPECT_THAT(producer->figures().spoolError, HasSubstr("the disk is full"));
  EXPECT_THAT(send(*producer, 4, Durability::stored).get(), succeeds());
  isFull = false;
  EXPECT_THAT(producer->close(patience), succeeds());
  producer.reset();
  EXPECT_THAT(queue.ids(), ElementsAre("1", "2", "3", "4"));
  EXPECT_EQ(openSpool()->figures().messages, 0U);
}

/// The file was damaged and replaced, and the first message could not be saved.
// shows: sending/waits-message-damaged
TEST_F(ProducerWithSpool, AMessageThatADamagedSpoolHasLostIsTold) {
  class Forgetful final : public ForwardingSpool {
   public:
    using ForwardingSpool::ForwardingSpool;
    Result<std::vector<SpooledMessage>> read(std::int64_t from, std::size_t messages, std::size_t bytes) override {
      auto read = ForwardingSpool::read(from, messages, bytes);
      if (!read) return read;
      std::vector<SpoolSettlement> lost;
      for (const SpooledMessage& each : *read)
        if (each.message.id.value == "1") lost.push_back({each.position, {}});
      if (lost.empty()) return read;
      ForwardingSpool::settle(lost).value();
      return ForwardingSpool::read(from, messages, bytes);
    }
  };
  std::atomic<bool> isAway = true;
  queue.setFate([&](auto batch) { return isAway ? std::optional(away(batch)) : std::nullopt; });
  Producer producer(queue.opener(), std::make_unique<Forgetful>(openSpool()), options());
  auto lost = send(producer, 1, Durability::stored);
  auto saved = send(producer, 2, Durability::stored);
  EXPECT_TRUE(eventually([&] { return producer.figures().waiting == 0; })) << "both are in the spool";
  isAway = false;

  ASSERT_EQ(lost.wait_for(patience), std::future_status::ready);
  EXPECT_THAT(lost.get(), failsWith(Errc::storeFailed));
  EXPECT_THAT(saved.get(), succeeds());
  EXPECT_THAT(queue.ids(), ElementsAre("2"));
}

// shows: sending/time-overflow-reckoned
TEST_F(ProducerWithSpool, AMessageThatLingersIsNotLate) {
  ProducerOptions lingering = options();
  lingering.linger = 100ms;
  lingering.spillAfter = 50ms;
  RecordedEvents events;
  Producer producer(queue.opener(), openSpool(), lingering, events);
  EXPECT_THAT(send(producer, 1, Durability::stored).get(), succeeds());
  EXPECT_THAT(send(producer, 2, Durability::stored).get(), succeeds());

  EXPECT_THAT(events.of<SpoolBegan>(), testing::IsEmpty());
}

// shows: sending/full-buffer-waits
TEST_F(ProducerWithSpool, WhatNeedsASpoolIsRefusedWithoutOne) {
  ProducerOptions spilling;
  spilling.onOverload = Overload::spill;
  EXPECT_THROW(Producer(queue.opener(), spilling), std::system_error);
  Producer producer(queue.opener());

  EXPECT_THAT(producer.send(message("1"), {.durability = Durability::spooled}), failsWith(Errc::invalidArgument));
}

// shows: sending/queue-confirms-time
TEST_F(ProducerWithSpool, BeginAndEndOfSpoolingAreEvents) {
  std::atomic<bool> isAway = true;
  queue.setFate([&](auto batch) { return isAway ? std::optional(away(batch)) : std::nullopt; });
  RecordedEvents events;
  Producer producer(queue.opener(), openSpool(), options(), events);
  EXPECT_THAT(send(producer, 1, Durability::spooled).get(), succeeds());
  isAway = false;
  EXPECT_THAT(producer.flush(patience), succeeds());

  EXPECT_TRUE(events.waitFor<SpoolEmptied>());
  EXPECT_EQ(events.of<SpoolBegan>().size(), 1U);
}

}  // namespace
}  // namespace tenure::test
