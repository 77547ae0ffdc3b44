/// Redis 7 as queue and fenced store: replicas and producers on many hosts, one server (or one shard of a cluster).
///
/// Every key is named `tenure:{<queue>}:…`: what a transaction touches lies in one slot, whatever election consumes it.
/// A transaction collects its writes and applies them in one script that checks the fence first.
///
/// Limits:  no SQL. A transaction is at most 256 MiB. Not a cluster client: name the node that holds the queue's slot.
/// Durability: `appendonly yes`, `appendfsync always` and no eviction, or the server is refused. Where a lagging
/// replica
///          is promoted, acknowledged commits may vanish together with the fence: a term that notices ends.
///          A server that was emptied looks like a new one, except to the processes that had claimed there: after the
///          queue was made once, open it with `create = false`.
/// Secrets: the password comes from a file or from TENURE_REDIS_PASSWORD and is read at each connection.
/// TLS:     hiredis 0.14 has none; asked for, it is refused. Put a tunnel (stunnel) in front.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "tenure/events.hpp"
#include "tenure/scheduled.hpp"
#include "tenure/spi/admin.hpp"
#include "tenure/spi/source.hpp"
#include "tenure/spi/store.hpp"

namespace tenure {
struct Component;
}  // namespace tenure

namespace tenure::redis {

struct Options {
  /// Or several, separated by commas and tried in turn, each with a port of its own behind a colon where it is not
  /// `port`. A replica among them is passed over.
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;
  /// Instead of host and port, where it is not empty.
  std::filesystem::path unixSocket{};
  int database = 0;
  /// An ACL user; empty for the default one.
  std::string user{};
  /// The first line of this file; when empty, TENURE_REDIS_PASSWORD, and when that is not set, none.
  std::filesystem::path passwordFile{};
  bool tls = false;
  /// Like an election's name: `[A-Za-z0-9._-]{1,64}`.
  std::string queue = "default";
  /// Of a store alone, for operators: the queue is kept elsewhere, and this is the one (IQueueAdmin::identity). A
  /// consumer finds out by itself.
  std::optional<QueueIdentity> elsewhere{};
  std::chrono::milliseconds connectLimit{5'000};
  /// How long a request waits for its reply. A commit's outcome is unknown after it.
  std::chrono::milliseconds replyLimit{5'000};
  /// How long an idempotency key is kept: longer than any message may come again. Zero keeps them for ever.
  std::chrono::hours keepIdsFor{7 * 24};
  /// Make queue and fence when absent; otherwise an absent queue is Errc::notFound, and so is a claim of one that
  /// no election has claimed yet, for a producer may have made it on a server that was emptied.
  bool create = true;
  /// Accept a server that may lose what it acknowledged (see Durability), or that does not say.
  bool allowUnsafe = false;
};

/// One queue as both ends of a consumer: source() and store() share each transaction. Its queue belongs to the election
/// whose term claims the store or attaches the source first; another one is refused with Errc::queueOwned.
/// Threads: open anywhere, then use from one thread at a time.
class Database {
 public:
  /// Connects on first use of either port, not before; again, whenever a connection was lost.
  Database(const Options& options, IEventSink& events);
  ~Database();

  IMessageSource& source() noexcept;
  IFencedStore& store() noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Any number of processes may append at the same time.
Result<std::unique_ptr<IMessageSink>> openSink(const Options& options);

/// What operators do to one queue and its fence; connects at the first call, again after a loss, and creates nothing.
/// Requeueing is all or nothing, unless the letters are more than one transaction takes.
std::unique_ptr<IDatabaseAdmin> openAdmin(const Options& options);

/// Messages that wait for their time (scheduled.hpp).
std::unique_ptr<ScheduledMessages> openScheduled(const Options& options);

/// What tenure::open() knows by it.
Component component();

}  // namespace tenure::redis
