/// The port to the coordination service: one session at a time, renewed for ever, and asynchronous operations on it.
///
/// Everything runs on one loop. Calls return at once; each callback is called exactly once, on the loop, never from
/// inside the call. Replies and watch events arrive in the order in which the server sent them. When a session ends,
/// its pending operations fail with outcomeUnknown (writes) or unavailable (reads), its watches are dropped without a
/// call, and a new session begins with the next generation.
///
/// Errors of operations (Errc): notFound, alreadyExists, versionMismatch, permissionDenied, authenticationFailed,
/// quotaExceeded, payloadTooLarge, invalidArgument (a malformed path, a child of an ephemeral, a parent removed before
/// its children) as their names say; unavailable: not connected and nothing was sent, or a read whose reply was lost;
/// outcomeUnknown: a write was sent, and the connection was lost before the reply; sessionExpired.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tenure/candidate.hpp"
#include "tenure/result.hpp"
#include "tenure/values.hpp"

namespace tenure {

struct NodeStat {
  std::int64_t czxid = 0;
  std::int64_t mzxid = 0;
  std::int64_t pzxid = 0;
  std::int32_t version = 0;
  std::int32_t cversion = 0;
  std::int64_t ephemeralOwner = 0;  // 0 for a persistent znode
  std::int32_t dataLength = 0;
  std::int32_t childCount = 0;
};

struct Node {
  std::string data;
  NodeStat stat;
};

struct CreatedNode {
  std::string path;  // with the sequence number
  NodeStat stat;
};

enum class CreateMode { persistent, ephemeral, ephemeralSequential };

constexpr std::int32_t anyVersion = -1;

/// One part of a multi. All of it happens, or nothing.
struct CheckOp {
  std::string path;
  std::int32_t version = anyVersion;
};
struct CreateOp {
  std::string path;
  std::string data{};
  CreateMode mode = CreateMode::persistent;
};
struct SetOp {
  std::string path;
  std::string data;
  std::int32_t version = anyVersion;
};
struct RemoveOp {
  std::string path;
  std::int32_t version = anyVersion;
};
using MultiOp = std::variant<CheckOp, CreateOp, SetOp, RemoveOp>;
/// Why one part, the first is 0, was refused; and which one that was, nullopt where all of it failed as a whole.
Error refusalOf(std::size_t part, std::size_t parts, Error why);
std::optional<std::size_t> refusedPart(const Error& refusal);

enum class WatchEvent { created, deleted, dataChanged, childrenChanged };

struct SessionInfo {
  std::uint64_t generation = 0;  // grows with every new session
  std::int64_t id = 0;
  std::chrono::milliseconds timeout{};  // as negotiated
  std::string server;
  /// The handshake of this connection was sent then or later: that long at least the leading server has known it.
  BootTime greetedAt{};
  /// With it another process can speak for this session once this one is gone. Only this room can read it; it is as
  /// secret as a password. Empty in the double.
  Secret key{};
};

/// The session that a dead process has left.
struct LeftSession {
  std::int64_t id = 0;
  Secret key;
  std::string server{};  // where it was last connected: asked first, since it has just been there
};

/// What the owner of a coordination object is told about its session.
class ISessionObserver {
 public:
  virtual ~ISessionObserver() = default;
  /// Connected for the first time in this generation, or again. A reconnect proves nothing about leadership.
  virtual void onConnected(const SessionInfo& session) = 0;
  virtual void onSuspended() = 0;
  /// The session is gone, with its ephemeral znodes; a new one is being made.
  virtual void onExpired() = 0;
  /// Final: no further session will be tried (wrong credentials, unusable host list).
  virtual void onFatal(const Error& error) = 0;
};

template <class T>
using Callback = std::function<void(Result<T>)>;
using WatchCallback = std::function<void(WatchEvent)>;

class ICoordination {
 public:
  virtual ~ICoordination() = default;

  /// Begins to connect; the observer must outlive this object or close().
  virtual void start(ISessionObserver& observer) = 0;
  /// Ends the session, which deletes its ephemeral znodes at once when connected. `done` is called in any case, at
  /// the latest after about two seconds; afterwards nothing is called any more.
  virtual void close(std::function<void()> done) = 0;
  /// Like close(), but without a farewell that no server would answer: the session lives until it expires.
  virtual void abandon(std::function<void()> done) { close(std::move(done)); }
  /// What became of the last attempt to connect, in words for people; empty when nothing is known.
  virtual std::string whyNotConnected() const { return {}; }

  /// New znodes are open to all, or belong to the creator when a digest is in use.
  virtual void create(std::string path, std::string data, CreateMode mode, Callback<CreatedNode> done) = 0;
  virtual void remove(std::string path, std::int32_t version, Callback<void> done) = 0;
  virtual void set(std::string path, std::string data, std::int32_t version, Callback<NodeStat> done) = 0;

  /// A watch is called once, for the first change after the read, unless its session ends before. A watch on an
  /// absent znode (read answers notFound) is not kept; use watchExists for that.
  virtual void get(std::string path, WatchCallback watch, Callback<Node> done) = 0;
  virtual void children(std::string path, WatchCallback watch, Callback<std::vector<std::string>> done) = 0;
  /// The stat, or notFound; the watch is kept either way.
  virtual void exists(std::string path, WatchCallback watch, Callback<NodeStat> done) = 0;

  /// A quorum write. Answers when committed; the created paths of its CreateOps, in order.
  virtual void multi(std::vector<MultiOp> ops, Callback<std::vector<std::string>> done) = 0;

  /// The server's `sync`. Proves nothing (a deposed ensemble leader answers it); for tests and tools.
  virtual void sync(std::string path, Callback<void> done) = 0;
  /// The ACL of a znode: true when anybody may change it.
  virtual void isWorldWritable(std::string path, Callback<bool> done) = 0;
};

}  // namespace tenure
