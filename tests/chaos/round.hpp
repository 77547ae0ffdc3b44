/// One round: everything is set up, faults strike one after the other under load, the work comes to rest, and the
/// history is checked.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "chaos/arena.hpp"
#include "chaos/schedule.hpp"
#include "history/check.hpp"
#include "history/downtime.hpp"

namespace tenure::chaos {

struct RoundOptions {
  ArenaOptions arena;
  /// Drawn from; all that can strike the storage when empty.
  std::vector<FaultKind> kinds;
  /// Nothing strikes any more after so many faults, or when so much time has passed since the round began.
  std::size_t faults = 26;
  std::chrono::seconds limit = std::chrono::minutes{4};
  bool keep = false;  // what a good round wrote, too
  bool tell = true;   // each fault on standard output as it strikes
};

struct RoundResult {
  std::map<std::string, std::size_t> struck;  // by kind
  history::Report report;
  std::map<std::string, history::KindDowntime> downtime;
  std::vector<std::string> problems;  // beyond the report: what hung, ended or talked
  std::filesystem::path kept;         // histories and logs, when something was wrong
  std::size_t faults() const;
  bool good() const noexcept { return report.accepted() && problems.empty(); }
};

RoundResult runRound(const RoundOptions& options);
/// For people: complaints, problems, the table of downtimes.
std::string describe(const RoundResult& result);

}  // namespace tenure::chaos
