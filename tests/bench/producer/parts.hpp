/// The parts of the bench, each in a file of its own, and what they have in common.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "tenure/message.hpp"

namespace tenure::bench {

struct Setting {
  int sends = 500'000;              // to memory, of each design and round
  int messages = 20'000;            // that are spooled, and of each drain
  int batch = 500;                  // messages with one confirm
  int rounds = 5;                   // in which the designs take turns
  int idle = 200;                   // messages to a producer that has nothing else to do
  int packing = 0;                  // messages in one body; 0: not measured
  std::vector<std::string> queues;  // of queueKinds()
};

inline constexpr std::chrono::minutes longEnough{10};

/// "m-0", "m-1", … in 100 groups, with 200 bytes each.
std::vector<NewMessage> someMessages(int count);

void measureSends(const Setting& setting);
void measureSpool(const Setting& setting);
void measureDrains(const Setting& setting);
void measureIdle(const Setting& setting);
void measurePacking(const Setting& setting);

}  // namespace tenure::bench
