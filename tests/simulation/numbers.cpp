#include "numbers.hpp"

#include <algorithm>

namespace tenure::simulation {
namespace {

std::string name(const GroupId& group, std::int64_t number) {
  return "number " + std::to_string(number) + " of group " + group.value;
}

}  // namespace

bool Numbers::keeps(const NewMessage& message) const {
  const auto number = supply::numberOf(message);
  if (!number) return false;
  const auto kept = kept_.find({message.group, *number});
  return kept != kept_.end() && kept->second == message.body;
}

Complaint Numbers::effect(const NewMessage& message, MessageFate fate) {
  const auto number = supply::numberOf(message);
  if (!number) return std::nullopt;
  Group& group = groups_[message.group];
  ended_.insert(message.body);
  group.past.insert(*number);
  if (fate == MessageFate::dead) return std::nullopt;
  const std::int64_t before = std::exchange(group.last, *number);
  if (*number > before) return std::nullopt;
  return "N2: " + name(message.group, *number) + " has its effect after number " + std::to_string(before);
}

Complaint Numbers::committed(const NumbersWrites& booking) {
  for (const KeptMessage& each : booking.kept)
    if (!each.isPast) kept_.insert_or_assign({each.message.group, each.number}, each.message.body);
  for (const auto& of : booking.dropped) {
    const auto kept = kept_.extract(of);
    if (kept && !ended_.contains(kept.mapped())) return "N3: what was kept is gone without an effect: " + kept.mapped();
  }
  for (const auto& [id, turn] : booking.turns)
    if (const Complaint complaint = moved(id, turn, booking)) return complaint;
  for (const auto& [id, group] : groups_)
    if (group.last > group.position)
      return "N1: " + name(id, group.last) + " has its effect, and its group stands at " +
             std::to_string(group.position);
  return std::nullopt;
}

Complaint Numbers::moved(const GroupId& id, const GroupTurn& turn, const NumbersWrites& booking) {
  Group& group = groups_[id];
  if (turn.position < group.position) return "N1: group " + id.value + " goes back";
  bool isGivenUp = false;
  for (std::int64_t number = group.position + 1; number <= turn.position; ++number) {
    const bool isPast = group.past.erase(number) > 0;
    const bool isKept = kept_.contains({id, number});
    const bool isNoted = std::ranges::find(booking.gaps, std::pair(id, number)) != booking.gaps.end();
    isGivenUp = !isPast && !isKept && (isGivenUp || isNoted);
    if (!isPast && !isGivenUp) return "N1: " + name(id, number) + " is passed over";
  }
  group.position = turn.position;
  return std::nullopt;
}

}  // namespace tenure::simulation
