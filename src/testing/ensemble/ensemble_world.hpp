/// What the machines of one in-memory ensemble share. Private to the room.
#pragma once

#include <list>

#include "base/random.hpp"
#include "testing/ensemble/ensemble_network.hpp"

namespace tenure::ensemble {

class Server;

enum class RequestKind { any, create, set, remove, multi, get, children, exists, acl, sync, close };
RequestKind kindOf(const Operation& operation) noexcept;
std::string nameOf(MachineId server);

/// Something that happens to one request of one client, once.
struct Fault {
  enum class What {
    requestLost,  // the connection is lost before the server has seen it
    replyLost,    // done, and the connection is lost with the answer
    refused,      // answered with `code`, nothing done
  } what;
  RequestKind kind = RequestKind::any;
  Errc code{};
};

struct EnsembleSettings {
  int servers = 3;
  std::chrono::milliseconds tick{2'000};
  int syncLimit = 5;  // ticks of silence between leader and follower
  std::chrono::milliseconds election{200};
  Network::Latency latency{std::chrono::microseconds{100}, std::chrono::microseconds{400}};
};

struct World {
  World(ILoop& worldLoop, const EnsembleSettings& ensembleSettings, std::uint64_t seed);
  ~World();

  ILoop& loop;
  EnsembleSettings settings;
  Random random;
  Network network;
  std::vector<std::unique_ptr<Server>> servers;  // server n at n - 1
  std::map<MachineId, std::list<Fault>> faults;
  std::set<std::string> refusedDigests;
  int lastClient = 1'000;
  std::uint64_t lastConnection = 0;
  std::int64_t lastSession = 0;

  Server& server(MachineId id) { return *servers.at(static_cast<std::size_t>(id.value - 1)); }
  std::size_t majority() const noexcept { return servers.size() / 2 + 1; }
  bool hearEachOther(MachineId a, MachineId b) const;
  std::optional<Fault> takeFault(MachineId client, const Operation& operation);
  /// A server has looked around: it joins a leader that has a majority, or those who are looking elect one.
  void elect(Server& looking);
  void elect(Server& winner, const std::vector<Server*>& voters, std::int64_t epochs);

 private:
  bool joinLeader(Server& looking);
};

}  // namespace tenure::ensemble
