/// What the consumer's machine asks of its shell: one small value at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "consumer/blockade.hpp"
#include "consumer/postponements.hpp"
#include "consumer/reach.hpp"
#include "pipeline/sequencer.hpp"
#include "tenure/store.hpp"
#include "tenure/time.hpp"

namespace tenure::consuming {

/// What the shell saw right before it asked.
struct Moment {
  BootTime now{};
  WallTime wall{};
  bool mayBegin = true;
  bool stopAsked = false;
  bool transactionIsFull = false;
  // Since when an answer is missing; nullopt: none is.
  std::optional<BootTime> storeOwesSince{};
  std::optional<BootTime> sourceOwesSince{};
};

/// Whose messages a machine handles.
enum class Role {
  alone,     // all of the source's
  recovery,  // only those that a predecessor may have died of, before the lanes begin
  lane,      // what its desk gives it, beside others
};

/// A time to wait until that is past, and yet no arithmetic with it overflows: the boot itself.
inline constexpr BootTime onlyLook{};

// Each names the machine's answer to it. Any of them may be answered by failed() instead.

struct Claim {};   // → did
struct Recall {};  // read what earlier terms left → recalled
struct Reopen {};  // read which groups wait for a number → reopened
struct Attach {};  // → did
struct Declare {   // from now on this term goes as far as that, durably → did
  Reach reach;
};
struct Fetch {  // → fetched; from a desk: assigned
  std::size_t max;
  BootTime until;
};
struct Consult {};  // where does the head's group stand? → consulted
struct Load {       // kept messages whose turn has come → loaded
  pipeline::Ready ready;
};
struct Check {};  // does the head have a key already? → checked
struct Admit {    // in the transaction: the head's key → admitted
  bool mark;      // first a mark before the head
};
struct Handle {  // the handler, on the head → ran
  int attempt;
  bool mark;  // first a mark before the head, which takes no lock
};
struct HandleTogether {};  // the handler of many, on the machine's joined() → ran
struct Undo {};            // what the handler has written: back to the mark → did
struct Bury {              // in the transaction: a dead letter and the end of its attempts → did
  std::string_view reason;
  int attempts;
  WallTime firstAt;
  bool undo;     // first back to the mark: the handler's writes must not stay
  bool withKey;  // and its key with the fate `dead`; not when the key belongs to another body
};
/// Books the first `settled` messages of the window and says what comes next, durably → did
struct Commit {
  std::size_t settled;          // acknowledged in the transaction where source and store share it
  std::size_t inWork;           // the messages after those that the next transaction may touch
  bool more;                    // and later ones
  bool undo;                    // first back to the mark
  bool acknowledge;             // they come from the source
  const AttemptRecord* record;  // of the head; nullptr for none
  const MessageId* forgive;     // whose attempts are forgotten; nullptr for none
  std::span<const LoggedAttempt> log;
  const AttemptRecord* clock = nullptr;      // the last look at it
  const AttemptRecord* streak = nullptr;     // of dead letters, as it is from then on; without attempts: no more
  std::optional<FencingToken> suspectsOf{};  // those in work are what is left of this term's
};
struct Acknowledge {  // after the commit → did
  std::size_t settled;
};
struct LookAtClock {};  // of the store, where it has one → lookedAt
struct Prune {          // forget old keys → pruned
  Pruning step;
};
struct PruneLog {  // forget old attempts → logPruned
  LogPruning step;
};
struct Resolve {};   // what became of the commit? → resolved
struct Abandon {};   // roll the transaction back → did
struct TakeTurn {};  // a token for the head's start, of the desk's rate limits → turned
struct Inquire {};   // what the store knows by now of failed messages → inquired
struct Wait {        // → did
  BootTime until;
};
struct Park {  // give the head and what follows it in its group back: ConsumerMachine::takeParked() → did
  BootTime until;
};
struct Return {  // the phase is over
  bool again;
};
struct Quit {  // the term is over; ConsumerMachine::trouble() says why
  EndReason reason;
};

/// What is known of a message that a lane had before.
struct Past {
  MessageId id;
  std::optional<AttemptRecord> attempt{};
  Postponements postponements{};
  std::optional<Blockade::Stand> blockade{};
};
/// Of a group that has something kept, or misses something.
struct Visit {
  GroupId group;
  std::size_t allowed = 0;  // so many of those that are ready; none: it is about a gap
};
/// What a lane gets from its desk.
struct Assignment {
  std::vector<Message> messages;
  std::size_t covered = 0;  // the first of them that may begin without being on record
  std::vector<Past> pasts;
  bool areCounted = false;                       // each start, by a rate limit
  std::optional<pipeline::Standing> standing{};  // of their group, or the visited one, where it is known
  std::optional<Visit> visit{};
  std::vector<MessageHeldBack> heldBack{};  // what others have to wait for
};
/// What a lane gives back.
struct Parked {
  std::vector<Message> messages;  // all it had of the group from the source, in order
  std::vector<Past> pasts{};      // of those of which something is known, also of the group's that were kept
  GroupId group{};
  std::optional<pipeline::Standing> standing{};
  std::size_t unbegun = 0;  // of the group's messages whose tokens the desk has taken
};

using Action = std::variant<Claim, Recall, Reopen, Attach, Declare, Fetch, Consult, Load, Check, Admit, Handle,
                            HandleTogether, Undo, Bury, Commit, Acknowledge, LookAtClock, Prune, PruneLog, Resolve,
                            Abandon, TakeTurn, Inquire, Wait, Park, Return, Quit>;

/// What the machine asked for last.
enum class Step {
  claim,
  recall,
  reopen,
  consult,
  load,
  attach,
  declare,
  fetch,
  check,
  admit,
  run,
  undo,
  bury,
  commit,
  acknowledge,
  lookAtClock,
  prune,
  pruneLog,
  resolve,
  abandon,
  turn,
  inquire,
  wait,
  park
};

}  // namespace tenure::consuming
