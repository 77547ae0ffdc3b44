/// The data of one server: znodes and sessions, changed by transactions only. Two trees that have applied the same
/// transactions are equal. Private to the room.
#pragma once

#include <map>
#include <set>

#include "testing/ensemble/ensemble_wire.hpp"

namespace tenure::ensemble {

struct ZNode {
  std::string data{};
  std::string creator{};  // who alone may use it; empty: open to all
  SessionId owner{};      // of an ephemeral
  Zxid czxid = 0;
  Zxid mzxid = 0;
  Zxid pzxid = 0;
  std::int32_t version = 0;
  std::int32_t creations = 0;  // children ever created here: the next sequence number
  std::set<std::string> children{};
};

// What a write came to, decided by the leader before it was proposed.
struct NodeCreated {
  std::string path, data, creator;
  SessionId owner;
  std::int32_t parentCreations = 0;
};
struct NodeSet {
  std::string path, data;
  std::int32_t version = 0;
};
struct NodeRemoved {
  std::string path;
};
struct SessionOpened {
  SessionId session;
  std::chrono::milliseconds timeout{};
};
struct SessionClosed {
  SessionId session;
  std::vector<std::string> ephemerals;
};
using Change = std::variant<NodeCreated, NodeSet, NodeRemoved, SessionOpened, SessionClosed>;

/// One zxid's worth. A refused write is a transaction too: it costs a zxid and a majority.
struct Transaction {
  Zxid zxid = 0;
  Origin origin{};
  std::optional<Error> refused{};
  bool sessionMoved = false;  // refused, and the connection on which it came is not the session's any more
  std::vector<Change> changes{};
};

class DataTree {
 public:
  using Notify = std::function<void(const std::string& path, WatchEvent event)>;

  DataTree();

  /// Returns the answer for the client; calls `notify` for each event a watch could wait for, in order.
  Reply apply(const Transaction& transaction, const Notify& notify);

  const ZNode* find(std::string_view path) const;
  std::vector<std::string> ephemeralsOf(SessionId session) const;
  const std::map<SessionId, std::chrono::milliseconds>& sessions() const noexcept { return sessions_; }
  Zxid lastZxid() const noexcept { return lastZxid_; }

  // Edits past all rules, for tests that begin from a damaged or aged ensemble. No watch fires.
  void jumpTo(Zxid zxid) noexcept { lastZxid_ = zxid; }
  void setCreations(const std::string& path, std::int32_t creations) { nodes_.at(path).creations = creations; }
  void plant(const std::string& path, ZNode node);

 private:
  void apply(const NodeCreated& change, Reply& reply, const Notify& notify);
  void apply(const NodeSet& change, Reply& reply, const Notify& notify);
  void apply(const NodeRemoved& change, Reply& reply, const Notify& notify);
  void apply(const SessionOpened& change, Reply& reply, const Notify& notify);
  void apply(const SessionClosed& change, Reply& reply, const Notify& notify);

  std::map<std::string, ZNode, std::less<>> nodes_;
  std::map<SessionId, std::set<std::string>> ephemerals_;
  std::map<SessionId, std::chrono::milliseconds> sessions_;
  Zxid lastZxid_ = 0;
};

NodeStat statOf(const ZNode& node) noexcept;
/// "/a/b" of "/a/b/c", "/" of "/a".
std::string parentOf(std::string_view path);
std::string baseOf(std::string_view path);

}  // namespace tenure::ensemble
