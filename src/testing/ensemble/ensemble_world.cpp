#include "testing/ensemble/ensemble_world.hpp"

#include "base/assert.hpp"
#include "testing/ensemble/ensemble_leader.hpp"

namespace tenure::ensemble {
namespace {

struct Kind {
  RequestKind operator()(const CreateOp&) const { return RequestKind::create; }
  RequestKind operator()(const SetOp&) const { return RequestKind::set; }
  RequestKind operator()(const RemoveOp&) const { return RequestKind::remove; }
  RequestKind operator()(const Multi&) const { return RequestKind::multi; }
  RequestKind operator()(const CloseSession&) const { return RequestKind::close; }
  RequestKind operator()(const Get&) const { return RequestKind::get; }
  RequestKind operator()(const Children&) const { return RequestKind::children; }
  RequestKind operator()(const Exists&) const { return RequestKind::exists; }
  RequestKind operator()(const GetAcl&) const { return RequestKind::acl; }
  RequestKind operator()(const Sync&) const { return RequestKind::sync; }
  RequestKind operator()(const auto&) const { return RequestKind::any; }  // the session's own traffic
};

}  // namespace

RequestKind kindOf(const Operation& operation) noexcept { return std::visit(Kind{}, operation); }

std::string nameOf(MachineId server) { return "server-" + std::to_string(server.value); }

World::World(ILoop& worldLoop, const EnsembleSettings& ensembleSettings, std::uint64_t seed)
    : loop(worldLoop), settings(ensembleSettings), random(seed), network(loop, random.fork(), settings.latency) {
  TENURE_ASSERT(settings.servers > 0);
  for (int id = 1; id <= settings.servers; ++id) servers.push_back(std::make_unique<Server>(*this, MachineId{id}));
}

World::~World() = default;

bool World::hearEachOther(MachineId a, MachineId b) const {
  return network.reaches(a, b) && network.reaches(b, a) && !network.frozen(a) && !network.frozen(b);
}

std::optional<Fault> World::takeFault(MachineId client, const Operation& operation) {
  const RequestKind kind = kindOf(operation);
  const auto planned = faults.find(client);
  if (planned == faults.end() || kind == RequestKind::any) return std::nullopt;
  std::list<Fault>& list = planned->second;
  const auto found = std::find_if(list.begin(), list.end(), [kind](const Fault& fault) {
    return fault.kind == RequestKind::any || fault.kind == kind;
  });
  if (found == list.end()) return std::nullopt;
  const Fault fault = *found;
  list.erase(found);
  return fault;
}

bool World::joinLeader(Server& looking) {
  for (const auto& leading : servers) {
    if (leading->leader() == nullptr || !hearEachOther(looking.id(), leading->id())) continue;
    std::size_t votes = 1;
    for (const auto& other : servers)
      if (other->follower() != nullptr && other->follower()->leader() == leading->id() &&
          hearEachOther(looking.id(), other->id()))
        ++votes;
    if (votes < majority()) continue;
    looking.follow(*leading);
    return true;
  }
  return false;
}

void World::elect(Server& looking) {
  if (joinLeader(looking)) return;
  Server* winner = &looking;
  std::vector<Server*> voters;
  for (const auto& server : servers) {
    if (!server->looking() || !hearEachOther(looking.id(), server->id())) continue;
    voters.push_back(server.get());
    if (std::pair{server->lastLogged(), server->id()} > std::pair{winner->lastLogged(), winner->id()})
      winner = server.get();
  }
  std::erase_if(voters, [&](const Server* voter) { return !hearEachOther(winner->id(), voter->id()); });
  if (voters.size() >= majority()) elect(*winner, voters, 1);
}

void World::elect(Server& winner, const std::vector<Server*>& voters, std::int64_t epochs) {
  std::int64_t epoch = winner.acceptedEpoch();
  for (const Server* voter : voters) epoch = std::max(epoch, voter->acceptedEpoch());
  winner.lead(epoch + epochs);
  for (Server* voter : voters)
    if (voter != &winner) voter->follow(winner);
}

}  // namespace tenure::ensemble
