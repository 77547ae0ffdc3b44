#include <atomic>
#include <thread>

#include "base/assert.hpp"
#include "bench/producer/parts.hpp"
#include "bench/producer/queues.hpp"
#include "bench/turns.hpp"
#include "support/program.hpp"
#include "tenure/producer.hpp"
#include "tenure/spi/spool.hpp"
#include "tenure/sqlite.hpp"

namespace tenure::bench {
namespace {

using Messages = std::vector<NewMessage>;

/// Connects when it is asked for a sink, and hands it out when it is opened.
class Gate {
 public:
  explicit Gate(const Queue& queue, int batches = 1) : queue_(queue), batches_(batches) {}
  Producer::OpenSink opener() {
    return [this] {
      auto sink = queue_.sink();
      TENURE_ASSERT(++sinks_ <= batches_);  // a sink that has failed is opened anew
      isReached_ = true;
      isReached_.notify_all();
      isOpen_.wait(false);
      return Result<std::unique_ptr<IMessageSink>>(std::move(sink));
    };
  }
  void awaitReached() const { isReached_.wait(false); }
  void open() {
    isOpen_ = true;
    isOpen_.notify_all();
  }

 private:
  const Queue& queue_;
  const int batches_;  // that may be under way
  std::atomic<int> sinks_ = 0;
  std::atomic<bool> isReached_ = false;
  std::atomic<bool> isOpen_ = false;
};

/// Messages a second, from when the queue is there until it has confirmed all.
double emptied(Producer& producer, Gate& gate) {
  gate.awaitReached();
  const BootTime start = BootClock::now();
  gate.open();
  producer.flush(longEnough).value();
  const double took = secondsSince(start);
  return static_cast<double>(producer.figures().confirmed) / took;
}

ProducerOptions optionsFor(const Setting& setting) {
  return {.maxMessages = static_cast<std::size_t>(setting.messages),
          .maxBytes = 8ULL << 30U,
          .batchMessages = static_cast<std::size_t>(setting.batch),
          .spillAfter = std::chrono::hours{1}};
}

double fromBuffer(const Setting& setting, const Queue& queue, const Messages& messages, int batches) {
  Gate gate(queue, batches);
  ProducerOptions options = optionsFor(setting);
  options.batchesUnderWay = static_cast<std::size_t>(batches);
  Producer producer(gate.opener(), options);
  std::vector<std::future<Result<void>>> stored;
  for (const NewMessage& message : messages) stored.push_back(producer.send(message).value());
  const double rate = emptied(producer, gate);
  for (std::future<Result<void>>& each : stored) each.get().value();
  return rate;
}

double inOneBatchAtATime(const Setting& setting, const Queue& queue, const Messages& messages) {
  return fromBuffer(setting, queue, messages, 1);
}

double inFourBatches(const Setting& setting, const Queue& queue, const Messages& messages) {
  return fromBuffer(setting, queue, messages, 4);
}

double fromSpool(const Setting& setting, const Queue& queue, const Messages& messages) {
  const test::TemporaryFolder folder;
  auto spool = sqlite::openSpool({.file = folder / "spool.db"}).value();
  appendAll(messages, 1000, [&](std::span<const NewMessage> some) { spool->append(some).value(); });
  Gate gate(queue);
  Producer producer(gate.opener(), std::move(spool), optionsFor(setting));
  const double rate = emptied(producer, gate);
  TENURE_ASSERT(producer.figures().spooled == 0);
  return rate;
}

double throughSink(const Setting& setting, const Queue& queue, const Messages& messages) {
  const auto sink = queue.sink();
  const BootTime start = BootClock::now();
  appendAll(messages, static_cast<std::size_t>(setting.batch),
            [&](std::span<const NewMessage> some) { sink->append(some).value(); });
  return static_cast<double>(messages.size()) / secondsSince(start);
}

double bareLoop(const Setting& setting, const Queue& queue, const Messages& messages) {
  const auto bare = queue.bare();
  const BootTime start = BootClock::now();
  appendAll(messages, static_cast<std::size_t>(setting.batch),
            [&](std::span<const NewMessage> some) { bare->append(some); });
  const double rate = static_cast<double>(messages.size()) / secondsSince(start);
  TENURE_ASSERT(bare->count() == static_cast<std::int64_t>(messages.size()));
  return rate;
}

/// On a queue of its own, which has all messages at the end.
double checked(const QueueKind& kind, const Setting& setting, const Messages& messages,
               double (*way)(const Setting&, const Queue&, const Messages&)) {
  const Queue queue = kind.make();
  const double rate = way(setting, queue, messages);
  TENURE_ASSERT(queue.count() == static_cast<std::int64_t>(messages.size()));
  return rate;
}

const QueueKind& kindOf(const std::string& name) { return *std::ranges::find(queueKinds(), name, &QueueKind::name); }

/// So many bodies in one.
Messages packed(const Messages& messages, int together) {
  Messages packs;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (i % static_cast<std::size_t>(together) == 0) packs.push_back({messages[i].id, messages[i].group, {}, {}});
    packs.back().body += messages[i].body;
  }
  return packs;
}

}  // namespace

