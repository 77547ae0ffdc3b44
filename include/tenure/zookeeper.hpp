/// ZooKeeper as fenced store for small state: positions, counters, configuration. No further server is needed.
///
/// Every commit is one quorum write, `multi[set(fence, version), check(own candidacy), …]`: it needs the fence as this
/// term left it, and, where the store is on the election's ensemble, the candidacy's znode to be there still.
///
/// Limits:  no queue and no SQL. A transaction is at most `maxTransactionBytes` with its paths, and so is a dead
///          letter: a larger one is Errc::payloadTooLarge before anything is sent. State is read once a term; what a
///          term has read or written it knows, unless somebody else changes it. A message that comes again may have its
///          handler started in vain, together with its batch, before it is dropped (a child process is not). An
///          idempotency key is a znode: for some hundred thousand messages within the time that they are kept, not for
///          a busy queue. So is what a commit adds to the consume log, if one is kept: bound it by lines as well.
/// Durability: as a majority of the servers keeps it.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "tenure/candidate.hpp"
#include "tenure/events.hpp"
#include "tenure/spi/admin.hpp"
#include "tenure/spi/store.hpp"

namespace tenure {
struct Component;
}  // namespace tenure

namespace tenure::zookeeper {

struct StoreOptions {
  /// The store has a session of its own, which lives as long as its claim.
  ZooKeeperOptions zookeeper;
  std::string root = "/tenure";
  /// The store is kept in `<root>/stores/<name>`; named like an election.
  std::string name = "default";
  /// How long a call waits for a server, and for its reply. A commit's outcome is unknown after it.
  std::chrono::milliseconds replyLimit{10'000};
  /// Below the servers' jute.maxbuffer (1 MiB unless told otherwise) with some room for the protocol.
  std::size_t maxTransactionBytes = 900'000;
  /// Make the store when absent; otherwise an absent one is Errc::notFound.
  bool create = true;
};

/// Connects at the claim, not before. Belongs to the election that claims it first; another one is refused with
/// Errc::queueOwned. Threads: open anywhere, then use from one thread at a time.
std::unique_ptr<IFencedStore> openStore(const StoreOptions& options, IEventSink& events);

/// What operators do, in a session of its own from the first call on; creates nothing. Requeueing is Errc::unsupported:
/// the queue is elsewhere.
std::unique_ptr<IStoreAdmin> openStoreAdmin(const StoreOptions& options);

/// What tenure::open() knows by it.
Component component();

}  // namespace tenure::zookeeper
