// Processes come and go, and what they leave.
#include <algorithm>

#include "simulation.hpp"

namespace tenure::simulation {

void Simulation::start(int slot) {
  const int number = ++lastNumber_;
  trace(number, "started", slot);
  slots_[slot] = number;
  processes_.emplace(number, std::make_unique<Process>(*this, slot, number)).first->second->start();
}

void Simulation::startLater(int slot, Duration delay) {
  loop_.after(delay, [this, slot] {
    if (!departing_ && inSlot(slot) == nullptr) start(slot);
  });
}

/// SIGKILL, or an exit. Its supervisor starts another one. What it has started may live on for a while.
void Simulation::lose(Process& process, Duration restartAfter, bool inOrder) {
  const int number = process.number();
  // The process may have lost its term while a handler still ran.
  if (ghost_.isHandling(number)) ghost_.died(process.token());
  const bool orphans = plan_.spawns && ghost_.isHandling(number) && !drawOneIn(3);
  ghost_.handlerLost(number, orphans);
  if (orphans) {
    orphans_.emplace(number, process.identity());
    report_.coverage.saw("command_orphaned");
    loop_.after(drawTime(8s), [this, number] { endOrphan(number); });
  }
  loseConnection(number);
  startLater(process.slot(), restartAfter);
  if (!inOrder) carryOut(process);
  process.kill([this, number] { processes_.erase(number); });
}

void Simulation::endOrphan(int number) {
  if (orphans_.erase(number) > 0) ghost_.orphanEnded(number);
}

/// Its helper takes a moment to notice.
void Simulation::carryOut(const Process& process) {
  if (!process.will()) return;
  const int number = process.number();
  const auto [place, isNew] = wills_.try_emplace(number, nullptr);
  if (!isNew) return;
  place->second = std::make_unique<Testament>(*this, number, *process.will());
  loop_.after(1ms + drawTime(20ms), [this, number] {
    if (const auto will = wills_.find(number); will != wills_.end()) will->second->open();
  });
}

void Simulation::forget(const Testament&, int number) {
  loop_.post([this, number] { wills_.erase(number); });
}

void Simulation::loseConnection(int number) {
  for (const Message& again : broker_.lose(number)) {
    report_.coverage.saw("returned_by_broker");
    ghost_.returned(again);
  }
}

Process* Simulation::alive(int number) {
  const auto found = processes_.find(number);
  return found == processes_.end() || found->second->dead() ? nullptr : found->second.get();
}

Process* Simulation::inSlot(int slot) {
  const auto found = slots_.find(slot);
  return found == slots_.end() ? nullptr : alive(found->second);
}

Process* Simulation::leader() {
  for (const auto& [slot, number] : slots_)
    if (Process* process = alive(number); process != nullptr && process->leading()) return process;
  return nullptr;
}

void Simulation::exited(Process& process, ExitStatus status, bool careerIsHome) {
  trace(process.number(), careerIsHome ? "exit" : "exit with the career out", static_cast<std::int64_t>(status));
  const bool forGood = status == ExitStatus::configuration || status == ExitStatus::authentication;
  if (forGood && !putBack()) ghost_.violated("L5: a replica has given up for good");
  if (forGood) ++gaveUp_;
  if (!careerIsHome) ghost_.died(process.token());
  const auto told = process.terminatedAt();
  if (told && !process.wasDisturbed() && loop_.now() - *told > longestDeparture)
    ghost_.violated("L4: SIGTERM has ended a replica too late");
  // It is called by what is about to be taken down.
  loop_.post([this, forGood, careerIsHome, number = process.number()] {
    if (Process* gone = alive(number))
      lose(*gone, departing_ || forGood ? Duration{1000h} : Duration{300ms}, careerIsHome);
  });
}

Liveness Simulation::livenessOf(const ProcessIdentity& asker, const ProcessIdentity& asked) {
  const bool sameMachine = asker.bootId == asked.bootId;
  if (mutant_ == Mutant::hostNameIsMachine && asker.host == asked.host && !sameMachine) return Liveness::gone;
  if (!sameMachine || asker.pidNamespace != asked.pidNamespace) return Liveness::unknown;
  if (plan_.blind > 0 && drawOneIn(plan_.blind)) {
    report_.coverage.saw("liveness_unknown");
    return mutant_ == Mutant::unknownIsGone ? Liveness::gone : Liveness::unknown;
  }
  for (const auto& [number, process] : processes_)
    if (!process->dead() && process->identity() == asked) return Liveness::alive;
  const bool left = std::ranges::any_of(orphans_, [&](const auto& orphan) { return orphan.second == asked; });
  return left ? Liveness::unknown : Liveness::gone;
}

}  // namespace tenure::simulation
