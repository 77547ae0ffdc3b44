/// Where groups stand that no lane has in hand: a lane gets it with the group, and gives it back with it. Pure.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "consumer/supply/sequencer.hpp"

namespace tenure::supply {

class SequenceStates {
 public:
  /// `maxGroups`: how many are remembered that could be read again.
  explicit SequenceStates(std::size_t maxGroups = Sequencer::defaultGroups) : maxGroups_(maxGroups) {}

  void put(SequenceState state);
  /// Nullopt: it has to be read, and nothing of it waits.
  std::optional<SequenceState> take(const GroupId& group);
  /// Those that wait for a number for so long.
  std::vector<Gap> overdue(WallTime now, std::chrono::milliseconds limit) const;
  /// Of which nobody was told; from now on they were.
  std::vector<Gap> tell(WallTime now, std::chrono::milliseconds limit);

 private:
  const std::size_t maxGroups_;
  std::unordered_map<GroupId, SequenceState> open_;
  std::unordered_map<GroupId, SequenceState> closed_;
};

}  // namespace tenure::supply
