/// The producer of the chaos runs: numbered messages in groups, each tried until it is durably in the queue, until
/// SIGTERM. Its history says which were confirmed.
///
///   chaos_producer STORAGE election=E history=FILE seed=N [per-second=N] [groups=N] [shuffled=1] [delay=MS]
///
/// STORAGE where the queue is, as in programs/ends.hpp.
/// delay     each message comes to its queue so much later
/// shuffled  each message has its number in a header, and those that are sent together come in any order
#include <poll.h>
#include <signal.h>

#include <cstdio>
#include <vector>

#include "base/random.hpp"
#include "history/writer.hpp"
#include "programs/ends.hpp"

namespace {

using namespace tenure;
using namespace std::chrono_literals;
using history::Op;
using history::Stage;

volatile sig_atomic_t stopped = 0;

class Producer {
 public:
  Producer(IMessageSink& sink, const history::Writer& history, std::uint64_t seed, int groups, bool shuffles,
           std::chrono::milliseconds delay)
      : sink_(sink),
        history_(history),
        random_(seed),
        numbers_(static_cast<std::size_t>(groups)),
        shuffles_(shuffles),
        delay_(delay) {}

  /// How many it made durable.
  std::size_t publishSome() {
    std::vector<NewMessage> batch;
    for (std::uint64_t left = 1 + random_.below(8); left > 0; --left) batch.push_back(nextMessage());
    for (std::size_t i = batch.size(); shuffles_ && i > 1; --i) std::swap(batch[i - 1], batch[random_.below(i)]);
    // One time for all: those of a group come in the order in which they were sent.
    const WallTime at = systemClock().wallNow() + delay_;
    for (NewMessage& message : batch)
      if (delay_ > 0ms) message.deliverAt = at;
    while (!publish(batch)) poll(nullptr, 0, 50);
    return batch.size();
  }

 private:
  NewMessage nextMessage() {
    const std::size_t group = random_.below(numbers_.size());
    char id[24];
    std::snprintf(id, sizeof id, "m-%07d", ++last_);
    NewMessage message{MessageId{id}, GroupId{"g" + std::to_string(group)}, std::to_string(++numbers_[group]), {}};
    if (shuffles_) message.headers = {{std::string(numberHeader), message.body}};
    return message;
  }

  bool publish(const std::vector<NewMessage>& batch) {
    for (const NewMessage& message : batch) tell(message, Stage::invoke);
    const Result<void> stored = sink_.append(batch);
    const Stage stage = stored ? Stage::ok : isOutcomeUnknown(stored.error().code) ? Stage::info : Stage::fail;
    for (const NewMessage& message : batch) tell(message, stage, stored ? "" : stored.error().message());
    return stored.has_value();
  }

  void tell(const NewMessage& message, Stage stage, std::string outcome = {}) const {
    history::Line line;
    line.stage = stage;
    line.op = Op::publish;
    line.id = message.id.value;
    line.group = message.group.value;
    line.seq = std::stoll(message.body);
    line.outcome = std::move(outcome);
    history_.write(std::move(line));
  }

  IMessageSink& sink_;
  const history::Writer& history_;
  Random random_;
  std::vector<std::int64_t> numbers_;
  const bool shuffles_;
  const std::chrono::milliseconds delay_;
  int last_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const test::Arguments arguments(argc, argv);
  signal(SIGTERM, [](int) { stopped = 1; });
  const history::Writer history(arguments.text("history"), "producer", arguments.text("election"));
  const auto sink = test::openSink(arguments);
  if (!sink) {
    std::fprintf(stderr, "%s\n", sink.error().message().c_str());
    return 1;
  }
  Producer producer(**sink, history, static_cast<std::uint64_t>(arguments.number("seed", 1)),
                    arguments.number("groups", 8), arguments.number("shuffled", 0) != 0,
                    std::chrono::milliseconds{arguments.number("delay", 0)});
  const auto between = std::chrono::nanoseconds{1s} / arguments.number("per-second", 100);
  for (auto due = BootClock::now(); stopped == 0;) {
    due += between * producer.publishSome();
    // Late after an outage: what was missed is not made up for.
    const auto ahead = std::chrono::duration_cast<std::chrono::milliseconds>(due - BootClock::now());
    if (ahead > 0ms) poll(nullptr, 0, static_cast<int>(ahead.count()));
    if (ahead < -1s) due = BootClock::now();
  }
  return 0;
}
