/// Decides whether a run kept its promises, from what its processes wrote down and what the store has in the end.
///
///   publish ─► execute ─► commit ─► ack          a message's way, each step a line of some process
///                            └────► ledger row   with the hash of its group's row before, and the term's token
///
/// The ledger gives the order of the effects, so nothing is searched: each rule is one walk over the lines.
/// Pure: lines in, complaints out.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "history/history.hpp"

namespace tenure::history {

enum class Rule {
  lost,           // confirmed to its producer, and neither in the ledger nor a dead letter
  doubled,        // more than one row
  unknownId,      // a row of a message that nobody published
  wrongGroup,     // a row in another group than its message
  swapped,        // within a group, a row before that of an earlier message
  brokenChain,    // a row that does not follow the one before it in its group: it was computed from stale state
  forgedHash,     // a row whose hash is not that of its content
  tokenDown,      // a row of an older term after one of a newer term
  fencePassed,    // a commit that was begun after a newer term had claimed, and succeeded
  commitMissing,  // a commit that succeeded, and no row of that term
  ackTooEarly,    // acknowledged before its effect was durable
  overlap,        // two terms executing at once, and no barrier that was given up
};
std::string_view toString(Rule rule) noexcept;

struct Complaint {
  Rule rule;
  std::string text;
};

struct Options {
  /// The run had not come to rest: what is not in the ledger may still come.
  bool unfinished = false;
};

struct Report {
  std::vector<Complaint> complaints;   // at most 20 a rule
  std::map<Rule, std::size_t> counts;  // of all of them
  std::size_t published = 0;           // ids
  std::size_t confirmed = 0;
  std::size_t rows = 0;
  std::size_t deadLetters = 0;
  std::size_t terms = 0;                      // that began
  std::chrono::nanoseconds longestOverlap{};  // of two terms executing, allowed or not
  bool accepted() const noexcept { return complaints.empty(); }
};

Report check(const std::vector<ProcessHistory>& histories, const std::vector<Row>& ledger, const Options& options = {});

}  // namespace tenure::history
