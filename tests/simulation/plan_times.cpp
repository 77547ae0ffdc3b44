// What is drawn of messages with a time.
#include <algorithm>

#include "draw.hpp"
#include "plan.hpp"

namespace tenure::simulation {
namespace {

constexpr int firstTimed = 30'000;

/// By the handlers' transactions only where queue and store are one place, and an effect stays once.
bool handlersMay(const Plan& plan) {
  return plan.queue == Queue::table && plan.consumer.delivery == Guarantee::exactlyOnceEffect &&
         !plan.consumer.handlerIsExternal;
}

const MessagePlan& drawSender(const Plan& plan, Draw& draw) {
  return plan.messages[static_cast<std::size_t>(draw.number(0, static_cast<int>(plan.messages.size()) - 1))];
}

/// Many have the same, so that only the order in which they were added tells them apart.
Duration drawDue(const Plan& plan, Duration at, Draw& draw) {
  switch (draw.number(0, 7)) {
    case 0: return -draw.time(0s, 10s);
    case 1:
    case 2: return at + draw.time(0s, 3s);
    case 3:
    case 4: return draw.time(0s, plan.chaos);
    case 5: return plan.chaos / 2;
    case 6: return plan.chaos + draw.time(0s, 30s);
    default: return draw.time(30min, 6h);
  }
}

TimedMessage drawTimed(const Plan& plan, int id, Draw& draw) {
  TimedMessage one;
  MessagePlan& message = one.message;
  message.id = id;
  message.group = plan.messages[static_cast<std::size_t>(id) % plan.messages.size()].group;
  message.at = draw.time(0s, plan.chaos * 3 / 4);
  message.handling = draw.time(10us, 30ms);
  if (draw.oneIn(10)) message.failures = draw.oneIn(3) ? 1000 : draw.number(1, 3);
  if (draw.oneIn(20)) message.kills = draw.number(1, 2);
  if (draw.oneIn(12)) message.verdict = draw.of({Outcome::Kind::skip, Outcome::Kind::reject});
  one.due = drawDue(plan, message.at, draw);
  if (handlersMay(plan) && draw.oneIn(3)) one.sender = drawSender(plan, draw).id;
  return one;
}

void drawTimedMessages(Plan& plan, Draw draw) {
  const int count = draw.number(1, 12);
  for (int i = 0; i < count; ++i) plan.timed.push_back(drawTimed(plan, firstTimed + i, draw));
  for (int again = draw.oneIn(2) ? draw.number(1, 3) : 0; again > 0; --again) {
    TimedMessage copy = plan.timed[static_cast<std::size_t>(draw.number(0, count - 1))];
    copy.message.at += draw.time(1ms, plan.chaos / 4);
    if (copy.sender < 0) plan.timed.push_back(copy);
  }
}

/// Mostly close to the time at which the message comes to its queue.
TimeChange drawChange(const Plan& plan, Draw& draw) {
  const TimedMessage& of =
      plan.timed[static_cast<std::size_t>(draw.number(0, static_cast<int>(plan.timed.size()) - 1))];
  TimeChange change{.id = of.message.id, .isCancel = draw.oneIn(2), .isRaced = draw.oneIn(4)};
  const Duration last = plan.chaos + 30s;
  change.at = draw.oneIn(3) ? draw.time(0s, plan.chaos) : std::clamp(of.due + draw.time(-50ms, 50ms), Duration{}, last);
  change.due = draw.oneIn(4) ? Duration{} : drawDue(plan, change.at, draw);
  return change;
}

/// By the handler that takes long, of some.
const MessagePlan& drawSlowSender(const Plan& plan, Draw& draw) {
  const MessagePlan* slowest = &drawSender(plan, draw);
  for (int more = 0; more < 3; ++more)
    if (const MessagePlan& other = drawSender(plan, draw); other.handling > slowest->handling) slowest = &other;
  return *slowest;
}

/// A handler's change meets the message's time, or somebody outside who changes it as well.
void drawHandlersChange(Plan& plan, TimeChange change, Draw draw) {
  const MessagePlan& sender = drawSlowSender(plan, draw);
  const auto meanwhile = [&] { return sender.at + draw.time(0s, sender.handling + plan.commitLatency + 20ms); };
  const bool hasRival = draw.oneIn(2);
  const bool isDue = draw.oneIn(2);
  for (TimedMessage& one : plan.timed) {
    if (one.message.id != change.id) continue;
    one.message.at = std::min(one.message.at, sender.at * 3 / 4);
    if (isDue) one.due = meanwhile();
  }
  if (hasRival) {
    change.at = meanwhile();
    plan.changes.push_back(change);
  }
  change.sender = sender.id;
  change.isCancel = !draw.oneIn(3);
  change.isRaced = !draw.oneIn(3);
  plan.changes.push_back(change);
}

void drawChanges(Plan& plan, Draw draw) {
  for (int changes = draw.number(0, 8); changes > 0; --changes) {
    const TimeChange change = drawChange(plan, draw);
    if (handlersMay(plan) && draw.oneIn(2))
      drawHandlersChange(plan, change, draw.fork());
    else
      plan.changes.push_back(change);
  }
}

/// A leader that is paused with what it has found due, for long enough that it is succeeded.
void drawTroubles(Plan& plan, Draw draw) {
  for (int pauses = draw.oneIn(3) ? draw.number(1, 3) : 0; pauses > 0; --pauses)
    plan.faults.push_back({.kind = FaultKind::pausePromoter,
                           .at = draw.time(0s, plan.chaos),
                           .lasts = draw.time(plan.sessionTimeout, plan.sessionTimeout * 5 / 2)});
}

/// Small steps are believed at once; after a large one it takes ten minutes until the clock is believed again.
void drawClocks(Plan& plan, Draw draw) {
  for (int steps = draw.oneIn(2) ? draw.number(1, 4) : 0; steps > 0; --steps) {
    const auto by = milliseconds(draw.oneIn(2) ? draw.time(1ms, 3s) : draw.time(1s, 50s));
    plan.storeSteps.push_back({draw.time(0s, plan.chaos), draw.oneIn(2) ? by : -by});
  }
  if (draw.oneIn(4)) {
    const auto by = milliseconds(draw.time(2min, 3h));
    plan.storeSteps.push_back({draw.time(0s, plan.chaos), draw.oneIn(3) ? -by : by});
  }
  if (plan.embeddedStore || draw.oneIn(3)) return;
  for (int slot = 0; slot < plan.replicas; ++slot) plan.wallOffsets.push_back(milliseconds(draw.time(-10min, 10min)));
}

}  // namespace

/// A broker keeps no such messages. Numbers and what is coalesced are judged by the order in which messages were sent;
/// and where keys grow old clocks are set for that.
void drawTimes(Plan& plan, Draw draw) {
  const ConsumerOptions& options = plan.consumer;
  if (plan.queue == Queue::broker || options.followNumbers || options.coalesce != Coalesce::never) return;
  if (plan.quiet > Duration{} || !draw.oneIn(2)) return;
  drawTimedMessages(plan, draw.fork());
  drawChanges(plan, draw.fork());
  drawClocks(plan, draw.fork());
  drawTroubles(plan, draw.fork());
}

}  // namespace tenure::simulation
