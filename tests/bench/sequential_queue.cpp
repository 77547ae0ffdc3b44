/// SequentialQueue beside simpler designs: how many tasks a second leave a backlog of 1,000 groups.
///
///   sequential_queue [--seconds S] [--rounds N] [--beside all|dispatch]
///
/// equal      every group has its share, a task takes about a microsecond
/// hot        half of the tasks belong to one group
/// hot slow   and that group's tasks take a millisecond each: counted are the others, which have nothing to do with it
///
/// A run begins with the backlog, when all workers are there, and ends with the last task that counts, or after S
/// seconds where the hot group is slow. The designs take turns within a round and get the same backlogs, each drawn
/// anew; where a run is short, a round has more of them, of the same queue and workers. Shown are the medians of the
/// rates and of the runs' ratios, and the ratio of the best runs: other work on the machine only ever slows one down.
///
/// Aim: faster than static dispatch, but for equal groups and one worker (at most 1.5 times as long), and no collapse
/// where the hot group is slow. Measured on two processors with nothing else to do, `--beside dispatch --rounds 11`,
/// median ratios to static dispatch for backlogs of 100, 10,000 and 100,000:
///
///   workers            1                     2                    4
///   equal     0.995  1.000  0.983   1.021  1.024  1.002   1.068  1.017  1.009
///   hot       0.993  1.005  0.997   1.309  1.468  1.474   1.335  1.155  1.125
///   hot slow     13    339    638    1022    182     23    1355    220     22
///
/// With one worker all that matters is what a visit costs, and the two are the same within what runs vary, one percent.
/// The hot slow ratios of the largest backlog grow with S: dispatch stops when its other workers are done.
#include "tenure/sequential_queue.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "bench/help.hpp"
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

enum class Kind { quick, slow, gate };

struct Task {
  std::size_t group = 0;
  Kind kind = Kind::quick;
};
using Backlog = std::vector<Task>;

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

Backlog backlogOf(std::size_t size, const Load& load, std::mt19937& random) {
  Backlog tasks(size);
  for (Task& task : tasks) {
    const bool hot = load.hot && random() % 2 == 0;
    task.group = hot ? hotGroup : 1 + random() % (groups - 1);
    task.kind = hot && load.slow ? Kind::slow : Kind::quick;
  }
  return tasks;
}

std::size_t quickOnes(const Backlog& backlog) {
  return static_cast<std::size_t>(std::ranges::count(backlog, Kind::quick, &Task::kind));
}

/// When it ended.
Clock::time_point handle(Kind kind) {
  if (kind == Kind::slow) {
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

/// Where two workers are on one processor while another one idles, that is what a short run would measure.
void stayOn(std::size_t processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor % std::thread::hardware_concurrency(), &one);
  ::sched_setaffinity(0, sizeof one, &one);
}

/// One queue and its workers, for some runs. Between them each worker has a gate, a task which it leaves when the next
/// backlog is there.
template <class Design>
class Course {
 public:
  explicit Course(std::size_t workers) : queue_(capacity, workers), tallies_(workers) {
    for (std::size_t worker = 0; worker < workers; ++worker) threads_.emplace_back([this, worker] { work(worker); });
  }
  ~Course() { queue_.close(true); }

  /// Tasks a second.
  double run(const Backlog& backlog, Clock::duration limit) {
    const std::size_t workers = tallies_.size();
    const std::size_t before = done();
    // One for each worker, by static dispatch too.
    for (std::size_t i = 0; i < workers; ++i) queue_.enqueue(groups + i, {groups + i, Kind::gate});
    gates_ += workers;
    while (reached_ < gates_) std::this_thread::yield();
    for (const Task& task : backlog) queue_.enqueue(task.group, task);

    const std::size_t all = before + quickOnes(backlog);
    const auto begin = Clock::now();
    opened_ = gates_;
    while (done() < all && Clock::now() - begin < limit) std::this_thread::sleep_for(1ms);  // house: may sleep
    const std::size_t counted = done();
    const auto end = counted == all ? std::ranges::max_element(tallies_, {}, &Tally::last)->last : Clock::now();
    return static_cast<double>(counted - before) / std::chrono::duration<double>(end - begin).count();
  }

 private:
  void work(std::size_t worker) {
    stayOn(worker);
    Tally& tally = tallies_[worker];
    for (std::optional<typename Design::Work> held; queue_.next(worker, held);) {
      const Kind kind = held->task().kind;
      if (kind == Kind::gate) {
        for (const std::size_t gate = ++reached_; opened_ < gate;) std::this_thread::yield();
        continue;
      }
      const auto end = handle(kind);
      if (kind == Kind::slow) continue;
      tally.last = end;
      tally.done.store(tally.done.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
  }
  std::size_t done() const {
    std::size_t all = 0;
    for (const Tally& tally : tallies_) all += tally.done;
    return all;
  }

  Design queue_;
  std::vector<Tally> tallies_;
  std::size_t gates_ = 0;
  std::atomic<std::size_t> reached_ = 0;
  std::atomic<std::size_t> opened_ = 0;
  std::vector<std::jthread> threads_;
};

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

Rates measure(const Load& load, std::size_t size, std::size_t workers, const Settings& settings) {
  using Group = std::size_t;
  std::mt19937 random(1);
  const int runs = load.slow ? 1 : size < 1'000 ? 20 : size < 50'000 ? 4 : 1;
  const Clock::duration limit = load.slow ? settings.limit : Clock::duration::max();
  Rates rates;
  for (int round = 0; round < settings.rounds; ++round) {
    std::vector<Backlog> backlogs;
    for (int i = 0; i < runs; ++i) backlogs.push_back(backlogOf(size, load, random));
    const auto add = [&]<class Design>(std::vector<double>& to, std::type_identity<Design>) {
      Course<Design> course(workers);
      for (const Backlog& backlog : backlogs) to.push_back(course.run(backlog, limit));
    };
    const bool oursFirst = round % 2 == 0;
    if (oursFirst) add(rates.ours, std::type_identity<Ours>{});
    add(rates.dispatch, std::type_identity<StaticDispatch<Task, Group>>{});
    if (!oursFirst) add(rates.ours, std::type_identity<Ours>{});
    if (!settings.all) continue;
    add(rates.line, std::type_identity<OneLine<Task, Group>>{});
    add(rates.scan, std::type_identity<ListScan<Task, Group>>{});
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

constexpr const char* helpPage =
    R"(sequential_queue - SequentialQueue beside simpler designs, over a backlog of 1,000 groups

usage: sequential_queue [--seconds S] [--rounds N] [--beside all|dispatch]

  --seconds S   of each run with a slow group (0.5)
  --rounds N    rounds; medians are shown (5)
  --beside WHO  which designs it is measured beside (all))";

}  // namespace
}  // namespace tenure::bench

int main(int argc, char** argv) {
  tenure::bench::helpIfAsked(argc, argv, tenure::bench::helpPage);
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
      for (const std::size_t workers : {std::size_t{1}, std::size_t{2}, std::size_t{4}}) {
        std::printf("%-9s %8zu %8zu ", load.name, size, workers);
        printRates(measure(load, size, workers, settings));
      }
    }
  }
}
