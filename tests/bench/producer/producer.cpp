/// Measures a producer: how fast it takes messages into memory and into its spool on disk, how fast it empties buffer
/// and spool to each queue, and what it adds to one message when it is idle; each beside what somebody would write who
/// has no framework.
///
///   producer [--sends N] [--messages N] [--batch N] [--rounds N] [--idle N] [--sinks NAMES] [--dir DIR] [--packing N]
///
/// Each figure is of this run alone: the designs take turns, and the ratios say how they compare.
///
/// Aims, and what was measured on two processors that had nothing else to do:
///
///   to memory     a million sends a second, 1 µs (p50), 20 µs (p99)    390,000 to 640,000, 0.4 µs, 20 to 24 µs
///   to the spool  0.8 of the bare loop                                 0.40; the spool alone 0.92
///   to a queue    0.9 of the bare loop, from buffer and from spool     sqlite 0.64 and 0.51
///                                                                      postgresql 1.75 and 1.39
///                                                                      redis 0.63 and 0.53
///                                                                      rabbitmq 0.94 and 0.93
///
/// Four batches under way are no faster where the server is on the same machine (RabbitMQ, PostgreSQL). An idle
/// producer adds 107 µs (SQLite) to 283 µs (RabbitMQ) to a message.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "bench/help.hpp"
#include "bench/producer/parts.hpp"
#include "bench/producer/queues.hpp"

namespace tenure::bench {

std::vector<NewMessage> someMessages(int count) {
  const std::string body(200, 'x');
  std::vector<NewMessage> messages;
  messages.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    messages.push_back({MessageId{"m-" + std::to_string(i)}, GroupId{"g" + std::to_string(i % 100)}, body, {}});
  return messages;
}

namespace {

constexpr const char* helpPage =
    R"(producer - what a producer sends, spools and drains, beside the same work with bare clients

usage: producer [--sends N] [--messages N] [--batch N] [--rounds N] [--idle N] [--sinks NAMES] [--dir DIR] [--packing N]

  --sends N      to memory, of each design and round; 0: not measured (500000)
  --messages N   that are spooled and drained; 0: not measured (20000)
  --batch N      messages with one confirm (500)
  --rounds N     in which the designs take turns; medians are shown (5)
  --idle N       messages to a producer that has nothing else to do; 0: not measured (200)
  --sinks NAMES  with commas between (sqlite,postgresql,redis,rabbitmq)
  --dir DIR      where files and servers have their data (a temporary folder)
  --packing N    measures instead what N messages in one body gain, through sinks and bare clients)";

[[noreturn]] void refuse(const std::string& what) {
  std::fprintf(stderr, "producer: %s: see --help\n", what.c_str());
  std::exit(2);
}

std::vector<std::string> namesIn(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream in(list);
  for (std::string name; std::getline(in, name, ',');) {
    if (std::ranges::find(queueKinds(), name, &QueueKind::name) == queueKinds().end()) refuse(name);
    names.push_back(name);
  }
  return names;
}

Setting settingFrom(int argc, char** argv) {
  Setting setting;
  for (const QueueKind& kind : queueKinds()) setting.queues.push_back(kind.name);
  const std::pair<std::string, int*> numbers[] = {{"--sends", &setting.sends}, {"--messages", &setting.messages},
                                                  {"--batch", &setting.batch}, {"--rounds", &setting.rounds},
                                                  {"--idle", &setting.idle},   {"--packing", &setting.packing}};
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if (i + 1 == argc) refuse(option);
    const std::string value = argv[i + 1];
    const auto number = std::ranges::find(numbers, option, &std::pair<std::string, int*>::first);
    if (option == "--sinks")
      setting.queues = namesIn(value);
    else if (option == "--dir")
      ::setenv("TMPDIR", value.c_str(), 1);
    else if (number == std::end(numbers))
      refuse(option);
    else if (const auto parsed = parseInteger(value); parsed && *parsed >= 0)
      *number->second = static_cast<int>(*parsed);
    else
      refuse(option + " " + value);
  }
  if (setting.batch == 0 || setting.rounds == 0) refuse("--batch and --rounds: 1 or more");
  if (setting.packing > 0 && (setting.batch % setting.packing != 0 || setting.messages % setting.packing != 0))
    refuse("--packing: --batch and --messages must be multiples of it");
  return setting;
}

}  // namespace
}  // namespace tenure::bench

int main(int argc, char** argv) {
  using namespace tenure::bench;
  helpIfAsked(argc, argv, helpPage);
  const Setting setting = settingFrom(argc, argv);
  if (setting.packing > 0) {
    measurePacking(setting);
    return 0;
  }
  if (setting.sends > 0) measureSends(setting);
  if (setting.messages > 0) measureSpool(setting);
  if (setting.messages > 0) measureDrains(setting);
  if (setting.idle > 0) measureIdle(setting);
}
