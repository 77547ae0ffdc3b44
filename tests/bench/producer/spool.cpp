#include <atomic>

#include "base/assert.hpp"
#include "bench/bare_append.hpp"
#include "bench/producer/parts.hpp"
#include "bench/turns.hpp"
#include "support/forwarding_spool.hpp"
#include "support/program.hpp"
#include "tenure/producer.hpp"
#include "tenure/sqlite.hpp"

namespace tenure::bench {
namespace {

/// Counts what is appended.
class CountingSpool final : public test::ForwardingSpool {
 public:
  struct Counts {
    std::atomic<int> appends = 0;
    std::atomic<std::size_t> messages = 0;
  };

  CountingSpool(std::unique_ptr<ISpool> spool, Counts& counts) : ForwardingSpool(std::move(spool)), counts_(counts) {}
  Result<std::int64_t> append(std::span<const NewMessage> messages, const FollowedFile* sent) override {
    ++counts_.appends;
    counts_.messages += messages.size();
    return ForwardingSpool::append(messages, sent);
  }

 private:
  Counts& counts_;
};

Result<std::unique_ptr<IMessageSink>> away() { return Error{Errc::unavailable, "the queue is away"}; }

/// Messages a second, from the first send until all are known to be on disk. `batch`: how many of them one append to
/// the spool had, on average.
double spooled(const std::vector<NewMessage>& messages, std::size_t& batch) {
  const test::TemporaryFolder folder;
  const sqlite::SpoolOptions file{.file = folder / "spool.db"};
  CountingSpool::Counts counts;
  double rate = 0;
  {
    Producer producer(away, std::make_unique<CountingSpool>(sqlite::openSpool(file).value(), counts),
                      {.maxMessages = messages.size() + 1,
                       .maxBytes = 8ULL << 30U,
                       .durability = Durability::spooled,
                       .spillAfter = std::chrono::milliseconds{1}});
    producer.send({MessageId{"first"}, {}, "body", {}}).value().get().value();  // from now on all go to the spool
    const int appends = counts.appends;
    std::vector<std::future<Result<void>>> durable;
    durable.reserve(messages.size());
    std::vector<NewMessage> given = messages;
    const BootTime start = BootClock::now();
    for (NewMessage& message : given) durable.push_back(producer.send(std::move(message)).value());
    for (std::future<Result<void>>& each : durable) each.get().value();
    rate = static_cast<double>(messages.size()) / secondsSince(start);
    batch = messages.size() / static_cast<std::size_t>(counts.appends - appends);
  }
  TENURE_ASSERT(sqlite::openSpool(file).value()->figures().messages == messages.size() + 1);
  return rate;
}

double bareInserts(const std::vector<NewMessage>& messages, std::size_t batch) {
  const test::TemporaryFolder folder;
  const auto bare = bareSqlite(folder / "bare.db", "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL");
  const BootTime start = BootClock::now();
  appendAll(messages, batch, [&](std::span<const NewMessage> some) { bare->append(some); });
  const double rate = static_cast<double>(messages.size()) / secondsSince(start);
  TENURE_ASSERT(bare->count() == static_cast<std::int64_t>(messages.size()));
  return rate;
}

double spoolAlone(const std::vector<NewMessage>& messages, std::size_t batch) {
  const test::TemporaryFolder folder;
  const auto spool = sqlite::openSpool({.file = folder / "spool.db"}).value();
  const BootTime start = BootClock::now();
  appendAll(messages, batch, [&](std::span<const NewMessage> some) { spool->append(some).value(); });
  const double rate = static_cast<double>(messages.size()) / secondsSince(start);
  TENURE_ASSERT(spool->figures().messages == messages.size());
  return rate;
}

}  // namespace

void measureSpool(const Setting& setting) {
  const std::vector<NewMessage> messages = someMessages(setting.messages);
  std::size_t batch = 0;
  spooled(messages, batch);  // only to learn its batch
  race(setting.rounds, {{"spool: bare SQLite, WAL, FULL", [&] { return bareInserts(messages, batch); }},
                        {"  the spool in a loop", [&] { return spoolAlone(messages, batch); }},
                        {"  producer, queue away, spooled", [&] { return spooled(messages, batch); }}});
  std::printf("  messages in an append: %zu\n", batch);
}

}  // namespace tenure::bench
