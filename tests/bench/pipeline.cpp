/// What each stage of a message's way costs, alone and together, and how lanes multiply the rate of slow handlers.
///
///   pipeline [--messages N] [--rounds N] [--slow N]
///
/// Source and store are in memory, so that what is left is the framework's; the lanes are measured on a file as well,
/// and on PostgreSQL where their handlers share state. Groups: 200, taking turns. The stages take turns within a round,
/// and the best round counts: the machine's other work only ever slows one down. A handler that waits, as for somebody
/// else's answer, keeps its lane and not the processor; of slow ones fewer messages are run.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/help.hpp"
#include "consumer/supply/coalescer.hpp"
#include "consumer/supply/dispatcher.hpp"
#include "consumer/supply/resequencer.hpp"
#include "consumer/supply/throttle.hpp"
#include "support/postgres_server.hpp"
#include "support/sqlite_world.hpp"
#include "support/terms.hpp"
#include "tenure/consumer.hpp"
#include "tenure/spi/source.hpp"
#include "tenure/testing/memory.hpp"

namespace tenure::bench {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;
using test::TestTerm;

constexpr std::size_t groups = 200;
constexpr std::size_t laneCounts[] = {1, 2, 4, 8};
constexpr double nanoseconds = 1e9;

struct Options {
  std::size_t messages = 20'000;
  std::size_t slowMessages = 2'000;
  int rounds = 5;
};

/// Each with its number within its group, which is read by those who follow numbers.
std::vector<NewMessage> newMessages(std::size_t count) {
  std::vector<NewMessage> messages;
  for (std::size_t i = 0; i < count; ++i)
    messages.push_back({MessageId{"order-" + std::to_string(i)},
                        GroupId{std::to_string(i % groups)},
                        R"({"order":17,"state":"paid","amount":1999})",
                        {{std::string(numberHeader), std::to_string(i / groups + 1)}}});
  return messages;
}

std::vector<Message> messagesOf(std::size_t count) {
  std::vector<Message> messages;
  std::int64_t position = 0;
  for (NewMessage& message : newMessages(count)) {
    Message delivered;
    static_cast<NewMessage&>(delivered) = std::move(message);
    delivered.position = ++position;
    messages.push_back(std::move(delivered));
  }
  return messages;
}

using Seconds = std::chrono::duration<double>;

Seconds timed(const std::function<void()>& work) {
  const auto begin = Clock::now();
  work();
  return Clock::now() - begin;
}

// --- stages alone

Seconds digests(std::size_t count) {
  const std::vector<Message> messages = messagesOf(count);
  std::byte seen{};
  const Seconds took = timed([&] {
    for (const Message& message : messages) seen ^= digestOf(message.body)[0];
  });
  return seen == std::byte{255} ? took * 1.0 : took;
}

Seconds dispatcher(std::size_t count) {
  std::vector<Message> messages = messagesOf(count);
  supply::Dispatcher dispatcher({.messages = count, .bytes = SIZE_MAX, .unrecordedWindow = 256}, 2);
  return timed([&] {
    dispatcher.receive(std::move(messages));
    const BootTime now = BootClock::now();
    while (dispatcher.window() > 0) {
      const supply::Handout taken = dispatcher.take(1, 64, now);
      for (const supply::Item& item : taken.assignment.items) dispatcher.finish(1, {item.place});
      dispatcher.release(1);
    }
  });
}

Seconds throttle(std::size_t count) {
  const std::vector<Message> messages = messagesOf(count);
  supply::Throttle throttle;
  throttle.apply({.queue = Rate{1e9, 1e9}, .eachGroup = Rate{1e8, 1e8}});
  std::size_t held = 0;
  const Seconds took = timed([&] {
    for (const Message& message : messages) {
      const BootTime now = BootClock::now();
      if (throttle.mayGo(message.group, now) > now) ++held;
      throttle.went(message.group, now);
    }
  });
  if (held > 0) std::puts("held back, though nothing should be");
  return took;
}

Seconds coalesce(std::size_t count) {
  std::vector<Message> messages = messagesOf(count);
  supply::Coalescer coalescer("", count);
  return timed([&] {
    coalescer.sift(messages, {});
    for (const Message& message : messages) {
      coalescer.begins(message);
      coalescer.finish(message, true);
    }
  });
}

/// In batches of 64, as a consumer has them.
Seconds numbers(std::size_t count) {
  const std::vector<Message> messages = messagesOf(count);
  supply::Resequencer resequencer({.consumer = ConsumerName{"orders"}, .gapLimit = 60s, .maxKept = 1000});
  std::size_t inOrder = 0;
  return timed([&] {
    for (std::size_t first = 0; first < count; first += 64) {
      std::vector<Message> page(messages.begin() + static_cast<std::ptrdiff_t>(first),
                                messages.begin() + static_cast<std::ptrdiff_t>(std::min(first + 64, count)));
      std::vector<std::pair<GroupId, GroupTurn>> turns;
      for (GroupId& group : resequencer.unknownOf(page)) turns.emplace_back(std::move(group), GroupTurn{});
      resequencer.learn(turns);
      for (const auto& item : resequencer.sort(std::move(page), WallTime{}).items) {
        inOrder += item.standing.turn == supply::Turn::next ? 1 : 0;
        resequencer.settled(item.message.group, item.standing, WallTime{});
      }
    }
    if (inOrder != count) std::puts("a message was not handed out in its turn");
  });
}

// --- together

enum class Where { memory, file, server };

/// When so many messages were committed: a handler may be called again for what other lanes have undone.
class Committed final : public IEventSink {
 public:
  explicit Committed(std::size_t count) : left_(count) {}
  void on(const Event& event) noexcept override {
    const auto* batch = event.body.as<BatchCommitted>();
    if (batch == nullptr || left_.fetch_sub(batch->messages) != batch->messages) return;
    last_ = Clock::now();
    isOver_ = true;
  }
  bool isOver() const noexcept { return isOver_; }
  Clock::time_point last() const noexcept { return last_; }

