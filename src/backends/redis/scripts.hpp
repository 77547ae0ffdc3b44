/// Every change that Tenure makes to a server is one of these scripts: a script is applied whole, alone, and is one
/// entry of the append-only file.
///
/// Lua's numbers are doubles, so that positions are passed on as strings. A script that fails in the middle is not
/// undone: each checks all that can be wrong before its first write.
///
/// What they answer is an array whose first element is a word: "ok", or why nothing was changed.
#pragma once

#include "backends/redis/connection.hpp"

namespace tenure::redis {

/// KEYS those of Keys::Place, then idempotency keys · ARGV as ApplyRequest writes them.
/// ok | unmet, places of the expectations that are not met
extern const Script applyScript;

/// KEYS a table's names, its hash · ARGV the command of the range, its two ends, how many.  names, values
extern const Script scanScript;

/// KEYS key-count.  Forgets the hours that are over, which may be repeated.  ok, how many keys there are
extern const Script countScript;

/// KEYS queue · ARGV owner, whether to create.  ok | owned, owner | absent | older
extern const Script attachScript;

/// KEYS queue, messages · ARGV the owner that consumes it, then their entries.  ok | lost
extern const Script acknowledgeScript;

/// KEYS queue, messages · ARGV whether to create, time, then id, group, body, headers of each.  ok | absent | older
extern const Script appendScript;

}  // namespace tenure::redis
