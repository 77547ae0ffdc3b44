/// SequentialQueue beside a list scan and static dispatch: how many tasks a second leave a backlog of 1,000 groups.
///
///   sequential_queue [--seconds S] [--rounds N]
///
/// equal      every group has its share, a task takes about a microsecond
/// hot        half of the tasks belong to one group
/// hot slow   and that group's tasks take a millisecond each: counted are the others, which have nothing to do with it
///
/// A run ends when what it counts is done, or after S seconds. The designs take turns within a round, and the best
/// round counts: the machine's other work only ever slows one down.
#include "tenure/sequential_queue.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "queue_designs.hpp"

namespace tenure::bench {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t groups = 1000;
constexpr std::size_t hotGroup = 0;

struct Load {
  const char* name;
  bool hot;
  bool slow;
};
constexpr Load loads[] = {{"equal", false, false}, {"hot", true, false}, {"hot slow", true, true}};

struct Task {
  std::size_t group = 0;
  bool slow = false;
};

/// SequentialQueue as the designs' workers call it.
class Ours {
 public:
  using Work = SequentialQueue<Task, std::size_t>::Work;
  explicit Ours(std::size_t /*workers*/) : queue_(1'000'000) {}
  void enqueue(std::size_t group, Task task) { queue_.enqueue(group, task); }
  std::optional<Work> tryDequeue(std::size_t /*worker*/) { return queue_.tryDequeue(); }
  std::optional<Work> tryDequeue(std::size_t /*worker*/, Work done) { return queue_.tryDequeue(std::move(done)); }

 private:
  SequentialQueue<Task, std::size_t> queue_;
};

std::vector<Task> backlogOf(std::size_t size, const Load& load) {
  std::mt19937 random(1);
  std::vector<Task> tasks(size);
  for (Task& task : tasks) {
    const bool hot = load.hot && random() % 2 == 0;
    task.group = hot ? hotGroup : 1 + random() % (groups - 1);
    task.slow = hot && load.slow;
  }
  return tasks;
}

void workFor(Clock::duration duration) {
  for (const auto end = Clock::now() + duration; Clock::now() < end;) continue;
}

void handle(const Task& task) {
  // A slow handler waits for somebody else, as slow handlers do: it keeps its worker, not the processor.
  task.slow ? std::this_thread::sleep_for(1ms) : workFor(1us);  // house: may sleep
}

template <class Design>
double tasksASecond(const std::vector<Task>& backlog, std::size_t workers, Clock::duration limit) {
  Design queue(workers);
  for (const Task& task : backlog) queue.enqueue(task.group, task);
  std::atomic<std::ptrdiff_t> toCount = std::ranges::count(backlog, false, &Task::slow);
  const auto all = toCount.load();
  const auto begin = Clock::now();
  const auto work = [&](std::size_t worker) {
    auto held = queue.tryDequeue(worker);
    while (toCount > 0 && Clock::now() - begin < limit) {
      if (!held) {
        std::this_thread::yield();
        held = queue.tryDequeue(worker);
        continue;
      }
      handle(held->task());
      if (!held->task().slow) --toCount;
      held = queue.tryDequeue(worker, std::move(*held));
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t worker = 1; worker < workers; ++worker) threads.emplace_back(work, worker);
  work(0);
  threads.clear();
  return static_cast<double>(all - toCount) / std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Rates {
  double ours = 0, scan = 0, dispatch = 0;
};

Rates measure(const std::vector<Task>& backlog, std::size_t workers, Clock::duration limit, int rounds) {
  Rates best;
  for (int round = 0; round < rounds; ++round) {
    best.ours = std::max(best.ours, tasksASecond<Ours>(backlog, workers, limit));
    best.scan = std::max(best.scan, tasksASecond<ListScan<Task, std::size_t>>(backlog, workers, limit));
    best.dispatch = std::max(best.dispatch, tasksASecond<StaticDispatch<Task, std::size_t>>(backlog, workers, limit));
  }
  return best;
}

double number(int argc, char** argv, const std::string& option, double otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (argv[i] == option) return std::stod(argv[i + 1]);
  return otherwise;
}

}  // namespace
}  // namespace tenure::bench

int main(int argc, char** argv) {
  using namespace tenure::bench;
  const auto limit =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(number(argc, argv, "--seconds", 0.5)));
  const int rounds = static_cast<int>(number(argc, argv, "--rounds", 3));
  std::printf("%-9s %8s %8s %14s %12s %12s %9s %9s\n", "load", "backlog", "workers", "sequential/s", "list scan/s",
              "dispatch/s", "to scan", "to disp.");
  for (const Load& load : loads) {
    for (const std::size_t size : {std::size_t{100}, std::size_t{10'000}, std::size_t{100'000}}) {
      const auto backlog = backlogOf(size, load);
      for (const std::size_t workers : {std::size_t{1}, std::size_t{2}, std::size_t{4}}) {
        const Rates rates = measure(backlog, workers, limit, rounds);
        std::printf("%-9s %8zu %8zu %14.0f %12.0f %12.0f %9.2f %9.2f\n", load.name, size, workers, rates.ours,
                    rates.scan, rates.dispatch, rates.ours / rates.scan, rates.ours / rates.dispatch);
        std::fflush(stdout);
      }
    }
  }
}
