/// Applies the effects of an answer to its message's transaction.
#pragma once

#include "tenure/spi/answers.hpp"

namespace tenure::consuming {

/// In their order, up to the first that fails. `now`: from when on a delay counts.
///
///   a statement or a message that is refused   a failed attempt, or a rejected message where no attempt could help
///   a store that is away, or busy              again later
///
/// Throws EndTerm where the store cannot take such an effect at all: no message is at fault.
Outcome applied(const Answer& answer, Transaction& transaction, WallTime now);

/// What becomes of a message when a write of its handler fails: a rejected message where the store's column cannot hold
/// its value, again later where the store is away or busy, else a failed attempt. Throws EndTerm where the term is over
/// or the store is full.
Outcome outcomeOfWrite(const Error& error);

}  // namespace tenure::consuming
