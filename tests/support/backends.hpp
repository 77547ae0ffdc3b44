/// The backends under the conformance suites: one line each in backends.cpp.
///
/// A world is what the replicas of one test share (a file, a server, a heap); each replica opens its own ends of it,
/// as a process of its own would.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tenure/events.hpp"
#include "tenure/scheduled.hpp"
#include "tenure/spi/admin.hpp"
#include "tenure/spi/source.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::test {

/// The ends that one replica holds; no store where the backend is a queue alone.
struct Replica {
  std::shared_ptr<IFencedStore> store;
  std::shared_ptr<IMessageSource> source;
};

class BackendWorld {
 public:
  virtual ~BackendWorld() = default;
  /// One more replica.
  virtual Replica open(IEventSink& events = noEvents()) = 0;
  virtual std::unique_ptr<IMessageSink> sink() = 0;
  /// Another queue in the same place; nullptr where there is no more than one.
  virtual std::shared_ptr<IMessageSource> queue(const std::string& name) {
    static_cast<void>(name);
    return nullptr;
  }
  /// Nullptr for what is not queue and store in one.
  virtual std::unique_ptr<IDatabaseAdmin> admin() { return nullptr; }
  /// Nullptr for a queue alone, and for what no operator ever sees.
  virtual std::unique_ptr<IStoreAdmin> storeAdmin() { return admin(); }
  /// The same for a store beside a queue that is kept elsewhere; nullptr where a store's place is its own.
  virtual std::unique_ptr<IStoreAdmin> adminOf(const QueueIdentity& elsewhere) {
    static_cast<void>(elsewhere);
    return storeAdmin();
  }
  /// Messages that wait for their time; nullptr where the queue keeps none.
  virtual std::unique_ptr<ScheduledMessages> scheduled() { return nullptr; }
  /// From now on replicas give up soon on a lock that another one holds.
  virtual void beImpatient() {}
  /// What an accident or an operator's slip does: the election's fence is gone from the store, where there is one.
  virtual void dropFence(const std::string&) {}
  /// Ends every connection to the server; false where there is none.
  virtual bool endConnections() { return false; }
  /// kill -9 of the server, where it survives that, and started again; false where there is none.
  virtual bool killServer() { return false; }
};

struct Backend {
  std::string name;
  std::function<std::unique_ptr<BackendWorld>()> make;
  bool hasSql = false;
  bool leaderPrunes = true;     // or else keys expire by themselves (Redis)
  bool hasStore = true;         // or else it is a queue alone, whose acknowledgements are part of no transaction
  bool hasServer = true;        // or else there is no connection that could end, and nothing to kill
  bool hasQueue = true;         // or else it is a store alone
  bool keepsScheduled = false;  // messages that wait for their time
  friend std::ostream& operator<<(std::ostream& out, const Backend& backend) { return out << backend.name; }
};

/// One more replica of a store beside `queue`, which may be the same world: it serves that queue, as a leader's would.
Replica openBeside(BackendWorld& store, BackendWorld& queue);

/// Those of them that have it: a suite names what it needs where it is instantiated, and no test of it is left out.
std::vector<Backend> with(bool Backend::*property, const std::vector<Backend>& backends);

const std::vector<Backend>& storeBackends();
const std::vector<Backend>& sourceBackends();
/// Those that are queue and store in one, as operators find them; and stores, as operators do.
const std::vector<Backend>& databaseBackends();
const std::vector<Backend>& operatedStores();

}  // namespace tenure::test
