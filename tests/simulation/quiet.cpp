// A time in which nothing happens but that clocks are set and keys grow old; then producers repeat themselves.
#include "simulation.hpp"

namespace tenure::simulation {

void Simulation::passTime() {
  trace(0, "quiet", 0);
  bool areRight = true;
  for (const Fault& fault : plan_.faults) areRight = areRight && fault.kind != FaultKind::stepWall;
  for (const ClockStep& step : plan_.clockSteps) {
    areRight = false;
    loop_.after(step.at, [this, &step] {
      if (Process* process = inSlot(step.slot)) process->loop().stepWall(step.by);
    });
  }
  runUntil([] { return false; }, plan_.quiet);
  if (ghost_.violation()) return;
  if (areRight && somebodyServes()) ghost_.checkOldKeys(loop_.now());
  for (MessagePlan message : plan_.messages) {
    if (message.kind != MessagePlan::Kind::ordinary || message.id % 2 != 0) continue;
    message.kind = MessagePlan::Kind::repeated;
    produce(message);
  }
  if (!ghost_.violation()) awaitMessages();
}

}  // namespace tenure::simulation
