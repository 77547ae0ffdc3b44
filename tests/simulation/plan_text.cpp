// Plans for people to read.
#include <sstream>

#include "plan.hpp"

namespace tenure::simulation {
namespace {

std::string inMilliseconds(Duration duration) {
  std::ostringstream text;
  text << static_cast<double>(duration.count()) / 1e6 << " ms";
  return text.str();
}

std::string describe(const std::optional<Rate>& rate) {
  std::ostringstream text;
  rate ? text << rate->perSecond << "/s, burst " << rate->burst : text << "no limit";
  return text.str();
}

std::string pipelineOf(const Plan& plan) {
  constexpr const char* policies[] = {"waited for", "skipped", "the term's end"};
  std::ostringstream text;
  const ConsumerOptions& options = plan.consumer;
  if (options.ordering != Ordering::total()) text << ", " << options.ordering.lanes << " lanes";
  if (plan.lanes == memory::Database::Lanes::besideEachOther) text << " that commit beside each other";
  if (options.onDead == OnDead::block)
    text << ", the dead block and are released after " << inMilliseconds(plan.releaseAfter);
  if (options.followNumbers)
    text << ", numbered: a gap of " << inMilliseconds(options.gapLimit) << " is "
         << policies[static_cast<int>(options.whenGapIsOld)];
  if (options.delivery == Guarantee::atLeastOnce) text << ", at least once";
  if (options.delivery == Guarantee::atMostOnce) text << ", at most once";
  if (options.coalesce == Coalesce::byKey)
    text << ", coalesced by " << (options.coalesceKey.empty() ? "group" : "key") << " up to " << options.coalesceAhead;
  text << ", stopped by " << options.deadLetterLimit << " dead letters";
  if (plan.together) text << ", handled together";
  if (plan.ahead > 0)
    text << ", answered by values, " << plan.ahead << " ahead" << (plan.beside ? " at a time" : "")
         << (plan.workersDie ? ", dying" : "");
  if (plan.counts) text << ", counted";
  if (plan.sends) text << ", each sends one";
  if (plan.largestLetter < maxBodyBytes) text << ", letters of " << plan.largestLetter << " bytes";
  if (options.keepLogFor.count() > 0)
    text << ", " << options.keepLogLines << " attempts logged for " << options.keepLogFor.count() << " h";
  for (const LimitsPlan& limits : plan.limits) {
    text << "\n  from " << inMilliseconds(limits.at) << ": queue " << describe(limits.rules.queue) << "; each group "
         << describe(limits.rules.eachGroup);
    for (const auto& [group, rate] : limits.rules.groups) text << "; " << group.value << ' ' << describe(rate);
  }
  return text.str();
}

}  // namespace

const char* toString(FaultKind kind) noexcept {
  constexpr const char* names[] = {"kill",
                                   "pause",
                                   "hang control",
                                   "cut off",
                                   "deafen",
                                   "lose request",
                                   "lose reply",
                                   "refuse",
                                   "expire",
                                   "delete own",
                                   "SIGTERM",
                                   "SIGUSR1",
                                   "step wall",
                                   "lose commit",
                                   "fail write",
                                   "lose claim",
                                   "fail acknowledge",
                                   "drop delivery",
                                   "isolate server",
                                   "crash server",
                                   "freeze server",
                                   "lag server",
                                   "elect server",
                                   "jump zxid",
                                   "delete parent",
                                   "store outage",
                                   "source outage",
                                   "flap",
                                   "steer",
                                   "restart store",
                                   "close queue",
                                   "fail promotion",
                                   "pause promoter",
                                   "lock row",
                                   "forget kept"};
  static_assert(std::size(names) == static_cast<std::size_t>(FaultKind::count));
  return names[static_cast<std::size_t>(kind)];
}

bool ofOneReplica(FaultKind kind) noexcept {
  return kind < FaultKind::isolateServer || kind == FaultKind::flap || kind == FaultKind::failPromotion ||
         kind == FaultKind::pausePromoter || kind == FaultKind::forgetKept;
}

std::string describe(const Fault& fault) {
  std::ostringstream text;
  text << toString(fault.kind);
  if (fault.ambush)
    text << ", at entry " << fault.entry << " into \"" << toString(*fault.ambush) << "\" after "
         << inMilliseconds(fault.at);
  else
    text << ", at " << inMilliseconds(fault.at) << ", target " << fault.target;
  text << ", for " << inMilliseconds(fault.lasts) << ", number " << fault.number << (fault.flag ? ", flag" : "");
  return text.str();
}

std::string describe(const MessagePlan& message) {
  constexpr const char* kinds[] = {"", " repeated", " id reused", " unfit"};
  std::ostringstream text;
  text << 'm' << message.id << kinds[static_cast<int>(message.kind)] << ", group " << message.group << ", at "
       << inMilliseconds(message.at) << ", takes " << inMilliseconds(message.handling);
  if (message.failures > 0)
    text << ", " << (message.throws ? "throws" : "fails") << ' ' << message.failures << " times";
  if (message.postponements > 0) text << ", postpones " << message.postponements << " times";
  if (message.kills > 0) text << ", kills " << message.kills << " times";
  if (message.asksFor > Duration::zero()) text << " for " << inMilliseconds(message.asksFor);
  if (message.hangs) text << ", hangs once";
  if (message.verdict == Outcome::Kind::skip) text << ", skipped";
  if (message.verdict == Outcome::Kind::reject) text << ", rejected";
  if (message.number > 0) text << ", number " << message.number;
  if (message.key > 0) text << ", key " << message.key;
  return text.str();
}

std::string describe(const TimedMessage& one) {
  std::string text = describe(one.message) + ", due at " + inMilliseconds(one.due);
  if (one.sender >= 0) text += ", sent by the handler of m" + std::to_string(one.sender);
  return text;
}

std::string describe(const TimeChange& change) {
  const std::string whose = change.sender >= 0 ? ", by the handler of m" + std::to_string(change.sender) : "";
  const std::string what = change.isCancel ? "cancel" : "move to " + inMilliseconds(change.due);
  return 'm' + std::to_string(change.id) + ", at " + inMilliseconds(change.at) + whose + ": " + what +
         (change.isRaced ? ", while another is faster" : "");
}

std::string describe(const StrangerPlan& one) {
  constexpr const char* ends[] = {"commits", "rolls back", "fails at its commit", "dies"};
  std::ostringstream text;
  text << 's' << one.sender << ", after " << inMilliseconds(one.pause) << ", lasts " << inMilliseconds(one.lasts)
       << ", flushes for " << inMilliseconds(one.flush) << ", " << ends[static_cast<int>(one.end)];
  for (const MessagePlan& message : one.messages) text << "\n    " << describe(message);
  return text.str();
}

std::string describe(const Plan& plan) {
  constexpr const char* queues[] = {"table", "log", "broker"};
  std::ostringstream text;
  text << "seed " << plan.seed << ": " << plan.replicas << " replicas on " << plan.hosts
       << (plan.oneName ? " hosts of one name" : " hosts") << (plan.containers ? " in containers, " : ", ")
       << plan.servers << " servers, tick " << inMilliseconds(plan.tick) << ", session "
       << inMilliseconds(plan.sessionTimeout) << ", barrier " << inMilliseconds(plan.barrierLimit) << ", queue "
       << queues[static_cast<int>(plan.queue)] << (plan.embeddedStore ? ", store embedded" : ", store a server")
       << ", store " << inMilliseconds(plan.storeLatency) << ", commit " << inMilliseconds(plan.commitLatency)
       << ", network " << inMilliseconds(plan.networkLatency) << ", lock " << inMilliseconds(plan.lockLimit)
       << ", batch " << plan.consumer.maxBatch << ", attempts " << plan.consumer.attempts()
       << (plan.consumer.handlerIsExternal ? ", external handler" : "") << ", chaos " << inMilliseconds(plan.chaos)
       << (plan.oneStaysBroken ? ", one stays broken" : "") << ", drift " << plan.drift << " ppm";
  if (plan.blind > 0) text << ", one look in " << plan.blind << " shows nothing";
  if (plan.spawns) text << ", commands outlive their processes";
  if (plan.lastWill) text << ", last wills";
  if (plan.returns == Returns::inAnyOrder) text << ", returned in any order";
  if (plan.losesAcknowledgements) text << ", acknowledgements get lost";
  if (plan.preferred >= 0)
    text << ", slot " << plan.preferred << " preferred after " << inMilliseconds(plan.preferredAfter);
  if (plan.backupAt) text << ", put back as of " << inMilliseconds(*plan.backupAt);
  if (plan.quiet > Duration{}) text << ", quiet for " << inMilliseconds(plan.quiet);
  for (const ClockStep& step : plan.clockSteps)
    text << ", slot " << step.slot << " sets its clock by " << step.by.count() << " ms after "
         << inMilliseconds(step.at);
  for (const StoreStep& step : plan.storeSteps)
    text << ", the store's clock is set by " << step.by.count() << " ms after " << inMilliseconds(step.at);
  for (std::size_t slot = 0; slot < plan.wallOffsets.size(); ++slot)
    text << ", the clock of slot " << slot << " is ahead by " << plan.wallOffsets[slot].count() << " ms";
  text << pipelineOf(plan);
  text << '\n';
  for (const MessagePlan& message : plan.messages) text << "  message " << describe(message) << '\n';
  for (const TimedMessage& one : plan.timed) text << "  message " << describe(one) << '\n';
  for (const TimeChange& change : plan.changes) text << "  change " << describe(change) << '\n';
  if (!plan.strangers.empty()) text << "  strangers, of whom a promotion takes " << plan.promotedAtOnce << '\n';
  for (const StrangerPlan& one : plan.strangers) text << "  stranger " << describe(one) << '\n';
  for (const Fault& fault : plan.faults) text << "  fault " << describe(fault) << '\n';
  return text.str();
}

}  // namespace tenure::simulation
