/// One server of the in-memory ensemble: its data, the part it plays, and the clients that it serves.
///
///             ┌──────── lead ────────▶ leading ─┐
///   looking ──┤                                 ├── majority or leader lost, crash ──▶ looking
///             └─── follow(leader) ──▶ following ┘         (all clients are dropped)
///
/// A server that has lost its ensemble does not know it: it serves from what it has until its own clock tells it, five
/// ticks or so later. That is how a deposed leader answers reads and `sync`. Private to the room.
#pragma once

#include <algorithm>

#include "testing/ensemble/ensemble_clients.hpp"
#include "testing/ensemble/ensemble_network.hpp"
#include "testing/ensemble/ensemble_tree.hpp"
#include "testing/ensemble/ensemble_world.hpp"

namespace tenure::ensemble {

/// The role of a server in the ensemble. A leader answers by itself, a follower asks its leader.
class IRole {
 public:
  virtual ~IRole() = default;
  virtual void submit(Request request) = 0;
  virtual void sync(const Origin& origin) = 0;
  virtual void touch(SessionId session) = 0;
  /// Is the session still there? Answered by the leader, if it can be asked.
  virtual void revalidate(SessionId session, std::function<void(bool)> done) = 0;
};

class Leader;
class Follower;

class Server {
 public:
  Server(World& world, MachineId id);
  ~Server();

  MachineId id() const noexcept { return id_; }
  World& world() noexcept { return *world_; }
  Clients& clients() noexcept { return clients_; }
  IRole* role() noexcept;  // null while looking or down
  Leader* leader() noexcept { return leader_.get(); }
  Follower* follower() noexcept { return follower_.get(); }
  bool up() const noexcept { return up_; }
  bool looking() const noexcept { return up_ && !leader_ && !follower_; }

  void lead(std::int64_t epoch);
  void follow(Server& leader);
  /// Gives up its part, drops its clients, and seeks a leader.
  void look();
  void crash();
  void restart();

  const DataTree& tree() const noexcept { return tree_; }
  DataTree& editTree() noexcept { return tree_; }
  /// Takes over data and log of its leader; what it had written down and the leader has not is gone.
  void copyFrom(const DataTree& tree, std::deque<Transaction> log);
  /// Everything this server knew is replaced, its epoch too.
  void beginFrom(const DataTree& snapshot);
  const std::deque<Transaction>& log() const noexcept { return log_; }
  /// The last thing written down, committed or not: who has seen more wins an election.
  std::int64_t acceptedEpoch() const noexcept { return std::max(acceptedEpoch_, lastLogged() >> 32); }
  Zxid lastLogged() const noexcept { return log_.empty() ? tree_.lastZxid() : log_.back().zxid; }

  void append(Transaction transaction) { log_.push_back(std::move(transaction)); }
  void commit(Zxid upTo);
  void answerSync(const Origin& origin);
  /// This server applies what is committed that much later than it hears of it.
  void setLag(Duration lag) noexcept { lag_ = lag; }

 private:
  void leaveLeadership();
  void seek();
  void afterLag(Task task);
  void runLagged();
  void applyUpTo(Zxid zxid);

  World* world_;
  MachineId id_;
  bool up_ = true;
  std::int64_t acceptedEpoch_ = 0;
  DataTree tree_;
  std::deque<Transaction> log_;  // written down, not yet known to be committed
  Clients clients_;
  std::unique_ptr<Leader> leader_;
  std::unique_ptr<Follower> follower_;
  Timer election_;
  Duration lag_{};
  std::deque<std::pair<BootTime, Task>> lagged_;
  Timer lagTimer_;
};

}  // namespace tenure::ensemble
