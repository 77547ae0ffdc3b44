/// How long an idle consumer takes to notice: from before the append of a message until its handler begins, on one
/// SQLite file, one message at a time. The append's own durable commit is part of it, so it is reported beside it.
///
///   latency [--messages N]   default 300
///
/// TMPDIR chooses the disk: on one in memory it is the wake-up that remains.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <thread>

#include "base/assert.hpp"
#include "bench/help.hpp"
#include "support/program.hpp"
#include "support/terms.hpp"
#include "tenure/consumer.hpp"
#include "tenure/sqlite.hpp"

namespace {

using namespace tenure;

constexpr auto idleBetween = std::chrono::milliseconds{20};

struct Samples {
  std::vector<double> append;
  std::vector<double> noticed;
};

double milliseconds(Duration duration) { return std::chrono::duration<double, std::milli>(duration).count(); }

/// Each message says when its append began.
void feed(const sqlite::Options& queue, int messages, std::vector<double>& took) {
  const auto sink = std::move(*sqlite::openSink(queue));
  for (int i = 0; i < messages; ++i) {
    std::this_thread::sleep_for(idleBetween);  // house: may sleep; the consumer shall be idle
    const BootTime began = BootClock::now();
    const NewMessage message{MessageId{std::to_string(i)}, {}, std::to_string(began.time_since_epoch().count()), {}};
    TENURE_ASSERT(sink->append({&message, 1}).has_value());
    took.push_back(milliseconds(BootClock::now() - began));
  }
}

Samples measure(int messages) {
  Samples samples;
  const test::TemporaryFolder folder;
  const sqlite::Options queue{.file = folder / "queue.db"};
  sqlite::Database database{queue, noEvents()};
  const test::TestTerm term{1};
  Consumer consumer{database.source(),
                    database.store(),
                    [&](const Delivery& delivery) {
                      const BootTime began{Duration{std::stoll(delivery.message.body)}};
                      samples.noticed.push_back(milliseconds(BootClock::now() - began));
                      return Outcome::done();
                    },
                    {},
                    noEvents()};
  consumer.inaugurate(term);
  const std::jthread producer(feed, std::cref(queue), messages, std::ref(samples.append));
  while (samples.noticed.size() < static_cast<std::size_t>(messages)) consumer.execute(term);
  consumer.handOver(term);
  return samples;
}

void report(const char* what, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::printf("%-32s %9.2f %9.2f %9.2f %9.2f\n", what, values.front(), values[values.size() / 2],
              values[values.size() * 99 / 100], values.back());
}

constexpr const char* helpPage =
    R"(latency - from before the append of a message until its handler begins, on one SQLite file

usage: latency [--messages N]

  --messages N   one at a time (300))";

}  // namespace

int main(int argc, char** argv) {
  tenure::bench::helpIfAsked(argc, argv, helpPage);
  const bool asked = argc == 3 && std::string(argv[1]) == "--messages";
  Samples samples = measure(asked ? std::max(1, std::stoi(argv[2])) : 300);
  std::printf("%-32s %9s %9s %9s %9s\n", "", "min ms", "median", "p99", "max");
  report("append", std::move(samples.append));
  report("append begun to handler begun", std::move(samples.noticed));
}
