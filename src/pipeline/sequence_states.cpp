#include "pipeline/sequence_states.hpp"

#include <utility>

namespace tenure::pipeline {

void SequenceStates::put(SequenceState standing) {
  const GroupId group = standing.place.group;
  if (standing.place.isOpen()) {
    open_.insert_or_assign(group, std::move(standing));
    return;
  }
  if (closed_.size() >= maxGroups_) closed_.clear();
  closed_.insert_or_assign(group, std::move(standing));
}

std::optional<SequenceState> SequenceStates::take(const GroupId& group) {
  auto known = open_.extract(group);
  if (!known) known = closed_.extract(group);
  return known ? std::optional(std::move(known.mapped())) : std::nullopt;
}

std::vector<Gap> SequenceStates::overdue(WallTime now, std::chrono::milliseconds limit) const {
  std::vector<Gap> gaps;
  for (const auto& [group, standing] : open_)
    if (!standing.place.isReady() && now - standing.place.since >= limit) gaps.push_back(standing.place.gap(now));
  return gaps;
}

std::vector<Gap> SequenceStates::tell(WallTime now, std::chrono::milliseconds limit) {
  std::vector<Gap> gaps;
  for (auto& [group, standing] : open_) {
    if (standing.place.isReady() || now - standing.place.since < limit) continue;
    const std::int64_t missing = standing.place.position + 1;
    if (std::exchange(standing.told, missing) != missing) gaps.push_back(standing.place.gap(now));
  }
  return gaps;
}

}  // namespace tenure::pipeline
