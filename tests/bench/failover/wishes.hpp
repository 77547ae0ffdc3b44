/// The command line of the failover benchmark.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "bench/failover/race.hpp"

namespace tenure::test {

struct Wishes {
  bool help = false;
  std::vector<std::size_t> candidates{2, 16, 128, 512};
  std::vector<std::string> scenarios{"graceful", "kill", "freeze", "cut", "hang"};
  std::vector<std::string> peers;
  Operation operation = Operation::commit;
  int rounds = 5;
  std::chrono::milliseconds session{2'000};
  int warmUp = 2'000;
  int load = 0;
};

extern const char* const helpText;

/// Throws std::invalid_argument, which says what is wrong.
Wishes wishesFrom(int argc, char** argv);
Fault faultOf(const std::string& scenario);

}  // namespace tenure::test
