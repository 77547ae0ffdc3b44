/// Which faults strike, in which order: drawn from a seed, the same from the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "chaos/storage.hpp"

namespace tenure::chaos {

enum class FaultKind {
  killLeader,
  killStandby,
  killAll,
  freezeLeader,             // SIGSTOP at any moment, SIGCONT when a successor works or a drawn time is over
  freezeBeforeTransaction,  // in a handler that has not yet the store's lock
  freezeInTransaction,      // holding it: the successor has to evict
  freezeSuccession,         // two leaders before their transactions; the older one is thawed first
  cutLeader,                // replica and ensemble: connections refused
  stallLeader,              // half-open: both directions silent
  muteLeader,               // what it sends is lost
  deafLeader,               // what it should hear is lost
  cutStandby,
  isolateFollower,         // the ZooKeeper follower that the leading replica talks to, from the other servers
  isolateZooKeeperLeader,  // the same with the ZooKeeper leader
  killZooKeeperLeader,
  freezeZooKeeperLeader,
  loseMajority,
  restartServers,  // one after the other
  rollOverZxid,
  fillDisk,
  slowDisk,
  stormHandovers,     // SIGUSR1 to everybody, again and again
  stormTerminations,  // SIGTERM to the leader, again and again
  // Where there is a database server. Half of them strike in the middle of a batch, whose transaction has written.
  killDatabase,        // kill -9, and started again
  restartDatabase,     // an orderly stop, and started again
  killServingProcess,  // kill -9 of the one that serves the leader: the server recovers
  endSessions,         // pg_terminate_backend
  cutDatabase,         // leader and server: connections refused
  stallDatabase,       // half-open: both directions silent
  // Where there is a broker, while messages are unacknowledged.
  killBroker,
  restartBroker,
  endBrokerConnections,  // by the broker, as an operator may
  cutBroker,
  stallBroker,
};
constexpr std::size_t faultKinds = 34;

std::string_view toString(FaultKind kind) noexcept;
std::optional<FaultKind> kindNamed(std::string_view name) noexcept;
/// Those that can strike there.
std::vector<FaultKind> kindsFor(StorageKind storage);

/// Deals every kind once in a drawn order, then again in another, for ever.
class Schedule {
 public:
  Schedule(std::uint64_t seed, std::vector<FaultKind> kinds);
  FaultKind next();

 private:
  Random random_;
  std::vector<FaultKind> kinds_;
  std::size_t dealt_;
};

}  // namespace tenure::chaos
