#include "bench/backends/race.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "base/assert.hpp"

namespace tenure::bench {
namespace {

double secondsOf(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

Stopwatch::Time turn(const Runner& runner, const Plan& plan) {
  runner.fill(plan.messages);
  Stopwatch watch(plan.warmUp, plan.messages);
  runner.consume(watch, plan.messages);
  TENURE_ASSERT(watch.isOver());
  return watch.time();
}

}  // namespace

Stopwatch::Time Stopwatch::now() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto wall = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration<double>(wall).count(), secondsOf(used.ru_utime) + secondsOf(used.ru_stime)};
}

void Stopwatch::committed(std::size_t messages) {
  seen_ += messages;
  if (from_ == 0 && seen_ >= skip_) {
    from_ = seen_;
    began_ = now();
  }
  if (isOver()) ended_ = now();
}

Stopwatch::Time Stopwatch::time() const {
  const auto measured = static_cast<double>(seen_ - from_);
  return {(ended_.wall - began_.wall) / measured, (ended_.processor - began_.processor) / measured};
}

Figures race(const Runner& ours, const Runner& theirs, const Plan& plan) {
  std::vector<double> ourWall;
  std::vector<double> theirWall;
  std::vector<double> wallRatios;
  std::vector<double> processorRatios;
  for (int round = 0; round < plan.rounds; ++round) {
    const bool weFirst = round % 2 == 0;
    const auto first = turn(weFirst ? ours : theirs, plan);
    const auto second = turn(weFirst ? theirs : ours, plan);
    const auto& our = weFirst ? first : second;
    const auto& their = weFirst ? second : first;
    ourWall.push_back(our.wall);
    theirWall.push_back(their.wall);
    wallRatios.push_back(their.wall / our.wall);
    processorRatios.push_back(their.processor / our.processor);
  }
  return {1 / median(ourWall), 1 / median(theirWall), median(wallRatios), median(processorRatios)};
}

}  // namespace tenure::bench
