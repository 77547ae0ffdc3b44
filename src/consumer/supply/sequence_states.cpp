#include "consumer/supply/sequence_states.hpp"

#include <utility>

namespace tenure::supply {

void SequenceStates::put(SequenceState state) {
  const GroupId group = state.group.group;
  if (isOpen(state.group)) {
    open_.insert_or_assign(group, std::move(state));
    return;
  }
  if (closed_.size() >= maxGroups_) closed_.clear();
  closed_.insert_or_assign(group, std::move(state));
}

std::optional<SequenceState> SequenceStates::take(const GroupId& group) {
  auto known = open_.extract(group);
  if (!known) known = closed_.extract(group);
  return known ? std::optional(std::move(known.mapped())) : std::nullopt;
}

std::vector<Gap> SequenceStates::overdue(WallTime now, std::chrono::milliseconds limit) const {
  std::vector<Gap> gaps;
  for (const auto& [group, state] : open_)
    if (!isReady(state.group) && now - state.group.turn.since >= limit) gaps.push_back(gapOf(state.group, now));
  return gaps;
}

std::vector<Gap> SequenceStates::tell(WallTime now, std::chrono::milliseconds limit) {
  std::vector<Gap> gaps;
  for (auto& [group, state] : open_) {
    if (isReady(state.group) || now - state.group.turn.since < limit) continue;
    const std::int64_t missing = state.group.turn.position + 1;
    if (std::exchange(state.told, missing) != missing) gaps.push_back(gapOf(state.group, now));
  }
  return gaps;
}

}  // namespace tenure::supply
