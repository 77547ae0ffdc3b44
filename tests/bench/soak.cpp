/// A leader's memory over many messages: one replica consumes while its queue is kept filled, and its resident memory
/// is read as it goes. Exits non-zero when it grows, or when the ledger is wrong.
///
///   soak [--messages N] [--backend sqlite|postgresql|redis|rabbitmq|zookeeper]   default 1,000,000 on SQLite
#include <signal.h>

#include <algorithm>
#include <cstdio>

#include "bench/help.hpp"
#include "bench/soak_store.hpp"
#include "support/ensemble.hpp"
#include "support/replicas.hpp"

namespace {

using namespace tenure::test;

constexpr int samples = 20;
constexpr int warmUp = 5;  // samples before memory must be flat: caches fill
constexpr std::size_t slackKiB = 2048;

/// What follows `option` on the command line, or `standard`.
std::string asked(const std::string& option, const std::string& standard, int argc, char** argv) {
  for (int i = 1; i + 1 < argc; i += 2)
    if (argv[i] == option) return argv[i + 1];
  return standard;
}

/// A whole replica as a process of its own, on an ensemble.
int soakReplica(int messages) {
  const int step = messages / samples;
  Replicas replicas(Ensemble::shared().hosts());
  Program& leader = replicas.start({"batch=256"});
  std::size_t flat = 0;
  std::size_t worst = 0;
  for (int sample = 1; sample <= samples; ++sample) {
    produce(replicas.file(), (sample - 1) * step + 1, step);
    if (!replicas.awaitRows(static_cast<std::size_t>(sample * step))) {
      std::printf("stuck at %zu messages\n%s", countLedger(replicas.file()), replicas.logs().c_str());
      return 1;
    }
    const std::size_t now = leader.residentKiB();
    std::printf("%9d messages  %6zu KiB\n", sample * step, now);
    std::fflush(stdout);
    if (sample == warmUp) flat = now;
    if (sample > warmUp) worst = std::max(worst, now);
  }
  leader.signal(SIGTERM);
  const auto ending = leader.waitForEnd();
  const auto complaints = complaintsAbout(readLedger(replicas.file()), samples * step);
  for (const std::string& complaint : complaints) std::printf("%s\n", complaint.c_str());
  const bool good = worst <= flat + slackKiB && complaints.empty() && ending && ending->exitCode.value_or(1) == 0;
  std::printf("%s: %zu KiB after warming up, %zu KiB at worst\n", good ? "flat" : "NOT FLAT", flat, worst);
  return good ? 0 : 1;
}

constexpr const char* helpPage = R"(soak - a leader's memory over many messages

usage: soak [--messages N] [--backend NAME]

  --messages N    messages to consume (1000000)
  --backend NAME  sqlite, postgresql, redis, rabbitmq or zookeeper (sqlite))";

}  // namespace

int main(int argc, char** argv) {
  tenure::bench::helpIfAsked(argc, argv, helpPage);
  const int messages = std::max(samples, std::stoi(asked("--messages", "1000000", argc, argv)));
  const std::string backend = asked("--backend", "sqlite", argc, argv);
  return backend == "sqlite" ? soakReplica(messages)
                             : tenure::bench::soakStore(backend, static_cast<std::size_t>(messages));
}
