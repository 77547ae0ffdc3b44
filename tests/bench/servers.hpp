/// The ZooKeeper servers of a benchmark: warm before it begins, and asked who watches what.
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>

#include "support/ensemble.hpp"

namespace tenure::test {

/// What an election asks of a server, over and over: a young JVM interprets, and takes several times as long for each
/// of a handover's steps as one that has served an hour.
///
/// Returns how long a write takes in the end, as the median of those to the last server; 0 without rounds.
std::chrono::microseconds warmUp(const Ensemble& ensemble, int rounds);

/// The sessions that have a watch on a znode of that name: those which its end wakes.
std::set<std::int64_t> sessionsWatching(const Ensemble& ensemble, const std::string& znode);

}  // namespace tenure::test
