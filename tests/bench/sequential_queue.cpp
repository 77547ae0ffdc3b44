/// SequentialQueue beside simpler designs: how many tasks a second leave a backlog of 1,000 groups.
///
///   sequential_queue [--seconds S] [--rounds N] [--beside all|dispatch]
///
/// equal      every group has its share, a task takes about a microsecond
/// hot        half of the tasks belong to one group
/// hot slow   and that group's tasks take a millisecond each: counted are the others, which have nothing to do with it
///
/// A run begins with the backlog, when all workers are there, and ends with the last task that counts, or after S
/// seconds. The designs take turns within a round, of which short runs have more. Shown are the medians of the rates
/// and of the rounds' ratios, and the ratio of the best rounds: other work on the machine only ever slows one down.
///
/// Aim: faster than static dispatch, but for equal groups and one worker (at most 1.5 times as long), and no collapse
/// where the hot group is slow. Measured on two processors with nothing else to do, `--beside dispatch --rounds 11`,
/// median ratios to static dispatch for backlogs of 100, 10,000 and 100,000:
///
///   workers            1                     2                    4
///   equal     0.994  1.001  0.992   0.917  1.018  0.997   1.309  1.233  1.087
///   hot       0.983  1.006  1.004   1.304  1.500  1.492   1.101  1.048  0.910
///   hot slow     12    388    720     797    162     22    1269    207     22
///
/// With one worker the two are the same within what runs vary, one percent; so they are at 100,000 equal, two workers.
/// Three cells miss the aim. Two are of a backlog of 100, which is gone in 60 to 120 us and is groups of one or so: a
/// visit to the queue for a single task costs more than to take the first of a deque, and what a producer has just
/// written comes from its cache, a group and a task apart. Hot, 100,000, four workers is one of more workers than
/// processors: the hot group's worker has a processor half of the time until the others are done (in four such runs
/// 0.91 to 1.02, of the best rounds 0.93 to 1.21). The hot slow ratios of the largest backlog grow with S: dispatch
/// stops when its other workers are done.
#include "tenure/sequential_queue.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
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
constexpr std::size_t capacity = 1'000'000;

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
  Ours(std::size_t room, std::size_t /*workers*/) : queue_(room) {}
  void enqueue(std::size_t group, Task task) { queue_.enqueue(group, task); }
  bool next(std::size_t /*worker*/, std::optional<Work>& work) { return queue_.next(work); }
  void close(bool drop) { queue_.close(drop ? Leftover::drop : Leftover::drain); }

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

/// When it ended.
Clock::time_point handle(const Task& task) {
  if (task.slow) {
    // A slow handler waits for somebody else, as slow handlers do: it keeps its worker, not the processor.
    std::this_thread::sleep_for(1ms);  // house: may sleep
    return Clock::now();
  }
  auto now = Clock::now();
  for (const auto end = now + 1us; now < end; now = Clock::now()) continue;
  return now;
}

/// What a worker writes for itself, on a cache line of its own.
struct alignas(128) Tally {
  std::atomic<std::size_t> done = 0;
  Clock::time_point last;
};

