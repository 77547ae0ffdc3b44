/// Whether two terms were executing at the same time, and whether the later one had said that this could be: its
/// barrier ended by its time limit, or it evicted the holder of the store's lock.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "history/history.hpp"

namespace tenure::history {

struct Overlaps {
  std::vector<std::string> unexcused;
  std::chrono::nanoseconds longest{};  // excused or not
};

/// An execution that never ended, because its process was killed, counts until the last thing its process wrote.
Overlaps findTermOverlaps(const std::vector<ProcessHistory>& histories);

}  // namespace tenure::history
