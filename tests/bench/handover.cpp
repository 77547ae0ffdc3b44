/// How long nobody commits when the leadership changes hands: real processes, a real three-server ensemble, a queue
/// that never runs dry, from the last durable commit of the old leader to the first of the new one.
///
///   handover [--graceful N] [--willed-kills N] [--kills N] [--session-ms N] [--warm-up ROUNDS] [--backlog N]
///
/// A willed kill hits a leader with a last will, at a session timeout of 30 s; a kill one without, at --session-ms.
///
/// Exits non-zero when the leadership did not change hands as often as asked, or a stale leader committed.
///
/// Data goes to the temporary folder (TMPDIR): on a disk the gap is mostly the disk's own flushes, three quorum writes
/// and two commits; on a memory file system it is Tenure's.
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "bench/commits.hpp"
#include "bench/help.hpp"
#include "bench/servers.hpp"
#include "support/replicas.hpp"

namespace {

using namespace tenure;
using namespace tenure::test;

/// The gaps in milliseconds between the terms of a history, and how many commits came under a superseded token.
struct Gaps {
  std::vector<double> milliseconds;
  std::size_t stale = 0;
};

Gaps gapsOf(std::vector<Commit> commits) {
  std::sort(commits.begin(), commits.end(), [](const Commit& a, const Commit& b) { return a.at < b.at; });
  Gaps gaps;
  for (std::size_t i = 1; i < commits.size(); ++i) {
    if (commits[i].token > commits[i - 1].token)
      gaps.milliseconds.push_back(static_cast<double>(commits[i].at - commits[i - 1].at) / 1e6);
    gaps.stale += commits[i].token < commits[i - 1].token ? 1 : 0;
  }
  std::sort(gaps.milliseconds.begin(), gaps.milliseconds.end());
  return gaps;
}

void report(const char* scenario, const Gaps& gaps) {
  if (gaps.milliseconds.empty()) {
    std::printf("%-22s no term changed hands\n", scenario);
    return;
  }
  const std::vector<double>& ms = gaps.milliseconds;
  std::printf("%-22s %4zu %9.2f %9.2f %9.2f %8zu\n", scenario, ms.size(), ms.front(), ms[ms.size() / 2], ms.back(),
              gaps.stale);
}

int number(int argc, char** argv, const std::string& option, int otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (argv[i] == option) return std::stoi(argv[i + 1]);
  return otherwise;
}

struct Scenario {
  std::string name;
  int rounds = 0;
  int signal = SIGKILL;
  int sessionMs = 0;
  bool lastWill = false;
};

Gaps measure(const Scenario& scenario, int backlog) {
  Replicas replicas(Ensemble::shared().hosts());
  produce(replicas.file(), 1, backlog);
  std::vector<std::filesystem::path> histories;
  const auto start = [&] {
    histories.push_back(replicas.pathTo("history-" + std::to_string(histories.size())));
    replicas.start({"history=" + histories.back().string(), "session-ms=" + std::to_string(scenario.sessionMs),
                    scenario.lastWill ? "will=1" : "will=0"});
  };
  for (int i = 0; i < 3; ++i) start();
  for (int round = 1; round <= scenario.rounds; ++round) {
    if (!replicas.awaitTerms(static_cast<std::size_t>(round))) break;
    const std::size_t before = countLedger(replicas.file());
    replicas.awaitRows(before + 200);
    replicas.leader().signal(scenario.signal);
    // To look takes processor time from those measured.
    std::this_thread::sleep_for(std::chrono::milliseconds{40});  // house: may sleep
    if (scenario.signal == SIGKILL) start();
  }
  replicas.awaitTerms(static_cast<std::size_t>(scenario.rounds) + 1);
  replicas.awaitRows(countLedger(replicas.file()) + 200);
  std::vector<Commit> commits;
  for (const auto& history : histories) {
    const std::vector<Commit> own = readHistory(history);
    commits.insert(commits.end(), own.begin(), own.end());
  }
  return gapsOf(std::move(commits));
}

constexpr const char* helpPage =
    R"(handover - how long nobody commits when the leadership changes hands, on three ZooKeeper servers of its own

usage: handover [--graceful N] [--willed-kills N] [--kills N] [--session-ms N] [--warm-up N] [--backlog N]

  --graceful N      handovers by SIGUSR1 (30)
  --willed-kills N  leaders with a last will that are killed, at a session timeout of 30 s (20)
  --kills N         leaders without one that are killed, at --session-ms (3)
  --session-ms N    session timeout in milliseconds (2000)
  --warm-up N       rounds before the ensemble is measured (2000)
  --backlog N       messages that wait in the queue (2000000))";

}  // namespace

int main(int argc, char** argv) {
  tenure::bench::helpIfAsked(argc, argv, helpPage);
  const int sessionMs = number(argc, argv, "--session-ms", 2000);
  const int backlog = number(argc, argv, "--backlog", 2'000'000);
  bool good = true;
  const auto run = [&](const Scenario& scenario) {
    if (scenario.rounds == 0) return;
    const Gaps gaps = measure(scenario, backlog);
    report(scenario.name.c_str(), gaps);
    good = good && gaps.stale == 0 && gaps.milliseconds.size() >= static_cast<std::size_t>(scenario.rounds);
  };
  warmUp(Ensemble::shared(), number(argc, argv, "--warm-up", 2000));
  std::printf("%-22s %4s %9s %9s %9s %8s\n", "scenario", "n", "min ms", "median", "max", "stale");
  run({"graceful (SIGUSR1)", number(argc, argv, "--graceful", 30), SIGUSR1, sessionMs, false});
  run({"kill -9, last will", number(argc, argv, "--willed-kills", 20), SIGKILL, 30'000, true});
  run({"kill -9, session " + std::to_string(sessionMs) + " ms", number(argc, argv, "--kills", 3), SIGKILL, sessionMs,
       false});
  return good ? 0 : 1;
}
