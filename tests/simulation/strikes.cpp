// How each fault of the plan strikes.
#include "election/records.hpp"
#include "simulation.hpp"
#include "testing/memory/memory_state.hpp"

namespace tenure::simulation {
namespace {

using RequestKind = MemoryEnsemble::RequestKind;

RequestKind requestOf(const Fault& fault) {
  constexpr RequestKind kinds[] = {RequestKind::create, RequestKind::multi, RequestKind::remove, RequestKind::any};
  return kinds[static_cast<std::size_t>(fault.number) % std::size(kinds)];
}

}  // namespace

void Simulation::schedule(const Fault& fault) {
  if (!fault.ambush) loop_.after(fault.at, [this, &fault] { strike(fault, 0); });
}

void Simulation::entered(Process& process, Stage stage) {
  process.trace("enters", static_cast<std::int64_t>(stage));
  if (storeDown()) report_.coverage.mark(stage, Column::storeDown);
  if (sourceDown()) report_.coverage.mark(stage, Column::sourceDown);
  const int entry = ++entries_[stage];
  if (healed_) return;
  for (const Fault& fault : plan_.faults)
    if (fault.ambush == stage && fault.entry == entry)
      loop_.after(fault.at, [this, &fault, number = process.number()] { strike(fault, number); });
}

void Simulation::strike(const Fault& fault, int number) {
  if (healed_) return;
  if (!ofOneReplica(fault.kind)) {
    trace(0, toString(fault.kind), fault.target);
    if (fault.kind < FaultKind::jumpZxid) return strikeServer(fault);
    return strikeWorld(fault);
  }
  Process* process = number != 0 ? alive(number) : fault.target < 0 ? leader() : inSlot(fault.target % plan_.replicas);
  if (process == nullptr) return;
  process->trace(toString(fault.kind), static_cast<std::int64_t>(process->stage()));
  strike(fault, *process);
}

void Simulation::strike(const Fault& fault, Process& process) {
  switch (fault.kind) {
    case FaultKind::kill: report_.coverage.mark(process.stage(), Column::killed); return lose(process, fault.lasts);
    case FaultKind::pause: return pause(process, fault.lasts, fault.flag);
    case FaultKind::hangControl:
      process.disturb();
      process.loop().hang();
      loop_.after(fault.lasts, [this, number = process.number()] {
        if (Process* hung = alive(number)) hung->loop().unhang();
      });
      return;
    case FaultKind::terminate: return terminate(process, 1 + fault.number % 3, 300ms + fault.lasts / 4);
    case FaultKind::stepDown: return process.stepDown();
    case FaultKind::stepWall:
      return process.loop().stepWall(std::chrono::floor<std::chrono::milliseconds>(fault.lasts) *
                                     (fault.flag ? -1000 : 1000));
    case FaultKind::forgetKept: return process.store().forgetKept();
    case FaultKind::flap: ++serversTroubled_; return flap(process.number(), loop_.now() + 3 * fault.lasts, {});
    case FaultKind::cutOff:
    case FaultKind::deafen: return strikeNetwork(fault, process);
    default: return strikeRequest(fault, process);
  }
}

void Simulation::pause(Process& process, Duration lasts, bool hard) {
  process.freeze(hard);
  if (mutant_ == Mutant::willOfFrozen) carryOut(process);
  const int number = process.number();
  // Not another pause's end: whoever stays broken was paused before, maybe.
  loop_.after(lasts, [this, number, which = process.freezes()] {
    if (Process* frozen = alive(number); frozen != nullptr && frozen->freezes() == which) frozen->thaw();
  });
  // No heartbeat comes: the broker gives it up.
  loop_.after(plan_.sessionTimeout / 2, [this, number] {
    if (Process* frozen = alive(number); frozen != nullptr && frozen->loop().frozen()) loseConnection(number);
  });
}

void Simulation::terminate(Process& process, int times, Duration apart) {
  for (int n = 0; n < times; ++n)
    loop_.after(apart * n, [this, number = process.number()] {
      Process* told = alive(number);
      if (told == nullptr) return;
      report_.coverage.mark(told->stage(), Column::terminated);
      told->terminate();
    });
}

void Simulation::strikeNetwork(const Fault& fault, Process& process) {
  const auto machine = process.client()->machine();
  for (int server = 1; server <= plan_.servers; ++server) {
    if (fault.kind == FaultKind::cutOff) ensemble_.cutOneWay(machine, MemoryEnsemble::server(server));
    if (fault.kind == FaultKind::deafen || !fault.flag) ensemble_.cutOneWay(MemoryEnsemble::server(server), machine);
  }
  loop_.after(fault.lasts, [this, machine] {
    for (int server = 1; server <= plan_.servers; ++server) ensemble_.heal(machine, MemoryEnsemble::server(server));
  });
}

void Simulation::flap(int number, BootTime until, Ways cut) {
  Process* process = alive(number);
  const auto leading = ensemble_.leader();
  if (process == nullptr || healed_ || loop_.now() >= until) {
    for (const auto& [from, to] : cut) ensemble_.heal(from, to);
    --serversTroubled_;
    return;
  }
  const auto client = process->client()->machine();
  const auto server = process->client()->server();
  const auto leader = leading.value_or(server);
  const std::pair<MemoryEnsemble::MachineId, MemoryEnsemble::MachineId> ways[] = {
      {client, server}, {server, client}, {server, leader}, {leader, server}};
  const auto way = ways[random_.below(std::size(ways))];
  if (cut.erase(way) > 0) {
    ensemble_.heal(way.first, way.second);
    if (cut.contains({way.second, way.first})) ensemble_.cutOneWay(way.second, way.first);
  } else if (way.first != way.second) {
    ensemble_.cutOneWay(way.first, way.second);
    cut.insert(way);
  }
  const Duration next{static_cast<Duration::rep>(random_.fraction() * static_cast<double>(plan_.tick.count()))};
  loop_.after(next, [this, number, until, cut = std::move(cut)] { flap(number, until, cut); });
}

void Simulation::strikeRequest(const Fault& fault, Process& process) {
  const auto machine = process.client()->machine();
  switch (fault.kind) {
    case FaultKind::loseRequest: return ensemble_.loseNextRequest(machine, requestOf(fault));
    case FaultKind::loseReply: return ensemble_.loseNextReply(machine, requestOf(fault));
    case FaultKind::refuse: return ensemble_.refuseNext(machine, Errc::quotaExceeded, requestOf(fault));
    case FaultKind::expire:
      if (!ensemble_.leader() || process.client()->session().value == 0) return;
      process.excuse();
      return ensemble_.expire(process.client()->session());
    case FaultKind::deleteOwn:
      if (process.znode().empty()) return;
      process.excuse();
      return operator_->remove("/tenure/elections/orders/candidates/" + process.znode(), anyVersion, {});
    case FaultKind::loseCommit: process.armed.loseCommit = fault.flag; return;
    case FaultKind::failWrite: process.armed.failWrite = fault.flag ? Errc::storeFull : Errc::storeBusy; return;
    case FaultKind::loseClaim: process.armed.loseClaim = true; return;
    case FaultKind::failPromotion: process.armed.failPromotion = true; return;
    case FaultKind::pausePromoter: process.armed.pausePromoter = fault.lasts; return;
    case FaultKind::failAcknowledge: process.armed.failAcknowledge = true; return;
    case FaultKind::dropDelivery: return loseConnection(process.number());
    default: return;
  }
}

void Simulation::strikeServer(const Fault& fault) {
  const auto leading = ensemble_.leader();
  const auto server =
      fault.target < 0 && leading ? *leading : MemoryEnsemble::server(1 + std::max(fault.target, 0) % plan_.servers);
  ++serversTroubled_;
  Task over;
  switch (fault.kind) {
    case FaultKind::isolateServer:
      for (int other = 1; other <= plan_.servers; ++other) {
        if (MemoryEnsemble::server(other) == server) continue;
        if (fault.number % 3 != 0) ensemble_.cutOneWay(server, MemoryEnsemble::server(other));
        if (fault.number % 3 != 1) ensemble_.cutOneWay(MemoryEnsemble::server(other), server);
      }
      over = [this, server] {
        for (int other = 1; other <= plan_.servers; ++other) ensemble_.heal(server, MemoryEnsemble::server(other));
      };
      break;
    case FaultKind::crashServer:
      if (!crashedServers_.insert(server.value).second) break;
      ensemble_.crash(server);
      over = [this, server] {
        crashedServers_.erase(server.value);
        ensemble_.restart(server);
      };
      break;
    case FaultKind::freezeServer:
      ensemble_.freeze(server);
      over = [this, server] { ensemble_.thaw(server); };
      break;
    case FaultKind::lagServer:
      ensemble_.setLag(server, fault.lasts / 8);
      over = [this, server] { ensemble_.setLag(server, {}); };
      break;
    default:
      if (serversTroubled_ == 1) ensemble_.electNewLeader(server, 1 + fault.number % 5);
  }
  loop_.after(fault.lasts, [this, over = std::move(over)] {
    if (healed_) return;
    if (over) over();
    --serversTroubled_;
  });
}

void Simulation::markEverywhere(Column column) {
  for (const auto& [slot, number] : slots_)
    if (const Process* process = alive(number)) report_.coverage.mark(process->stage(), column);
}

void Simulation::strikeWorld(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::jumpZxid: {
      constexpr std::int64_t counter = 0xffffffff;
      const std::int64_t last = ensemble_.tree().lastZxid();
      if (!ensemble_.leader() || (last & counter) > counter - 1'000'000) return;
      return ensemble_.jumpTo(fault.flag ? (last | counter) - 20 : last + 1'000 * (1 + fault.number));
    }
    case FaultKind::deleteParent: return deleteCandidates(5);
    case FaultKind::steer: return steer(fault);
    case FaultKind::restartStore: return restartStore(fault.flag);
    case FaultKind::closeQueue: return closeQueue(fault.lasts);
    case FaultKind::lockRow: return lockRow(fault);
    case FaultKind::storeOutage:
      storeDownUntil_ = std::max(storeDownUntil_, loop_.now() + fault.lasts);
      return markEverywhere(Column::storeDown);
    case FaultKind::sourceOutage:
      sourceDownUntil_ = std::max(sourceDownUntil_, loop_.now() + fault.lasts);
      return markEverywhere(Column::sourceDown);
    default: return;
  }
}

void Simulation::restartStore(bool landed) {
  memory::State& state = memory::StateOf::in(store_);
  state.server += "+";
  state.lostClaim = landed;
  state.recognizesNoLostClaim = mutant_ == Mutant::lostClaimForgotten;
}

void Simulation::closeQueue(Duration lasts) {
  std::set<std::string>& closed = memory::StateOf::in(store_).closedQueues;
  closed.emplace(followUps);
  loop_.after(lasts, [&closed] { closed.clear(); });
}

void Simulation::lockRow(const Fault& fault) {
  lockedKey_ = chainOf(fault.number % 4);
  lockedUntil_ = loop_.now() + fault.lasts;
}

/// Whoever stands between the leader and the one that is named loses its place, but nobody who leads its leadership.
void Simulation::steer(const Fault& fault) {
  const Process* leading = leader();
  const Process* target = inSlot(fault.number % plan_.replicas);
  if (leading == nullptr || target == nullptr) return;
  HandoverRequest request{leading->token(), "operator", target->uuid(), loop_.wallNow() + 20s, {}};
  if (fault.flag) request.at = loop_.wallNow() + std::chrono::floor<std::chrono::milliseconds>(fault.lasts);
  operator_->set("/tenure/elections/orders/handover", toJson(request), anyVersion, {});
}

/// Somebody removes the parent with all that is in it; who enrols meanwhile makes it fail.
void Simulation::deleteCandidates(int attempts) {
  if (attempts == 0) return;
  const std::string parent = "/tenure/elections/orders/candidates";
  for (const auto& [number, process] : processes_) process->excuse();
  operator_->children(parent, {}, [this, parent, attempts](const Result<std::vector<std::string>>& names) {
    if (!names || healed_) return;
    std::vector<MultiOp> ops;
    for (const std::string& name : *names) ops.emplace_back(RemoveOp{parent + '/' + name});
    ops.emplace_back(RemoveOp{parent});
    operator_->multi(std::move(ops), [this, attempts](const Result<std::vector<std::string>>& removed) {
      if (!removed && !healed_) deleteCandidates(attempts - 1);
    });
  });
}

}  // namespace tenure::simulation
