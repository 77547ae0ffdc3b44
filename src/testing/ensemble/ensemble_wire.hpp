/// What clients and servers of the in-memory ensemble say to one another. Private to the room.
#pragma once

#include <optional>

#include "coordination/coordination.hpp"

namespace tenure::ensemble {

/// A server or a client: whatever can be cut off or frozen. Servers count from 1.
using MachineId = Id<struct MachineIdTag, int>;
using SessionId = Id<struct SessionIdTag, std::int64_t>;
/// The order of all writes: epoch in the upper half, counter in the lower.
using Zxid = std::int64_t;

// --- writes: ordered by the leader, committed by a majority

struct Multi {
  std::vector<MultiOp> ops;
};
struct OpenSession {
  SessionId session;
  std::chrono::milliseconds timeout{};
};
struct CloseSession {};

// --- reads: answered by whichever server the client is attached to, from what it has

struct Get {
  std::string path;
  bool watch = false;
};
struct Children {
  std::string path;
  bool watch = false;
};
struct Exists {
  std::string path;
  bool watch = false;
};
struct GetAcl {
  std::string path;
};
/// Watches of the connection before, to be left again on this one.
struct SetWatches {
  Zxid since = 0;
  std::vector<std::string> data, absent, children;
};
struct Ping {};

// --- neither: passed to the leader, which answers without asking anybody

struct Sync {
  std::string path;
};

using Operation = std::variant<CreateOp, SetOp, RemoveOp, Multi, OpenSession, CloseSession, Sync, Get, Children, Exists,
                               GetAcl, SetWatches, Ping>;

constexpr bool isWrite(const Operation& operation) noexcept { return operation.index() <= 5; }

/// Where an answer belongs.
struct Origin {
  MachineId server;
  std::uint64_t connection = 0;
  std::int64_t xid = 0;
};

struct Request {
  Origin origin;
  SessionId session;
  std::string identity;  // "user:password", empty if anonymous
  Operation operation;
};

/// Every kind of answer uses its own part.
struct Reply {
  std::optional<Error> error{};
  Zxid zxid = 0;
  std::string data{};
  NodeStat stat{};
  std::vector<std::string> names{};  // children, or created paths
  bool worldWritable = false;
};

struct Hello {
  SessionId session{};  // 0 asks for a new one
  std::chrono::milliseconds timeout{};
  Zxid lastSeen = 0;
  std::string identity{};
};

struct Welcome {
  enum class Kind { attached, expired, authenticationFailed } kind = Kind::attached;
  SessionId session{};
  std::chrono::milliseconds timeout{};
};

/// The client's end of a connection.
class IClientEnd {
 public:
  virtual ~IClientEnd() = default;
  virtual void onWelcome(const Welcome& welcome) = 0;
  virtual void onReply(std::int64_t xid, Reply reply) = 0;
  virtual void onEvent(const std::string& path, WatchEvent event) = 0;
  virtual void onPong() = 0;
};

}  // namespace tenure::ensemble
