/// Every change that Tenure makes to a server is one of these scripts: a script is applied whole, alone, and is one
/// entry of the append-only file.
///
/// Lua's numbers are doubles, so that positions are passed on as strings.
///
/// Redis undoes nothing when a script fails after its first write. So a script checks beforehand all that can make a
/// later command fail: the types of the keys, the counters that it raises, and the newest id of each stream that it
/// appends to. The user's rights are checked once for each connection and queue (rightsScript).
///
/// A right that is revoked later can still make the apply script fail after its first write. Its outcome is then
/// unknown (errors.hpp), and the rights are asked for again, which ends the term. The order of the writes makes the
/// next term handle the message again: first the sends, then tables, keys, acknowledgements, and the fence last. So
/// nothing is lost, but a message may be sent twice, under the same id, and a handler may find its own state written.
///
/// A script answers with an array. Its first element is a word: "ok", or why nothing was changed. Behind "damaged"
/// stand the key and a sentence.
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

/// KEYS queue · ARGV a proposed identity, whether to create.  ok, identity | absent | older | damaged
extern const Script identityScript;

/// KEYS queue · ARGV owner, whether to create, the term that reads it: reader, generation, token.
/// ok | owned, owner | newer | absent | older | damaged
extern const Script attachScript;

/// KEYS queue, messages, waiting, its added, its due, fired, its at, fence · ARGV reader, generation, token, the last
/// due time, how many messages, milliseconds to keep what fired; the term's election, path, ensemble.
/// ok, how many came, the greatest lateness in milliseconds, [first one's member, its time] or [] | stale | lost |
/// damaged
extern const Script promoteScript;

/// KEYS waiting, its due · ARGV time and 16 digits of the one before, how many.  [digits and id of each], [values]
extern const Script waitingScript;

/// KEYS waiting, fired, its at · ARGV how many milliseconds back, how many at most.
/// ok, how many wait, the greatest lateness of those that came, in milliseconds, or empty
extern const Script lateScript;

/// KEYS queue, messages · ARGV the owner that consumes it, then their entries.  ok | lost | damaged
extern const Script acknowledgeScript;

/// KEYS queue, messages · ARGV whether to create, time, then id, group, body, headers of each.
/// ok | absent | older | damaged
extern const Script appendScript;

/// KEYS queue, messages, a key of the election's own queue; for that queue also a string that is never there, a hash, a
/// sorted set.  ok | denied, command, key
extern const Script rightsScript;

}  // namespace tenure::redis