void measureDrains(const Setting& setting) {
  const Messages messages = someMessages(setting.messages);
  for (const std::string& name : setting.queues) {
    const QueueKind& kind = kindOf(name);
    race(setting.rounds,
         {{"drain to " + name + ": bare loop", [&] { return bareLoop(setting, kind.make(), messages); }},
          {"  the queue's sink in a loop", [&] { return checked(kind, setting, messages, throughSink); }},
          {"  producer, from its buffer", [&] { return checked(kind, setting, messages, inOneBatchAtATime); }},
          {"  the same, four batches under way", [&] { return checked(kind, setting, messages, inFourBatches); }},
          {"  producer, from its spool", [&] { return checked(kind, setting, messages, fromSpool); }}});
  }
}

void measureIdle(const Setting& setting) {
  std::printf("%-24s %10s %10s %12s %14s\n", "idle, one message, µs", "bare p50", "sink p50", "producer p50",
              "more than bare");
  for (const std::string& name : setting.queues) {
    const Queue queue = kindOf(name).make();
    const auto bare = queue.bare();
    const auto sink = queue.sink();
    Producer producer([&] { return Result<std::unique_ptr<IMessageSink>>(queue.sink()); });
    const Messages messages = someMessages(setting.idle + 1);
    const std::vector<std::function<void(const NewMessage&)>> ways{
        [&](const NewMessage& message) {
          bare->append({&message, 1});
        },
        [&](const NewMessage& message) {
          sink->append({&message, 1}).value();
        },
        [&](const NewMessage& message) { producer.send(message).value().get().value(); }};
    for (const auto& way : ways) way(messages[0]);  // which connects
    std::vector<std::vector<double>> took(ways.size());
    takeTurns(setting.idle, ways.size(), [&](std::size_t i) {
      std::this_thread::sleep_for(std::chrono::milliseconds{1});  // house: may sleep
      const BootTime start = BootClock::now();
      ways[i](messages[took[i].size() + 1]);
      took[i].push_back(1e6 * secondsSince(start));
    });
    TENURE_ASSERT(bare->count() == setting.idle + 1 && queue.count() == 2 * (setting.idle + 1));
    const double bareTook = median(took[0]);
    const double producerTook = median(took[2]);
    std::printf("%-24s %10.0f %10.0f %12.0f %14.0f\n", name.c_str(), bareTook, median(took[1]), producerTook,
                producerTook - bareTook);
    std::fflush(stdout);
  }
}

void measurePacking(const Setting& setting) {
  const Messages messages = someMessages(setting.messages);
  const Messages packs = packed(messages, setting.packing);
  const auto together = static_cast<double>(setting.packing);
  Setting ofPacks = setting;  // the same bodies in a batch
  ofPacks.batch = std::max(1, setting.batch / setting.packing);
  for (const std::string& name : setting.queues) {
    const QueueKind& kind = kindOf(name);
    std::vector<Design> designs{
        {name + ", one by one: bare loop", [&] { return bareLoop(setting, kind.make(), messages); }},
        {"  packed: bare loop", [&] { return together * bareLoop(ofPacks, kind.make(), packs); }},
        {"  one by one: sink", [&] { return checked(kind, setting, messages, throughSink); }},
        {"  packed: sink", [&] { return together * checked(kind, ofPacks, packs, throughSink); }}};
    const QueueKind packing = packedRabbit(static_cast<std::size_t>(setting.packing));
    if (name == packing.name)
      designs.push_back({"  packed by the sink", [&] { return checked(packing, setting, messages, throughSink); }});
    race(setting.rounds, designs);
  }
}

}  // namespace tenure::bench
