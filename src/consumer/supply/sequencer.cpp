#include "consumer/supply/sequencer.hpp"

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

}  // namespace

std::optional<std::int64_t> numberOf(const NewMessage& message) noexcept {
  if (message.group.value.empty() || !isGroup(message.group)) return std::nullopt;
  const std::string* header = headerOf(message, numberHeader);
  if (header == nullptr) return std::nullopt;
  const std::int64_t number = parseInteger(*header).value_or(0);
  return number > 0 && number <= lastNumber ? number : 0;
}

Sequencer::Sequencer(ConsumerName consumer, std::chrono::milliseconds gapLimit, std::size_t maxKept,
                     std::size_t maxGroups)
    : consumer_(std::move(consumer)), gapLimit_(gapLimit), maxKept_(maxKept), maxGroups_(maxGroups) {}

// --- what is known

void Sequencer::restore(std::vector<NumberedGroup> groups) {
  for (NumberedGroup& group : groups) remember(std::move(group));
}

void Sequencer::load(const GroupId& group, const GroupTurn& turn) {
  forgetWhatCanBeLoaded();
  remember({.group = group, .turn = turn});
}

/// All at once: a consumer with so many groups that come and go reads each of them again now and then.
void Sequencer::forgetWhatCanBeLoaded() {
  if (groups_.size() < maxGroups_) return;
  std::erase_if(groups_,
                [this](const auto& entry) { return !isOpen(entry.second) && !touched_.contains(entry.first); });
}

void Sequencer::remember(NumberedGroup group) {
  const GroupId id = group.group;
  isOpen(group) ? static_cast<void>(open_.insert(id)) : static_cast<void>(open_.erase(id));
  isReadyToLoad(group) ? static_cast<void>(ready_.insert(id)) : static_cast<void>(ready_.erase(id));
  groups_.insert_or_assign(id, std::move(group));
}

bool Sequencer::isReadyToLoad(const NumberedGroup& group) const {
  const auto held = inHand_.find(group.group);
  return isReady(group) && (held == inHand_.end() || held->second <= group.turn.position);
}

const NumberedGroup* Sequencer::find(const GroupId& id) const {
  if (const auto found = touched_.find(id); found != touched_.end()) return &found->second;
  const auto found = groups_.find(id);
  return found == groups_.end() ? nullptr : &found->second;
}

Turn Sequencer::turnOf(const Message& message) const {
  const auto number = numberOf(message);
  if (!number) return Turn::any;
  if (*number == 0) return Turn::unreadable;
  const NumberedGroup* group = find(message.group);
  if (group == nullptr) return Turn::unknown;
  if (*number <= group->turn.position) return Turn::behind;
  const auto kept = group->kept.find(*number);
  const bool isNext = *number == group->turn.position + 1;
  if (kept == group->kept.end()) {
    if (isNext) return Turn::next;
    return group->kept.size() < maxKept_ ? Turn::early : Turn::crowded;
  }
  if (kept->second.isPast) return Turn::behind;
  if (kept->second.id != message.id) return Turn::conflicting;
  if (kept->second != markOf(message)) return Turn::reused;
  return isNext ? Turn::next : Turn::waiting;
}

std::int64_t Sequencer::expected(const GroupId& group) const {
  const NumberedGroup* known = find(group);
  return known == nullptr ? 1 : known->turn.position + 1;
}

// --- the open transaction

NumberedGroup& Sequencer::touch(const GroupId& id) {
  const auto found = touched_.find(id);
  if (found != touched_.end()) return found->second;
  return touched_.emplace(id, groups_.at(id)).first->second;
}

void Sequencer::keep(const Message& message, WallTime now) {
  const std::int64_t number = *numberOf(message);
  NumberedGroup& group = touch(message.group);
  TENURE_ASSERT(number > group.turn.position + 1 && !group.kept.contains(number));
  if (!isOpen(group)) group.turn.since = now;
  group.kept.emplace(number, markOf(message));
  keptWrites_.insert_or_assign({message.group, number}, KeptMessage{.number = number, .message = message});
}

void Sequencer::settle(const Message& message, WallTime now) {
  const auto number = numberOf(message);
  if (number.value_or(0) == 0) return;
  const NumberedGroup* known = find(message.group);
  if (known == nullptr || *number <= known->turn.position) return;
  const auto kept = known->kept.find(*number);
  const bool isKept = kept != known->kept.end();
  if (isKept && kept->second != markOf(message)) return;  // another message's number
  if (*number == known->turn.position + 1) {
    NumberedGroup& group = touch(message.group);
    group.turn.position = *number;
    if (isKept) drop(group, *number);
    advance(group, now);
  } else if (!isKept) {
    passEarly(message, *number, now);
  }
}

/// The message died before its turn: no other waits for its number.
void Sequencer::passEarly(const Message& message, std::int64_t number, WallTime now) {
  NumberedGroup& group = touch(message.group);
  if (!isOpen(group)) group.turn.since = now;
  KeptMessage past{.number = number, .message = {}, .isPast = true};
  past.message.id = message.id;
  past.message.group = message.group;
  group.kept.emplace(number, NumberedGroup::Mark{.id = message.id, .digest = digestOf({}), .isPast = true});
  keptWrites_.insert_or_assign({message.group, number}, std::move(past));
}

