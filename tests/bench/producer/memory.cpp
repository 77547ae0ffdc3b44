#include "tenure/testing/memory.hpp"

#include <condition_variable>
#include <deque>
#include <thread>

#include "base/assert.hpp"
#include "bench/producer/parts.hpp"
#include "bench/turns.hpp"
#include "tenure/producer.hpp"

namespace tenure::bench {
namespace {

/// What people write: a deque under a mutex, and a thread that takes from it in batches.
class BareBuffer {
 public:
  BareBuffer(std::unique_ptr<IMessageSink> sink, int batch)
      : sink_(std::move(sink)), batch_(static_cast<std::size_t>(batch)) {}
  void send(NewMessage message) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(message));
    }
    changed_.notify_one();
  }
  void finish() {
    {
      const std::lock_guard lock(mutex_);
      isEnding_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (std::vector<NewMessage> batch;; batch.clear()) {
      changed_.wait(lock, [this] { return isEnding_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      for (; !waiting_.empty() && batch.size() < batch_; waiting_.pop_front())
        batch.push_back(std::move(waiting_.front()));
      lock.unlock();
      sink_->append(batch).value();
      lock.lock();
    }
  }

  const std::unique_ptr<IMessageSink> sink_;
  const std::size_t batch_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<NewMessage> waiting_;
  bool isEnding_ = false;
  std::jthread thread_{[this] { work(); }};
};

/// Sends and stored messages a second, and µs of one send.
struct SendRates {
  double sent = 0;
  double p50 = 0;
  double p99 = 0;
  double stored = 0;
};

/// From this thread, with a look at the clock after each: that is part of what is measured.
SendRates rates(std::vector<NewMessage> messages, const auto& send, const auto& finish) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> each;
  each.reserve(messages.size());
  const BootTime start = BootClock::now();
  Clock::time_point before = Clock::now();
  for (NewMessage& message : messages) {
    send(std::move(message));
    const Clock::time_point now = Clock::now();
    each.push_back(std::chrono::duration<double, std::micro>(now - before).count());
    before = now;
  }
  const auto count = static_cast<double>(messages.size());
  const double sent = count / secondsSince(start);
  finish();
  return {sent, quantile(each, 0.5), quantile(each, 0.99), count / secondsSince(start)};
}

/// All of them, in the order of the sends.
void check(const memory::World& world, const std::vector<NewMessage>& sent) {
  const std::vector<MessageId> stored = world.waiting();
  TENURE_ASSERT(stored.size() == sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) TENURE_ASSERT(sent[i].id.value.empty() || stored[i] == sent[i].id);
}

SendRates bareSends(const Setting& setting, const std::vector<NewMessage>& messages) {
  memory::World world;
  BareBuffer buffer(memory::openSink(world), setting.batch);
  const SendRates measured = rates(
      messages, [&](NewMessage message) { buffer.send(std::move(message)); }, [&] { buffer.finish(); });
  check(world, messages);
  return measured;
}

SendRates producerSends(const Setting& setting, const std::vector<NewMessage>& messages, std::size_t room) {
  memory::World world;
  Producer producer([&] { return Result<std::unique_ptr<IMessageSink>>(memory::openSink(world)); },
                    {.maxMessages = room,
                     .maxBytes = 8ULL << 30U,
                     .batchMessages = static_cast<std::size_t>(setting.batch),
                     .durability = Durability::memory});
  const SendRates measured = rates(
      messages, [&](NewMessage message) { producer.post(std::move(message)).value(); },
      [&] { producer.close(longEnough).value(); });
  check(world, messages);
  return measured;
}

struct SendDesign {
  const char* name;
  std::function<SendRates()> run;
  std::vector<SendRates> measured{};
  std::vector<double> all(double SendRates::*figure) const {
    std::vector<double> values;
    for (const SendRates& each : measured) values.push_back(each.*figure);
    return values;
  }
};

}  // namespace

void measureSends(const Setting& setting) {
  const std::vector<NewMessage> messages = someMessages(setting.sends);
  std::vector<NewMessage> nameless = messages;
  for (NewMessage& message : nameless) message.id.value.clear();
  const std::size_t roomForAll = messages.size() + 1;
  constexpr std::size_t usualRoom = 10'000;
  std::vector<SendDesign> designs{
      {"bare deque and thread", [&] { return bareSends(setting, messages); }},
      {"producer, room for all", [&] { return producerSends(setting, messages, roomForAll); }},
      {"  ids made by it", [&] { return producerSends(setting, nameless, roomForAll); }},
      {"  room for 10,000: sends wait", [&] { return producerSends(setting, messages, usualRoom); }}};
  takeTurns(setting.rounds, designs.size(), [&](std::size_t i) { designs[i].measured.push_back(designs[i].run()); });
  std::printf("%-31s %11s %8s %8s %8s %12s\n", "to memory, to a queue in memory", "sends/s", "of bare", "p50 µs",
              "p99 µs", "stored/s");
  for (const SendDesign& design : designs)
    std::printf("%-31s %11.0f %8.2f %7.2f %7.2f %12.0f\n", design.name, median(design.all(&SendRates::sent)),
                ratioOf({"", {}, design.all(&SendRates::sent)}, {"", {}, designs[0].all(&SendRates::sent)}),
                median(design.all(&SendRates::p50)), median(design.all(&SendRates::p99)),
                median(design.all(&SendRates::stored)));
  std::fflush(stdout);
}

}  // namespace tenure::bench
