// What the producers put into the queue, and what the handler makes of it.
#include <stdexcept>

#include "simulation.hpp"

namespace tenure::simulation {

using test::Killed;
namespace {

/// Told to the ghost also when the handler throws, or is taken down with its process.
class Handling {
 public:
  Handling(Ghost& ghost, const Process& process, const Delivery& delivery, int call)
      : ghost_(ghost),
        clock_(process.loop()),
        start_{process.number(),
               delivery.term.token(),
               delivery.message,
               delivery.attempt,
               clock_.now(),
               process.loop().inLane(),
               call} {
    ghost_.handlerBegan(start_);
  }
  ~Handling() { ghost_.handlerEnded(start_, outcome_, clock_.now()); }
  Handling(const Handling&) = delete;
  Handling& operator=(const Handling&) = delete;

  void ended(Outcome outcome) { outcome_ = std::move(outcome); }

 private:
  Ghost& ghost_;
  const IClock& clock_;
  const Start start_;
  Outcome outcome_ = Outcome::failed("it threw");
};

void spend(const ProcessLoop& loop, Duration time) {
  const BootTime until = loop.now() + time;
  while (loop.now() < until) loop.waitUntil(until, {});
}

Outcome extendChain(const Delivery& delivery, int group) {
  const std::string key = chainOf(group);
  const Result<std::optional<std::string>> before = delivery.transaction.get(key);
  if (!before) return Outcome::failed(before.error().message());
  const Result<void> put = delivery.transaction.put(key, link(before->value_or(""), delivery.message.id.value));
  return put ? Outcome::done() : Outcome::failed(put.error().message());
}

Outcome count(const Delivery& delivery) {
  const Result<std::optional<std::string>> before = delivery.transaction.get(sharedCounter);
  if (!before) return Outcome::failed(before.error().message());
  const int count = std::stoi(before->value_or("0")) + 1;
  const Result<void> put = delivery.transaction.put(sharedCounter, std::to_string(count));
  return put ? Outcome::done() : Outcome::failed(put.error().message());
}

Outcome sendOne(const Delivery& delivery) {
  const NewMessage next{delivery.message.id, {}, "follows", {}};
  const Result<void> sent = delivery.transaction.enqueue(next, followUps);
  return sent ? Outcome::done() : Outcome::failed(sent.error().message());
}

}  // namespace

void Simulation::produce(const MessagePlan& message) {
  NewMessage made{MessageId{"m" + std::to_string(message.id)}, GroupId{groupName(message.group)}, {}, {}};
  made.body = "body of " + made.id.value;
  if (message.number > 0) made.headers = {{std::string(numberHeader), std::to_string(message.number)}};
  if (message.key > 0) made.headers.emplace_back(keyHeader, std::to_string(message.key));
  if (message.kind == MessagePlan::Kind::reused) made.body += ", changed at " + std::to_string(message.at.count());
  const bool unfit = message.kind == MessagePlan::Kind::unfit;
  if (unfit) made.group.value.assign(300, 'g');
  parts_.try_emplace({made.id.value, made.body}, Part{.plan = message, .body = made.body});
  ghost_.produced(made, partOf(made).plan.verdict == Outcome::Kind::skip);
  if (message.refused) store_.refuse(made.id);
  trace(0, "produced", message.id);
  if (plan_.queue == Queue::broker) return broker_.append(made, loop_.wallNow());
  if (unfit) return store_.deliver({made});  // a foreign producer, which keeps no limits
  const Result<void> appended = sink_->append({&made, 1});
  if (!appended) ghost_.violated("the sink refuses a message: " + appended.error().message());
}

void Simulation::limit(const RateRules& rules) {
  trace(0, "limits change", 0);
  rules_ = rules;
  ghost_.limitsChanged(rules);
  for (const auto& [slot, number] : slots_)
    if (Process* process = alive(number)) process->limit(rules);
}

void Simulation::blocked(const MessageId& id) {
  loop_.after(plan_.releaseAfter,
              [this, id] { operate([this, id] { return store_.release(plan_.consumer.name, id); }); });
}

void Simulation::stopped() {
  loop_.after(plan_.releaseAfter, [this] { operate([this] { return store_.resume(plan_.consumer.name); }); });
}

/// In a transaction of the operator's own, which waits its turn.
void Simulation::operate(const std::function<bool()>& act) {
  if (store_.isWriting()) return void(loop_.after(1ms, [this, act] { operate(act); }));
  if (act()) trace(0, "released", 0);
}

GroupId Simulation::groupOf(const MessageId& id) const {
  const auto part = parts_.lower_bound({id.value, ""});
  return GroupId{groupName(part == parts_.end() ? 0 : part->second.plan.group)};
}

std::string Simulation::bodyOf(const MessageId& id, const BodyDigest& digest) const {
  for (auto part = parts_.lower_bound({id.value, ""}); part != parts_.end() && part->first.first == id.value; ++part)
    if (digestOf(part->first.second) == digest) return part->first.second;
  return {};
}

Outcome Simulation::handle(Process& process, const Delivery& delivery) {
  if (process.dead()) throw Killed{};
  Part& part = partOf(delivery.message);
  Handling handling(ghost_, process, delivery, ghost_.nextCall());
  process.trace("handle", part.plan.id);
  const bool poison = part.plan.failures > part.failures || part.plan.kills > part.kills;
  process.enter(poison ? Stage::poison : Stage::executing);
  const Outcome outcome = act(process, delivery, part);
  handling.ended(heard(outcome));
  process.enter(Stage::idle);
  return outcome;
}

/// A handler that fails for a locked row is postponed, where it may start again.
Outcome Simulation::heard(const Outcome& outcome) const {
  const bool isLocked = outcome.kind == Outcome::Kind::failed && outcome.reason.find(lockedText) != std::string::npos;
  return isLocked && plan_.consumer.delivery != Guarantee::atMostOnce ? Outcome::retryLater(outcome.reason) : outcome;
}

Outcome Simulation::act(Process& process, const Delivery& delivery, Part& part) {
  const bool writes = !plan_.consumer.handlerIsExternal;
  const ProcessLoop& loop = process.loop();
  // Half of them hold the store's lock while they work.
  const bool locksFirst = writes && part.plan.id % 2 == 0;
  Outcome written = locksFirst ? leaveEffect(delivery, part.plan.group) : Outcome::done();
  takeAlong(process, part);
  if (part.plan.hangs && !std::exchange(part.hung, true)) spend(loop, 40s);
  spend(loop, part.plan.handling);
  if (written.kind != Outcome::Kind::done) return written;
  if (writes && !locksFirst) written = leaveEffect(delivery, part.plan.group);
  if (written.kind != Outcome::Kind::done) return written;
  const Outcome verdict = verdictOf(delivery.message);
  if (verdict.kind == Outcome::Kind::failed && part.plan.throws) throw std::runtime_error(verdict.reason);
  return verdict;
}

/// Its process dies of it.
void Simulation::takeAlong(Process& process, Part& part) {
  if (part.plan.kills <= part.kills) return;
  killIn(process, part);
  spend(process.loop(), 1h);
}

void Simulation::killIn(Process& process, Part& part) {
  ++part.kills;
  loop_.post([this, number = process.number()] {
    if (Process* dying = alive(number)) lose(*dying, 500ms);
  });
}

Outcome Simulation::leaveEffect(const Delivery& delivery, int group) {
  if (plan_.consumer.delivery != Guarantee::exactlyOnceEffect) {
    const std::string note = std::string(ranPrefix) + std::to_string(copyOf(delivery.message));
    const Message& message = delivery.message;
    const Result<void> put = delivery.transaction.put(note, message.id.value + '/' + message.body);
    if (!put) return Outcome::failed(put.error().message());
  }
  Outcome left = extendChain(delivery, group);
  if (plan_.counts && left.kind == Outcome::Kind::done) left = count(delivery);
  if (plan_.sends && left.kind == Outcome::Kind::done) left = sendOne(delivery);
  if (left.kind == Outcome::Kind::done) left = leaveSchedules(delivery);
  return left;
}

Outcome Simulation::handleTogether(Process& process, const BatchDelivery& delivery) {
  if (process.dead()) throw Killed{};
  const int call = ghost_.nextCall();
  std::deque<Handling> all;
  for (const Message& message : delivery.messages) {
    const Delivery one{message, delivery.transaction, delivery.term, delivery.attempt};
    all.emplace_back(ghost_, process, one, call);
  }
  process.trace("handle together", static_cast<std::int64_t>(delivery.messages.size()));
  report_.coverage.saw("handled_together");
  process.enter(Stage::executing);
  const Outcome outcome = actTogether(process, delivery);
  for (Handling& one : all) one.ended(heard(outcome));
  process.enter(Stage::idle);
  return outcome;
}

/// One that has anything else to say than that it is done says it when it comes alone.
Outcome Simulation::actTogether(Process& process, const BatchDelivery& delivery) {
  Duration longest{};
  bool allDone = true;
  for (const Message& message : delivery.messages) {
    Part& part = partOf(message);
    takeAlong(process, part);
    longest = std::max(longest, part.plan.handling);
    allDone = allDone && part.plan.failures <= part.failures && part.plan.postponements <= part.postponements &&
              part.plan.verdict == Outcome::Kind::done;
    const Delivery one{message, delivery.transaction, delivery.term, delivery.attempt};
    const Outcome written = leaveEffect(one, part.plan.group);
    if (written.kind != Outcome::Kind::done) return written;
  }
  spend(process.loop(), longest);
  return allDone ? Outcome::done() : Outcome::failed("some of them are not to be done together");
}

}  // namespace tenure::simulation
