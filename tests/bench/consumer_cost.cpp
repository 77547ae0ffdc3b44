/// What the framework costs a message, with source and store in memory: a Consumer against a loop that makes the very
/// same calls on the same ports. The difference is the machine, the shell, the lease checks and the progress reports.
#include <benchmark/benchmark.h>

#include "support/terms.hpp"
#include "tenure/consumer.hpp"
#include "tenure/spi/source.hpp"
#include "tenure/testing/memory.hpp"

namespace tenure::test {
namespace {

constexpr std::size_t messagesARound = 8192;

std::vector<NewMessage> orders() {
  std::vector<NewMessage> messages;
  for (std::size_t i = 0; i < messagesARound; ++i)
    messages.push_back({MessageId{"order-" + std::to_string(i)},
                        GroupId{std::to_string(i % 200)},
                        R"({"order":17,"state":"paid","amount":1999})",
                        {}});
  return messages;
}

Outcome doNothing(const Delivery&) { return Outcome::done(); }

void report(benchmark::State& state) {
  const auto messages = static_cast<double>(state.iterations()) * static_cast<double>(messagesARound);
  state.counters["a_message"] = benchmark::Counter(messages, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void throughTheConsumer(benchmark::State& state) {
  const auto messages = orders();
  ConsumerOptions options;
  options.maxBatch = static_cast<std::size_t>(state.range(0));
  options.idleWait = std::chrono::milliseconds{0};  // execute says false when the queue is empty
  for (auto _ : state) {
    state.PauseTiming();
    auto world = std::make_unique<memory::World>();
    memory::Database database{*world};
    const TestTerm term{1};
    Consumer consumer{database.source(), database.store(), doNothing, options, noEvents()};
    world->deliver(messages);
    consumer.inaugurate(term);
    state.ResumeTiming();
    while (consumer.execute(term)) continue;
    state.PauseTiming();
    if (!world->waiting().empty()) state.SkipWithError("messages are left");
    world.reset();
    state.ResumeTiming();
  }
  report(state);
}

void sameCallsBare(benchmark::State& state) {
  const auto messages = orders();
  const auto batch = static_cast<std::size_t>(state.range(0));
  const ConsumerName name{"default"};
  for (auto _ : state) {
    state.PauseTiming();
    auto world = std::make_unique<memory::World>();
    memory::Database database{*world};
    const TestTerm term{1};
    world->deliver(messages);
    IMessageSource& source = database.source();
    IFencedStore& store = database.store();
    if (!store.claim(term) || !source.attach(term)) state.SkipWithError("no leadership");
    const Handler handler = doNothing;
    std::vector<MessageId> ids;
    state.ResumeTiming();
    while (true) {
      auto fetched = source.fetch(batch, BootTime{}, {});
      if (fetched->empty()) break;
      auto transaction = std::move(*store.begin(term));
      ids.resize(fetched->size());
      for (std::size_t i = 0; i < fetched->size(); ++i) {
        const Message& message = (*fetched)[i];
        static_cast<void>(transaction->mark());
        static_cast<void>(transaction->admit(name, message.id, digestOf(message.body), MessageFate::done));
        benchmark::DoNotOptimize(handler({message, *transaction, *term, 1}));
        ids[i].value = message.id.value;
      }
      static_cast<void>(transaction->recordInWork(name, 0, {.ids = ids}));
      static_cast<void>(transaction->acknowledge(*fetched));
      if (!transaction->commit()) state.SkipWithError("not committed");
    }
    state.PauseTiming();
    if (!world->waiting().empty()) state.SkipWithError("messages are left");
    world.reset();
    state.ResumeTiming();
  }
  report(state);
}

BENCHMARK(throughTheConsumer)->Arg(1)->Arg(16)->Arg(64)->Arg(256)->Unit(benchmark::kMillisecond);
BENCHMARK(sameCallsBare)->Arg(1)->Arg(16)->Arg(64)->Arg(256)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tenure::test
