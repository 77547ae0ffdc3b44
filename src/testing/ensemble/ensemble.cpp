#include "testing/ensemble/ensemble.hpp"

#include "base/assert.hpp"
#include "testing/ensemble/ensemble_leader.hpp"

namespace tenure {

using namespace ensemble;

MemoryEnsemble::MemoryEnsemble(ILoop& loop, Settings settings, std::uint64_t seed)
    : world_(std::make_unique<World>(loop, settings, seed)) {
  electNewLeader(world_->servers.back()->id());
}

MemoryEnsemble::~MemoryEnsemble() = default;

std::unique_ptr<MemoryClient> MemoryEnsemble::connect(MemoryClient::Settings settings) {
  return std::make_unique<MemoryClient>(*world_, std::move(settings));
}

void MemoryEnsemble::cut(MachineId a, MachineId b) {
  cutOneWay(a, b);
  cutOneWay(b, a);
}

void MemoryEnsemble::cutOneWay(MachineId from, MachineId to) { world_->network.cut(from, to); }

void MemoryEnsemble::heal(MachineId a, MachineId b) {
  world_->network.heal(a, b);
  world_->network.heal(b, a);
}

void MemoryEnsemble::healAll() { world_->network.healAll(); }

void MemoryEnsemble::isolate(MachineId server) {
  for (const auto& other : world_->servers)
    if (other->id() != server) cut(server, other->id());
}

void MemoryEnsemble::freeze(MachineId machine) { world_->network.freeze(machine); }
void MemoryEnsemble::thaw(MachineId machine) { world_->network.thaw(machine); }
void MemoryEnsemble::crash(MachineId server) { world_->server(server).crash(); }
void MemoryEnsemble::restart(MachineId server) { world_->server(server).restart(); }
void MemoryEnsemble::setLag(MachineId server, Duration lag) { world_->server(server).setLag(lag); }

std::optional<MemoryEnsemble::MachineId> MemoryEnsemble::leader() const {
  for (const auto& server : world_->servers) {
    if (server->leader() == nullptr) continue;
    std::size_t votes = 1;
    for (const auto& other : world_->servers)
      if (other->follower() != nullptr && other->follower()->leader() == server->id()) ++votes;
    if (votes >= world_->majority()) return server->id();
  }
  return std::nullopt;
}

void MemoryEnsemble::electNewLeader(MachineId winner, std::int64_t epochs) {
  std::vector<Server*> voters;
  for (const auto& server : world_->servers)
    if (server->up() && world_->hearEachOther(winner, server->id())) voters.push_back(server.get());
  TENURE_ASSERT(voters.size() >= world_->majority());
  // No server is elected that has seen less than another voter: what a majority wrote down would be lost.
  const auto newest = *std::max_element(
      voters.begin(), voters.end(), [](const Server* a, const Server* b) { return a->lastLogged() < b->lastLogged(); });
  for (Server* voter : voters) voter->look();
  if (newest->lastLogged() > world_->server(winner).lastLogged())
    world_->server(winner).copyFrom(newest->tree(), newest->log());
  world_->elect(world_->server(winner), voters, epochs);
}

void MemoryEnsemble::jumpTo(Zxid zxid) {
  const auto leading = leader();
  TENURE_ASSERT(leading.has_value());
  world_->server(*leading).leader()->jumpTo(zxid);
}

void MemoryEnsemble::expire(SessionId session) {
  const auto leading = leader();
  TENURE_ASSERT(leading.has_value());
  world_->server(*leading).leader()->expire(session);
}

void MemoryEnsemble::refuseDigest(const std::string& digest) { world_->refusedDigests.insert(digest); }

void MemoryEnsemble::loseNextRequest(MachineId client, RequestKind kind) {
  world_->faults[client].push_back({Fault::What::requestLost, kind});
}

void MemoryEnsemble::loseNextReply(MachineId client, RequestKind kind) {
  world_->faults[client].push_back({Fault::What::replyLost, kind});
}

void MemoryEnsemble::refuseNext(MachineId client, Errc code, RequestKind kind) {
  world_->faults[client].push_back({Fault::What::refused, kind, code});
}

const DataTree& MemoryEnsemble::tree(MachineId server) const { return world_->server(server).tree(); }

const DataTree& MemoryEnsemble::tree() const {
  const auto newest =
      std::max_element(world_->servers.begin(), world_->servers.end(),
                       [](const auto& a, const auto& b) { return a->tree().lastZxid() < b->tree().lastZxid(); });
  return (*newest)->tree();
}

void MemoryEnsemble::restore(const Snapshot& snapshot) {
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): it may be a reference into what is being replaced
  const Snapshot kept = snapshot;
  for (const auto& server : world_->servers) server->crash();
  for (const auto& server : world_->servers) server->beginFrom(kept);
  for (const auto& server : world_->servers) server->restart();
  electNewLeader(world_->servers.back()->id());
}

void MemoryEnsemble::edit(const std::function<void(DataTree&)>& change) {
  for (const auto& server : world_->servers) change(server->editTree());
}

}  // namespace tenure
