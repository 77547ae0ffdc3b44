#include "tenure/sequential_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <memory>
#include <thread>

namespace tenure::test {
namespace {

using testing::ElementsAre;

using Queue = SequentialQueue<int>;

/// Takes what is ready, completing each task at once.
std::vector<int> takeAll(Queue& queue) {
  std::vector<int> taken;
  while (auto work = queue.tryDequeue()) taken.push_back(work->task());
  return taken;
}

TEST(SequentialQueue, AGroupsTasksComeInOrder) {
  Queue queue(10);
  for (const int task : {1, 2, 3}) queue.enqueue("a", task);

  EXPECT_THAT(takeAll(queue), ElementsAre(1, 2, 3));
}

TEST(SequentialQueue, AGroupInWorkKeepsItsNextTask) {
  Queue queue(10);
  queue.enqueue("a", 1);
  queue.enqueue("a", 2);
  auto first = queue.tryDequeue();

  EXPECT_FALSE(queue.tryDequeue());

  first->complete();
  EXPECT_EQ(queue.tryDequeue()->task(), 2);
}

// shows: cpp/sequentialqueue-keeps-group
TEST(SequentialQueue, ASlowGroupDelaysNoOther) {
  Queue queue(10);
  queue.enqueue("slow", 1);
  queue.enqueue("slow", 2);
  const auto slow = queue.tryDequeue();
  queue.enqueue("quick", 3);

  EXPECT_EQ(queue.tryDequeue()->task(), 3);
}

TEST(SequentialQueue, GroupsTakeTurns) {
  Queue queue(10);
  for (const int task : {1, 2, 3, 4}) queue.enqueue("busy", task);
  queue.enqueue("rare", 9);

  EXPECT_THAT(takeAll(queue), ElementsAre(1, 9, 2, 3, 4));
}

TEST(SequentialQueue, WorkThatIsReleasedIsComplete) {
  Queue queue(10);
  queue.enqueue("a", 1);
  queue.enqueue("a", 2);
  { const auto forgotten = queue.tryDequeue(); }

  EXPECT_EQ(queue.tryDequeue()->task(), 2);
}

TEST(SequentialQueue, ToCompleteTwiceFreesTheGroupOnce) {
  Queue queue(10);
  for (const int task : {1, 2, 3}) queue.enqueue("a", task);
  auto first = queue.tryDequeue();
  first->complete();
  const auto second = queue.tryDequeue();

  first->complete();

  EXPECT_FALSE(queue.tryDequeue());
}

TEST(SequentialQueue, CompletingAndTakingIsOneStep) {
  Queue queue(10);
  queue.enqueue("a", 1);
  queue.enqueue("a", 2);

  std::optional<Queue::Work> work = queue.tryDequeue();

  ASSERT_TRUE(queue.next(work));

  EXPECT_EQ(work->task(), 2);
  EXPECT_EQ(work->group(), "a");
}

TEST(SequentialQueue, ItIsAWholeWorkersLoop) {
  Queue queue(10);
  for (const int task : {1, 2, 3}) queue.enqueue("a", task);
  queue.close(Leftover::drain);
  std::vector<int> taken;

  for (std::optional<Queue::Work> work; queue.next(work);) taken.push_back(work->task());

  EXPECT_THAT(taken, ElementsAre(1, 2, 3));
}

// --- runs: next() is handed several tasks of a group at once

/// Takes the first of a run of several.
std::optional<Queue::Work> beginARun(Queue& queue) {
  std::optional<Queue::Work> work = queue.tryDequeue();
  queue.tryNext(work);
  return work;
}

TEST(SequentialQueue, WhatWasNotBegunOfARunWaitsAgainInFront) {
  Queue queue(10);
  for (const int task : {1, 2, 3, 4}) queue.enqueue("a", task);
  auto work = beginARun(queue);
  ASSERT_EQ(queue.size(), 0);
  queue.enqueue("a", 5);

  work.reset();

  EXPECT_EQ(queue.size(), 3);
  EXPECT_THAT(takeAll(queue), ElementsAre(3, 4, 5));
}

TEST(SequentialQueue, WhatIsPutBackTakesItsRoomAgain) {
  Queue queue(4);
  for (const int task : {1, 2, 3, 4}) queue.enqueue("a", task);
  auto work = beginARun(queue);
  for (const int task : {5, 6, 7, 8}) ASSERT_EQ(queue.tryEnqueue("b", int{task}), Offer::accepted);

  work.reset();

  for (int taken = 0; taken < 2; ++taken) {
    queue.tryDequeue();
    EXPECT_EQ(queue.tryEnqueue("b", 9), Offer::full);
  }
  queue.tryDequeue();
  EXPECT_EQ(queue.tryEnqueue("b", 9), Offer::accepted);
}

TEST(SequentialQueue, AQueueThatIsClosedDropsARunsRestToo) {
  SequentialQueue<std::shared_ptr<int>> queue(10);
  const auto task = std::make_shared<int>(1);
  for (int i = 0; i < 4; ++i) queue.enqueue("a", task);
  auto work = queue.tryDequeue();
  ASSERT_TRUE(queue.tryNext(work));

  queue.close(Leftover::drop);

  EXPECT_FALSE(queue.next(work));
  EXPECT_EQ(task.use_count(), 1);
  EXPECT_EQ(queue.groups(), 0);
}

TEST(SequentialQueue, ClosedItWaitsForWhatARunMayPutBack) {
  Queue queue(10);
  for (const int task : {1, 2, 3}) queue.enqueue("a", task);
  auto failing = beginARun(queue);
  queue.close(Leftover::drain);
  std::vector<int> rest;
  std::thread worker([&] {
    for (std::optional<Queue::Work> work; queue.next(work);) rest.push_back(work->task());
  });

  failing.reset();
  worker.join();

  EXPECT_THAT(rest, ElementsAre(3));
}

using Numbered = SequentialQueue<int, std::size_t>;

/// The group of what was put into `work`.
std::size_t takeNext(Numbered& queue, std::optional<Numbered::Work>& work) {
  EXPECT_TRUE(queue.tryNext(work));
  return work->group();
}

TEST(SequentialQueue, ABusyGroupsTurnIsAShortRun) {
  Numbered queue(10'000);
  for (int task = 0; task < 1000; ++task) queue.enqueue(0, task);
  for (std::size_t stranger = 1; stranger <= 100; ++stranger) queue.enqueue(stranger, 0);
  std::optional<Numbered::Work> work;

  int run = 0;
  for (int strangers = 0; strangers < 100;) {
    const bool busy = takeNext(queue, work) == 0;
    run = busy ? run + 1 : 0;
    strangers += busy ? 0 : 1;
    ASSERT_LE(run, 16);
  }
}

/// For longer than a run of quick tasks may take.
void waitAWhile() {
  const auto clock = [] {
    timespec now;
    ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return std::pair(now.tv_sec, now.tv_nsec);
  };
  for (const auto before = clock(); clock() == before;) std::this_thread::yield();
}

TEST(SequentialQueue, ASlowGroupsTurnIsASingleTask) {
  Numbered queue(100);
  for (const std::size_t group : {1, 2, 3})
    for (int task = 0; task < 30; ++task) queue.enqueue(group, task);
  std::optional<Numbered::Work> work;
  for (int i = 0; i < 12; ++i, waitAWhile()) queue.next(work);  // now it knows them

  std::size_t before = work->group();
  for (int i = 0; i < 15; ++i, waitAWhile()) EXPECT_NE(std::exchange(before, takeNext(queue, work)), before);
}

/// How many of the hot group's tasks two workers take while they take 100 others.
int hotTakenBesideOthers() {
  Numbered queue(10'000);
  for (int task = 0; task < 1000; ++task) queue.enqueue(0, task);
  for (std::size_t other = 1; other <= 1000; ++other) queue.enqueue(other, 0);
  std::optional<Numbered::Work> workers[2];
  int hot = 0;
  for (int others = 0; others < 200;)
    for (auto& work : workers) ++(takeNext(queue, work) == 0 ? hot : others);
  return hot;
}

TEST(SequentialQueue, TheGroupThatAllWouldWaitForKeepsAWorkerWhileOthersServeTheRest) {
  // A group is quick by the clock: on a machine that has just paused it may not be. A turn a round would be some 16.
  int attempts = 1;
  while (hotTakenBesideOthers() < 100 && attempts < 1000) ++attempts;

  EXPECT_LT(attempts, 1000);
}

TEST(SequentialQueue, AFullQueueLeavesTheTaskWithItsProducer) {
  SequentialQueue<std::unique_ptr<int>> queue(1);
  queue.enqueue("a", std::make_unique<int>(1));
  auto task = std::make_unique<int>(2);

  EXPECT_EQ(queue.tryEnqueue("b", std::move(task)), Offer::full);

  ASSERT_NE(task, nullptr);
  const auto work = queue.tryDequeue();  // makes room although it is not complete
  EXPECT_EQ(queue.tryEnqueue("b", std::move(task)), Offer::accepted);
}

TEST(SequentialQueue, AGroupThatIsDoneCostsNothing) {
  Queue queue(5000);
  for (int i = 0; i < 5000; ++i) queue.enqueue(std::to_string(i), i);
  takeAll(queue);

  EXPECT_EQ(queue.groups(), 0);
  EXPECT_EQ(queue.size(), 0);
}

TEST(SequentialQueue, AProducerWaitsForRoom) {
  Queue queue(1);
  queue.enqueue("a", 1);
  Offer offer = Offer::full;
  std::thread producer([&] { offer = queue.enqueue("a", 2); });

  queue.tryDequeue();
  producer.join();

  EXPECT_EQ(offer, Offer::accepted);
}

TEST(SequentialQueue, AWorkerWaitsForATask) {
  Queue queue(1);
  int task = 0;
  std::thread worker([&] { task = queue.dequeue()->task(); });

  queue.enqueue("a", 7);
  worker.join();

  EXPECT_EQ(task, 7);
}

TEST(SequentialQueue, AStopEndsEveryWait) {
  Queue full(1);
  full.enqueue("a", 1);
  Queue empty(1);
  std::stop_source stop;
  Offer offer = Offer::accepted;
  bool gotOne = true;
  std::thread producer([&] { offer = full.enqueue("a", 2, stop.get_token()); });
  std::thread worker([&] { gotOne = empty.dequeue(stop.get_token()).has_value(); });

  stop.request_stop();
  producer.join();
  worker.join();

  EXPECT_EQ(offer, Offer::stopped);
  EXPECT_FALSE(gotOne);
}

TEST(SequentialQueue, AWorkerThatWasToldToStopTakesNothing) {
  Queue queue(1);
  queue.enqueue("a", 1);
  std::stop_source stop;
  stop.request_stop();

  EXPECT_FALSE(queue.dequeue(stop.get_token()));
  EXPECT_EQ(queue.size(), 1);
}

TEST(SequentialQueue, ClosedItHandsOutTheRestAlsoWhatWaitsBehindWork) {
  Queue queue(10);
  queue.enqueue("a", 1);
  queue.enqueue("a", 2);
  auto first = queue.dequeue();
  queue.close(Leftover::drain);
  EXPECT_EQ(queue.enqueue("a", 3), Offer::closed);
  std::vector<int> rest;
  std::thread worker([&] {
    while (auto work = queue.dequeue()) rest.push_back(work->task());
  });

  first->complete();
  worker.join();

  EXPECT_THAT(rest, ElementsAre(2));
}

TEST(SequentialQueue, ClosedItMayDropTheRest) {
  SequentialQueue<std::shared_ptr<int>> queue(10);
  const auto task = std::make_shared<int>(1);
  for (const auto* group : {"a", "a", "b"}) queue.enqueue(group, task);
  auto inWork = queue.dequeue();

  queue.close(Leftover::drop);

  EXPECT_EQ(task.use_count(), 2);  // ours and the worker's
  EXPECT_FALSE(queue.next(inWork));
  EXPECT_EQ(queue.groups(), 0);
}

TEST(SequentialQueue, ADroppedTaskMayCallBack) {
  struct Noisy {
    Queue* other;
    explicit Noisy(Queue& queue) : other(&queue) {}
    Noisy(Noisy&& from) noexcept : other(std::exchange(from.other, nullptr)) {}
    Noisy& operator=(Noisy&&) = delete;
    ~Noisy() {
      if (other != nullptr) other->enqueue("destroyed", 1);
    }
  };
  Queue told(10);
  SequentialQueue<Noisy> queue(10);
  queue.enqueue("a", Noisy(told));

  queue.close(Leftover::drop);

  EXPECT_EQ(told.size(), 1);
}

// --- whatever the schedule

/// One seed: a few producers, workers and groups, all as often as not at the same place. Each worker takes its tasks in
/// its own way, and each group has a producer.
class Schedule {
 public:
  explicit Schedule(unsigned seed)
      : seed_(seed), queue_(1 + seed % 37), groups_(1 + seed % 5), accepted_(groups_), expected_(groups_) {}

  /// Until everything is done, or closes it in the middle and drops the rest.
  void run(Leftover leftover) {
    std::vector<std::thread> producers;
    std::vector<std::thread> workers;
    for (std::size_t group = 0; group < groups_; ++group) producers.emplace_back([this, group] { produce(group); });
    for (unsigned i = 0; i <= seed_ % 4; ++i) workers.emplace_back([this, i] { work(seed_ / 4 + i); });
    if (leftover == Leftover::drop) {
      while (begun_ < seed_ % 40) std::this_thread::yield();
      queue_.close(leftover);
    }
    for (std::thread& producer : producers) producer.join();
    queue_.close(leftover);
    for (std::thread& worker : workers) worker.join();
  }

  bool everythingCameOnceAndInOrder() const { return !disorder_ && expected_ == accepted_; }
  bool whatCameWasInOrder() const {
    return !disorder_ && std::ranges::equal(expected_, accepted_, std::ranges::less_equal{});
  }
  std::size_t left() const { return queue_.groups() + queue_.size(); }

 private:
  using Work = Numbered::Work;

  void produce(std::size_t group) {
    for (int task = 0; task < 40;) {
      maybeYield(task);
      const bool patient = (seed_ + static_cast<unsigned>(task)) % 3 != 0;
      const Offer offer = patient ? queue_.enqueue(group, task) : queue_.tryEnqueue(group, int{task});
      if (offer == Offer::closed) return;
      if (offer == Offer::full) std::this_thread::yield();
      if (offer == Offer::accepted) accepted_[group] = ++task;
    }
  }
  void maybeYield(int task) const {
    if ((seed_ >> (task % 8) & 1U) != 0) std::this_thread::yield();
  }

  void work(unsigned way) {
    if (way % 4 == 0) {
      while (auto work = queue_.dequeue()) handle(*work);
    } else if (way % 4 == 1) {
      for (std::optional<Work> work; queue_.next(work);) handle(*work);
    } else if (way % 4 == 2) {
      workAndGiveUpRuns();
    } else {
      workAndStop();
    }
  }
  void workAndGiveUpRuns() {
    int tasks = 0;
    for (std::optional<Work> work; queue_.next(work);) {
      handle(*work);
      if (++tasks % 3 == 0) work.reset();
    }
  }
  void workAndStop() {
    for (bool more = true; more;) {
      std::stop_source stop;
      std::optional<Work> work;
      int tasks = 0;
      while ((more = queue_.next(work, stop.get_token()))) {
        handle(*work);
        if (++tasks == 5) stop.request_stop();
      }
      more = more || stop.stop_requested();
    }
  }
  /// Unguarded on purpose: a group's tasks come one after the other, or the thread sanitizer tells.
  void handle(Work& work) {
    ++begun_;
    int& expected = expected_[work.group()];
    if (expected != work.task()) disorder_ = true;
    maybeYield(work.task());
    expected = work.task() + 1;
  }

  const unsigned seed_;
  Numbered queue_;
  const std::size_t groups_;
  std::vector<int> accepted_;
  std::vector<int> expected_;
  std::atomic<unsigned> begun_ = 0;
  std::atomic<bool> disorder_ = false;
};

// shows: cpp/sequentialqueue-keeps-group
TEST(SequentialQueue, KeepsEveryGroupInOrderAndAloneWhateverTheSchedule) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    Schedule schedule(seed);
    schedule.run(Leftover::drain);
    ASSERT_TRUE(schedule.everythingCameOnceAndInOrder()) << "seed " << seed;
    ASSERT_EQ(schedule.left(), 0) << "seed " << seed;
  }
}

TEST(SequentialQueue, DropsTheRestInTheMiddleOfAnySchedule) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    Schedule schedule(seed);
    schedule.run(Leftover::drop);
    ASSERT_TRUE(schedule.whatCameWasInOrder()) << "seed " << seed;
    ASSERT_EQ(schedule.left(), 0) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tenure::test
