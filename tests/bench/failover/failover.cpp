/// How long nobody leads when the leader goes, in every way it may go, and what the old leader still does to the store.
#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "bench/failover/race.hpp"
#include "bench/failover/wishes.hpp"
#include "bench/servers.hpp"

namespace {

using namespace tenure::test;
using namespace std::chrono_literals;

constexpr auto longSession = 30'000ms;

/// A last will and a watchdog do not wait for the session; a frozen or cut-off leader costs it.
Course courseOf(const System& system, Fault fault, std::size_t candidates, const Wishes& wishes) {
  Course course{.fault = fault,
                .candidates = fault == Fault::frozenNext ? std::max<std::size_t>(candidates, 3) : candidates,
                .rounds = wishes.rounds,
                .session = wishes.session,
                .load = wishes.load};
  if (!system.isPeer && fault != Fault::freeze && fault != Fault::cut) course.session = longSession;
  if (system.isPeer && fault == Fault::hang) {
    course.rounds = 1;
    course.patience = 10s;
  }
  return course;
}

void printHeader() {
  std::printf("%-11s %-8s %10s %7s %4s %9s %9s %9s %6s %8s %7s %9s\n", "scenario", "system", "candidates", "session",
              "n", "min ms", "median", "max", "busy", "watches", "tried", "accepted");
}

void printFooter(int rounds) {
  std::printf(
      "Of the candidates, up to %d are processes of their own, among them all that led; the others stand by in one "
      "crowd\n"
      "process, each with its own session and election. More in --help.\n",
      rounds + 1);
}

void printRow(const System& system, const std::string& scenario, const Course& course, const Takeovers& measured) {
  const std::vector<double>& ms = measured.milliseconds;
  std::printf("%-11s %-8s %10zu %5.0f s %4zu ", scenario.c_str(), system.name.c_str(), course.candidates,
              static_cast<double>(course.session.count()) / 1e3, ms.size());
  if (ms.empty())
    std::printf("%29s ", ("never (" + std::to_string(course.patience / 1s) + " s)").c_str());
  else
    std::printf("%9.2f %9.2f %9.2f ", ms.front(), ms[ms.size() / 2], ms.back());
  std::printf("%5.0f%% %8s %7zu %9zu\n", 100 * measured.busy,
              system.isPeer ? "-" : std::to_string(measured.watches).c_str(), measured.staleTried,
              measured.staleAccepted);
  std::fflush(stdout);
}

void printSteps(const Takeovers& measured, std::chrono::microseconds write) {
  if (measured.steps.empty()) return;
  // The leader offers, the next in line accepts: it works on until then. The baton is the third write.
  const struct {
    const char* event;
    const char* name;
    int writes;
  } steps[] = {{"term_ended", "term ended", 2},
               {"elected", "successor elected", 1},
               {"inaugurated", "inaugurated", 0},
               {"first_commit", "first commit", 0}};
  std::printf("            ms from the request, of which ZooKeeper's writes took (medians):");
  double before = 0;
  for (const auto& step : steps) {
    const auto at = measured.steps.find(step.event);
    if (at == measured.steps.end()) continue;
    std::printf("%s %s %s%.2f", before > 0 ? "," : "\n           ", step.name, before > 0 ? "+" : "",
                at->second - before);
    if (step.writes > 0) std::printf(" (%.2f)", step.writes * static_cast<double>(write.count()) / 1e3);
    before = at->second;
  }
  std::printf("\n");
}

/// The successor is woken, and the one behind it by each change of the successor's record: that it leads, and before a
/// handover the touch of its znode that goes with the offer.
std::size_t mostWatches(const Course& course) {
  const bool isOffered = course.fault == Fault::graceful || course.fault == Fault::frozenNext;
  return isOffered ? 3 : 2;
}

bool isAsPromised(const Course& course, const Takeovers& measured) {
  return measured.staleAccepted == 0 && measured.milliseconds.size() == static_cast<std::size_t>(course.rounds) &&
         !measured.crowdElected && measured.watches <= mostWatches(course);
}

int measureAll(const Wishes& wishes) {
  const Ensemble& ensemble = Ensemble::shared();
  const std::chrono::microseconds write = warmUp(ensemble, wishes.warmUp);
  std::printf(
      "One write to this ensemble takes %.2f ms (median). In the gap of a handover kazoo writes once, and so does "
      "Tenure.\n",
      static_cast<double>(write.count()) / 1e3);
  Peers peers(ensemble, wishes.operation);
  const System tenure = tenureSystem(ensemble, wishes.operation);
  bool good = true;
  const auto measure = [&](const System& system, const std::string& scenario, std::size_t candidates) {
    const Course course = courseOf(system, faultOf(scenario), candidates, wishes);
    const Takeovers measured = Race(system, course, ensemble).run();
    printRow(system, scenario, course, measured);
    printSteps(measured, write);
    if (!system.isPeer) good = good && isAsPromised(course, measured);
  };
  const auto measurePeer = [&](const System& peer, const std::string& scenario) {
    try {
      measure(peer, scenario, 2);
    } catch (const std::runtime_error& error) {
      std::printf("%-9s %-8s failed: %s\n", scenario.c_str(), peer.name.c_str(), error.what());
    }
  };
  printHeader();
  for (const std::string& scenario : wishes.scenarios) {
    for (const std::size_t candidates : wishes.candidates) measure(tenure, scenario, candidates);
    if (isByItsOwnHand(faultOf(scenario))) continue;
    for (const std::string& name : wishes.peers) {
      if (name == "bare" && faultOf(scenario) != Fault::graceful) continue;
      if (const System* peer = peers.find(name)) measurePeer(*peer, scenario);
    }
  }
  printFooter(wishes.rounds);
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Wishes wishes = wishesFrom(argc, argv);
    if (!wishes.help) return measureAll(wishes);
    std::fputs(helpText, stdout);
    return 0;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "failover: %s\n", error.what());
    return 64;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "failover: %s\n", error.what());
    return 1;
  }
}