void Sequencer::drop(NumberedGroup& group, std::int64_t number) {
  group.kept.erase(number);
  keptWrites_.insert_or_assign({group.group, number}, std::nullopt);
}

/// Over what died before its turn.
void Sequencer::advance(NumberedGroup& group, WallTime now) {
  group.turn.since = now;
  while (isOpen(group) && group.kept.begin()->first == group.turn.position + 1 && !isReady(group))
    drop(group, ++group.turn.position);
}

void Sequencer::skip(const Gap& gap, WallTime now) {
  NumberedGroup& group = touch(gap.group);
  group.turn.position = gap.last;
  advance(group, now);
  Message missing;
  missing.id.value = "missing-" + digestText(consumer_, gap.group) + "-" + std::to_string(gap.first);
  missing.group = gap.group;
  missing.enqueuedAt = now;
  const std::string numbers = gap.first == gap.last
                                  ? "number " + std::to_string(gap.first)
                                  : "numbers " + std::to_string(gap.first) + " to " + std::to_string(gap.last);
  notes_.push_back(
      {.message = std::move(missing),
       .reason = numbers + " never came, and " + std::to_string(gap.waiting) + " waited for " + formatDuration(gap.age),
       .attempts = 0,
       .firstAt = now - gap.age,
       .diedAt = now,
       .missingFrom = gap.first,
       .missingTo = gap.last});
}

NumberWrites Sequencer::writes() const {
  NumberWrites writes{.notes = notes_};
  for (const auto& [of, message] : keptWrites_)
    message ? writes.kept.push_back(*message) : writes.dropped.push_back(of);
  for (const auto& [id, group] : touched_)
    if (group.turn != groups_.at(id).turn) writes.turns.emplace_back(id, group.turn);
  return writes;
}

bool Sequencer::readies() const noexcept {
  return !ready_.empty() ||
         std::ranges::any_of(touched_, [this](const auto& entry) { return isReadyToLoad(entry.second); });
}

void Sequencer::committed() {
  for (auto& [id, group] : touched_) {
    if (const auto held = inHand_.find(id); held != inHand_.end() && held->second <= group.turn.position)
      inHand_.erase(held);
    if (const auto told = told_.find(id); told != told_.end() && told->second <= group.turn.position) told_.erase(told);
    remember(std::move(group));
  }
  undone();
}

void Sequencer::undone() noexcept {
  touched_.clear();
  keptWrites_.clear();
  notes_.clear();
}

// --- from one to another

void Sequencer::adopt(SequenceState state) {
  if (state.told != 0) told_[state.group.group] = state.told;
  remember(std::move(state.group));
}

std::optional<SequenceState> Sequencer::giveUp(const GroupId& group) {
  TENURE_ASSERT(!touched_.contains(group));
  auto known = groups_.extract(group);
  if (!known) return std::nullopt;
  SequenceState state{.group = std::move(known.mapped())};
  if (const auto told = told_.extract(group)) state.told = told.mapped();
  inHand_.erase(group);
  open_.erase(group);
  ready_.erase(group);
  return state;
}

std::vector<SequenceState> Sequencer::giveUpAll(const std::function<bool(const GroupId&)>& but) {
  std::vector<GroupId> groups;
  for (const auto& [id, group] : groups_)
    if (!but(id)) groups.push_back(id);
  std::vector<SequenceState> states;
  for (const GroupId& group : groups) states.push_back(*giveUp(group));
  return states;
}

// --- what comes back, and what does not come

std::optional<Ready> Sequencer::ready(std::size_t most) const {
  if (ready_.empty()) return std::nullopt;
  const NumberedGroup& group = groups_.at(*ready_.begin());
  Ready ready{group.group, {}};
  const auto count = static_cast<std::int64_t>(std::min(most, readyCount(group)));
  for (std::int64_t i = 1; i <= count; ++i) ready.numbers.push_back(group.turn.position + i);
  return ready;
}

void Sequencer::onTaken(const Ready& ready) {
  inHand_[ready.group] = ready.numbers.back();
  ready_.erase(ready.group);
}

std::optional<Gap> Sequencer::overdue(WallTime now) const { return oldestGap(now, true); }

std::optional<Gap> Sequencer::untold(WallTime now) const { return oldestGap(now, false); }

std::optional<Gap> Sequencer::oldestGap(WallTime now, bool evenIfTold) const {
  std::optional<Gap> oldest;
  for (const GroupId& id : open_) {
    const NumberedGroup& group = groups_.at(id);
    if (isReady(group) || now - group.turn.since < gapLimit_) continue;
    const auto told = told_.find(id);
    if (!evenIfTold && told != told_.end() && told->second == group.turn.position + 1) continue;
    if (const Gap gap = supply::gapOf(group, now); !oldest || gap.age > oldest->age) oldest = gap;
  }
  return oldest;
}

Gap Sequencer::gapOf(const GroupId& group, WallTime now) const { return supply::gapOf(groups_.at(group), now); }

}  // namespace tenure::supply
