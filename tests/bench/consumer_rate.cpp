/// How fast a Consumer works a queue off on SQLite, against a bare loop that issues the same fence, key, effect,
/// in-work and delete statements in the same batches. Both take turns in one run, so that they see the same disk and
/// the same neighbours; `ratio` is the consumer's rate by the bare loop's. TMPDIR chooses the disk: one in memory shows
/// the processor's share, which syncing hides. The Consumer can undo one message of a batch; the bare loop only where
/// it has `savepoints`.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "bench/bare_sqlite.hpp"
#include "bench/ledger_queue.hpp"
#include "support/program.hpp"

namespace tenure::bench {
namespace {

void consumerAgainstBareLoop(benchmark::State& state) {
  const auto batch = static_cast<std::size_t>(state.range(0));
  const std::size_t messages = std::clamp<std::size_t>(batch * 32, 64, 4096);
  const test::TemporaryFolder folder;
  LedgerQueue ours{folder / "ours.db"};
  LedgerQueue theirs{folder / "theirs.db"};

  Consumer consumer{ours.database().source(), ours.database().store(), book, inBatchesOf(batch), noEvents()};
  consumer.inaugurate(ours.term());
  BareSqlite bare{theirs.options().file, theirs.term(), ledgerEffect, state.range(1) != 0};

  std::vector<double> oursTook;
  std::vector<double> theirsTook;
  for (auto _ : state) {
    ours.fill(messages);
    theirs.fill(messages);
    oursTook.push_back(secondsOf([&] {
      while (consumer.execute(ours.term())) continue;
    }));
    theirsTook.push_back(secondsOf([&] {
      for (auto rows = bare.fetch(batch); !rows.empty(); rows = bare.fetch(batch)) bare.commit(rows, true);
    }));
    state.SetIterationTime(oursTook.back());
    TENURE_ASSERT(sqlite::openAdmin(ours.options())->stats()->waiting == 0);
    TENURE_ASSERT(sqlite::openAdmin(theirs.options())->stats()->waiting == 0);
  }
  state.counters["messages/s"] = static_cast<double>(messages) / median(oursTook);
  state.counters["bare/s"] = static_cast<double>(messages) / median(theirsTook);
  state.counters["ratio"] = median(theirsTook) / median(oursTook);
}

BENCHMARK(consumerAgainstBareLoop)
    ->ArgsProduct({{1, 16, 64, 256}, {0, 1}})
    ->ArgNames({"batch", "savepoints"})
    ->UseManualTime()
    ->Iterations(9)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tenure::bench
