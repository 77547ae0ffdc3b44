/// The process that keeps one command: starts it, watches it, ends it with all its descendants, reports.
#pragma once

#include <array>

#include "process/descriptor.hpp"
#include "process/line.hpp"
#include "process/requests.hpp"

namespace tenure {

/// The life of a keeper, a fresh fork of the guardian; never returns. All signals are blocked on entry.
/// Exits 0 when nothing of the command is left.
[[noreturn]] void keep(Line line, const SpawnRequest& request, std::array<Descriptor, 3> standard) noexcept;

/// Closes every descriptor above 2 that is not listed.
void closeAllBut(std::vector<int> kept) noexcept;

}  // namespace tenure
