#include "testing/memory/memory_waiting_room.hpp"

#include <algorithm>

#include "storage/records.hpp"
#include "storage/scheduled/waiting_rows.hpp"

namespace tenure::memory {

Result<scheduled::IWaitingRoom::Front> WaitingRoom::look() {
  const std::lock_guard lock(state_.mutex);
  return Front{clock_.wallNow(), firstDue()};
}

Result<scheduled::IWaitingRoom::Promoted> WaitingRoom::promote(WallTime until, std::size_t atMost) {
  const std::lock_guard lock(state_.mutex);
  Kept& kept = state_.kept;
  if (Result<void> struck = state_.strike(Operation::promote); !struck) return struck.error();
  if (!mayPromote()) return storage::newerReader("");
  const WallTime now = clock_.wallNow();
  Promoted promoted;
  for (auto due = firstDue(); due && *due <= until && promoted.messages < atMost; due = firstDue()) {
    const std::string name = kept.waiting.begin()->second;
    auto found = storage::waitingFrom(kept.rows.at(name));
    if (!found) return found.error();
    const storage::Row key = storage::waitingKey("", found->message.id);
    kept.rows[storage::nameOf(storage::Table::fired, key)] = storage::rowWith(
        std::string(), found->message.id.value, storage::millisecondsOf(*due), storage::millisecondsOf(now));
    kept.unscheduled(name);
    kept.rows.erase(name);
    found->message.deliverAt.reset();
    kept.enqueue(std::move(found->message), now);
    promoted.lateness = std::max(promoted.lateness, now - *due);
    ++promoted.messages;
  }
  promoted.next = firstDue();
  return promoted;
}

/// Its term reads the queue, and no newer one has claimed.
bool WaitingRoom::mayPromote() const {
  const Kept& kept = state_.kept;
  const bool isReader = kept.reader && kept.reader->token == term_.token &&
                        kept.reader->generation == term_.generation && kept.reader->ensemble == term_.ensemble;
  const bool isFenced =
      kept.fence && kept.fence->row.ensemble == term_.ensemble &&
      std::pair(kept.fence->row.generation, kept.fence->row.token) > std::pair(term_.generation, term_.token);
  return isReader && !isFenced;
}

std::optional<WallTime> WaitingRoom::firstDue() const {
  const auto& waiting = state_.kept.waiting;
  if (waiting.empty() || !waiting.begin()->first.queue.empty()) return std::nullopt;
  return storage::wallTimeOf(waiting.begin()->first.due);
}

}  // namespace tenure::memory
