/// How long nothing was committed because of a fault: from its beginning to the first commit of the next term.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "history/history.hpp"

namespace tenure::history {

/// What the faults of one kind cost.
struct KindDowntime {
  std::size_t faults = 0;
  /// Times until another term began, of faults after which one did before the next fault struck; sorted.
  std::vector<std::chrono::nanoseconds> untilNextTerm;
  /// The longest time without a commit while a fault of this kind, or its repair, went on.
  std::chrono::nanoseconds longestPause{};
};

/// By the outcome of the `fault` lines, which is the kind's name.
std::map<std::string, KindDowntime> downtimeByKind(const std::vector<ProcessHistory>& histories);

/// The smallest value that `share` of them do not exceed; zero of none.
std::chrono::nanoseconds percentile(const std::vector<std::chrono::nanoseconds>& sorted, double share);

/// A table for people, one line a kind and one for all.
std::string downtimeTable(const std::map<std::string, KindDowntime>& kinds);

}  // namespace tenure::history
