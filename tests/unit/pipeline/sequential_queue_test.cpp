#include "tenure/sequential_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
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

TEST(SequentialQueue, WorkThatIsLetGoIsComplete) {
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

  const auto next = queue.dequeue(*queue.tryDequeue());

  EXPECT_EQ(next->task(), 2);
  EXPECT_EQ(next->group(), "a");
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
  EXPECT_FALSE(queue.dequeue(std::move(*inWork)));
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

/// One seed: a few producers, workers and groups, all as often as not at the same place.
class Schedule {
 public:
  explicit Schedule(unsigned seed) : seed_(seed), queue_(1 + seed % 7), groups_(1 + seed % 5), expected_(groups_) {}

  void run() {
    std::vector<std::thread> producers;
    std::vector<std::thread> workers;
    for (std::size_t group = 0; group < groups_; ++group) producers.emplace_back([this, group] { produce(group); });
    for (unsigned i = 0; i <= seed_ % 4; ++i)
      workers.emplace_back([this, i] { i % 2 == 0 ? work() : workInOneStep(); });
    for (std::thread& producer : producers) producer.join();
    queue_.close(Leftover::drain);
    for (std::thread& worker : workers) worker.join();
  }

  bool everythingCameOnceAndInOrder() const {
    return !disorder_ && std::ranges::all_of(expected_, [](const auto& next) { return next == tasks; });
  }
  std::size_t leftGroups() const { return queue_.groups(); }

 private:
  static constexpr int tasks = 12;

  void produce(std::size_t group) {
    for (int task = 0; task < tasks; ++task) {
      const bool patient = (seed_ + static_cast<unsigned>(task)) % 3 != 0;
      maybeYield(task);
      while ((patient ? queue_.enqueue(group, task) : queue_.tryEnqueue(group, int{task})) != Offer::accepted)
        std::this_thread::yield();
    }
  }
  void maybeYield(int task) const {
    if ((seed_ >> (task % 8) & 1U) != 0) std::this_thread::yield();
  }
  void work() {
    while (auto work = queue_.dequeue()) check(work->group(), work->task());
  }
  void workInOneStep() {
    for (auto work = queue_.dequeue(); work; work = queue_.dequeue(std::move(*work)))
      check(work->group(), work->task());
  }
  /// Unguarded on purpose: a group's tasks come one after the other, or the thread sanitizer tells.
  void check(std::size_t group, int task) {
    if (expected_[group] != task) disorder_ = true;
    maybeYield(task);
    expected_[group] = task + 1;
  }

  const unsigned seed_;
  SequentialQueue<int, std::size_t> queue_;
  const std::size_t groups_;
  std::vector<int> expected_;
  std::atomic<bool> disorder_ = false;
};

TEST(SequentialQueue, KeepsEveryGroupInOrderAndAloneWhateverTheSchedule) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    Schedule schedule(seed);
    schedule.run();
    ASSERT_TRUE(schedule.everythingCameOnceAndInOrder()) << "seed " << seed;
    ASSERT_EQ(schedule.leftGroups(), 0) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tenure::test
