#include "plan.hpp"

#include <algorithm>
#include <map>

#include "draw.hpp"

namespace tenure::simulation {
namespace {

void drawWorld(Plan& plan, Draw draw) {
  plan.replicas = draw.number(1, 5);
  plan.servers = draw.of({1, 3, 3, 3, 3, 5});
  plan.hosts = draw.oneIn(3) ? 1 : plan.replicas;
  plan.sessionTimeout = draw.of<Duration>({3s, 4s, 4s, 6s, 10s});
  plan.tick = plan.sessionTimeout / draw.number(2, 6);
  plan.barrierLimit = draw.oneIn(2) ? Duration{} : milliseconds(draw.time(500ms, 8s));
  plan.queue = draw.of({Queue::table, Queue::log, Queue::broker});
  plan.embeddedStore = draw.oneIn(2);
  plan.storeLatency = plan.embeddedStore ? draw.time(1us, 100us) : draw.time(100us, 5ms);
  plan.commitLatency = draw.oneIn(4) ? draw.time(50ms, 600ms) : draw.time(100us, 20ms);
  plan.networkLatency = draw.oneIn(4) ? draw.time(20ms, 150ms) : draw.time(200us, 5ms);
  plan.lockLimit = draw.oneIn(2) ? Duration{} : draw.time(100ms, 2s);
  plan.chaos = draw.time(15s, 60s);
  plan.oneStaysBroken = plan.replicas > 1 && draw.oneIn(8);
  plan.preferred = draw.oneIn(4) ? draw.number(0, plan.replicas - 1) : -1;
  plan.preferredAfter = draw.time(500ms, 10s);
  plan.drift = draw.of<std::int64_t>({0, 0, 200, 10'000});
  if (!plan.oneStaysBroken && draw.oneIn(4)) plan.backupAt = draw.time(0s, plan.chaos);
}

void drawConsumer(Plan& plan, Draw draw) {
  ConsumerOptions& options = plan.consumer;
  options.name = ConsumerName{"simulated"};
  options.maxBatch = static_cast<std::size_t>(draw.oneIn(3) ? 1 : draw.number(2, 12));
  options.maxAttempts = draw.number(2, 4);
  options.latencyTarget = draw.of({0ms, 20ms, 200ms});
  options.handlerIsExternal = draw.oneIn(4);
  options.retryBase = milliseconds(draw.time(5ms, 300ms));
  options.retryMax = options.retryBase * draw.number(1, 8);
  options.outageLimit = milliseconds(draw.time(500ms, 10s));
  options.idleWait = milliseconds(draw.time(50ms, 2s));
  options.jitterSeed = draw.seed();
}

MessagePlan drawMessage(const Plan& plan, int id, int groups, bool slow, bool poisoned, Draw& draw) {
  MessagePlan message;
  message.id = id;
  message.group = draw.number(0, groups - 1);
  message.at = draw.time(0s, plan.chaos * 3 / 4);
  message.handling = slow && draw.oneIn(4) ? draw.time(100ms, 6s) : draw.time(10us, 30ms);
  if (poisoned && draw.oneIn(6)) {
    message.failures = draw.oneIn(3) ? 1000 : draw.number(1, 4);
    message.throws = draw.oneIn(2);
  }
  if (poisoned && draw.oneIn(8)) message.postponements = draw.number(1, 3);
  if (poisoned && draw.oneIn(12)) message.kills = draw.oneIn(3) ? 1000 : draw.number(1, 3);
  if (poisoned && draw.oneIn(20)) message.hangs = true;
  return message;
}

void drawMessages(Plan& plan, Draw draw) {
  const int groups = draw.number(1, 8);
  const bool slow = draw.oneIn(2);
  const bool poisoned = draw.oneIn(2);
  const int count = draw.oneIn(4) ? draw.number(30, 80) : draw.number(1, 25);
  for (int id = 0; id < count; ++id) plan.messages.push_back(drawMessage(plan, id, groups, slow, poisoned, draw));
  for (int extra = draw.oneIn(2) ? draw.number(1, 5) : 0; extra > 0; --extra) {
    MessagePlan copy = plan.messages[static_cast<std::size_t>(draw.number(0, count - 1))];
    copy.kind = draw.oneIn(4) ? MessagePlan::Kind::reused : MessagePlan::Kind::repeated;
    copy.at += draw.time(1ms, plan.chaos / 4);
    plan.messages.push_back(copy);
  }
  if (draw.oneIn(8)) {
    MessagePlan unfit = drawMessage(plan, 10'000, groups, false, false, draw);
    unfit.kind = MessagePlan::Kind::unfit;
    plan.messages.push_back(unfit);
  }
  std::stable_sort(plan.messages.begin(), plan.messages.end(),
                   [](const MessagePlan& a, const MessagePlan& b) { return a.at < b.at; });
}

Duration drawLength(const Plan& plan, Draw& draw) {
  const Duration timeout = plan.sessionTimeout;
  switch (draw.number(0, 3)) {
    case 0: return draw.time(1ms, timeout / 6);
    case 1: return draw.time(timeout / 6, timeout * 2 / 3);
    case 2: return draw.time(timeout / 2, timeout * 5 / 4);
    default: return draw.time(timeout, timeout * 5 / 2);
  }
}

/// No two kinds share a stream: leaving one out does not reshuffle the others.
void drawFaultsOfKind(Plan& plan, FaultKind kind, Draw draw) {
  const int most = draw.oneIn(3) ? 8 : 3;
  const bool ambushes = ofOneReplica(kind) || kind == FaultKind::storeOutage || kind == FaultKind::sourceOutage ||
                        kind == FaultKind::isolateServer || kind == FaultKind::deleteParent || kind == FaultKind::steer;
  for (int left = draw.number(1, most); left > 0; --left) {
    Fault fault{.kind = kind};
    if (ambushes && draw.oneIn(2)) {
      fault.ambush = static_cast<Stage>(draw.number(0, static_cast<int>(Stage::away)));
      fault.entry = draw.oneIn(2) ? 1 : draw.number(1, 12);
      fault.at = draw.oneIn(2) ? Duration{} : draw.time(1us, 20ms);
    } else {
      fault.at = draw.time(10ms, plan.chaos);
      fault.target = draw.oneIn(2) ? -1 : draw.number(0, 99);
    }
    fault.lasts = drawLength(plan, draw);
    fault.number = draw.number(0, 99);
    fault.flag = draw.oneIn(2);
    plan.faults.push_back(fault);
  }
}

void drawFaults(Plan& plan, Draw draw) {
  const std::uint64_t scarcity = draw.of<std::uint64_t>({2, 3, 4, 8});
  for (int kind = 0; kind < static_cast<int>(FaultKind::count); ++kind) {
    Draw own = draw.fork();
    if (own.oneIn(scarcity)) drawFaultsOfKind(plan, static_cast<FaultKind>(kind), own.fork());
  }
  std::stable_sort(plan.faults.begin(), plan.faults.end(), [](const Fault& a, const Fault& b) { return a.at < b.at; });
}

/// What its handler says in the end, and what an attempt too many means.
void drawVerdicts(Plan& plan, Draw draw) {
  if (draw.oneIn(4)) plan.consumer.onDead = OnDead::block;
  plan.releaseAfter = draw.time(100ms, 20s);
  if (!draw.oneIn(3)) return;
  for (MessagePlan& message : plan.messages) {
    if (draw.oneIn(8)) message.verdict = draw.of({Outcome::Kind::skip, Outcome::Kind::reject});
    if (draw.oneIn(12)) message.postponements += draw.number(1, 2);
    if (draw.oneIn(2)) message.asksFor = milliseconds(draw.time(1ms, 900ms));
  }
}

Rate drawRate(Draw& draw) {
  return {.perSecond = draw.of({2.0, 5.0, 20.0}), .burst = static_cast<double>(draw.oneIn(2) ? 1 : draw.number(2, 6))};
}

RateRules drawRules(Draw& draw) {
  RateRules rules;
  if (draw.oneIn(2)) rules.queue = drawRate(draw);
  if (!rules.queue || draw.oneIn(2)) rules.eachGroup = drawRate(draw);
  if (draw.oneIn(4)) rules.groups[GroupId{"g0"}] = drawRate(draw);
  if (draw.oneIn(8)) rules.groups[GroupId{"g1"}] = std::nullopt;
  return rules;
}

void drawLimits(Plan& plan, Draw draw) {
  if (!draw.oneIn(4)) return;
  plan.limits.push_back({.rules = drawRules(draw)});
  for (int changes = draw.oneIn(2) ? draw.number(1, 3) : 0; changes > 0; --changes)
    plan.limits.push_back({draw.time(1s, plan.chaos), drawRules(draw)});
}

/// Messages get the numbers of an order in which they do not come; and where gaps are given up, some never come. How
/// old a gap is goes by the calendar, in terms of one replica and the next: nobody sets it back by hours here.
void drawNumbers(Plan& plan, Draw draw) {
  if (!draw.oneIn(3)) return;
  ConsumerOptions& options = plan.consumer;
  options.followNumbers = true;
  options.whenGapIsOld = draw.of({GapPolicy::wait, GapPolicy::skip, GapPolicy::stop});
  options.gapLimit = milliseconds(draw.time(100ms, 20s));
  std::erase_if(plan.faults, [](const Fault& fault) { return fault.kind == FaultKind::stepWall; });
  const bool holes = options.whenGapIsOld == GapPolicy::skip && draw.oneIn(2);
  const Duration reach = draw.oneIn(3) ? plan.chaos / 2 : draw.time(10ms, 3s);
  std::vector<std::pair<Duration, int>> order;  // and the id, which is a place in the list of ids
  std::map<int, MessagePlan*> originals;
  for (MessagePlan& message : plan.messages) {
    if (message.kind != MessagePlan::Kind::ordinary || draw.oneIn(8)) continue;
    order.emplace_back(message.at + draw.time(0s, reach), message.id);
    originals.emplace(message.id, &message);
  }
  std::sort(order.begin(), order.end());
  std::map<int, int> last;  // by group
  for (const auto& [when, id] : order) {
    MessagePlan& message = *originals.at(id);
    if (holes && draw.oneIn(6)) last[message.group] += draw.number(1, 3);
    message.number = ++last[message.group];
  }
  for (MessagePlan& copy : plan.messages)
    if (copy.kind == MessagePlan::Kind::repeated || copy.kind == MessagePlan::Kind::reused)
      if (const auto original = originals.find(copy.id); original != originals.end())
        copy.number = original->second->number;
}

void drawLanes(Plan& plan, Draw draw) {
  ConsumerOptions& options = plan.consumer;
  if (!draw.oneIn(3)) return;
  options.ordering = Ordering::perGroup(static_cast<std::size_t>(draw.number(1, 4)));
  options.laneWindow = 64;
  plan.lanes = draw.oneIn(2) ? memory::Database::Lanes::besideEachOther : memory::Database::Lanes::inTurn;
}

/// All that comes within a while comes at once: what waits can be coalesced, and handled together.
void bunch(Plan& plan, Draw draw) {
  const Duration apart = plan.chaos / draw.number(4, 20);
  for (MessagePlan& message : plan.messages)
    if (!draw.oneIn(3)) message.at -= message.at % apart;
  std::stable_sort(plan.messages.begin(), plan.messages.end(),
                   [](const MessagePlan& a, const MessagePlan& b) { return a.at < b.at; });
}

/// Numbers stay with the way that most go.
void drawGuarantee(Plan& plan, Draw draw) {
  ConsumerOptions& options = plan.consumer;
  if (options.followNumbers || !draw.oneIn(4)) return;
  options.delivery = draw.of({Guarantee::atLeastOnce, Guarantee::atMostOnce});
  if (options.delivery == Guarantee::atMostOnce) options.onDead = OnDead::skip;
}

void drawCoalescing(Plan& plan, Draw draw) {
  ConsumerOptions& options = plan.consumer;
  if (options.followNumbers || options.delivery == Guarantee::atMostOnce || !draw.oneIn(4)) return;
  options.coalesce = Coalesce::byKey;
  options.coalesceAhead = draw.of<std::size_t>({1, 5, 100'000, 100'000});
  bunch(plan, draw.fork());
  if (draw.oneIn(3)) return;
  options.coalesceKey = keyHeader;
  std::map<int, int> keys;  // of an id, whenever it comes
  for (MessagePlan& message : plan.messages)
    message.key = keys.try_emplace(message.id, draw.oneIn(6) ? 0 : draw.number(1, 2)).first->second;
}

void drawTogether(Plan& plan, Draw draw) {
  ConsumerOptions& options = plan.consumer;
  if (options.handlerIsExternal || !draw.oneIn(4)) return;
  plan.together = true;
  options.maxBatch = static_cast<std::size_t>(draw.number(2, 12));
  if (options.coalesce == Coalesce::never && !options.followNumbers) bunch(plan, draw.fork());
}

void drawLog(Plan& plan, Draw draw) {
  ConsumerOptions& options = plan.consumer;
  if (options.delivery == Guarantee::atMostOnce || !draw.oneIn(3)) return;
  options.keepLogFor = std::chrono::hours{draw.number(1, 3)};
  options.keepLogLines = draw.of<std::size_t>({3, 20, 10'000'000});
}

void drawHosts(Plan& plan, Draw draw) {
  if (draw.oneIn(3)) plan.hosts = draw.number(1, plan.replicas);
  plan.oneName = draw.oneIn(3);
  plan.containers = draw.oneIn(4);
  if (draw.oneIn(3)) plan.blind = draw.of<std::uint64_t>({1, 2, 3});
  plan.spawns = plan.consumer.handlerIsExternal && draw.oneIn(2);
  if (plan.spawns && plan.barrierLimit == Duration{} && draw.oneIn(2))
    plan.barrierLimit = milliseconds(draw.time(500ms, 8s));
  plan.lastWill = draw.oneIn(2);
}

/// What is coalesced is judged by the order in which it was sent.
void drawReturns(Plan& plan, Draw draw) {
  if (plan.queue != Queue::broker || plan.consumer.coalesce != Coalesce::never) return;
  if (draw.oneIn(2)) plan.returns = Returns::inAnyOrder;
  plan.losesAcknowledgements = draw.oneIn(2);
}

void drawStop(Plan& plan, Draw draw) {
  if (draw.oneIn(4)) plan.consumer.deadLetterLimit = static_cast<std::size_t>(draw.number(2, 5));
}

/// Long enough that keys grow too old, or that somebody might think so.
void drawQuiet(Plan& plan, Draw draw) {
  ConsumerOptions& options = plan.consumer;
  if (options.followNumbers || options.delivery == Guarantee::atLeastOnce || !draw.oneIn(25)) return;
  options.keepIdsFor = std::chrono::hours{1};
  const bool isLong = draw.oneIn(3);
  plan.quiet = isLong ? draw.time(74min, 80min) : draw.time(3min, 25min);
  plan.drift = 0;
  if (isLong) {  // an hour of many replicas costs more than it shows
    plan.replicas = std::min(plan.replicas, 2);
    plan.oneStaysBroken = plan.oneStaysBroken && plan.replicas > 1;
    plan.hosts = std::min(plan.hosts, plan.replicas);
    plan.preferred = std::min(plan.preferred, plan.replicas - 1);
  }
  if (draw.oneIn(2)) return;
  for (int steps = draw.number(1, 4); steps > 0; --steps) {
    const auto by = draw.of<std::chrono::milliseconds>({2min, 61min, 8 * 24h, -61min, -8 * 24h, -50 * 365 * 24h});
    plan.clockSteps.push_back({draw.time(0s, plan.quiet), draw.number(0, plan.replicas - 1), by});
  }
}

/// A large batch of quick ones at once, and one of them kills its process.
void drawFlood(Plan& plan, Draw draw) {
  ConsumerOptions& options = plan.consumer;
  if (options.handlerIsExternal || options.delivery == Guarantee::atMostOnce || !draw.oneIn(10)) return;
  options.maxBatch = static_cast<std::size_t>(draw.number(40, 120));
  const int groups = draw.number(1, 8);
  const int count = draw.number(50, 110);
  const Duration at = draw.time(0s, plan.chaos / 2);
  const int killer = draw.number(0, count - 1);
  for (int i = 0; i < count; ++i) {
    MessagePlan message;
    message.id = 20'000 + i;
    message.group = draw.number(0, groups - 1);
    message.at = at;
    message.handling = draw.time(10us, 1ms);
    if (i == killer) message.kills = draw.oneIn(2) ? 1000 : draw.number(1, 6);
    plan.messages.push_back(message);
  }
  std::stable_sort(plan.messages.begin(), plan.messages.end(),
                   [](const MessagePlan& a, const MessagePlan& b) { return a.at < b.at; });
}

/// What handlers of all groups have in common, and what the store does not take.
void drawEffects(Plan& plan, Draw draw) {
  const ConsumerOptions& options = plan.consumer;
  const bool mayBeApart = options.ordering != Ordering::total() && !options.followNumbers;
  if (mayBeApart && options.coalesce == Coalesce::never && draw.oneIn(2))
    for (MessagePlan& message : plan.messages)
      if (message.group == 0) message.group = -1;
  plan.largestLetter = draw.oneIn(4) ? static_cast<std::size_t>(draw.number(0, 12)) : maxBodyBytes;
  if (options.delivery == Guarantee::atLeastOnce || options.handlerIsExternal) return;
  plan.counts = draw.oneIn(2);
  plan.sends = draw.oneIn(2);
  // At most once the refused commit would be the one that takes a message, before its handler starts.
  const bool refuses = options.delivery == Guarantee::exactlyOnceEffect && draw.oneIn(4);
  for (MessagePlan& message : plan.messages)
    message.refused = refuses && message.kind == MessagePlan::Kind::ordinary && draw.oneIn(10);
}

/// Handlers that answer with values, where nothing asks for others.
void drawAnswers(Plan& plan, Draw draw) {
  const ConsumerOptions& options = plan.consumer;
  const bool maySo = !options.handlerIsExternal && !plan.together && plan.timed.empty() && plan.changes.empty() &&
                     options.coalesce == Coalesce::never;
  if (!maySo || !draw.oneIn(3)) return;
  plan.ahead = draw.of<std::size_t>({1, 1, 2, 6});
  plan.workersDie = draw.oneIn(2);
  plan.beside = plan.ahead > 1 && options.ordering.lanes > 0 && draw.oneIn(2);
}

}  // namespace

Plan drawPlan(std::uint64_t seed) {
  Plan plan;
  plan.seed = seed;
  Draw draw(seed);
  drawWorld(plan, draw.fork());
  drawConsumer(plan, draw.fork());
  drawMessages(plan, draw.fork());
  drawFaults(plan, draw.fork());
  drawVerdicts(plan, draw.fork());
  drawLimits(plan, draw.fork());
  drawNumbers(plan, draw.fork());
  drawLanes(plan, draw.fork());
  drawGuarantee(plan, draw.fork());
  drawCoalescing(plan, draw.fork());
  drawTogether(plan, draw.fork());
  drawLog(plan, draw.fork());
  drawHosts(plan, draw.fork());
  drawReturns(plan, draw.fork());
  drawQuiet(plan, draw.fork());
  drawStop(plan, draw.fork());
  drawFlood(plan, draw.fork());
  drawEffects(plan, draw.fork());
  drawTimes(plan, draw.fork());
  drawStrangers(plan, draw.fork());
  drawHandovers(plan, draw.fork());
  drawAnswers(plan, draw.fork());
  return plan;
}

}  // namespace tenure::simulation
