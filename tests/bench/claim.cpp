/// How long a claim takes on a server, by a replica that connects only then and by one that was next in line and had
/// connected before (IFencedStore::prepare). Both take turns; medians.
///
///   claim [--rounds N]   default 50
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/assert.hpp"
#include "bench/help.hpp"
#include "support/postgres_server.hpp"
#include "support/redis_server.hpp"
#include "support/terms.hpp"

namespace {

using namespace tenure;
using namespace tenure::test;

double milliseconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

double claimTook(BackendWorld& world, std::int64_t token, bool prepared) {
  const Replica replica = world.open();
  const TestTerm term(token);
  if (prepared) replica.store->prepare({}).value();
  const auto start = std::chrono::steady_clock::now();
  TENURE_ASSERT(replica.store->claim(term).has_value());
  return milliseconds(std::chrono::steady_clock::now() - start);
}

void measure(const char* name, BackendWorld& world, int rounds) {
  std::vector<double> cold;
  std::vector<double> warm;
  for (std::int64_t token = 1; token <= 2 * rounds; ++token) {
    const bool prepared = token % 2 == 0;
    (prepared ? warm : cold).push_back(claimTook(world, token, prepared));
  }
  std::printf("%-12s connecting %6.2f ms   prepared %6.2f ms\n", name, median(cold), median(warm));
}

constexpr const char* helpPage =
    R"(claim - how long a claim takes on PostgreSQL and on Redis, for a cold replica and for the next in line

usage: claim [--rounds N]

  --rounds N   claims of each kind; medians are shown (50))";

}  // namespace

int main(int argc, char** argv) {
  tenure::bench::helpIfAsked(argc, argv, helpPage);
  const int rounds = argc == 3 && std::string(argv[1]) == "--rounds" ? std::max(1, std::stoi(argv[2])) : 50;
  PostgresWorld postgres;
  measure("postgresql", postgres, rounds);
  RedisWorld redis;
  measure("redis", redis, rounds);
  return 0;
}
