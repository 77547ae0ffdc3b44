/// Says what it knows of another process.
///
///   liveness                             prints its own pid, start time, boot id and pid namespace, and lives on
///   liveness PID START BOOT NAMESPACE    prints alive, gone or unknown
#include <unistd.h>

#include <iostream>

#include "process/process_identity.hpp"

int main(int count, char** arguments) {
  using namespace tenure;
  if (count == 1) {
    const ProcessIdentity& self = thisProcess();
    std::cout << self.pid << ' ' << self.startTime << ' ' << self.bootId << ' ' << self.pidNamespace << " ."
              << std::endl;
    while (true) pause();
  }
  if (count != 5) return 64;
  ProcessIdentity asked = thisProcess();
  asked.pid = std::stoll(arguments[1]);
  asked.startTime = std::stoll(arguments[2]);
  asked.bootId = arguments[3];
  asked.pidNamespace = std::stoull(arguments[4]);
  const Liveness seen = livenessOf(asked);
  std::cout << (seen == Liveness::alive ? "alive" : seen == Liveness::gone ? "gone" : "unknown") << std::endl;
}
