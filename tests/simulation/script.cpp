// What the producers put into the queue, and what the handler makes of it.
#include <stdexcept>

#include "simulation.hpp"

namespace tenure::simulation {
namespace {

/// Told to the ghost also when the handler is taken down with its process.
class Handling {
 public:
  Handling(Ghost& ghost, Process& process, const Delivery& delivery) : ghost_(ghost), number_(process.number()) {
    ghost_.handlerBegan(number_, delivery.term.token(), delivery.message.id);
  }
  ~Handling() { ghost_.handlerEnded(number_); }
  Handling(const Handling&) = delete;
  Handling& operator=(const Handling&) = delete;

 private:
  Ghost& ghost_;
  int number_;
};

Outcome extendChain(const Delivery& delivery) {
  const std::string key = "chain " + delivery.message.group.value;
  const Result<std::optional<std::string>> before = delivery.transaction.get(key);
  if (!before) return Outcome::failed(before.error().message());
  const Result<void> put = delivery.transaction.put(key, link(before->value_or(""), delivery.message.id.value));
  return put ? Outcome::done() : Outcome::failed(put.error().message());
}

}  // namespace

void Simulation::produce(const MessagePlan& message) {
  NewMessage made{MessageId{"m" + std::to_string(message.id)}, GroupId{"g" + std::to_string(message.group)}, {}, {}};
  made.body = "body of " + made.id.value;
  if (message.kind == MessagePlan::Kind::reused) made.body += ", changed at " + std::to_string(message.at.count());
  const bool unfit = message.kind == MessagePlan::Kind::unfit;
  if (unfit) made.group.value.assign(300, 'g');
  parts_.try_emplace({made.id.value, made.body}, Part{.plan = message, .body = made.body});
  ghost_.produced(made);
  trace(0, "produced", message.id);
  if (plan_.queue == Queue::broker) return broker_.append(made, loop_.wallNow());
  if (unfit) return store_.deliver({made});  // a foreign producer, which keeps no limits
  const Result<void> appended = sink_->append({&made, 1});
  if (!appended) ghost_.violated("the sink refuses a message: " + appended.error().message());
}

std::string Simulation::bodyOf(const MessageId& id, const BodyDigest& digest) const {
  for (auto part = parts_.lower_bound({id.value, ""}); part != parts_.end() && part->first.first == id.value; ++part)
    if (digestOf(part->first.second) == digest) return part->first.second;
  return {};
}

Outcome Simulation::handle(Process& process, const Delivery& delivery) {
  Part& part = parts_.at({delivery.message.id.value, delivery.message.body});
  const Handling handling(ghost_, process, delivery);
  process.trace("handle", part.plan.id);
  const bool poison = part.plan.failures > part.failures || part.plan.kills > part.kills;
  process.enter(poison ? Stage::poison : Stage::executing);
  Outcome outcome = act(process, delivery, part);
  process.enter(Stage::idle);
  return outcome;
}

Outcome Simulation::act(Process& process, const Delivery& delivery, Part& part) {
  const bool writes = !plan_.consumer.handlerIsExternal;
  const ProcessLoop& loop = process.loop();
  const auto spend = [&loop](Duration time) {
    const BootTime until = loop.now() + time;
    while (loop.now() < until) loop.waitUntil(until, {});
  };
  // Half of them hold the store's lock while they work.
  const bool locksFirst = writes && part.plan.id % 2 == 0;
  Outcome written = locksFirst ? extendChain(delivery) : Outcome::done();
  if (part.plan.kills > part.kills) {
    ++part.kills;
    loop_.post([this, number = process.number()] {
      if (Process* dying = alive(number)) bury(*dying, 500ms);
    });
    spend(1h);
  }
  if (part.plan.hangs && !std::exchange(part.hung, true)) spend(40s);
  spend(part.plan.handling);
  if (written.kind != Outcome::Kind::done) return written;
  if (writes && !locksFirst) written = extendChain(delivery);
  if (written.kind != Outcome::Kind::done) return written;
  if (part.plan.failures > part.failures) {
    ++part.failures;
    if (part.plan.throws) throw std::runtime_error("as the plan has it");
    return Outcome::failed("as the plan has it");
  }
  if (part.plan.postponements > part.postponements) {
    ++part.postponements;
    return Outcome::retryLater("as the plan has it");
  }
  return Outcome::done();
}

}  // namespace tenure::simulation
