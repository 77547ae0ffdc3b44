/// The clients that a server serves: one queue a connection, answered in order. A write waits for its commit and holds
/// up what comes behind it; a read is answered from the server's own tree. Private to the room.
#pragma once

#include "testing/ensemble/ensemble_network.hpp"
#include "testing/ensemble/ensemble_tree.hpp"

namespace tenure::ensemble {

class Server;

class Clients {
 public:
  explicit Clients(Server& server) noexcept : server_(&server) {}
  ~Clients() { dropAll(); }

  /// A client's connection has come in; returns the number that its messages carry.
  std::uint64_t accept(std::shared_ptr<Connection> wire, MachineId machine, IClientEnd& client);
  void onHello(std::uint64_t connection, const Hello& hello);
  void onRequest(std::uint64_t connection, std::int64_t xid, Operation operation);

  /// A transaction is in the tree now.
  void onApplied(const Transaction& transaction, const Reply& reply);
  void onEvent(const std::string& path, WatchEvent event);
  void onSynced(const Origin& origin) { answer(origin, Reply{}); }
  void dropAll();

 private:
  struct Waiting {
    std::int64_t xid = 0;
    Operation operation;
    bool replyLost = false;
    std::optional<Reply> reply{};
  };
  struct Guest {
    std::shared_ptr<Connection> wire;
    MachineId machine;
    IClientEnd* client;
    SessionId session{};  // 0 until welcomed
    std::chrono::milliseconds timeout{};
    std::string identity{};
    std::deque<Waiting> waiting{};
  };
  using Guests = std::map<std::uint64_t, Guest>;
  using Watches = std::map<std::string, std::set<std::uint64_t>>;

  Guest* find(std::uint64_t connection);
  void drop(std::uint64_t connection);
  void welcome(std::uint64_t connection, SessionId session, Welcome::Kind kind);
  void pass(std::uint64_t connection, Guest& guest, const Waiting& waiting);
  void answer(const Origin& origin, Reply reply);
  void drain(std::uint64_t connection);
  void say(Guest& guest, std::int64_t xid, Reply reply);
  void closeSession(SessionId session);
  void fire(Watches& watches, const std::string& path, WatchEvent event, std::set<std::uint64_t>& told);

  Reply read(std::uint64_t connection, const Guest& guest, const Operation& operation);
  Reply readNode(const Guest& guest, const std::string& path, const std::function<void(const ZNode&, Reply&)>& fill);
  void leaveWatches(std::uint64_t connection, Guest& guest, const SetWatches& watches);

  Server* server_;
  Guests guests_;
  Watches dataWatches_;
  Watches childWatches_;
};

}  // namespace tenure::ensemble
