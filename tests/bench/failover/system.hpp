/// What can be measured: Tenure, and the peers that are installed here.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support/ensemble.hpp"

namespace tenure::test {

/// A system under measurement. All its replicas take the words of ledger_replica that they have a use for, and write
/// one row of the ledger and one line of their history for each operation.
struct System {
  std::string name;
  bool isPeer = false;
  /// Starts a replica, followed by the words that tell it who it is.
  Program::Arguments command;
  int handOverSignal = 0;
  /// Where its servers listen.
  std::vector<std::uint16_t> servers;
};

/// What an operation is.
enum class Operation {
  commit,  // a row in the ledger
  append,  // a line in a file
};

System tenureSystem(const Ensemble& ensemble, Operation operation);

/// The peers' programs and servers. Each peer runs as its manual says: kazoo's Election that stops while its
/// connection is suspended, Curator's LeaderLatch asked before each operation, `etcdctl lock` as long as it runs.
/// `bare` is a pair written by hand, which only deletes a znode and claims.
class Peers {
 public:
  Peers(const Ensemble& ensemble, Operation operation) : ensemble_(ensemble), operation_(operation) {}

  static std::set<std::string> names() { return {"kazoo", "curator", "etcd", "bare"}; }
  /// Nullptr when it is not installed; the first who asks for it gets a line on standard error that says why.
  const System* find(const std::string& name);

 private:
  System prepare(const std::string& name);
  void prepareKazoo(System& system) const;
  void prepareCurator(System& system) const;
  void prepareEtcd(System& system);

  const Ensemble& ensemble_;
  const Operation operation_;
  TemporaryFolder folder_;
  std::deque<Program> etcd_;
  std::map<std::string, std::optional<System>> prepared_;
};

}  // namespace tenure::test
