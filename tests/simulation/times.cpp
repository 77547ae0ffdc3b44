#include "times.hpp"

#include <algorithm>

namespace tenure::simulation {
namespace {

using namespace std::chrono_literals;

// Wider than the promoter's own limits: what is between them is no promise.
constexpr Duration jump = 4min;
constexpr Duration whileDistrusted = 9min;
constexpr Duration tolerance = 90s;  // a step that is no jump, and what a drifting clock makes of ten minutes

std::string name(FencingToken token) { return "term " + std::to_string(token.value); }

/// Of a wall time against the world's own time; only differences of it say anything.
Duration aheadOf(WallTime wall, BootTime now) { return wall.time_since_epoch() - now.time_since_epoch(); }

std::string inMilliseconds(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count()) + " ms";
}

}  // namespace

Complaint Times::changed(const Change& change) {
  const auto [place, isNew] = known_.try_emplace(change.id, Known{Fate::cancelled});
  Known& known = place->second;
  const bool waits = known.fate == Fate::waits;
  if (known.fate == Fate::came) return "D2: " + change.id.value + " has come to its queue, and its row is changed";
  if (waits == (change.kind == Change::Kind::added))
    return "D2: " + change.id.value + (waits ? " is added twice" : " is changed, and does not wait");
  switch (change.kind) {
    case Change::Kind::added: known = {Fate::waits, change.due, ++added_}; break;
    case Change::Kind::cancelled: known.fate = Fate::cancelled; break;
    case Change::Kind::moved: known.due = change.due; break;
  }
  return std::nullopt;
}

Complaint Times::leftOut(const MessageId& id) const {
  const auto known = known_.find(id);
  if (known != known_.end() && known->second.fate != Fate::cancelled) return std::nullopt;
  return "D3: " + id.value + " is told to be there already, and neither waits nor came";
}

Complaint Times::told(const MessageId& id, ScheduleChange answer) const {
  const auto known = known_.find(id);
  const bool hasCome = known != known_.end() && known->second.fate == Fate::came;
  const bool waits = known != known_.end() && known->second.fate == Fate::waits;
  if (waits) return "D2: " + id.value + " waits, and is told not to";
  if (hasCome == (answer == ScheduleChange::fired)) return std::nullopt;
  return "D2: " + id.value + (hasCome ? " has come to its queue, and is told to be unknown" : " is told to have come");
}

void Times::looked(FencingToken by, BootTime now, WallTime stores) {
  const Duration ahead = aheadOf(stores, now);
  const auto [place, isFirst] = clocks_.try_emplace(by, Clock{ahead, ahead, {}, {}});
  Clock& clock = place->second;
  const Duration change = ahead - std::exchange(clock.ahead, ahead);
  if (change > jump || change < -jump) {
    clock.jumped = now;
    clock.bound = clock.most;
  } else {
    clock.bound += std::max(change, Duration::zero());
  }
  clock.most = std::max(clock.most, ahead);
}

Complaint Times::promoted(FencingToken by, FencingToken claimed, BootTime now, std::span<const MessageId> ids) {
  if (by != reader_) return "D5: " + name(by) + " has promoted, and " + name(reader_) + " reads the queue";
  if (by < claimed) return "D5: " + name(by) + " has promoted after the claim of " + name(claimed);
  const Clock& clock = clocks_.at(by);
  for (const MessageId& id : ids)
    if (const Complaint complaint = came(id, clock, now)) return complaint;
  return std::nullopt;
}

Complaint Times::came(const MessageId& id, const Clock& clock, BootTime now) {
  const auto found = known_.find(id);
  if (found == known_.end()) return "D2: " + id.value + " has come to its queue, and was never added";
  Known& known = found->second;
  if (known.fate != Fate::waits)
    return "D2: " + id.value +
           (known.fate == Fate::came ? " has come to its queue twice" : " has come though cancelled");
  const Duration early = aheadOf(known.due, now) - clock.ahead;
  if (early > Duration::zero()) return "D1: " + id.value + " has come " + inMilliseconds(early) + " before its time";
  const bool isDistrusted = clock.jumped && now - *clock.jumped < whileDistrusted;
  const Duration believed = aheadOf(known.due, now) - clock.bound - tolerance;
  if (isDistrusted && believed > Duration::zero())
    return "D1: " + id.value + " has come " + inMilliseconds(believed) + " early, by a clock that has just jumped";
  known.fate = Fate::came;
  return checkOrder(id, known);
}

Complaint Times::checkOrder(const MessageId& id, const Known& next) const {
  const auto isBefore = [&](const auto& one) {
    const Known& other = one.second;
    return other.fate == Fate::waits && std::pair(other.due, other.added) < std::pair(next.due, next.added);
  };
  const auto passed = std::ranges::find_if(known_, isBefore);
  if (passed == known_.end()) return std::nullopt;
  return "D4: " + id.value + " has come before " + passed->first.value;
}

bool Times::isDue(WallTime now) const {
  return std::ranges::any_of(known_,
                             [&](const auto& one) { return one.second.fate == Fate::waits && one.second.due <= now; });
}

Complaint Times::checkRoom(const Room& stored) const {
  for (const auto& [id, due] : stored)
    if (const auto known = known_.find(id); known == known_.end() || known->second.fate != Fate::waits)
      return "D2: " + id.value + " waits, and has come to its queue or was cancelled";
  for (const auto& [id, known] : known_) {
    if (known.fate != Fate::waits) continue;
    const auto kept = stored.find(id);
    if (kept == stored.end()) return "D3: " + id.value + " is lost: it neither waits, nor came, nor was cancelled";
    if (kept->second != known.due) return "D3: " + id.value + " waits for another time than it was given";
  }
  return std::nullopt;
}

}  // namespace tenure::simulation
