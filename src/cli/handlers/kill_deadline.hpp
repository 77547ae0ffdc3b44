/// Until when a command of a term may run. Its keeper enforces it (process/guardian.hpp), whatever becomes of us.
#pragma once

#include "tenure/term.hpp"

namespace tenure::cli {

/// The command is gone this long before the lease's hard limit: from then on a successor may act.
constexpr Duration killMargin = std::chrono::milliseconds{50};

/// Whether a command of a term that ends for `reason` may go on: it was asked for, or the term does not end.
bool mayFinish(EndReason reason) noexcept;

/// As far as is known now; BootTime::min(), which is "at once", when the term ends in any other way than by a request.
BootTime killDeadlineOf(const Term& term) noexcept;

}  // namespace tenure::cli
