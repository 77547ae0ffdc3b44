/// chaos: real servers and replicas under seeded faults, as long as you like. See help below.
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/text.hpp"
#include "chaos/round.hpp"

namespace {

using namespace tenure;
using namespace tenure::chaos;

constexpr const char* help =
    R"(Breaks a consumer of three replicas on three ZooKeeper servers, and checks what it did meanwhile.

    chaos [--duration 8h] [--seed N] [--faults N] [--kind NAME]… [--fence off]
          [--network namespaces|proxies] [--keep yes]

  --duration TIME   rounds until so much time has passed (default: one round); each has fresh servers and files
  --seed N          which faults strike when (default: drawn, and printed)
  --faults N        faults a round (default 50)
  --kind NAME       only faults of this kind, or of several; the table at the end of a round has the names
  --keep yes        keeps what a good round wrote, too
  --fence off       takes the fence away; the history should then be rejected
  --network NAME    namespaces: every server and replica on a machine of its own, as far as the kernel's network goes (it
                    takes root); proxies: all on the loopback interface. By default the former where it can be

Everything runs from a temporary folder, and nothing is seen of it from outside. A round that is not good keeps its histories, ledger
and logs; tenure_history_check reads them again. Exit codes: 0 all rounds good, 1 some round was not, 64 usage.
)";

struct Asked {
  std::chrono::microseconds duration{0};
  std::uint64_t seed = freshSeed() % 1'000'000;
  std::size_t faults = 50;
  std::vector<FaultKind> kinds;
  std::optional<NetworkKind> network;
  bool fence = true;
  bool keep = false;
};

std::optional<Asked> parse(int argc, char** argv) {
  Asked asked;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const std::string_view value = argv[i + 1];
    const auto number = parseInteger(value);
    if (name == "--duration" && parseDuration(value))
      asked.duration = *parseDuration(value);
    else if (name == "--seed" && number)
      asked.seed = static_cast<std::uint64_t>(*number);
    else if (name == "--faults" && number && *number > 0)
      asked.faults = static_cast<std::size_t>(*number);
    else if (name == "--kind" && kindNamed(value))
      asked.kinds.push_back(*kindNamed(value));
    else if (name == "--keep" && value == "yes")
      asked.keep = true;
    else if (name == "--network" && networkNamed(value))
      asked.network = networkNamed(value);
    else if (name == "--fence" && value == "off")
      asked.fence = false;
    else
      return std::nullopt;
  }
  return argc % 2 == 1 ? std::optional(asked) : std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && (std::string_view(argv[1]) == "--help" || std::string_view(argv[1]) == "-h")) {
    std::fputs(help, stdout);
    return 0;
  }
  const auto asked = parse(argc, argv);
  if (!asked) {
    std::fputs(help, stderr);
    return 64;
  }
  const auto end = std::chrono::steady_clock::now() + asked->duration;
  bool good = true;
  std::uint64_t seed = asked->seed;
  do {
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    RoundOptions options;
    options.arena.seed = seed++;
    options.arena.network = asked->network;
    options.arena.fence = asked->fence;
    options.arena.allBlind = !asked->fence;
    options.kinds = asked->kinds;
    options.keep = asked->keep;
    options.faults = asked->faults;
    options.limit = std::chrono::minutes{15};
    const RoundResult result = runRound(options);
    std::fputs(describe(result).c_str(), stdout);
    std::fflush(stdout);
    good = good && result.good();
  } while (std::chrono::steady_clock::now() < end);
  return good ? 0 : 1;
}
