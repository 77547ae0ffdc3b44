/// Decides which attempts count. Pure. An attempt counts when its handler failed or overran its limit, or when a
/// process died with exactly that message in work. A failure of store, source or ensemble never counts.
///
/// A process that dies cannot count the attempt, so a suspect's attempt is counted before it begins, and the record
/// names the term that began it. The next leader asks what became of that term's process. If the process survived, the
/// count is taken back, however the term ended. A term whose record names a single message, and that handles one at a
/// time, can only have begun that message: it needs no count beforehand.
#pragma once

#include <optional>
#include <string>

#include "consumer/values.hpp"
#include "tenure/term.hpp"

namespace tenure::consuming {

/// For people: AttemptRecord::lastError of an attempt that took its process with it.
inline constexpr std::string_view processDied = "its process died";

/// Every record that a predecessor may have left, and those of the lanes, as if it were one, and as it stands once it
/// is known whose process may have died: of terms that all processes outlived nothing was in work that matters. `own`
/// is how far a term without a declaration went.
Result<ConsumerState> recollect(IFencedStore& store, const ConsumerName& consumer, const TermIdentity& term,
                                const RecoveryWindow& own, WallTime now);

}  // namespace tenure::consuming
