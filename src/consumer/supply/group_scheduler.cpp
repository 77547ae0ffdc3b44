#include "consumer/supply/group_scheduler.hpp"

#include <algorithm>
#include <functional>

#include "base/assert.hpp"

namespace tenure::supply {

namespace {

Place placeOf(const GroupScheduler::Held& held) noexcept { return held.entry.message.place(); }

}  // namespace

// --- the source's order

void GroupScheduler::SourceOrder::add(Number number, Line& line) {
  if (lines_.empty()) first_ = number;
  for (; number < first_; --first_) lines_.push_front(nullptr);
  if (number >= end()) lines_.resize(number - first_ + 1);
  lines_[number - first_] = &line;
}

void GroupScheduler::SourceOrder::remove(Number number) noexcept {
  lines_[number - first_] = nullptr;
  for (; !lines_.empty() && lines_.front() == nullptr; ++first_) lines_.pop_front();
}

// --- what waits

GroupScheduler::Line& GroupScheduler::add(const std::string& name, Entry entry) {
  Line& line = lineNamed(name, entry.message->group.value);
  ++waiting_;
  waitingBytes_ += entry.message->body.size();
  if (!rests_.empty()) restAgain(line, entry.message->id);
  if (!alone_.empty()) entry.isAlone = alone_.erase(entry.message->id) > 0;
  waitingAlone_ += entry.isAlone ? 1 : 0;
  if (!entry.isKept()) {
    order_.add(entry.number, line);
    copies_.add(Copies::hashOf(entry.message->id), entry.number);
  }
  line.waiting.push_back(std::move(entry));
  if (line.waits) ++resting_;
  makeReady(line);
  return line;
}

void GroupScheduler::addFirst(Line& line, Entry entry) {
  ++waiting_;
  waitingBytes_ += entry.message->body.size();
  waitingAlone_ += entry.isAlone ? 1 : 0;
  if (!entry.isKept()) order_.add(entry.number, line);
  line.waiting.push_front(std::move(entry));
}

/// A message that was parked before the source delivered it again is parked again, and its line with it.
void GroupScheduler::restAgain(Line& line, const MessageId& id) {
  const auto rest = rests_.extract(id);
  if (!rest || line.waits) return;
  unlist(line);
  wait(line, rest.mapped(), parked_);
}

void GroupScheduler::remember(const Entry& entry) {
  if (entry.isAlone) alone_.insert(entry.message->id);
}

void GroupScheduler::clear() {
  for (const auto& [until, line] : parked_)
    if (!line->waiting.empty()) rests_.insert_or_assign(line->waiting.front().message->id, until);
  for (const Line& line : lines_) std::ranges::for_each(line.waiting, [this](const Entry& each) { remember(each); });
  for (Lane& lane : lanes_) {
    for (const Held& each : lane.held) remember(each.entry);
    lane = {};
  }
  lines_.clear();
  byName_.clear();
  ready_.clear();
  unseen_.clear();
  inSight_.clear();
  order_.clear();
  looking_ = false;
  parked_.clear();
  heldBack_.clear();
  copies_.clear();
  behindCopies_.clear();
  waiting_ = resting_ = waitingBytes_ = waitingAlone_ = 0;
}

GroupScheduler::Line& GroupScheduler::lineNamed(const std::string& name, const std::string& group) {
  if (!name.empty())
    if (const auto known = byName_.find(name); known != byName_.end()) return *known->second;
  Line& line = lines_.emplace_back(Line{.name = name, .group = group});
  line.self = std::prev(lines_.end());
  if (!name.empty()) byName_.emplace(name, &line);
  return line;
}

void GroupScheduler::forgetIfIdle(Line& line) {
  if (!line.waiting.empty() || line.waits || line.held > 0 || line.unreleased > 0) return;
  if (!line.name.empty()) byName_.erase(line.name);
  lines_.erase(line.self);
}

/// At the end of those that are, when it is.
void GroupScheduler::makeReady(Line& line) {
  if (line.listedIn != nullptr || line.waits || line.held > 0 || line.unreleased > 0) return;
  if (line.waiting.empty()) return;
  list(line, !looks_ ? ready_ : looking_ ? inSight_ : unseen_);
}

void GroupScheduler::list(Line& line, Ready& in) {
  line.listedIn = &in;
  line.listedAt = in.insert(in.end(), &line);
}

void GroupScheduler::unlist(Line& line) noexcept {
  if (Ready* in = std::exchange(line.listedIn, nullptr)) in->erase(line.listedAt);
}

void GroupScheduler::move(Ready& from, Ready& to) {
  for (Line* line : from) line->listedIn = &to;
  to.splice(to.end(), from);
}

void GroupScheduler::beginLook() {
  looking_ = true;
  move(unseen_, inSight_);
}

void GroupScheduler::endLook() {
  looking_ = false;
  move(inSight_, ready_);
}

// --- to the lanes

GroupScheduler::Turn GroupScheduler::take(std::size_t lane, std::size_t max, BootTime now, const EndsTurn& endsTurn) {
  resume(parked_, now);
  resume(heldBack_, now);
  Turn turn;
  for (auto next = ready_.begin(); turn.entries.empty() && next != ready_.end();) {
    Line& line = **next++;
    if (line.waiting.front().isAlone && holds(lane)) continue;
    unlist(line);
    const GroupId group{line.group};
    if (isBehindCopy(line, lane)) {
      waitForCopy(line);
      continue;
    }
    while (turn.entries.size() < max && !line.waiting.empty() && !isBehindCopy(line, lane)) {
      if (const BootTime due = throttle_.mayGo(group, now); due > now) {
        if (turn.entries.empty()) holdBack(line, due, now, turn);
        break;
      }
      throttle_.went(group, now);
      handOut(line, lane, turn.entries);
      const bool isLast = turn.entries.back().isAlone || (!line.waiting.empty() && line.waiting.front().isAlone);
      if (isLast || endsTurn(*turn.entries.back().message)) break;
    }
  }
  return turn;
}

std::vector<Entry> GroupScheduler::sweep(std::size_t lane, std::size_t max, BootTime now) {
  constexpr std::size_t others = 4;  // for each that is taken, so many are passed whose line is not free
  resume(parked_, now);
  std::vector<Entry> entries;
  if (looks_ || limitsAnything()) return entries;
  std::size_t steps = max * (1 + others);
  for (Number number = order_.begin(); number < order_.end() && entries.size() < max && steps > 0; ++number) {
    Line* line = order_[number];
    if (line == nullptr) continue;
    --steps;
    const Entry& first = line->waiting.front();
    if (!isFreeFor(*line, lane) || first.number != number || first.isAlone || isBehindCopy(*line, lane)) continue;
    unlist(*line);
    handOut(*line, lane, entries);
  }
  return entries;
}

std::vector<Entry> GroupScheduler::spread(std::size_t lane, std::size_t max, BootTime now) {
  resume(parked_, now);
  std::vector<Entry> entries;
  if (limitsAnything() || waitingAlone_ > 0) return entries;
  for (auto next = ready_.begin(); entries.size() < max && next != ready_.end();) {
    Line& line = **next++;
    if (isBehindCopy(line, lane)) continue;
    unlist(line);
    handOut(line, lane, entries);
  }
  return entries;
}

bool GroupScheduler::isFreeFor(const Line& line, std::size_t lane) const noexcept {
  if (line.waits) return false;
  return line.listedIn == &ready_ || (line.held + line.unreleased > 0 && line.lane == lane);
}

bool GroupScheduler::isNext(const Line& line, Number number, std::size_t lane) const {
  return !line.waits && !line.waiting.empty() && line.waiting.front().number <= number && !isBehindCopy(line, lane);
}

void GroupScheduler::takeUpTo(Line& line, Number number, std::size_t lane, const EndsTurn& endsTurn,
                              std::vector<Entry>& to) {
  unlist(line);
  do handOut(line, lane, to);
  while (isNext(line, number, lane) && !endsTurn(*to.back().message));
}

void GroupScheduler::holdBack(Line& line, BootTime until, BootTime now, Turn& turn) {
  const Message& next = *line.waiting.front().message;
  if (std::exchange(line.told, next.id) != next.id)
    turn.heldBack.push_back(
        {next.id.value, next.group.value, std::chrono::ceil<std::chrono::milliseconds>(until - now)});
  wait(line, until, heldBack_);
}

/// A copy in the same line as the first message comes behind it anyway, so it need not wait.
bool GroupScheduler::isBehindCopy(const Line& line, std::size_t lane) const {
  const Entry& next = line.waiting.front();
  const auto before = copies_.before(next.message->id, next.number);
  if (next.isSuccessor || next.isKept() || !before) return false;
  const auto& held = lanes_[lane].held;
  const auto first = std::ranges::find(held, *before, [](const Held& each) { return each.entry.number; });
  return first == held.end() || first->line != &line;
}

void GroupScheduler::waitForCopy(Line& line) {
  rest(line);
  behindCopies_.emplace(line.waiting.front().number, &line);
}

void GroupScheduler::letCopyGo(const Held& done) {
  if (done.entry.isSuccessor || done.entry.isKept()) return;
  const auto next = copies_.remove(Copies::hashOf(done.entry.message->id), done.entry.number);
  if (!next) return;
  if (const auto line = behindCopies_.extract(*next)) wake(*line.mapped());
}

/// Hands out the line's next message.
void GroupScheduler::handOut(Line& line, std::size_t lane, std::vector<Entry>& to) {
  Entry& next = line.waiting.front();
  line.lane = lane;
  lanes_[lane].held.push_back({next, &line});
  ++line.held;
  --waiting_;
  waitingBytes_ -= next.message->body.size();
  waitingAlone_ -= next.isAlone ? 1 : 0;
  if (!next.isKept()) order_.remove(next.number);
  to.push_back(std::move(next));
  line.waiting.pop_front();
}

GroupScheduler::Held GroupScheduler::finish(std::size_t lane, Place place) {
  Lane& at = lanes_[lane];
  const auto found = std::ranges::find(at.held, place, placeOf);
  TENURE_ASSERT(found != at.held.end());
  Held done = std::move(*found);
  at.held.erase(found);
  --done.line->held;
  ++done.line->unreleased;
  at.unreleased.push_back(done.line);
  letCopyGo(done);
  return done;
}

void GroupScheduler::release(std::size_t lane) {
  for (Line* line : lanes_[lane].unreleased) {
    --line->unreleased;
    makeReady(*line);
    forgetIfIdle(*line);
  }
  lanes_[lane].unreleased.clear();
}

void GroupScheduler::park(std::size_t lane, std::span<const Item> items, BootTime until) {
  auto& held = lanes_[lane].held;
  const auto first = std::ranges::find(held, items.front().place, placeOf);
  TENURE_ASSERT(first != held.end());
  Line& line = *first->line;
  const auto isOfLine = [&](const Held& each) { return each.line == &line; };
  const auto others = std::ranges::stable_partition(held, std::not_fn(isOfLine));
  TENURE_ASSERT(std::ranges::equal(others, items, {}, placeOf, &Item::place));
  for (std::size_t i = items.size(); i-- > 0;) {
    Entry& entry = others[static_cast<std::ptrdiff_t>(i)].entry;
    entry.isAlone = items[i].isSuspect;
    addFirst(line, std::move(entry));
  }
  held.erase(others.begin(), others.end());
  line.held = 0;
  wait(line, until, parked_);
}

const Message* GroupScheduler::held(std::size_t lane, Place place) const {
  const auto found = std::ranges::find(lanes_[lane].held, place, placeOf);
  return found == lanes_[lane].held.end() ? nullptr : &*found->entry.message;
}

// --- limits, and lines that wait for a time

void GroupScheduler::limit(RateRules rules) {
  throttle_.apply(std::move(rules));
  resume(heldBack_, BootTime::max());
}

BootTime GroupScheduler::takeTurn(const GroupId& heldUpBy, const GroupId& group, BootTime now) {
  const BootTime due = throttle_.mayGo(heldUpBy, now);
  if (due <= now) throttle_.went(group, now);
  return due;
}

void GroupScheduler::giveBack(const GroupId& group, std::size_t tokens, BootTime now) {
  for (; tokens > 0; --tokens) {
    throttle_.returned(group, now);
    if (!heldBack_.empty()) resumeFirst(heldBack_);
  }
}

void GroupScheduler::rest(Line& line) noexcept {
  line.waits = true;
  resting_ += line.waiting.size();
}

void GroupScheduler::wake(Line& line) {
  line.waits = false;
  resting_ -= line.waiting.size();
  makeReady(line);
}

void GroupScheduler::wait(Line& line, BootTime until, Waits& among) {
  rest(line);
  among.emplace(until, &line);
}

void GroupScheduler::resume(Waits& among, BootTime now) {
  while (!among.empty() && among.begin()->first <= now) resumeFirst(among);
}

void GroupScheduler::resumeFirst(Waits& among) {
  Line& line = *among.begin()->second;
  among.erase(among.begin());
  wake(line);
}

bool GroupScheduler::isReady(BootTime now) const noexcept {
  const std::optional<BootTime> due = nextDue();
  return !ready_.empty() || (due && *due <= now);
}

std::optional<BootTime> GroupScheduler::nextDue() const noexcept {
  if (parked_.empty() && heldBack_.empty()) return std::nullopt;
  if (parked_.empty()) return heldBack_.begin()->first;
  return heldBack_.empty() ? parked_.begin()->first : std::min(parked_.begin()->first, heldBack_.begin()->first);
}

}  // namespace tenure::supply
