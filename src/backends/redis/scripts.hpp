/// Every change that Tenure makes to a server is one of these scripts: a script is applied whole, alone, and is one
/// entry of the append-only file.
///
/// Lua's numbers are doubles, so that tokens, sequences and positions are compared and passed on as strings. A script
/// that fails in the middle is not undone: each checks all that can be wrong before its first write.
///
/// What they answer is an array whose first element is a word: "ok", or why nothing was changed.
#pragma once

#include "backends/redis/connection.hpp"

namespace tenure::redis {

/// KEYS fence, queue · ARGV 7 fence fields and 2 owner fields as they were read, the new owner (2), the row to write.
/// ok | changed
extern const Script claimScript;

/// KEYS fence, queue, state of its election, state of the new one · ARGV as above; no row where there is no fence.
/// ok | changed | taken (the new one has state there)
extern const Script moveScript;

/// KEYS fence, state, keys… · ARGV the fence as expected (6), state fields….  Reads under the fence.
/// ok, values of the fields, values of the keys | fenced, row
extern const Script lookScript;

/// KEYS fence, messages, dead, attempts, in-work, state, key-count, logs, keys… (new ones first), log if it has lines ·
/// ARGV the fence as expected (6), by, milliseconds to keep keys, the next seq, then what WriteSet::encode says: the
/// places and kinds of the keys that it will touch, the log's place or 0, how many keys are new, the keys' values, and
/// sections of the writes. ok | fenced, row | conflict
extern const Script commitScript;

/// KEYS key-count.  Forgets the hours that are over, which may be repeated.  ok, how many keys there are
extern const Script countScript;

/// KEYS fence, log · ARGV the fence as expected (6), time, how many lines.  Removes the oldest ones that ended before
/// it. ok, how many were removed | fenced, row
extern const Script pruneLogScript;

/// KEYS fence · ARGV the fence as expected (6), `by` of the commit in doubt, `by` to burn its number with.
/// committed | burnt | fenced, row
extern const Script resolveScript;

/// KEYS queue · ARGV election, path, whether to create.  ok | owned, election, path | absent
extern const Script attachScript;

/// KEYS queue, messages · ARGV the election that consumes it, then their entries.  ok | lost
extern const Script acknowledgeScript;

/// KEYS dead · ARGV its entries.  ok
extern const Script purgeScript;

/// KEYS queue, messages · ARGV whether to create, time, then id, group, body, headers of each.  ok | absent
extern const Script appendScript;

/// KEYS attempts · ARGV field in it, of a message that blocks its queue.  ok | absent
extern const Script releaseScript;

/// KEYS queue, messages, dead, attempts, key · ARGV number, field in attempts, time; without time nothing is put back.
/// ok | absent
extern const Script requeueScript;

}  // namespace tenure::redis
