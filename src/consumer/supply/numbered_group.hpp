/// Questions about a group that follows numbers. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "tenure/spi/store.hpp"

namespace tenure::supply {

/// A group that waits for a number, and has for a while.
struct Gap {
  GroupId group;
  std::int64_t first = 0;  // of the missing numbers
  std::int64_t last = 0;
  std::size_t waiting = 0;  // messages after them
  std::chrono::milliseconds age{};
};

inline bool isOpen(const NumberedGroup& group) noexcept { return !group.kept.empty(); }

/// How many messages are kept that follow each other from the next number on.
inline std::size_t readyCount(const NumberedGroup& group) noexcept {
  std::size_t count = 0;
  for (const auto& [number, mark] : group.kept) {
    if (number != group.turn.position + 1 + static_cast<std::int64_t>(count) || mark.isPast) break;
    ++count;
  }
  return count;
}

inline bool isReady(const NumberedGroup& group) noexcept {
  return isOpen(group) && group.kept.begin()->first == group.turn.position + 1 && !group.kept.begin()->second.isPast;
}

/// The group must be open.
inline Gap gapOf(const NumberedGroup& group, WallTime now) {
  return {group.group, group.turn.position + 1, group.kept.begin()->first - 1, group.kept.size(),
          std::chrono::duration_cast<std::chrono::milliseconds>(now - group.turn.since)};
}

inline NumberedGroup::Mark markOf(const NewMessage& message) { return {message.id, digestOf(message.body)}; }

}  // namespace tenure::supply
