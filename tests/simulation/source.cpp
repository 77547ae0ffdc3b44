#include "source.hpp"

#include <algorithm>

#include "process.hpp"
#include "simulation.hpp"

namespace tenure::simulation {
namespace {

constexpr auto pollInterval = std::chrono::milliseconds{250};
constexpr auto safetyNet = std::chrono::seconds{1};
constexpr Duration oneLook = std::chrono::milliseconds{1500};

Error queueIsDown() { return {Errc::unavailable, "the simulated queue is down"}; }

}  // namespace

Source::Source(Process& process, IMessageSource& table)
    : process_(process), table_(table), room_(process), promoter_(room_, process, process.loop()) {}

bool Source::sharesTransactionsWith(const IFencedStore&) const noexcept {
  return process_.simulation().plan().queue == Queue::table;
}

Result<void> Source::attach(const Term& term) {
  Simulation& simulation = process_.simulation();
  given_.clear();
  return process_.remotely<Result<void>>(simulation.plan().networkLatency, false, [&]() -> Result<void> {
    if (simulation.sourceDown() || process_.dead()) return queueIsDown();
    Result<void> attached =
        simulation.plan().queue == Queue::broker ? simulation.broker().attach(process_.number()) : table_.attach(term);
    process_.trace("attach", attached ? 0 : attached.error().code.value());
    if (!attached) return attached;
    room_.attach(term.identity());
    promoter_.attach(term.identity());
    attachedAt_ = simulation.loop().now();
    return attached;
  });
}

Result<std::vector<Message>> Source::fetch(std::size_t max, BootTime deadline, std::stop_token stop) {
  room_.attend(process_.simulation().loop().now());
  Result<std::vector<Message>> found = fetchNow(max, deadline, stop);
  room_.attend(BootTime::max());
  return found;
}

Result<std::vector<Message>> Source::fetchNow(std::size_t max, BootTime deadline, const std::stop_token& stop) {
  const ProcessLoop& loop = process_.loop();
  while (true) {
    if (const Result<void> tended = tend(); !tended) return tended.error();
    Result<std::vector<Message>> found = look(max, stop);
    if (!found || !found->empty() || stop.stop_requested() || loop.now() >= deadline) return found;
    if (process_.simulation().plan().strangers.empty())
      loop.waitUntil(std::min(deadline, loop.now() + pollInterval), stop);
    else if (const Result<void> slept = sleep(deadline, stop); !slept)
      return slept.error();
  }
}

Result<void> Source::tend() {
  Simulation& simulation = process_.simulation();
  if (simulation.plan().timed.empty() && simulation.plan().strangers.empty()) return {};
  const BootTime begun = simulation.loop().now();
  if (std::exchange(isCalled_, false)) promoter_.wake();
  if (promoter_.isTime())
    if (const Result<void> turned = promoter_.turn(); !turned) return turned;
  if (room_.isCleared() && process_.thawedAt() < begun - oneLook && attachedAt_ < begun - oneLook)
    simulation.ghost().complain(simulation.strangers().sendings().turned(begun));
  return {};
}

/// As PostgreSQL's source does.
Result<void> Source::sleep(BootTime deadline, const std::stop_token& stop) {
  const BootTime net = process_.loop().now() + safetyNet;
  if (std::exchange(isCalled_, false)) {
    promoter_.wake();
    return {};
  }
  const Result<bool> asleep = promoter_.fallAsleep();
  if (!asleep) return asleep.error();
  const bool staysAsleep = *asleep && process_.simulation().mutant() == Mutant::asleepUnlooked;
  if (*asleep && !staysAsleep) return {};
  sleepUntil(std::min({deadline, net, staysAsleep ? net : promoter_.next()}), stop);
  return {};
}

void Source::sleepUntil(BootTime until, const std::stop_token& stop) {
  Simulation& simulation = process_.simulation();
  callUp_ = std::stop_source{};
  const std::stop_callback leaving(stop, [calling = callUp_]() mutable { calling.request_stop(); });
  const BootTime begun = simulation.loop().now();
  const int freezes = process_.freezes();
  process_.loop().waitUntil(until, callUp_.get_token());
  // A reader whose clock stood still believes for too long that senders see it asleep.
  if (process_.frozen() || process_.freezes() != freezes || process_.loop().clockHasStopped()) return;
  const Sendings& sendings = simulation.strangers().sendings();
  const Duration way = simulation.plan().networkLatency;
  simulation.ghost().complain(sendings.slept(begun, simulation.loop().now(), way));
  if (sendings.hasSleptOver(begun, simulation.loop().now(), way)) simulation.coverage().saw("slept_over");
}

void Source::call() {
  isCalled_ = true;
  std::stop_source calling = callUp_;  // whoever is woken falls asleep anew
  calling.request_stop();
}

Result<std::vector<Message>> Source::look(std::size_t max, const std::stop_token& stop) {
  Simulation& simulation = process_.simulation();
  using Messages = Result<std::vector<Message>>;
  Messages found = process_.remotely<Messages>(simulation.plan().networkLatency, false, [&]() -> Messages {
    if (simulation.sourceDown()) return queueIsDown();
    const bool ofBroker = simulation.plan().queue == Queue::broker;
    Messages given = ofBroker ? simulation.broker().fetch(process_.number(), max) : table_.fetch(max, BootTime{}, stop);
    if (given)
      for (const Message& message : *given) simulation.ghost().delivered(message);
    return given;
  });
  if (!found) return found;
  given_.insert(given_.end(), found->begin(), found->end());
  if (simulation.mutant() == Mutant::returnedIsKnown) dropReturned(*found);
  if (simulation.mutant() == Mutant::returnsLast)
    std::ranges::stable_partition(*found, [&](const Message& one) { return !simulation.broker().isRedelivered(one); });
  if (simulation.mutant() == Mutant::ackOnDelivery && simulation.plan().consumer.delivery == Guarantee::atLeastOnce) {
    const Result<void> ignored = acknowledge(*found);
    static_cast<void>(ignored);
  }
  if (simulation.mutant() == Mutant::givenUnrecorded && simulation.plan().ahead > 0)
    for (const Message& message : *found) simulation.thinkUnrecorded(process_, message);
  for (Message& message : *found) misplace(message);
  return found;
}

/// By a mutant, to which all that was delivered before is done.
void Source::dropReturned(std::vector<Message>& messages) {
  std::vector<Message> returned;
  for (const Message& message : messages)
    if (process_.simulation().broker().isRedelivered(message)) returned.push_back(message);
  if (returned.empty()) return;
  const Result<void> ignored = acknowledge(returned);
  static_cast<void>(ignored);
  std::erase_if(messages, [&](const Message& one) {
    return std::ranges::any_of(returned, [&](const Message& gone) { return gone.position == one.position; });
  });
}

/// For mutants whose scheduler does not keep a group together: what it takes for another group, it hands out like one.
/// And for those to which no ids are alike, or all keys.
void Source::misplace(Message& message) const {
  const Simulation& simulation = process_.simulation();
  const bool everyOne = simulation.mutant() == Mutant::groupFreedEarly;
  const bool ofParked = simulation.mutant() == Mutant::parkedOvertaken && process_.hasParked(message.group);
  if (simulation.plan().consumer.ordering != Ordering::total() && (everyOne || ofParked))
    message.group.value += " " + std::to_string(message.position);
  const ConsumerOptions& options = simulation.plan().consumer;
  const bool isPlain = !options.followNumbers && options.coalesce == Coalesce::never && options.keepLogFor.count() == 0;
  if (simulation.mutant() == Mutant::copiesApart && isPlain && options.ordering != Ordering::total())
    message.id = withCopyMark(message.id, message.position);
  if (simulation.mutant() != Mutant::keysAlike) return;
  for (auto& [name, value] : message.headers)
    if (name == keyHeader) value = "1";
}

Result<void> Source::acknowledge(std::span<const Message> messages) {
  Simulation& simulation = process_.simulation();
  return process_.remotely<Result<void>>(simulation.plan().networkLatency, false,
                                         [&] { return acknowledgeNow(messages); });
}

Result<void> Source::acknowledgeNow(std::span<const Message> messages) {
  Simulation& simulation = process_.simulation();
  if (simulation.sourceDown() || std::exchange(process_.armed.failAcknowledge, false)) return queueIsDown();
  if (simulation.plan().queue == Queue::broker) {
    const auto removed = simulation.broker().acknowledge(process_.number(), messages);
    if (!removed) return removed.error();
    for (const Message& message : *removed) simulation.ghost().acknowledged(givenAs(message));
  } else {
    if (Result<void> done = table_.acknowledge(messages); !done) return done;
    for (const Message& message : messages) simulation.ghost().acknowledged(givenAs(message));
  }
  process_.trace("acknowledge", static_cast<std::int64_t>(messages.size()));
  if (process_.stage() == Stage::unacknowledged) process_.enter(Stage::idle);
  return {};
}

const Message& Source::givenAs(const Message& message) const {
  const auto given = std::ranges::find(given_, message.position, &Message::position);
  return given == given_.end() ? message : *given;
}

void Source::detach() noexcept {
  if (!process_.dead()) process_.simulation().broker().drop(process_.number());
  table_.detach();
}

std::vector<Message> Source::given(std::span<const MessageId> ids) const {
  std::vector<Message> messages;
  for (const Message& message : given_)
    if (std::ranges::find(ids, message.id) != ids.end()) messages.push_back(message);
  return messages;
}

}  // namespace tenure::simulation
