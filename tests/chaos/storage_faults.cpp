// What befalls the servers of queue and ledger, and the ways to them.
#include <signal.h>

#include "chaos/broker.hpp"
#include "chaos/database.hpp"
#include "chaos/faults.hpp"

namespace tenure::chaos {
namespace {

using namespace std::chrono_literals;
using test::eventually;

/// Strikes the leader's storage, half of the time in the middle of a batch: its transaction is open and has written.
template <class Strike>
void strikeLeader(Arena& arena, Random& random, Strike strike) {
  if (random.below(2) == 0) return strike(arena.leader());
  const Member& frozen = awaitFrozen(arena, test::freezeInTransaction);
  strike(frozen);
  frozen.process->signal(SIGCONT);
}

// --- the database

void killDatabase(Arena& arena, Random& random) {
  strikeLeader(arena, random, [&](const Member&) { arena.database().server().kill(); });
  arena.awaitNobodyLeading(drawn(random, 0ms, 5s));
  arena.database().server().start();
}

void restartDatabase(Arena& arena, Random& random) {
  strikeLeader(arena, random, [&](const Member&) { arena.database().server().stop(); });
  arena.database().server().start();
}

void killServingProcess(Arena& arena, Random& random) {
  strikeLeader(arena, random, [&](const Member&) {
    if (!arena.database().killServingProcess()) throw Failure("no process of the server serves anybody");
  });
}

void endSessions(Arena& arena, Random& random) {
  for (int times = 0; times < 3; ++times)
    strikeLeader(arena, random, [&](const Member&) {
      // A leader between two connections has none; it comes back.
      if (!eventually([&] { return arena.database().endSessions(); }, 30s)) throw Failure("nobody is connected");
    });
}

void cutDatabase(Arena& arena, Random& random) {
  strikeLeader(arena, random, [&](const Member& leader) { arena.database().ways().of(leader.number).cut(); });
  arena.awaitNewTerm(drawn(random, 100ms, 6s));
  arena.database().ways().heal();
}

void stallDatabase(Arena& arena, Random& random) {
  strikeLeader(arena, random, [&](const Member& leader) { arena.database().ways().of(leader.number).stall(); });
  arena.awaitNewTerm(drawn(random, 100ms, 8s));
  arena.database().ways().heal();
}

// --- the broker

/// Strikes the broker's side while a message is in work: it is delivered, and not acknowledged.
template <class Strike>
void strikeUnacknowledged(Arena& arena, Strike strike) {
  const Member* frozen = nullptr;
  // What a leader works on when its connection has just ended is the queue's again: then the next message.
  const auto isInWork = [&] {
    frozen = &awaitFrozen(arena, test::freezeInTransaction);
    if (eventually([&] { return arena.broker().unacknowledged() > 0; }, 2s)) return true;
    frozen->process->signal(SIGCONT);
    return false;
  };
  if (!eventually(isInWork, 60s)) throw Failure("a message in work is not unacknowledged at the broker");
  strike(*frozen);
  frozen->process->signal(SIGCONT);
}

void killBroker(Arena& arena) {
  strikeUnacknowledged(arena, [&](const Member&) { arena.broker().server().kill(); });
  arena.broker().server().start();
}

void restartBroker(Arena& arena) {
  strikeUnacknowledged(arena, [&](const Member&) { arena.broker().server().stop(); });
  arena.broker().server().start();
}

void endBrokerConnections(Arena& arena) {
  for (int times = 0; times < 3; ++times)
    strikeUnacknowledged(arena, [&](const Member&) { arena.broker().server().closeConnections(); });
}

void cutBroker(Arena& arena, Random& random) {
  strikeUnacknowledged(arena, [&](const Member& leader) { arena.broker().ways().of(leader.number).cut(); });
  arena.awaitNewTerm(drawn(random, 100ms, 6s));
  arena.broker().ways().heal();
}

void stallBroker(Arena& arena, Random& random) {
  strikeUnacknowledged(arena, [&](const Member& leader) { arena.broker().ways().of(leader.number).stall(); });
  arena.awaitNewTerm(drawn(random, 100ms, 8s));
  arena.broker().ways().heal();
}

}  // namespace

void strikeStorage(FaultKind kind, Arena& arena, Random& random) {
  switch (kind) {
    case FaultKind::killDatabase: return killDatabase(arena, random);
    case FaultKind::restartDatabase: return restartDatabase(arena, random);
    case FaultKind::killServingProcess: return killServingProcess(arena, random);
    case FaultKind::endSessions: return endSessions(arena, random);
    case FaultKind::cutDatabase: return cutDatabase(arena, random);
    case FaultKind::stallDatabase: return stallDatabase(arena, random);
    case FaultKind::killBroker: return killBroker(arena);
    case FaultKind::restartBroker: return restartBroker(arena);
    case FaultKind::endBrokerConnections: return endBrokerConnections(arena);
    case FaultKind::cutBroker: return cutBroker(arena, random);
    case FaultKind::stallBroker: return stallBroker(arena, random);
    default: throw Failure("not a fault of the storage");
  }
}

}  // namespace tenure::chaos
