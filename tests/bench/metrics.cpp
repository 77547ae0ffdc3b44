/// What the figures of a replica cost: a counter, an event, a handler's run, a scrape; and how much slower a consumer
/// on SQLite is with them, beside one without in turn on the same disk: `ratio` is its rate by the other's.
#include <benchmark/benchmark.h>
#include <prometheus/counter.h>

#include "bench/ledger_queue.hpp"
#include "cli/replica/replica_metrics.hpp"
#include "support/program.hpp"
#include "tenure/testing/memory.hpp"

namespace tenure::bench {
namespace {

using namespace std::chrono_literals;

const ElectionName orders{"orders"};

cli::ReplicaMetrics figures() { return cli::ReplicaMetrics(orders, StatusBoard{orders, {"replica-a"}, 4711}); }

void counter(benchmark::State& state) {
  prometheus::Counter counter;
  for (auto _ : state) counter.Increment();
}

/// Two counters, of the event and of its level.
void event(benchmark::State& state) {
  telemetry::Metrics metrics(orders);
  const Event event{WallTime{1h}, orders, {7}, DuplicateDropped{"m-1"}};
  for (auto _ : state) metrics.on(event);
}

/// Also two histograms, and the status board.
void batch(benchmark::State& state) {
  auto metrics = figures();
  const Event event{WallTime{1h}, orders, {7}, BatchCommitted{64, 900, 1'250us, 128}};
  for (auto _ : state) metrics.on(event);
}

void handlerRun(benchmark::State& state) {
  auto metrics = figures();
  const Handler handler = metrics.counted([](const Delivery&) { return Outcome::done(); });
  const test::TestTerm term{1};
  memory::World world;
  memory::Database database{world};
  TENURE_ASSERT(database.store().claim(term).has_value());
  const auto transaction = std::move(*database.store().begin(term));
  const Message message{};
  for (auto _ : state) benchmark::DoNotOptimize(handler({message, *transaction, *term, 1}));
}

void scrape(benchmark::State& state) {
  auto metrics = figures();
  const test::TestTerm term{1};
  for (auto _ : state) benchmark::DoNotOptimize(metrics.text(telemetry::MetricsFormat::prometheus, Term(*term)));
}

void consumerWithFiguresBesideOneWithout(benchmark::State& state) {
  const auto batch = static_cast<std::size_t>(state.range(0));
  const std::size_t messages = std::clamp<std::size_t>(batch * 64, 512, 8192);
  const test::TemporaryFolder folder;
  LedgerQueue seen{folder / "seen.db"};
  LedgerQueue unseen{folder / "unseen.db"};
  auto metrics = figures();
  const ConsumerOptions options = inBatchesOf(batch);
  Consumer with{seen.database().source(), seen.database().store(), metrics.counted(book), options, metrics};
  Consumer without{unseen.database().source(), unseen.database().store(), book, options, noEvents()};
  with.inaugurate(seen.term());
  without.inaugurate(unseen.term());
  std::vector<double> withTook;
  std::vector<double> withoutTook;
  bool isFirst = false;
  for (auto _ : state) {
    seen.fill(messages);
    unseen.fill(messages);
    const auto run = [&](Consumer& consumer, const Term& term, std::vector<double>& took) {
      took.push_back(secondsOf([&] {
        while (consumer.execute(term)) continue;
      }));
    };
    isFirst = !isFirst;
    if (isFirst) run(with, seen.term(), withTook);
    run(without, unseen.term(), withoutTook);
    if (!isFirst) run(with, seen.term(), withTook);
    state.SetIterationTime(withTook.back());
  }
  state.counters["messages/s"] = static_cast<double>(messages) / median(withTook);
  state.counters["without/s"] = static_cast<double>(messages) / median(withoutTook);
  state.counters["ratio"] = median(withoutTook) / median(withTook);
}

BENCHMARK(counter);
BENCHMARK(event);
BENCHMARK(batch);
BENCHMARK(handlerRun);
BENCHMARK(scrape)->Unit(benchmark::kMicrosecond);
BENCHMARK(consumerWithFiguresBesideOneWithout)
    ->Arg(1)
    ->Arg(16)
    ->Arg(256)
    ->ArgName("batch")
    ->UseManualTime()
    ->Iterations(25)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tenure::bench
