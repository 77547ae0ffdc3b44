/// Actions that a lane asks of its shell, one at a time. An action holds all that the shell needs, and names its
/// answer: Done, or one with a value. Any action may be answered by Failed instead.
#pragma once

#include <variant>

#include "consumer/values.hpp"
#include "tenure/spi/admin.hpp"

namespace tenure::consuming {

// The term.

struct Claim {};   // → done
struct Recall {};  // read what earlier terms left → recalled
struct Attach {};  // deliver from the first one that is not acknowledged → done
struct Declare {   // from now on this term goes as far as that, durably → done
  RecoveryWindow window;
};
// Steps of a sweep.
struct LookAtClock {};  // of the store, where it has one → lookedAt
struct Prune {          // forget old keys → pruned
  Pruning step;
  std::vector<MessageId> here{};  // which are in hand: their attempts stay
};
struct PruneLog {  // forget old attempts → logPruned
  LogPruning step;
};
using SweepStep = std::variant<LookAtClock, Prune, PruneLog>;
struct Sweep {
  SweepStep step;
};
struct Wait {  // → done
  BootTime until;
  bool tends = false;  // first brings to the queue what is due
};
struct Return {  // the phase is over
  bool again = false;
  bool isIdle = false;    // before the lanes: there is nothing left to do, and they may begin
  bool isClosed = false;  // on its record nothing of this term is in work
  bool isAtRest = false;  // nothing that has begun is open
  struct Ending {
    EndReason reason;
    Error why;
  };
  std::optional<Ending> ends{};  // and the term with it
};

// The supply.

struct Take {  // → took
  std::size_t max;
  BootTime until;
  std::optional<MessageId> ran{};  // its run is over: it must not coalesce later messages, even if redelivered
  bool ahead = false;              // before their turn: only if there is enough for every lane
  bool spreads = false;            // one of each group, as long as there are several: they are handled at a time
};
struct TakeTurn {  // a token for a start → turned
  GroupId group;
  bool isSuspect = false;  // no other message overtakes it
};
struct Begin {  // the message starts, and takes a token in one line: which others does it stand for? → begun
  supply::Place place;
  GroupId group;
};
struct Report {  // messages are done, or given back → reported
  supply::Report of;
  std::vector<MessageHistory> histories{};  // each message that is given back has one
  GroupId group{};                          // that they are of
};

// The store, and the handler.

struct Look {  // does it have a key already? → looked
  MessagePtr message;
};
struct Inquire {};  // what the store knows by now of failed messages → inquired
struct Admit {      // in the transaction: its key → admitted
  MessagePtr message;
  bool mark = false;  // first a mark before it
};
struct Gather {  // of a handler that answers with values: the head's answer → gathered
  MessagePtr message;
  int attempt = 1;
  std::optional<WallTime> putOffSince{};
};
struct Handle {  // → ran
  MessagePtr message;
  int attempt = 1;
  bool mark = false;  // first a mark before it, which takes no lock
};
struct HandleTogether {  // → ran
  std::vector<MessagePtr> messages;
};
struct WriteDeadLetter {  // in the transaction: a dead letter and the end of its attempts → done, keyFound
  MessagePtr message;
  DeadLetterDraft draft{};
};
/// Writes what is settled and says what comes next, durably → done
struct Commit {
  bool undo = false;                 // first back to the mark
  std::vector<MessageId> cleared{};  // whose attempts are forgotten
  std::vector<AttemptRecord> records{};
  std::vector<ConsumerFact> facts{};
  std::vector<LoggedAttempt> log{};
  InWork inWork{};                    // what the next transaction may touch
  std::size_t voids = 0;              // how many of the first lanes have nothing in work any more
  std::vector<MessagePtr> settled{};  // to be acknowledged, here where source and store share transactions
  std::vector<Message> others{};
  supply::NumberWrites numbers{};
};
struct Resolve {};      // what became of the commit? → resolved
struct Abandon {        // roll the transaction back → done
  bool toMark = false;  // no further than to the mark: what the handler has written since → undone
};

using Action = std::variant<Claim, Recall, Attach, Declare, Sweep, Wait, Return, Take, TakeTurn, Begin, Report, Look,
                            Inquire, Admit, Gather, Handle, HandleTogether, WriteDeadLetter, Commit, Resolve, Abandon>;

// Steps of an action that have answers of their own.
struct Sort {};  // Take: the supply reads and writes the store
struct Tend {};  // Wait: the source brings to the queue what is due
struct Undo {};  // Abandon: the transaction is rolled back to the mark

/// The answer to an action that has no value.
template <class Asked>
struct Done {};
/// The answer to any action.
template <class Asked>
struct Failed {
  Error error;
};

}  // namespace tenure::consuming