 private:
  std::atomic<std::size_t> left_;
  std::atomic<bool> isOver_ = false;
  Clock::time_point last_;
};

/// Consumes `count` messages; only the executing is timed. The store's file takes one transaction at a time, as the
/// memory does.
template <class AnyDelivery>
Seconds consume(std::size_t count, ConsumerOptions options, std::function<Outcome(const AnyDelivery&)> handler,
                Where where = Where::memory) {
  memory::World memory;
  std::optional<test::SqliteWorld> file;
  std::optional<test::PostgresWorld> server;
  test::Replica ends;
  if (where == Where::memory) {
    const auto database = std::make_shared<memory::Database>(memory);
    ends = {std::shared_ptr<IFencedStore>(database, &database->store()),
            std::shared_ptr<IMessageSource>(database, &database->source())};
    memory.deliver(newMessages(count));
  } else if (where == Where::file) {
    ends = file.emplace().open();
    file->sink()->append(newMessages(count)).value();
  } else {
    ends = server.emplace().open();
    server->sink()->append(newMessages(count)).value();
  }
  const TestTerm term{1};
  options.idleWait = options.ordering.lanes > 0 ? 1ms : 0ms;
  Committed committed(count);
  Consumer consumer{*ends.source, *ends.store, std::move(handler), options, committed};
  consumer.prepare({});
  consumer.inaugurate(term);
  const Clock::time_point began = Clock::now();
  while (!committed.isOver()) consumer.execute(term);
  const Seconds took = committed.last() - began;  // an execute comes back later than that
  term.requestStop();
  consumer.execute(term);
  consumer.handOver(term);
  return took;
}

const Handler doNothing = [](const Delivery&) { return Outcome::done(); };
const BatchHandler doNothingTogether = [](const BatchDelivery&) { return Outcome::done(); };

Handler waiting(std::chrono::microseconds time) {
  return [time](const Delivery&) {
    std::this_thread::sleep_for(time);  // house: may sleep
    return Outcome::done();
  };
}

Handler computing(std::chrono::microseconds time) {
  return [time](const Delivery&) {
    for (const auto until = Clock::now() + time; Clock::now() < until;) continue;
    return Outcome::done();
  };
}

/// In the handlers' state: one counter for all messages, or one for each group.
Handler counting(bool eachGroup) {
  return [eachGroup](const Delivery& delivery) {
    const std::string key = eachGroup ? "n of " + delivery.message.group.value : "n";
    const auto before = delivery.transaction.get(key);
    if (!before) return Outcome::failed(before.error().message());
    const auto put = delivery.transaction.put(key, std::to_string(std::stoi(before->value_or("0")) + 1));
    return put ? Outcome::done() : Outcome::failed(put.error().message());
  };
}

struct Row {
  std::string name;
  std::size_t messages;
  std::function<Seconds(std::size_t)> run;
  double best = 1e300;  // seconds a message
};

void measure(std::vector<Row>& rows, int rounds) {
  for (int round = 0; round < rounds; ++round)
    for (Row& row : rows)
      row.best = std::min(row.best, row.run(row.messages).count() / static_cast<double>(row.messages));
}

void printStages(const Options& options) {
  const RateLimits limits({.queue = Rate{1e9, 1e9}, .eachGroup = Rate{1e8, 1e8}, .groups = {}});
  std::vector<Row> rows{
      {"digest of the body", options.messages, digests},
      {"rate limits, of queue and group", options.messages, throttle},
      {"coalesce, nearly all of them", options.messages, coalesce},
      {"numbers, in order", options.messages, numbers},
      {"dispatcher: receive, take, release", options.messages, dispatcher},
      {"all in one line", options.messages, [](std::size_t n) { return consume(n, {}, doNothing); }},
      {"  batches of one", options.messages, [](std::size_t n) { return consume(n, {.maxBatch = 1}, doNothing); }},
      {"  and rate limits", options.messages,
       [&](std::size_t n) { return consume(n, {.limits = &limits}, doNothing); }},
      {"  and numbers followed", options.messages,
       [](std::size_t n) { return consume(n, {.followNumbers = true}, doNothing); }},
      {"  and a log of attempts", options.messages,
       [](std::size_t n) { return consume(n, {.keepLogFor = 24h}, doNothing); }},
      {"  one handler for many", options.messages, [](std::size_t n) { return consume(n, {}, doNothingTogether); }},
      {"with one lane", options.messages,
       [](std::size_t n) { return consume(n, {.ordering = Ordering::perGroup(1)}, doNothing); }},
  };
  measure(rows, options.rounds);
  std::printf("%-34s %10s\n", "stage", "ns/message");
  for (const Row& row : rows) std::printf("%-34s %10.0f\n", row.name.c_str(), row.best * nanoseconds);
}

struct Work {
  std::string name;
  std::size_t messages;
  Handler handler;
};

void printLanes(const Options& options, const std::string& title, Where where, const std::vector<Work>& works) {
  std::printf("\n%-18s %14s", title.c_str(), "one line /s");
  for (const std::size_t lanes : laneCounts) std::printf(" %8zu", lanes);
  std::printf(" lanes\n");
  for (const Work& work : works) {
    std::vector<Row> rows;
    const auto with = [&](std::size_t lanes) {
      rows.push_back({work.name, work.messages, [lanes, &work, where](std::size_t n) {
                        return consume(n, {.ordering = Ordering{lanes}}, work.handler, where);
                      }});
    };
    with(0);
    for (const std::size_t lanes : laneCounts) with(lanes);
    measure(rows, options.rounds);
    const double line = 1 / rows[0].best;
    std::printf("%-18s %14.0f", work.name.c_str(), line);
    for (std::size_t i = 1; i < rows.size(); ++i) std::printf(" %7.2fx", 1 / rows[i].best / line);
    std::printf("\n");
  }
}

int run(const Options& options) {
  printStages(options);
  const std::vector<Work> works{
      {"0", options.messages, doNothing},
      {"100 us, computing", options.slowMessages, computing(100us)},
      {"5 ms, waiting", std::max<std::size_t>(options.slowMessages / 5, 8), waiting(5ms)},
  };
  printLanes(options, "in memory", Where::memory, works);
  printLanes(options, "in a file", Where::file, works);
  const std::vector<Work> counters{
      {"0", options.slowMessages, doNothing},
      {"one counter", options.slowMessages, counting(false)},
      {"one each group", options.slowMessages, counting(true)},
  };
  printLanes(options, "on PostgreSQL", Where::server, counters);
  return 0;
}

constexpr const char* helpPage =
    R"(pipeline - what each stage of a message's way costs, and how lanes multiply the rate of slow handlers

usage: pipeline [--messages N] [--rounds N] [--slow N]

  --messages N   messages of each run
  --rounds N     rounds; the best one counts
  --slow N       messages of runs with slow handlers)";

}  // namespace
}  // namespace tenure::bench

int main(int argc, char** argv) {
  tenure::bench::helpIfAsked(argc, argv, tenure::bench::helpPage);
  tenure::bench::Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const long value = std::atol(argv[i + 1]);
    if (value > 0 && name == "--messages") {
      options.messages = static_cast<std::size_t>(value);
    } else if (value > 0 && name == "--slow") {
      options.slowMessages = static_cast<std::size_t>(value);
    } else if (value > 0 && name == "--rounds") {
      options.rounds = static_cast<int>(value);
    } else {
      std::cerr << "usage: pipeline [--messages N] [--rounds N] [--slow N]\n";
      return 64;
    }
  }
  return tenure::bench::run(options);
}
