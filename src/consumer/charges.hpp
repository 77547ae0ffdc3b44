/// Which attempts count. Pure. One counts when its handler failed or overran its limit, or when a process died with
/// exactly that message in work, and for nothing else: whatever store, source or ensemble do.
///
/// Nobody may be left to count what kills its process, so a suspect's attempt is counted before it begins, and the
/// record names the term that has begun it. Who follows asks what became of that term's process: one that outlived it
/// takes nothing with it, however the term ended, and the count is taken back. A term whose record names one single
/// message, and that goes by one at a time, has begun that one and no other: it needs no count beforehand.
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
