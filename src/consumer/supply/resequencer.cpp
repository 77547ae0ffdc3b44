#include "consumer/supply/resequencer.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/digest.hpp"
#include "base/text.hpp"
#include "base/validation.hpp"
#include "messages/headers.hpp"

namespace tenure::supply {
namespace {

/// For the id of the dead letter that tells of missing numbers: a group alone may be as long as an id.
std::string digestText(const ConsumerName& consumer, const GroupId& group) {
  const auto withLength = [](const std::string& text) { return std::to_string(text.size()) + ":" + text; };
  return hexadecimal(digestOf(withLength(consumer.value) + withLength(group.value))).substr(0, 32);
}

NumberedGroup::Mark markOf(const NewMessage& message) { return {message.id, digestOf(message.body)}; }

DeadLetter noteOf(const ConsumerName& consumer, const Gap& gap, WallTime now) {
  Message missing;
  missing.id.value = "missing-" + digestText(consumer, gap.group) + "-" + std::to_string(gap.first);
  missing.group = gap.group;
  missing.enqueuedAt = now;
  const std::string numbers = gap.first == gap.last
                                  ? "number " + std::to_string(gap.first)
                                  : "numbers " + std::to_string(gap.first) + " to " + std::to_string(gap.last);
  return {
      .message = std::move(missing),
      .reason = numbers + " never came, and " + std::to_string(gap.waiting) + " waited for " + formatDuration(gap.age),
      .attempts = 0,
      .firstAt = now - gap.age,
      .diedAt = now,
      .missingFrom = gap.first,
      .missingTo = gap.last};
}

}  // namespace

std::optional<std::int64_t> numberOf(const NewMessage& message) noexcept {
  if (message.group.value.empty() || !isGroup(message.group)) return std::nullopt;
  const std::string* header = headerOf(message, numberHeader);
  if (header == nullptr) return std::nullopt;
  const std::int64_t number = parseInteger(*header).value_or(0);
  return number > 0 && number <= lastNumber ? number : 0;
}

// --- what is known

void Resequencer::restore(std::vector<NumberedGroup> groups) {
  groups_.clear();
  open_.clear();
  ready_.clear();
  moving_ = 0;
  for (NumberedGroup& each : groups) {
    const std::int64_t position = each.turn.position;
    Group& group = groups_[each.group];
    group = {.turn = each.turn, .handed = position, .covered = position, .kept = std::move(each.kept)};
    note(each.group, group);
  }
}

std::vector<GroupId> Resequencer::unknownOf(std::span<const Message> messages) const {
  std::vector<GroupId> unknown;
  std::set<GroupId> seen;
  for (const Message& message : messages)
    if (numberOf(message).value_or(0) > 0 && !groups_.contains(message.group) && seen.insert(message.group).second)
      unknown.push_back(message.group);
  return unknown;
}

/// All at once: a consumer with so many groups that come and go reads each of them again now and then.
void Resequencer::forgetWhatCanBeRead() {
  if (groups_.size() >= rules_.maxGroups)
    std::erase_if(groups_, [](const auto& each) { return each.second.kept.empty() && each.second.moving == 0; });
}

void Resequencer::learn(std::span<const std::pair<GroupId, GroupTurn>> turns) {
  for (const auto& [id, turn] : turns) groups_[id] = {.turn = turn, .handed = turn.position, .covered = turn.position};
}

bool Resequencer::waits(const Group& group) { return group.kept.upper_bound(group.handed) != group.kept.end(); }

bool Resequencer::isReady(const Group& group) {
  const auto next = group.kept.upper_bound(group.handed);
  return next != group.kept.end() && next->first == group.handed + 1 && !group.dying.contains(next->first);
}

/// Mostly nothing of a group is kept.
void Resequencer::note(const GroupId& id, Group& group) {
  if (group.kept.empty() && !group.isListed) return;
  waits(group) ? static_cast<void>(open_.insert(id)) : static_cast<void>(open_.erase(id));
  isReady(group) ? static_cast<void>(ready_.insert(id)) : static_cast<void>(ready_.erase(id));
  group.isListed = !group.kept.empty();
}

Turn Resequencer::turnOf(const Group& group, const Message& message, std::int64_t number) const {
  if (number <= group.handed) return Turn::behind;
  const auto kept = group.kept.find(number);
  if (kept == group.kept.end()) return number == group.handed + 1 ? Turn::next : Turn::early;
  if (kept->second.isPast) return Turn::behind;
  if (kept->second.id != message.id) return Turn::conflicting;
  return kept->second == markOf(message) ? Turn::waiting : Turn::reused;
}

// --- in order

Resequencer::Plan Resequencer::sort(std::vector<Message> messages, WallTime now) {
  Plan plan;
  while (!ready_.empty()) {
    const GroupId id = *ready_.begin();
    handOutKept(id, groups_.at(id), plan);
  }
  for (Message& message : messages) place(std::move(message), now, plan);
  return plan;
}

void Resequencer::place(Message message, WallTime now, Plan& plan) {
  const auto number = numberOf(message);
  if (number.value_or(0) == 0) {
    plan.items.push_back({std::move(message), {.turn = number ? Turn::unreadable : Turn::any}});
    return;
  }
  const GroupId id = message.group;
  Group& group = groups_.at(id);
  const Turn turn = turnOf(group, message, *number);
  if (turn == Turn::next) {
    handOut(group, std::move(message), {.turn = Turn::next, .number = *number}, false, plan);
    handOutKept(id, group, plan);
  } else if (turn == Turn::early) {
    keep(group, std::move(message), *number, now, plan);
  } else {
    plan.items.push_back({std::move(message), {.turn = turn}});
  }
}

/// The missing number may come behind all that wait for it. So a gap is given up before its time where too many wait,
/// or the message ends the term; but where the group moves, there is no gap yet, and one more is kept.
void Resequencer::keep(Group& group, Message message, std::int64_t number, WallTime now, Plan& plan) {
  const GroupId id = message.group;
  if (rules_.isUnfit && rules_.isUnfit(message)) {
    group.kept.emplace(number, markOf(message));
    plan.items.push_back(refused(message));
    return;
  }
  const auto waiting = static_cast<std::size_t>(std::distance(group.kept.upper_bound(group.handed), group.kept.end()));
  if (waiting >= rules_.maxKept && group.moving == 0) {
    const Gap gap = gapOf(id, group, now);
    if (!isTold(gap)) plan.news.push_back(GapFound{id.value, gap.first, gap.waiting, gap.age});
    told_[id] = gap.first;
    if (rules_.skipsGaps) {
      skip(group, gap, now, plan);
      return place(std::move(message), now, plan);
    }
    plan.items.push_back({std::move(message), {.turn = Turn::crowded, .number = gap.first}});
    return;
  }
  if (group.moving == 0 && waiting == 0) {
    group.turn.since = now;
    plan.writes.turns.emplace_back(id, group.turn);
  }
  group.kept.emplace(number, markOf(message));
  note(id, group);
  plan.news.push_back(MessageKept{message.id.value, id.value, number, group.handed + 1});
  plan.writes.kept.push_back({.number = number, .message = std::move(message)});
}

Resequencer::Item Resequencer::refused(const Message& message) {
  const std::int64_t number = *numberOf(message);
  Group& group = groups_.at(message.group);
  group.dying.insert(number);
  ++group.moving;
  ++moving_;
  note(message.group, group);
  return {message, {.turn = Turn::early, .number = number}};
}

void Resequencer::handOut(Group& group, Message message, Standing standing, bool isInStore, Plan& plan) {
  standing.first = group.covered + 1;
  standing.last = group.covered = group.handed = standing.number;
  ++group.moving;
  ++moving_;
  plan.items.push_back({std::move(message), standing, isInStore});
}

/// Numbers that are past already are so with the message before them, or with the next one.
void Resequencer::handOutKept(const GroupId& id, Group& group, Plan& plan) {
  for (; isReady(group); note(id, group)) {
    const auto& [number, mark] = *group.kept.upper_bound(group.handed);
    if (!mark.isPast) {
      Message message;
      message.id = mark.id;
      message.group = id;
      handOut(group, std::move(message), {.turn = Turn::next, .isKept = true, .number = number}, true, plan);
      continue;
    }
    group.handed = number;
    const bool isBehindOne =
        !plan.items.empty() && plan.items.back().message.group == id && plan.items.back().standing.last == number - 1;
    if (isBehindOne) plan.items.back().standing.last = group.covered = number;
  }
  note(id, group);
}

void Resequencer::settled(const GroupId& id, const Standing& standing, WallTime now) {
  if (standing.turn != Turn::next && standing.turn != Turn::early) return;
  Group& group = groups_.at(id);
  --group.moving;
  --moving_;
  if (standing.turn == Turn::next) {
    if (standing.last > group.turn.position) group.turn = {standing.last, now};
    group.kept.erase(group.kept.begin(), group.kept.upper_bound(standing.last));
    if (const auto told = told_.find(id); told != told_.end() && told->second <= standing.last) told_.erase(told);
  } else {
    group.dying.erase(standing.number);
    group.kept.at(standing.number).isPast = true;
  }
  note(id, group);
}

// --- what does not come

Resequencer::Plan Resequencer::skip(const Gap& gap, WallTime now) {
  Plan plan;
  skip(groups_.at(gap.group), gap, now, plan);
  return plan;
}

void Resequencer::skip(Group& group, const Gap& gap, WallTime now, Plan& plan) {
  TENURE_ASSERT(group.moving == 0);
  std::int64_t position = gap.last;
  for (auto next = group.kept.begin(); next != group.kept.end() && next->first <= position + 1;) {
    if (next->first == position + 1 && !next->second.isPast) break;
    position = std::max(position, next->first);
    plan.writes.dropped.emplace_back(gap.group, next->first);
    next = group.kept.erase(next);
  }
  group.turn = {position, now};
  group.handed = group.covered = position;
  plan.writes.turns.emplace_back(gap.group, group.turn);
  plan.writes.notes.push_back(noteOf(rules_.consumer, gap, now));
  plan.news.push_back(GapSkipped{gap.group.value, gap.first, gap.last});
  note(gap.group, group);
  handOutKept(gap.group, group, plan);
}

Gap Resequencer::gapOf(const GroupId& id, const Group& group, WallTime now) {
  const auto next = group.kept.upper_bound(group.handed);
  return {id, group.handed + 1, next->first - 1, static_cast<std::size_t>(std::distance(next, group.kept.end())),
          std::chrono::duration_cast<std::chrono::milliseconds>(now - group.turn.since)};
}

bool Resequencer::isTold(const Gap& gap) const {
  const auto told = told_.find(gap.group);
  return told != told_.end() && told->second == gap.first;
}

std::optional<Gap> Resequencer::oldGapOf(const GroupId& id, WallTime now) const {
  const Group& group = groups_.at(id);
  if (group.moving > 0 || isReady(group)) return std::nullopt;
  const Gap gap = gapOf(id, group, now);
  return gap.age < rules_.gapLimit ? std::nullopt : std::optional(gap);
}

std::optional<Gap> Resequencer::overdue(WallTime now) const {
  std::optional<Gap> oldest;
  for (const GroupId& id : open_)
    if (const auto gap = oldGapOf(id, now); gap && (!oldest || gap->age > oldest->age)) oldest = gap;
  return oldest;
}

std::vector<Gap> Resequencer::tell(WallTime now) {
  std::vector<Gap> untold;
  for (const GroupId& id : open_) {
    const auto gap = oldGapOf(id, now);
    if (!gap || isTold(*gap)) continue;
    told_[id] = gap->first;
    untold.push_back(*gap);
  }
  return untold;
}

}  // namespace tenure::supply
