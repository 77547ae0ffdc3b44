#include "bench/soak_store.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>

#include "base/assert.hpp"
#include "bench/soak_ground.hpp"
#include "support/terms.hpp"
#include "tenure/consumer.hpp"
#include "tenure/spi/source.hpp"

namespace tenure::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t samples = 20;
constexpr std::size_t warmUp = 5;  // samples before memory must be flat: caches fill
constexpr std::size_t slackKiB = 4096;
constexpr std::chrono::hours keepIdsFor{1};

std::size_t ownResidentKiB() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6));
  return 0;
}

/// Goes at the right pace, but can be set forward.
class LeapingClock final : public IClock {
 public:
  BootTime now() const noexcept override { return systemClock().now() + ahead_; }
  WallTime wallNow() const noexcept override {
    return systemClock().wallNow() + std::chrono::duration_cast<std::chrono::milliseconds>(ahead_);
  }
  void waitUntil(BootTime deadline, const std::stop_token& stop) const override {
    systemClock().waitUntil(deadline - ahead_, stop);
  }
  void leap(Duration by) noexcept { ahead_ += by; }
  Duration ahead() const noexcept { return ahead_; }

 private:
  Duration ahead_{};
};

/// Whose deadlines are the leaping clock's.
class SourceOnThatClock final : public ForwardingSource {
 public:
  SourceOnThatClock(IMessageSource& source, const LeapingClock& clock) : ForwardingSource(source), clock_(clock) {}
  Result<std::vector<Message>> fetch(std::size_t max, BootTime deadline, std::stop_token stop) override {
    return inner().fetch(max, std::max(deadline, BootTime{} + clock_.ahead()) - clock_.ahead(), std::move(stop));
  }

 private:
  const LeapingClock& clock_;
};

/// Counts what was committed and what was pruned.
class Tally final : public IEventSink {
 public:
  void on(const Event& event) noexcept override {
    if (const auto* batch = event.body.as<BatchCommitted>()) committed += batch->messages;
    if (const auto* pruned = event.body.as<KeysPruned>()) removed += pruned->removed;
  }
  std::size_t committed = 0;
  std::size_t removed = 0;
};

void produce(IMessageSink& sink, std::size_t from, std::size_t count) {
  for (std::size_t i = from; i < from + count;) {
    std::vector<NewMessage> messages;
    for (; i < from + count && messages.size() < 1000; ++i)
      messages.push_back({MessageId{"order-" + std::to_string(i)},
                          GroupId{std::to_string(i % groups)},
                          R"({"order":17,"state":"paid","amount":1999})",
                          {}});
    TENURE_ASSERT(sink.append(messages).has_value());
  }
}

}  // namespace

int soakStore(const std::string& backend, std::size_t messages) {
  const std::unique_ptr<Ground> ground = groundFor(backend);
  if (!ground) return 64;
  const std::size_t step = messages / samples;
  const test::TestTerm term(1);
  Tally tally;
  LeapingClock clock;
  const test::Replica replica = ground->open();
  const auto sink = ground->sink();
  SourceOnThatClock source(*replica.source, clock);
  ConsumerOptions options;
  options.maxBatch = 256;
  options.latencyTarget = 10s;
  options.idleWait = 0ms;
  options.keepIdsFor = keepIdsFor;
  const auto handle = [&](const Delivery& delivery) { return ground->handle(delivery); };
  Consumer consumer(source, *replica.store, handle, options, tally, clock);
  consumer.inaugurate(term);
  std::size_t flat = 0;
  std::size_t worst = 0;
  const auto began = std::chrono::steady_clock::now();
  for (std::size_t sample = 1; sample <= samples; ++sample) {
    produce(*sink, (sample - 1) * step, step);
    while (tally.committed < sample * step) consumer.execute(term);
    // Later than keys are kept, an idle leader forgets all of them.
    clock.leap(keepIdsFor + 1min);
    const auto limit = std::chrono::steady_clock::now() + 5min;
    while (ground->leaderPrunes() && ground->lastingKeys() > 0 && std::chrono::steady_clock::now() < limit)
      for (int executes = 0; executes < 20; ++executes) consumer.execute(term);
    const std::size_t now = ownResidentKiB();
    std::printf("%9zu messages  %6zu KiB  %s\n", sample * step, now, ground->size().c_str());
    std::fflush(stdout);
    if (sample == warmUp) flat = now;
    if (sample > warmUp) worst = std::max(worst, now);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  consumer.handOver(term);

  const std::size_t effects = ground->effects();
  bool good = worst <= flat + slackKiB && effects == samples * step;
  for (const Remains& remains : ground->remains()) {
    const bool bounded = remains.count <= remains.atMost;
    std::printf("%s: %zu %s, at most %zu\n", bounded ? "left" : "TOO MUCH LEFT", remains.count, remains.what.c_str(),
                remains.atMost);
    good = good && bounded;
  }
  std::printf("%s: %zu KiB after warming up, %zu KiB at worst; %zu effects of %zu messages; %zu keys pruned\n",
              good ? "flat" : "NOT FLAT", flat, worst, effects, samples * step, tally.removed);
  std::printf("%.0f messages a second, producing and pruning included\n",
              static_cast<double>(samples * step) / seconds);
  return good ? 0 : 1;
}

}  // namespace tenure::bench
