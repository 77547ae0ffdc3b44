/// chaos: real servers and replicas under seeded faults, as long as you like. See help below.
#include <algorithm>
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

    chaos [--backend NAME] [--duration 8h] [--seed N] [--faults N] [--kind NAME]…
          [--fence off] [--dedup off] [--network namespaces|proxies] [--keep yes]

  --backend NAME    where queue and effects are: sqlite (default), postgresql, rabbitmq+postgresql; their servers are
                    broken, too
  --duration TIME   rounds until so much time has passed (default: one round); each has fresh servers and files, and
                    strikes for 15 minutes at most. The last one comes to rest after the fault at which the time is over
  --seed N          which faults strike when (default: drawn, and printed)
  --faults N        faults a round (default 50)
  --kind NAME       only faults of this kind, or of several; the table at the end of a round has the names
  --keep yes        keeps what a good round wrote, too
  --fence off       takes the fence away; the history should then be rejected
  --dedup off       takes a message that comes again for new; the history should then be rejected, too
  --network NAME    namespaces: every server and replica on a machine of its own, as far as the kernel's network goes (it
                    takes root); proxies: all on the loopback interface. By default the former where it can be

Everything runs from a temporary folder, and nothing is seen of it from outside. A round that is not good keeps its histories, ledger
and logs; tenure_history_check reads them again. Exit codes: 0 all rounds good, 1 some round was not, 64 usage.
)";

constexpr std::chrono::seconds longestRound = std::chrono::minutes{15};

struct Asked {
  std::chrono::microseconds duration{0};
  RoundOptions round;
};

/// Replicas in namespaces would not find the servers on our loopback interface.
bool isPossible(const RoundOptions& round) {
  const std::vector<FaultKind> possible = kindsFor(round.arena.storage);
  const bool reachable = round.arena.storage == StorageKind::sqlite || round.arena.network != NetworkKind::namespaces;
  return reachable && std::all_of(round.kinds.begin(), round.kinds.end(), [&](FaultKind kind) {
           return std::find(possible.begin(), possible.end(), kind) != possible.end();
         });
}

bool take(Asked& asked, std::string_view name, std::string_view value) {
  RoundOptions& round = asked.round;
  const auto number = parseInteger(value);
  if (name == "--backend" && storageNamed(value))
    round.arena.storage = *storageNamed(value);
  else if (name == "--duration" && parseDuration(value))
    asked.duration = *parseDuration(value);
  else if (name == "--seed" && number)
    round.arena.seed = static_cast<std::uint64_t>(*number);
  else if (name == "--faults" && number && *number > 0)
    round.faults = static_cast<std::size_t>(*number);
  else if (name == "--kind" && kindNamed(value))
    round.kinds.push_back(*kindNamed(value));
  else if (name == "--keep" && value == "yes")
    round.keep = true;
  else if (name == "--network" && networkNamed(value))
    round.arena.network = networkNamed(value);
  else if (name == "--fence" && value == "off")
    round.arena.fence = false;
  else if (name == "--dedup" && value == "off")
    round.arena.dedup = false;
  else
    return false;
  return true;
}

std::optional<Asked> parse(int argc, char** argv) {
  Asked asked;
  asked.round.arena.seed = freshSeed() % 1'000'000;
  asked.round.faults = 50;
  for (int i = 1; i + 1 < argc; i += 2)
    if (!take(asked, argv[i], argv[i + 1])) return std::nullopt;
  asked.round.arena.allBlind = !asked.round.arena.fence;
  return argc % 2 == 1 && isPossible(asked.round) ? std::optional(asked) : std::nullopt;
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
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + asked->duration;
  bool good = true;
  RoundOptions round = asked->round;
  do {
    std::printf("seed %llu\n", static_cast<unsigned long long>(round.arena.seed));
    const auto left = std::chrono::ceil<std::chrono::seconds>(end - Clock::now());
    round.limit = asked->duration.count() > 0 ? std::min(longestRound, left) : longestRound;
    const RoundResult result = runRound(round);
    std::fputs(describe(result).c_str(), stdout);
    std::fflush(stdout);
    good = good && result.good();
    ++round.arena.seed;
  } while (Clock::now() < end);
  return good ? 0 : 1;
}
