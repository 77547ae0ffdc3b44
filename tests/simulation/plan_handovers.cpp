// What is drawn of handovers, and of what befalls leader and successor between the offer and the baton.
#include <algorithm>

#include "draw.hpp"
#include "plan.hpp"

namespace tenure::simulation {
namespace {

Fault drawRequest(const Plan& plan, Draw& draw) {
  return {.kind = draw.of({FaultKind::terminate, FaultKind::stepDown, FaultKind::steer}),
          .at = draw.time(1s, plan.chaos),
          .lasts = draw.time(1ms, plan.sessionTimeout),
          .number = draw.number(0, 99),
          .flag = draw.oneIn(4)};
}

/// Half of the time the next in line stands still.
Fault drawTrouble(const Plan& plan, Draw& draw) {
  const auto other = draw.of({FaultKind::kill, FaultKind::cutOff, FaultKind::deafen, FaultKind::loseRequest,
                              FaultKind::loseReply, FaultKind::expire, FaultKind::deleteOwn, FaultKind::terminate,
                              FaultKind::storeOutage, FaultKind::stepDown, FaultKind::flap, FaultKind::sourceOutage});
  Fault fault{.kind = draw.oneIn(2) ? FaultKind::pause : other};
  fault.ambush = draw.oneIn(3) ? Stage::offering : Stage::accepted;
  fault.entry = draw.number(1, 4);
  fault.at = draw.oneIn(2) ? Duration{} : draw.time(1us, 20ms);
  fault.lasts = draw.time(1ms, plan.sessionTimeout * 2);
  fault.number = draw.number(0, 99);
  fault.flag = draw.oneIn(2);
  return fault;
}

}  // namespace

void drawHandovers(Plan& plan, Draw draw) {
  if (plan.replicas < 2 || plan.quiet > Duration{} || draw.oneIn(2)) return;
  for (int requests = draw.number(1, 4); requests > 0; --requests) plan.faults.push_back(drawRequest(plan, draw));
  for (int troubles = draw.number(0, 4); troubles > 0; --troubles) plan.faults.push_back(drawTrouble(plan, draw));
  std::stable_sort(plan.faults.begin(), plan.faults.end(), [](const Fault& a, const Fault& b) { return a.at < b.at; });
}

}  // namespace tenure::simulation