template <class Design>
double tasksASecond(const std::vector<Task>& backlog, std::size_t workers, Clock::duration limit) {
  Design queue(capacity, workers);
  for (const Task& task : backlog) queue.enqueue(task.group, task);
  std::vector<Tally> tallies(workers);
  std::atomic<std::size_t> there = 0;
  std::atomic<bool> go = false;
  const auto work = [&](std::size_t worker) {
    Tally& tally = tallies[worker];
    ++there;
    while (!go) std::this_thread::yield();
    for (std::optional<typename Design::Work> held; queue.next(worker, held);) {
      const auto end = handle(held->task());
      if (held->task().slow) continue;
      tally.last = end;
      tally.done.store(tally.done.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
  };
  const auto done = [&] {
    std::size_t all = 0;
    for (const Tally& tally : tallies) all += tally.done;
    return all;
  };
  std::vector<std::jthread> threads;
  for (std::size_t worker = 0; worker < workers; ++worker) threads.emplace_back(work, worker);
  while (there < workers) std::this_thread::yield();
  const auto all = static_cast<std::size_t>(std::ranges::count(backlog, false, &Task::slow));
  const auto begin = Clock::now();
  go = true;
  while (done() < all && Clock::now() - begin < limit) std::this_thread::sleep_for(1ms);  // house: may sleep
  const bool complete = done() == all;
  const double counted = static_cast<double>(done());
  auto end = Clock::now();
  queue.close(true);
  threads.clear();
  if (complete) end = std::ranges::max_element(tallies, {}, &Tally::last)->last;
  return counted / std::chrono::duration<double>(end - begin).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

struct Rates {
  std::vector<double> ours, line, scan, dispatch;
};

struct Settings {
  Clock::duration limit;
  int rounds;
  bool all;
};

Rates measure(const std::vector<Task>& backlog, std::size_t workers, const Settings& settings) {
  using Group = std::size_t;
  const bool slow = std::ranges::any_of(backlog, &Task::slow);
  const int shortRuns = slow ? 1 : backlog.size() < 1'000 ? 20 : backlog.size() < 50'000 ? 4 : 1;
  Rates rates;
  for (int round = 0; round < settings.rounds * shortRuns; ++round) {
    const bool oursFirst = round % 2 == 0;
    if (oursFirst) rates.ours.push_back(tasksASecond<Ours>(backlog, workers, settings.limit));
    rates.dispatch.push_back(tasksASecond<StaticDispatch<Task, Group>>(backlog, workers, settings.limit));
    if (!oursFirst) rates.ours.push_back(tasksASecond<Ours>(backlog, workers, settings.limit));
    if (!settings.all) continue;
    rates.line.push_back(tasksASecond<OneLine<Task, Group>>(backlog, workers, settings.limit));
    rates.scan.push_back(tasksASecond<ListScan<Task, Group>>(backlog, workers, settings.limit));
  }
  return rates;
}

void printRates(const Rates& rates) {
  std::printf("%12.0f", median(rates.ours));
  for (const auto& others : {rates.line, rates.scan, rates.dispatch}) {
    if (others.empty()) {
      std::printf(" %12s %7s %7s", "", "", "");
      continue;
    }
    std::vector<double> ratios(others.size());
    std::ranges::transform(rates.ours, others, ratios.begin(), std::divides{});
    const double best = std::ranges::max(rates.ours) / std::ranges::max(others);
    std::printf(" %12.0f %7.3f %7.3f", median(others), median(ratios), best);
  }
  std::printf("\n");
  std::fflush(stdout);
}

std::string option(int argc, char** argv, const std::string& name, const std::string& otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (argv[i] == name) return argv[i + 1];
  return otherwise;
}

}  // namespace
}  // namespace tenure::bench

int main(int argc, char** argv) {
  using namespace tenure::bench;
  const std::chrono::duration<double> seconds(std::stod(option(argc, argv, "--seconds", "0.5")));
  const Settings settings{std::chrono::duration_cast<Clock::duration>(seconds),
                          std::stoi(option(argc, argv, "--rounds", "5")),
                          option(argc, argv, "--beside", "all") == "all"};
  std::printf("%-9s %8s %8s %12s", "load", "backlog", "workers", "sequential/s");
  for (const char* other : {"one line/s", "list scan/s", "dispatch/s"})
    std::printf(" %12s %7s %7s", other, "ratio", "best");
  std::printf("\n");
  for (const Load& load : loads) {
    for (const std::size_t size : {std::size_t{100}, std::size_t{10'000}, std::size_t{100'000}}) {
      const auto backlog = backlogOf(size, load);
      for (const std::size_t workers : {std::size_t{1}, std::size_t{2}, std::size_t{4}}) {
        std::printf("%-9s %8zu %8zu ", load.name, size, workers);
        printRates(measure(backlog, workers, settings));
      }
    }
  }
}
