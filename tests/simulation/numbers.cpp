#include "numbers.hpp"

#include <algorithm>

namespace tenure::simulation {
namespace {

std::string name(const GroupId& group, std::int64_t number) {
  return "number " + std::to_string(number) + " of group " + group.value;
}

bool isBody(std::string_view key) { return key.ends_with("/body"); }

}  // namespace

std::string Numbers::keyOf(const NewMessage& message) const {
  return pipeline::keptBodyKey(pipeline::digestText(options_.name, message.group), *pipeline::numberOf(message));
}

void Numbers::produced(const NewMessage& message) {
  if (pipeline::numberOf(message))
    placeKeys_.insert(pipeline::placeKey(pipeline::digestText(options_.name, message.group)));
}

bool Numbers::keeps(const NewMessage& message) const {
  if (!pipeline::numberOf(message)) return false;
  const auto kept = kept_.find(keyOf(message));
  return kept != kept_.end() && kept->second == message.body;
}

Complaint Numbers::effect(const NewMessage& message, MessageFate fate) {
  const auto number = pipeline::numberOf(message);
  if (!number) return std::nullopt;
  Group& group = groups_[message.group];
  ended_.insert(message.body);
  group.past.insert(*number);
  if (fate == MessageFate::dead) return std::nullopt;
  const std::int64_t before = std::exchange(group.last, *number);
  if (*number > before) return std::nullopt;
  return "N2: " + name(message.group, *number) + " has its effect after number " + std::to_string(before);
}

Complaint Numbers::committed(const NumbersBooking& booking) {
  for (const pipeline::StateWrite& write : booking.writes)
    if (const Complaint complaint = wrote(write)) return complaint;
  for (const pipeline::StateWrite& write : booking.writes) {
    if (!write.value || !placeKeys_.contains(write.key)) continue;
    const Result<pipeline::GroupPlace> place = pipeline::placeFromText(*write.value);
    if (!place) return "N1: a place that cannot be read";
    if (const Complaint complaint = moved(*place, booking)) return complaint;
  }
  for (const auto& [id, group] : groups_)
    if (group.last > group.position)
      return "N1: " + name(id, group.last) + " has its effect, and its group stands at " +
             std::to_string(group.position);
  return std::nullopt;
}

Complaint Numbers::wrote(const pipeline::StateWrite& write) {
  if (!isBody(write.key)) return std::nullopt;
  if (write.value) {
    kept_.insert_or_assign(write.key, *write.value);
    return std::nullopt;
  }
  const auto kept = kept_.extract(write.key);
  if (kept && !ended_.contains(kept.mapped())) return "N3: what was kept is gone without an effect: " + kept.mapped();
  return std::nullopt;
}

Complaint Numbers::moved(const pipeline::GroupPlace& place, const NumbersBooking& booking) {
  Group& group = groups_[place.group];
  const std::string digest = pipeline::digestText(options_.name, place.group);
  if (place.position < group.position) return "N1: group " + place.group.value + " goes back";
  bool isGivenUp = false;
  for (std::int64_t number = group.position + 1; number <= place.position; ++number) {
    const bool isPast = group.past.erase(number) > 0;
    const bool isKept = kept_.contains(pipeline::keptBodyKey(digest, number));
    const bool isNoted = std::ranges::find(booking.gaps, std::pair(place.group, number)) != booking.gaps.end();
    isGivenUp = !isPast && !isKept && (isGivenUp || isNoted);
    if (!isPast && !isGivenUp) return "N1: " + name(place.group, number) + " is passed over";
  }
  group.position = place.position;
  return std::nullopt;
}

}  // namespace tenure::simulation
