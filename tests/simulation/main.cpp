// The command line of the simulation.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "campaign.hpp"

namespace tenure::simulation {
namespace {

constexpr const char* help = R"(simulate - Tenure's election, career and consumer in a seeded world of faults

usage: simulate [--seeds N] [--from S] [--twice] [--require-coverage] [--mutant NAME]
       simulate --seed S [--trace] [--shrink] [--mutant NAME]
       simulate --mutants [--seeds N]

Each seed draws a world (replicas, servers, timeouts, queue, messages, which faults there are and how strong), runs the
library's own objects in it, checks every promise after every event, heals the world, and sees that everything comes to
its end. The same seed is the same run, on every machine.

  --seeds N            run N seeds (1000); prints figures and the table of phases and faults that were seen
  --from S             the first of them (1)
  --twice              run every tenth seed a second time: its events must be the same
  --require-coverage   fail unless every row of the table was hit
  --seed S             run one seed
  --trace              with --seed: print every event
  --plan               with --seed: print what it draws, and run nothing
  --shrink             with --seed, when it fails: leave out faults, messages and replicas as long as it fails the same
                       way, then print what is left
  --mutant NAME        break the protocol, by one of the rules that are listed below
  --mutants            run every mutant until it is caught by the promise that it is meant to break, at most N seeds
                       each (20000); prints which seed caught it

A failing seed prints its plan and its last 200 events. Exit: 0 all promises kept, 1 one was broken (with --mutants:
one was not caught), 64 usage.

Mutants:
)";

void printHelp() {
  std::fputs(help, stdout);
  for (int i = 1; i < static_cast<int>(Mutant::count); ++i) {
    const auto mutant = static_cast<Mutant>(i);
    std::printf("  %-24s%s\n", std::string(toString(mutant)).c_str(), std::string(describe(mutant)).c_str());
  }
}

struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::uint64_t numberOf(const char* option, const char* text) {
  char* end = nullptr;
  const std::uint64_t number = text == nullptr ? 0 : std::strtoull(text, &end, 10);
  if (text == nullptr || *text == '\0' || *text == '-' || *end != '\0')
    throw Refused(std::string(option) + " wants a number");
  return number;
}

Orders parse(int argc, char** argv) {
  Orders orders;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const auto value = [&] { return i + 1 < argc ? argv[++i] : nullptr; };
    if (option == "--seeds")
      orders.seeds = numberOf("--seeds", value());
    else if (option == "--from")
      orders.from = numberOf("--from", value());
    else if (option == "--seed")
      orders.seed = numberOf("--seed", value());
    else if (option == "--twice")
      orders.twice = true;
    else if (option == "--require-coverage")
      orders.requireCoverage = true;
    else if (option == "--trace")
      orders.trace = true;
    else if (option == "--plan")
      orders.plan = true;
    else if (option == "--shrink")
      orders.shrink = true;
    else if (option == "--mutants")
      orders.mutants = true;
    else if (option == "--mutant") {
      const char* name = value();
      const auto mutant = name == nullptr ? std::nullopt : parseMutant(name);
      if (!mutant) throw Refused("--mutant wants one of the names that --help lists");
      orders.mutant = *mutant;
    } else {
      throw Refused("unknown option " + std::string(option));
    }
  }
  return orders;
}

int run(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "--help") == 0 || std::strcmp(argv[i], "-h") == 0) return printHelp(), 0;
  try {
    return obey(parse(argc, argv));
  } catch (const Refused& refused) {
    std::fprintf(stderr, "simulate: %s; see --help\n", refused.what());
    return 64;
  }
}

}  // namespace
}  // namespace tenure::simulation

int main(int argc, char** argv) { return tenure::simulation::run(argc, argv); }
