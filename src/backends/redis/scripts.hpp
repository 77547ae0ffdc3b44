/// Every change that Tenure makes to a server is one of these scripts: a script is applied whole, alone, and is one
/// entry of the append-only file.
///
/// Lua's numbers are doubles, so that positions are passed on as strings.
///
/// Redis undoes nothing of a script that fails in the middle. So no command behind the first write may be able to fail:
/// before it, a script looks at the type of each key that it writes, at the counters that it raises, and at the newest
/// id of each stream that it appends to. Which commands its user may run is asked once a connection and queue
/// (rightsScript). An error reply that Redis does not give before a first write is an unknown outcome (errors.hpp).
///
/// What they answer is an array whose first element is a word: "ok", or why nothing was changed. "damaged" comes with
/// the key and a sentence.
#pragma once

#include "backends/redis/connection.hpp"

namespace tenure::redis {

/// KEYS those of Keys::Place, then idempotency keys · ARGV as ApplyRequest writes them.
/// ok | unmet, places of the expectations that are not met | damaged
extern const Script applyScript;

/// KEYS a table's names, its hash · ARGV the command of the range, its two ends, how many.  names, values
extern const Script scanScript;

/// KEYS key-count.  Forgets the hours that are over, which may be repeated.  ok, how many keys there are
extern const Script countScript;

/// KEYS queue · ARGV owner, whether to create.  ok | owned, owner | absent | older
extern const Script attachScript;

/// KEYS queue, messages · ARGV the owner that consumes it, then their entries.  ok | lost
extern const Script acknowledgeScript;

/// KEYS queue, messages · ARGV whether to create, time, then id, group, body, headers of each.
/// ok | absent | older | damaged
extern const Script appendScript;

/// KEYS queue, messages; of a place that is also written to, then a string that is never there, a hash, a sorted set.
/// ok | denied, command, key
extern const Script rightsScript;

}  // namespace tenure::redis
