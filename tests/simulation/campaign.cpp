#include "campaign.hpp"

#include <chrono>
#include <cstdio>

#include "simulation.hpp"

namespace tenure::simulation {
namespace {

constexpr std::uint64_t standardSeeds = 1'000;
constexpr std::uint64_t seedsForAMutant = 20'000;
constexpr std::uint64_t repeatEvery = 10;
constexpr std::size_t keptEvents = 200;

Report runOnce(const Plan& plan, Mutant mutant, Recording recording = {}) {
  return Simulation(plan, mutant, recording).run();
}

void printFailure(const Plan& plan, Mutant mutant) {
  const Report report = runOnce(plan, mutant, {.keep = keptEvents});
  std::printf("%s", describe(plan).c_str());
  for (const std::string& line : report.lastEvents) std::printf("%s\n", line.c_str());
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(plan.seed),
              report.violation.value_or("held when it was run again").c_str());
}

/// What is broken, without the numbers that differ from run to run.
std::string kindOf(const std::string& violation) {
  return violation.substr(0, violation.find_first_of(":0123456789", 2));
}

int runOne(const Orders& orders) {
  const Plan plan = drawPlan(*orders.seed);
  if (orders.plan) return std::fputs(describe(plan).c_str(), stdout), 0;
  const Report report = runOnce(plan, orders.mutant, {.keep = 0, .print = orders.trace});
  if (report.violation) printFailure(orders.shrink ? shrink(plan, orders.mutant) : plan, orders.mutant);
  std::printf("seed %llu: %s, %lld events, %lld commits, %lld terms, hash %016llx\n",
              static_cast<unsigned long long>(plan.seed), report.violation ? report.violation->c_str() : "all kept",
              static_cast<long long>(report.events), static_cast<long long>(report.commits),
              static_cast<long long>(report.claims), static_cast<unsigned long long>(report.hash));
  return report.violation ? 1 : 0;
}

struct Total {
  Coverage coverage;
  std::int64_t seeds = 0, events = 0, commits = 0, claims = 0, putBack = 0, nobodyLed = 0;
  Duration lasted{};

  void add(const Report& report) {
    ++seeds;
    coverage.add(report.coverage);
    events += report.events;
    commits += report.commits;
    claims += report.claims;
    lasted += report.lasted;
    putBack += report.putBack ? 1 : 0;
    nobodyLed += report.nobodyLed ? 1 : 0;
  }
};

void print(const Total& total, std::chrono::steady_clock::duration took) {
  const double seconds = std::chrono::duration<double>(took).count();
  std::printf("%s", total.coverage.table().c_str());
  std::printf("%lld ensembles put back to a backup: in %lld nobody led, as the tokens were old\n",
              static_cast<long long>(total.putBack), static_cast<long long>(total.nobodyLed));
  std::printf(
      "%lld seeds, %lld events, %lld commits, %lld terms, %.0f virtual hours, %.1f s: %.0f seeds/s; %d rows not hit\n",
      static_cast<long long>(total.seeds), static_cast<long long>(total.events), static_cast<long long>(total.commits),
      static_cast<long long>(total.claims), std::chrono::duration<double, std::ratio<3600>>(total.lasted).count(),
      seconds, static_cast<double>(total.seeds) / seconds, total.coverage.missing());
}

int runMany(const Orders& orders) {
  const auto begun = std::chrono::steady_clock::now();
  Total total;
  const std::uint64_t end = orders.from + orders.seeds.value_or(standardSeeds);
  for (std::uint64_t seed = orders.from; seed < end; ++seed) {
    const Plan plan = drawPlan(seed);
    const Report report = runOnce(plan, orders.mutant);
    if (report.violation) {
      printFailure(plan, orders.mutant);
      return 1;
    }
    if (orders.twice && seed % repeatEvery == 0 && runOnce(plan, orders.mutant).hash != report.hash) {
      std::printf("seed %llu: another history the second time\n", static_cast<unsigned long long>(seed));
      return 1;
    }
    total.add(report);
  }
  print(total, std::chrono::steady_clock::now() - begun);
  return orders.requireCoverage && total.coverage.missing() > 0 ? 1 : 0;
}

std::optional<std::uint64_t> firstToCatch(Mutant mutant, const Orders& orders, std::string& how) {
  const std::uint64_t end = orders.from + orders.seeds.value_or(seedsForAMutant);
  for (std::uint64_t seed = orders.from; seed < end; ++seed) {
    const Report report = runOnce(drawPlan(seed), mutant);
    if (!report.violation || !isMeantToBreak(mutant, *report.violation)) continue;
    how = *report.violation;
    return seed;
  }
  return std::nullopt;
}

int runMutants(const Orders& orders) {
  int escaped = 0;
  std::printf("%-24s%10s  %s\n", "mutant", "seed", "caught by");
  for (int i = 1; i < static_cast<int>(Mutant::count); ++i) {
    const auto mutant = static_cast<Mutant>(i);
    std::string how = "ESCAPED";
    const auto seed = firstToCatch(mutant, orders, how);
    if (!seed) ++escaped;
    std::printf("%-24s%10s  %s\n", std::string(toString(mutant)).c_str(), seed ? std::to_string(*seed).c_str() : "-",
                how.c_str());
    std::fflush(stdout);
  }
  return escaped == 0 ? 0 : 1;
}

template <class T>
bool dropOneByOne(Plan& plan, std::vector<T> Plan::*list, const std::function<bool(const Plan&)>& stillFails) {
  bool dropped = false;
  for (std::size_t i = (plan.*list).size(); i-- > 0;) {
    Plan smaller = plan;
    (smaller.*list).erase((smaller.*list).begin() + static_cast<std::ptrdiff_t>(i));
    if (!stillFails(smaller)) continue;
    plan = std::move(smaller);
    dropped = true;
  }
  return dropped;
}

}  // namespace

Plan shrink(Plan plan, Mutant mutant) {
  const auto first = runOnce(plan, mutant).violation;
  if (!first) return plan;
  const auto stillFails = [&](const Plan& smaller) {
    const auto violation = runOnce(smaller, mutant).violation;
    return violation && kindOf(*violation) == kindOf(*first);
  };
  for (bool dropped = true; dropped;) {
    dropped = dropOneByOne(plan, &Plan::faults, stillFails);
    dropped = dropOneByOne(plan, &Plan::messages, stillFails) || dropped;
    dropped = dropOneByOne(plan, &Plan::timed, stillFails) || dropped;
    dropped = dropOneByOne(plan, &Plan::changes, stillFails) || dropped;
    dropped = dropOneByOne(plan, &Plan::storeSteps, stillFails) || dropped;
    dropped = dropOneByOne(plan, &Plan::strangers, stillFails) || dropped;
    Plan fewer = plan;
    if (--fewer.replicas < 1 || !stillFails(fewer)) continue;
    plan = fewer;
    dropped = true;
  }
  return plan;
}

int obey(const Orders& orders) {
  if (orders.seed) return runOne(orders);
  return orders.mutants ? runMutants(orders) : runMany(orders);
}

}  // namespace tenure::simulation
