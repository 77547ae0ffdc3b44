/// A ZooKeeper ensemble in memory and in virtual time, behind ICoordination: for unit tests and seeded simulation.
///
/// It is no linearizable fake. It has servers, each with the data it has received; a leader that orders writes and
/// needs a majority for each; followers that pass writes on; and the faults that real ensembles have:
///
///   client ──▶ follower ──write──▶ leader ──propose──▶ followers ──ack──▶ leader ──commit──▶ all
///              │ read: from its own tree              │ a write counts when a majority has written it down
///              │ sync: passed to the leader           │ sync: answered by a server that thinks it leads
///              └ ping: noted, reported every tick/2   └ sessions: expired on a tick, by the leader alone
///
///   - A follower cut off from its leader stalls writes and `sync` at once, and goes on answering reads until
///     `syncLimit` ticks of silence. A leader that the others have left answers reads and `sync` just as long, and
///     lets clients attach to it, but never commits.
///   - A forwarded write does not touch its session at the leader. Ephemeral znodes linger until their session's
///     deadline, rounded up to a tick. A new leader gives every session its full timeout again.
///   - What is cut is silent; what crashes is noticed at once. A frozen server handles what it missed when it thaws.
///   - Sequence numbers are an int32 of the parent's and come round as the real ones do: the same one again, or
///     negative. Order by czxid.
///
/// One seed and one sequence of calls give one history. Nothing here reads a clock, starts a thread or sleeps.
/// Threads: the loop's.
#pragma once

#include <memory>

#include "testing/ensemble/ensemble_client.hpp"
#include "testing/ensemble/ensemble_tree.hpp"

namespace tenure {

class MemoryEnsemble {
 public:
  using Settings = ensemble::EnsembleSettings;
  using MachineId = ensemble::MachineId;
  using SessionId = ensemble::SessionId;
  using RequestKind = ensemble::RequestKind;
  using Snapshot = ensemble::DataTree;

  /// Server n of n leads from the start.
  MemoryEnsemble(ILoop& loop, Settings settings, std::uint64_t seed);
  explicit MemoryEnsemble(ILoop& loop) : MemoryEnsemble(loop, Settings{}, 1) {}
  ~MemoryEnsemble();

  /// A client that has not started; it must not outlive the ensemble.
  std::unique_ptr<MemoryClient> connect(MemoryClient::Settings settings);
  std::unique_ptr<MemoryClient> connect() { return connect({}); }

  // --- the network: silent cuts, both ways or one; what is sent meanwhile arrives when the cut is healed

  void cut(MachineId a, MachineId b);
  void cutOneWay(MachineId from, MachineId to);
  void heal(MachineId a, MachineId b);
  void healAll();
  /// From every other server; clients still reach it.
  void isolate(MachineId server);

  // --- the machines

  /// SIGSTOP and SIGCONT, of a server or of a client.
  void freeze(MachineId machine);
  void thaw(MachineId machine);
  /// The process ends: connections close, what was written down stays.
  void crash(MachineId server);
  void restart(MachineId server);
  /// The server applies what is committed that much later.
  void setLag(MachineId server, Duration lag);

  // --- leadership

  static constexpr MachineId server(int number) noexcept { return MachineId{number}; }
  /// The leader with a majority behind it; nothing while there is none.
  std::optional<MachineId> leader() const;
  /// All servers that `winner` hears follow it at once, in an epoch that is `epochs` later. An old leader that
  /// `winner` does not hear goes on believing in itself.
  void electNewLeader(MachineId winner, std::int64_t epochs = 1);
  /// The next write's zxid is `zxid` + 1, in the leader's own epoch; for roll-over and tokens beyond 2^53.
  void jumpTo(ensemble::Zxid zxid);

  // --- sessions and single requests

  /// As if the session's timeout had passed.
  void expire(SessionId session);
  void refuseDigest(const std::string& digest);
  void loseNextRequest(MachineId client, RequestKind kind = RequestKind::any);
  void loseNextReply(MachineId client, RequestKind kind = RequestKind::any);
  void refuseNext(MachineId client, Errc code, RequestKind kind = RequestKind::any);

  // --- the data

  /// What this server has.
  const ensemble::DataTree& tree(MachineId server) const;
  /// What a majority has committed, as far as any server knows.
  const ensemble::DataTree& tree() const;
  Snapshot snapshot() const { return tree(); }
  /// The operator stops everything, puts back a snapshot (an empty one makes a new ensemble), and starts again: czxids
  /// go back.
  void restore(const Snapshot& snapshot);
  /// Changes every server's data past all rules, as a damaged or aged ensemble would have it. Fires no watch. Let them
  /// settle before: a follower hears of a commit after its leader.
  void edit(const std::function<void(ensemble::DataTree&)>& change);

 private:
  std::unique_ptr<ensemble::World> world_;
};

}  // namespace tenure
