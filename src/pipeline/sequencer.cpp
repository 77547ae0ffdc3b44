#include "pipeline/sequencer.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/text.hpp"

namespace tenure::pipeline {
namespace {

auto findHeader(const NewMessage& message, std::string_view name) noexcept {
  return std::ranges::find(message.headers, name, &Headers::value_type::first);
}

}  // namespace

std::optional<std::int64_t> numberOf(const NewMessage& message) noexcept {
  if (message.group.value.empty()) return std::nullopt;
  const auto header = findHeader(message, numberHeader);
  if (header == message.headers.end()) return std::nullopt;
  const std::int64_t number = parseInteger(header->second).value_or(0);
  return number > 0 && number <= lastNumber ? number : 0;
}

Sequencer::Sequencer(ConsumerName consumer, std::chrono::milliseconds gapLimit, std::size_t maxKept,
                     std::size_t maxGroups, std::shared_ptr<OpenGroups> lists)
    : consumer_(std::move(consumer)),
      gapLimit_(gapLimit),
      maxKept_(maxKept),
      maxGroups_(maxGroups),
      lists_(lists ? std::move(lists) : std::make_shared<OpenGroups>()) {}

// --- what is known

Result<void> Sequencer::restore(const std::vector<std::string>& places) {
  for (const std::string& text : places) {
    Result<GroupPlace> place = placeFromText(text);
    if (!place) return place.error();
    if (place->isOpen()) lists_->set(digestText(consumer_, place->group), true);
    remember(*std::move(place));
  }
  return {};
}

Result<void> Sequencer::load(const GroupId& group, const std::optional<std::string>& place) {
  GroupPlace loaded{.group = group};
  if (place) {
    Result<GroupPlace> read = placeFromText(*place);
    if (!read) return read.error();
    loaded = *std::move(read);
  }
  if (loaded.group != group) return Error{Errc::storeFailed, "the place of another group is kept under this one's key"};
  forgetWhatCanBeLoaded();
  remember(std::move(loaded));
  return {};
}

/// All at once: whoever has so many groups that come and go reads each of them again now and then.
void Sequencer::forgetWhatCanBeLoaded() {
  if (places_.size() < maxGroups_) return;
  std::erase_if(places_, [](const auto& entry) { return !entry.second.isOpen(); });
}

void Sequencer::remember(GroupPlace place) {
  const std::string digest = digestText(consumer_, place.group);
  if (place.isOpen())
    open_.insert_or_assign(digest, place.group);
  else
    open_.erase(digest);
  if (isReadyToLoad(place))
    ready_.insert_or_assign(digest, place.group);
  else
    ready_.erase(digest);
  const GroupId group = place.group;
  places_.insert_or_assign(group, std::move(place));
}

bool Sequencer::isReadyToLoad(const GroupPlace& place) const {
  const auto held = inHand_.find(place.group);
  return place.isReady() && (held == inHand_.end() || held->second <= place.position);
}

const GroupPlace* Sequencer::find(const GroupId& group) const {
  if (const auto found = touched_.find(group); found != touched_.end()) return &found->second;
  const auto found = places_.find(group);
  return found == places_.end() ? nullptr : &found->second;
}

Turn Sequencer::turnOf(const Message& message) const {
  const auto number = numberOf(message);
  const bool isNote = !number && findHeader(message, missingHeader) != message.headers.end();
  if (!number) return isNote ? Turn::behind : Turn::any;
  if (*number == 0) return Turn::unreadable;
  const GroupPlace* place = find(message.group);
  if (place == nullptr) return Turn::unknown;
  if (*number <= place->position) return Turn::behind;
  const auto kept = place->waiting.find(*number);
  const bool isNext = *number == place->position + 1;
  if (kept == place->waiting.end()) {
    if (isNext) return Turn::next;
    return place->waiting.size() < maxKept_ ? Turn::early : Turn::crowded;
  }
  if (kept->second.empty()) return Turn::behind;
  if (const std::string mark = markOf(message); mark != kept->second)
    return haveOneId(mark, kept->second) ? Turn::reused : Turn::conflicting;
  return isNext ? Turn::next : Turn::waiting;
}

std::int64_t Sequencer::expected(const GroupId& group) const {
  const GroupPlace* place = find(group);
  return place == nullptr ? 1 : place->position + 1;
}

// --- the open transaction

GroupPlace& Sequencer::touch(const GroupId& group) {
  const auto found = touched_.find(group);
  if (found != touched_.end()) return found->second;
  return touched_.emplace(group, places_.at(group)).first->second;
}

void Sequencer::keep(const Message& message, WallTime now) {
  const std::int64_t number = *numberOf(message);
  GroupPlace& place = touch(message.group);
  TENURE_ASSERT(number > place.position + 1 && !place.waiting.contains(number));
  if (!place.isOpen()) place.since = now;
  place.waiting.emplace(number, markOf(message));
  const std::string digest = digestText(consumer_, message.group);
  messageWrites_.insert_or_assign(keptKey(digest, number), keptToText(message));
  messageWrites_.insert_or_assign(keptBodyKey(digest, number), message.body);
}

void Sequencer::settle(const Message& message, WallTime now) {
  const auto number = numberOf(message);
  if (number.value_or(0) == 0) return;
  const GroupPlace* known = find(message.group);
  if (known == nullptr || *number <= known->position) return;
  const auto kept = known->waiting.find(*number);
  const bool isKept = kept != known->waiting.end();
  if (isKept && kept->second != markOf(message)) return;  // another message's number
  GroupPlace& place = touch(message.group);
  if (*number > place.position + 1) {
    if (isKept) return;
    if (!place.isOpen()) place.since = now;
    place.waiting.emplace(*number, "");  // it died before its turn: nobody needs to wait for it
    return;
  }
  place.position = *number;
  if (isKept) {
    const std::string digest = digestText(consumer_, message.group);
    messageWrites_.insert_or_assign(keptKey(digest, *number), std::nullopt);
    messageWrites_.insert_or_assign(keptBodyKey(digest, *number), std::nullopt);
    place.waiting.erase(*number);
  }
  advance(place, now);
}

/// Over what died before its turn.
void Sequencer::advance(GroupPlace& place, WallTime now) {
  place.since = now;
  while (place.isOpen() && place.waiting.begin()->first == place.position + 1 && !place.isReady()) {
    ++place.position;
    place.waiting.erase(place.waiting.begin());
  }
}

void Sequencer::skip(const Gap& gap, WallTime now) {
  GroupPlace& place = touch(gap.group);
  place.position = gap.last;
  advance(place, now);
  Message missing;
  missing.id.value = "missing-" + digestText(consumer_, gap.group) + "-" + std::to_string(gap.first);
  missing.group = gap.group;
  missing.headers = {{std::string(missingHeader), std::to_string(gap.first)}};
  missing.enqueuedAt = now;
  const std::string numbers = gap.first == gap.last
                                  ? "number " + std::to_string(gap.first)
                                  : "numbers " + std::to_string(gap.first) + " to " + std::to_string(gap.last);
  notes_.push_back(
      {.message = std::move(missing),
       .reason = numbers + " never came, and " + std::to_string(gap.waiting) + " waited for " + formatDuration(gap.age),
       .attempts = 0,
       .firstAt = now - gap.age,
       .diedAt = now});
}

std::vector<StateWrite> Sequencer::writes() const {
  std::vector<StateWrite> writes = ownWrites();
  const std::vector<OpenChange> changes = openChanges();
  for (const char digit : changedLists()) writes.push_back(lists_->write(consumer_, digit, changes));
  return writes;
}

std::vector<StateWrite> Sequencer::ownWrites() const {
  std::vector<StateWrite> writes;
  for (const auto& [key, value] : messageWrites_) writes.push_back({key, value});
  for (const auto& [group, place] : touched_) writes.push_back({keyOf(group), placeToText(place)});
  return writes;
}

std::vector<OpenChange> Sequencer::openChanges() const {
  std::vector<OpenChange> changes;
  for (const auto& [group, place] : touched_)
    if (std::string digest = digestText(consumer_, group); place.isOpen() != open_.contains(digest))
      changes.push_back({std::move(digest), place.isOpen()});
  return changes;
}

std::set<char> Sequencer::changedLists() const {
  std::set<char> changed;
  for (const auto& [group, place] : touched_) {
    const std::string digest = digestText(consumer_, group);
    if (place.isOpen() != open_.contains(digest)) changed.insert(digest.front());
  }
  return changed;
}

bool Sequencer::readies() const noexcept {
  return !ready_.empty() ||
         std::ranges::any_of(touched_, [this](const auto& entry) { return isReadyToLoad(entry.second); });
}

void Sequencer::committed() {
  for (auto& [group, place] : touched_) {
    if (const std::string digest = digestText(consumer_, group); place.isOpen() != open_.contains(digest))
      lists_->set(digest, place.isOpen());
    if (const auto held = inHand_.find(group); held != inHand_.end() && held->second <= place.position)
      inHand_.erase(held);
    if (const auto told = told_.find(group); told != told_.end() && told->second <= place.position) told_.erase(told);
    remember(std::move(place));
  }
  undone();
}

void Sequencer::undone() noexcept {
  touched_.clear();
  messageWrites_.clear();
  notes_.clear();
}

// --- from one to another

void Sequencer::adopt(SequenceState state) {
  if (state.told != 0) told_[state.place.group] = state.told;
  remember(std::move(state.place));
}

std::optional<SequenceState> Sequencer::giveUp(const GroupId& group) {
  TENURE_ASSERT(!touched_.contains(group));
  auto place = places_.extract(group);
  if (!place) return std::nullopt;
  SequenceState state{.place = std::move(place.mapped())};
  if (const auto told = told_.extract(group)) state.told = told.mapped();
  inHand_.erase(group);
  const std::string digest = digestText(consumer_, group);
  open_.erase(digest);
  ready_.erase(digest);
  return state;
}

std::vector<SequenceState> Sequencer::giveUpAll(const std::function<bool(const GroupId&)>& but) {
  std::vector<GroupId> groups;
  for (const auto& [group, place] : places_)
    if (!but(group)) groups.push_back(group);
  std::vector<SequenceState> states;
  for (const GroupId& group : groups) states.push_back(*giveUp(group));
  return states;
}

// --- what comes back, and what does not come

std::optional<Ready> Sequencer::ready(std::size_t most) const {
  if (ready_.empty()) return std::nullopt;
  const GroupPlace& place = places_.at(ready_.begin()->second);
  Ready ready{place.group, {}};
  const auto count = static_cast<std::int64_t>(std::min(most, place.readyCount()));
  for (std::int64_t i = 1; i <= count; ++i) ready.numbers.push_back(place.position + i);
  return ready;
}

void Sequencer::took(const Ready& ready) {
  inHand_[ready.group] = ready.numbers.back();
  ready_.erase(digestText(consumer_, ready.group));
}

std::optional<Gap> Sequencer::overdue(WallTime now) const { return oldestGap(now, true); }

std::optional<Gap> Sequencer::untold(WallTime now) const { return oldestGap(now, false); }

std::optional<Gap> Sequencer::oldestGap(WallTime now, bool evenIfTold) const {
  std::optional<Gap> oldest;
  for (const auto& [digest, group] : open_) {
    const GroupPlace& place = places_.at(group);
    if (place.isReady() || now - place.since < gapLimit_) continue;
    const auto told = told_.find(group);
    if (!evenIfTold && told != told_.end() && told->second == place.position + 1) continue;
    if (const Gap gap = place.gap(now); !oldest || gap.age > oldest->age) oldest = gap;
  }
  return oldest;
}

Gap Sequencer::gapOf(const GroupId& group, WallTime now) const { return places_.at(group).gap(now); }

}  // namespace tenure::pipeline
