/// How fast a Consumer works a queue off on SQLite, against a bare loop that issues the same fence, key, effect,
/// in-work and delete statements in the same batches. Both take turns in one run, so that they see the same disk and
/// the same neighbours; `ratio` is the consumer's rate by the bare loop's. TMPDIR chooses the disk: one in memory shows
/// the processor's share, which syncing hides. The Consumer can undo one message of a batch; the bare loop only where
/// it has `savepoints`.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "base/assert.hpp"
#include "bench/bare_sqlite.hpp"
#include "support/program.hpp"
#include "support/terms.hpp"
#include "tenure/consumer.hpp"
#include "tenure/sqlite.hpp"

namespace tenure::bench {
namespace {

const std::string createLedger =
    "CREATE TABLE ledger(n INTEGER PRIMARY KEY, id TEXT, grp TEXT, body TEXT, token INTEGER)";
const std::string effect = "INSERT INTO ledger(id, grp, body, token) VALUES(:id, :grp, :body, :token)";

/// A queue in a file of its own, claimed by its own term.
class Queue {
 public:
  explicit Queue(const std::filesystem::path& file) : options_{.file = file}, database_(options_, noEvents()) {
    sink_ = std::move(*sqlite::openSink(options_));
    TENURE_ASSERT(database_.store().claim(term_).has_value());
    auto transaction = std::move(*database_.store().begin(term_));
    TENURE_ASSERT(transaction->sql()->execute(createLedger).has_value());
    TENURE_ASSERT(transaction->commit().has_value());
  }

  void fill(std::size_t count) {
    std::vector<NewMessage> messages;
    for (std::size_t i = 0; i < count; ++i, ++produced_)
      messages.push_back({MessageId{"order-" + std::to_string(produced_)},
                          GroupId{std::to_string(produced_ % 200)},
                          R"({"order":17,"state":"paid","amount":1999})",
                          {}});
    TENURE_ASSERT(sink_->append(messages).has_value());
  }

  const sqlite::Options& options() const { return options_; }
  sqlite::Database& database() { return database_; }
  const Term& term() const { return term_; }

 private:
  sqlite::Options options_;
  test::TestTerm term_{1};
  sqlite::Database database_;
  std::unique_ptr<IMessageSink> sink_;
  std::size_t produced_ = 0;
};

Outcome book(const Delivery& delivery) {
  const SqlParameter parameters[] = {{":id", delivery.message.id.value},
                                     {":grp", delivery.message.group.value},
                                     {":body", delivery.message.body},
                                     {":token", delivery.term.token().value}};
  const auto booked = delivery.transaction.sql()->execute(effect, parameters);
  return booked ? Outcome::done() : Outcome::failed(booked.error().message());
}

template <class Work>
double secondsOf(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

void consumerAgainstBareLoop(benchmark::State& state) {
  const auto batch = static_cast<std::size_t>(state.range(0));
  const std::size_t messages = std::clamp<std::size_t>(batch * 32, 64, 4096);
  const test::TemporaryFolder folder;
  Queue ours{folder / "ours.db"};
  Queue theirs{folder / "theirs.db"};

  ConsumerOptions options;
  options.maxBatch = batch;
  options.latencyTarget = std::chrono::seconds{10};  // as the bare loop: only the batch size decides
  options.idleWait = std::chrono::milliseconds{0};
  Consumer consumer{ours.database().source(), ours.database().store(), book, options, noEvents()};
  consumer.inaugurate(ours.term());
  BareSqlite bare{theirs.options().file, theirs.term(), effect, state.range(1) != 0};

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
