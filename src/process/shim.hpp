/// The process that keeps one command: starts it, watches it, ends it with all its descendants, reports.
#pragma once

#include <array>

#include "process/descriptor.hpp"
#include "process/ipc_channel.hpp"
#include "process/requests.hpp"

namespace tenure {

/// The life of a shim, a fresh fork of the supervisor; never returns. All signals are blocked on entry.
/// Exits 0 when nothing of the command is left.
[[noreturn]] void keep(IpcChannel channel, const SpawnRequest& request, std::array<Descriptor, 3> standard) noexcept;

/// Closes every descriptor above 2 that is not listed.
void closeAllBut(std::vector<int> kept) noexcept;

}  // namespace tenure
