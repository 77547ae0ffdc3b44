/// The guardian's own process.
#pragma once

#include "process/descriptor.hpp"
#include "process/line.hpp"

namespace tenure {

/// The life of the guardian, a fresh fork of the tool; never returns. All signals are blocked on entry.
///   tool    a pidfd: a line could be held open by a stray copy of the tool, a death cannot be missed
///   ending  a pipe to say in that nothing is left, at the end
[[noreturn]] void guard(Line line, Descriptor tool, Descriptor ending) noexcept;

}  // namespace tenure
