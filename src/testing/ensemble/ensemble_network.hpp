/// The network and the machines of the in-memory ensemble: connections that keep order, silent cuts that lose nothing
/// (like a packet that TCP resends), machines that stand still. Private to the room.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <set>

#include "base/loop.hpp"
#include "base/random.hpp"
#include "testing/ensemble/ensemble_wire.hpp"

namespace tenure::ensemble {

class Connection;

class Network {
 public:
  struct Latency {
    Duration least{};
    Duration most{};
  };
  Network(ILoop& loop, Random random, Latency latency) noexcept : loop_(&loop), random_(random), latency_(latency) {}

  std::shared_ptr<Connection> connect(MachineId a, MachineId b);
  Duration latency() noexcept;
  ILoop& loop() noexcept { return *loop_; }

  void cut(MachineId from, MachineId to) { cuts_.emplace(from, to); }
  void heal(MachineId from, MachineId to);
  void healAll();
  bool reaches(MachineId from, MachineId to) const { return !cuts_.contains({from, to}); }

  void freeze(MachineId machine) { frozen_.insert(machine); }
  /// What arrived or came due meanwhile happens now.
  void thaw(MachineId machine);
  bool frozen(MachineId machine) const { return frozen_.contains(machine); }

  bool delivers(MachineId from, MachineId to) const { return reaches(from, to) && !frozen(to); }
  /// Keeps a timer's task until its machine moves again.
  void defer(MachineId machine, std::weak_ptr<Task> task) { deferred_[machine].push_back(std::move(task)); }

 private:
  void kick();

  ILoop* loop_;
  Random random_;
  Latency latency_;
  std::set<std::pair<MachineId, MachineId>> cuts_;
  std::set<MachineId> frozen_;
  std::map<MachineId, std::vector<std::weak_ptr<Task>>> deferred_;
  std::vector<std::weak_ptr<Connection>> connections_;
  std::size_t sweepAt_ = 64;
};

/// A timer of one machine: stands still with it, ends with its owner.
class Timer {
 public:
  Timer(Network& network, MachineId machine) noexcept : network_(&network), machine_(machine) {}
  ~Timer() { cancel(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void set(Duration delay, Task task);
  void cancel() noexcept;

 private:
  void fire();

  Network* network_;
  MachineId machine_;
  TimerId id_ = 0;
  std::shared_ptr<Task> task_;
};

/// One connection between two machines. What is sent arrives in order, or waits while the way is cut or the receiver
/// frozen, or never arrives because an end was closed.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Network& network, MachineId a, MachineId b);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void send(MachineId from, Task arrive);
  /// The other end learns of it after all that was sent before.
  void close(MachineId by);
  /// Lost at both ends at once, with everything under way.
  void sever();
  /// What the machine at this end does when it finds the connection closed by the other.
  void onClosed(MachineId at, Task closed) { endOf(at).closed = std::move(closed); }
  /// Deliver again, after a cut was healed or a machine thawed.
  void resume();

 private:
  struct Parcel {
    BootTime arrival;
    Task arrive;
  };
  struct End {
    MachineId machine;
    bool open = true;
    Task closed{};
    std::deque<Parcel> incoming{};
    BootTime lastArrival{};
    TimerId timer = 0;
  };

  End& endOf(MachineId machine) noexcept { return ends_[0].machine == machine ? ends_[0] : ends_[1]; }
  End& otherEnd(const End& end) noexcept { return &end == &ends_[0] ? ends_[1] : ends_[0]; }
  void put(End& to, Task arrive);
  void lost(End& end);
  void arm(End& end);
  void deliver(End& end);

  Network* network_;
  std::array<End, 2> ends_;
};

}  // namespace tenure::ensemble
