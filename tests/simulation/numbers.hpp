/// Judges what becomes of numbered groups, by what is committed to the store.
///
///   N1 a group's position moves over a number only with its effect, its dead letter, or the note of a gap that names
///      it; and an effect is never ahead of the position that is committed with it
///   N2 effects of a group come in the order of their numbers, and each number has one
///   N3 what came early is in the store when it is acknowledged, and stays there until its effect or its dead letter
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attempts.hpp"
#include "consumer/supply/resequencer.hpp"

namespace tenure::simulation {

/// What a transaction writes of numbers, and what it means for them.
struct NumbersWrites {
  std::vector<std::pair<GroupId, GroupTurn>> turns;
  std::vector<KeptMessage> kept;
  std::vector<std::pair<GroupId, std::int64_t>> dropped;
  std::vector<std::pair<GroupId, std::int64_t>> gaps;  // given up from this number on, with a note
};

class Numbers {
 public:
  /// Each effect of a transaction, in order; then what the transaction writes.
  Complaint effect(const NewMessage& message, MessageFate fate);
  Complaint committed(const NumbersWrites& booking);
  /// It waits in the store for its number.
  bool keeps(const NewMessage& message) const;

 private:
  struct Group {
    std::int64_t position = 0;
    std::int64_t last = 0;        // number that had an effect
    std::set<std::int64_t> past;  // numbers above the position that have come to their end
  };

  Complaint moved(const GroupId& id, const GroupTurn& turn, const NumbersWrites& booking);

  std::map<GroupId, Group> groups_;
  std::map<std::pair<GroupId, std::int64_t>, std::string> kept_;  // bodies
  std::set<std::string> ended_;                                   // bodies that have had their effect or dead letter
};

}  // namespace tenure::simulation
